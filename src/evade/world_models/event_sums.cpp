// The weights of all events of a step, summed for each dream: what `sum_densely` (event_prior.py) computes.
// Frames are nearly empty, so it visits their objects only.
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

struct Grid {
    int64_t channels, rows, columns;
};

struct Object {
    int32_t channel, row, column;
};

// Lists the objects of a frame, and sets for each cell (with a border of one) the bits of its channels.
void read_frame(const uint8_t* frame, const Grid& grid, std::vector<Object>& objects, std::vector<uint64_t>& cells) {
    const int64_t size = grid.channels * grid.rows * grid.columns, width = grid.columns + 2;
    objects.clear();
    std::memset(cells.data(), 0, cells.size() * sizeof(uint64_t));
    for (int64_t place = 0; place < size; ++place) {
        uint64_t eight;
        if (place % 8 == 0 && place + 8 <= size) {
            std::memcpy(&eight, frame + place, 8);
            if (eight == 0) {
                place += 7;
                continue;
            }
        }
        if (frame[place] == 0) continue;
        const auto column = int32_t(place % grid.columns), row = int32_t(place / grid.columns % grid.rows);
        const auto channel = int32_t(place / (grid.columns * grid.rows));
        objects.push_back({channel, row, column});
        cells[(row + 1) * width + column + 1] |= uint64_t(1) << channel;
    }
}

// The weights [channels + 1, 3, 3] of one object's neighbours; outside the grid the neighbour is the edge.
float sum_neighbours(const Object& object, const Grid& grid, const std::vector<uint64_t>& cells, const float* weight) {
    const int64_t width = grid.columns + 2;
    float total = 0;
    for (int offset = 0; offset < 9; ++offset) {
        const int64_t row = object.row + offset / 3, column = object.column + offset % 3;
        if (row == 0 || column == 0 || row == grid.rows + 1 || column == grid.columns + 1) {
            total += weight[grid.channels * 9 + offset];
            continue;
        }
        for (uint64_t kinds = cells[row * width + column]; kinds != 0; kinds &= kinds - 1)
            total += weight[__builtin_ctzll(kinds) * 9 + offset];
    }
    return total;
}

}  // namespace

// Frames are bytes [batch, channels, rows, columns]; those of `now` lie `now_stride` bytes apart. Each pointer to
// weights is null if there are no such events: `met` and `moved` [C, C + 1, 3, 3], `met_now` [A, C, C + 1, 3, 3],
// `placed` [C, H, W], `placed_now` [A, C, H, W]. At most 64 channels.
extern "C" void sum_events(const uint8_t* now, int64_t now_stride, const uint8_t* then, const int64_t* action,
                           const float* met, const float* met_now, const float* moved, const float* placed,
                           const float* placed_now, float* totals, int64_t batch, int64_t channels, int64_t rows,
                           int64_t columns) {
    const Grid grid{channels, rows, columns};
    const int64_t places = channels * rows * columns, pairs = (channels + 1) * 9;
    std::vector<Object> before, after;
    std::vector<uint64_t> cells_before((rows + 2) * (columns + 2)), cells_after(cells_before.size());
    for (int64_t dream = 0; dream < batch; ++dream) {
        read_frame(now + dream * now_stride, grid, before, cells_before);
        read_frame(then + dream * places, grid, after, cells_after);
        float total = 0;
        for (const Object& object : after) {
            if (met) total += sum_neighbours(object, grid, cells_after, met + object.channel * pairs);
            if (moved) total += sum_neighbours(object, grid, cells_before, moved + object.channel * pairs);
            if (placed) total += placed[(object.channel * rows + object.row) * columns + object.column];
        }
        for (const Object& object : before) {
            const int64_t kind = action[dream] * channels + object.channel;
            if (met_now) total += sum_neighbours(object, grid, cells_before, met_now + kind * pairs);
            if (placed_now) total += placed_now[(kind * rows + object.row) * columns + object.column];
        }
        totals[dream] = total;
    }
}
