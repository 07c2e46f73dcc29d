// How many steps ago something changed in each channel of binary frames: see ages.py.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace {

struct Grid {
    int64_t channels, rows, columns;
    int64_t cells() const { return rows * columns; }
};

// Appeared, vanished, was born, died.
constexpr int KINDS = 4;

// The cells of a row, bytes of 0 and 1, as the bits of a number.
inline uint64_t pack(const uint8_t* row, int64_t columns) {
    uint64_t bits = 0;
    int64_t column = 0;
    for (; column + 8 <= columns; column += 8) {
        uint64_t eight;
        std::memcpy(&eight, row + column, 8);
        // Moves the lowest bit of byte i to bit 56 + i; no two of the products meet.
        bits |= ((eight * 0x0102040810204080u) >> 56) << column;
    }
    for (; column < columns; ++column) bits |= uint64_t(row[column]) << column;
    return bits;
}

// One channel of one frame: its rows, and the rows of the cells that are within one cell of an object.
struct Plane {
    std::vector<uint64_t> rows, near;

    explicit Plane(int64_t count) : rows(count), near(count) {}

    void read(const uint8_t* cells, int64_t columns) {
        const int64_t count = int64_t(rows.size());
        for (int64_t row = 0; row < count; ++row) {
            rows[row] = pack(cells + row * columns, columns);
            near[row] = 0;
        }
        for (int64_t row = 0; row < count; ++row) {
            const uint64_t wide = rows[row] | rows[row] << 1 | rows[row] >> 1;
            near[row] |= wide;
            if (row > 0) near[row - 1] |= wide;
            if (row + 1 < count) near[row + 1] |= wide;
        }
    }
};

// Which kinds of changes happened from one plane to the next; the last two kinds only if they are asked for.
inline void find_changes(const Plane& before, const Plane& after, bool sees_births, bool (&happened)[KINDS]) {
    uint64_t found[KINDS] = {};
    for (size_t row = 0; row < before.rows.size(); ++row) {
        found[0] |= after.rows[row] & ~before.rows[row];
        found[1] |= before.rows[row] & ~after.rows[row];
        if (!sees_births) continue;
        found[2] |= after.rows[row] & ~before.near[row];
        found[3] |= before.rows[row] & ~after.near[row];
    }
    for (int kind = 0; kind < KINDS; ++kind) happened[kind] = found[kind] != 0;
}

}  // namespace

// Frames are bytes [batch, num_frames, channels, rows, columns] of at most 64 columns, those of one example one after
// another, those of the next `stride` bytes later. `ages` is [batch, kinds * channels], with two or four kinds.

extern "C" void count_ages(const uint8_t* frames, int64_t stride, int64_t* ages, int64_t batch, int64_t num_frames,
                           int64_t channels, int64_t rows, int64_t columns, int64_t kinds) {
    const Grid grid{channels, rows, columns};
    Plane before(rows), after(rows);
    for (int64_t example = 0; example < batch; ++example)
        for (int64_t channel = 0; channel < channels; ++channel) {
            const uint8_t* plane = frames + example * stride + channel * grid.cells();
            int64_t last[KINDS] = {};
            before.read(plane, columns);
            for (int64_t step = 1; step < num_frames; ++step) {
                const uint8_t* next = plane + channels * grid.cells();
                if (std::memcmp(plane, next, grid.cells()) != 0) {
                    bool happened[KINDS];
                    after.read(next, columns);
                    find_changes(before, after, kinds == KINDS, happened);
                    for (int kind = 0; kind < KINDS; ++kind)
                        if (happened[kind]) last[kind] = step;
                    std::swap(before, after);
                }
                plane = next;
            }
            for (int64_t kind = 0; kind < kinds; ++kind)
                ages[(example * kinds + kind) * channels + channel] = num_frames - 1 - last[kind];
        }
}

// From `ages` at the frames `before`, `before_stride` bytes apart, to `later` at the frames `after`, which are
// [batch, channels, rows, columns]; ages stop at `oldest`.
extern "C" void advance_ages(const int64_t* ages, const uint8_t* before, int64_t before_stride, const uint8_t* after,
                             int64_t* later, int64_t batch, int64_t oldest, int64_t channels, int64_t rows,
                             int64_t columns, int64_t kinds) {
    const Grid grid{channels, rows, columns};
    Plane first(rows), second(rows);
    for (int64_t example = 0; example < batch; ++example)
        for (int64_t channel = 0; channel < channels; ++channel) {
            const uint8_t* now = before + example * before_stride + channel * grid.cells();
            const uint8_t* next = after + (example * channels + channel) * grid.cells();
            bool happened[KINDS] = {};
            if (std::memcmp(now, next, grid.cells()) != 0) {
                first.read(now, columns);
                second.read(next, columns);
                find_changes(first, second, kinds == KINDS, happened);
            }
            for (int64_t kind = 0; kind < kinds; ++kind) {
                const int64_t at = (example * kinds + kind) * channels + channel;
                const int64_t older = ages[at] + 1;
                later[at] = happened[kind] ? 0 : older < oldest ? older : oldest;
            }
        }
}
