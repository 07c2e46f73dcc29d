// The first layer of a cell's channels, as sums over the objects of binary frames: see cell_embeddings.py.
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr int LANES = 8;
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

inline const Lanes* row_of(const float* rows, int64_t row, int64_t width) {
    return (const Lanes*)rows + row * width;
}

// Calls `visit(cell)` for each cell of a plane that is not 0; eight empty ones are skipped at once.
template <typename Visit>
inline void visit_objects(const uint8_t* plane, int64_t cells, Visit visit) {
    for (int64_t cell = 0; cell < cells; ++cell) {
        uint64_t eight;
        if (cell + 8 <= cells) {
            std::memcpy(&eight, plane + cell, 8);
            if (eight == 0) {
                cell += 7;
                continue;
            }
        }
        if (plane[cell]) visit(cell);
    }
}

// WIDTH vectors for each cell.
template <int WIDTH>
void embed(const uint8_t* frames, int64_t stride, const float* weight, const float* bias, const float* context,
           const float* position, float* out, int64_t batch, int64_t planes, int64_t cells) {
    for (int64_t map = 0; map < batch; ++map) {
        Lanes* made = (Lanes*)out + map * cells * WIDTH;
        Lanes common[WIDTH];
        for (int i = 0; i < WIDTH; ++i)
            common[i] = context ? row_of(bias, 0, WIDTH)[i] + row_of(context, map, WIDTH)[i] : row_of(bias, 0, WIDTH)[i];
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int i = 0; i < WIDTH; ++i) made[cell * WIDTH + i] = common[i] + row_of(position, cell, WIDTH)[i];
        for (int64_t plane = 0; plane < planes; ++plane) {
            const Lanes* of_plane = row_of(weight, plane, WIDTH);
            visit_objects(frames + map * stride + plane * cells, cells, [&](int64_t cell) {
                for (int i = 0; i < WIDTH; ++i) made[cell * WIDTH + i] += of_plane[i];
            });
        }
    }
}

template <int WIDTH>
void look(const uint8_t* frames, int64_t stride, const float* predicted, const float* weight, const float* bias,
          const float* presence, const float* gate, const float* shift, float* out, uint8_t* has_object, int64_t batch,
          int64_t channels, int64_t cells) {
    for (int64_t map = 0; map < batch; ++map) {
        Lanes* made = (Lanes*)out + map * cells * WIDTH;
        uint8_t* marked = has_object + map * cells;
        const uint8_t *before = frames + map * stride, *last = before + channels * cells;
        const float* probability = predicted + map * channels * cells;
        std::memset(marked, 0, cells);
        Lanes common[WIDTH];
        for (int i = 0; i < WIDTH; ++i) common[i] = row_of(bias, 0, WIDTH)[i];
        for (int64_t channel = 0; channel < channels; ++channel)
            if (std::memchr(last + channel * cells, 1, cells))
                for (int i = 0; i < WIDTH; ++i) common[i] += row_of(presence, channel, WIDTH)[i];
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int i = 0; i < WIDTH; ++i) made[cell * WIDTH + i] = common[i];
        for (int64_t channel = 0; channel < channels; ++channel) {
            // In the order of LocalHeads: the frame before, the last one, the next one, what appears, what vanishes.
            const Lanes* of[5];
            for (int kind = 0; kind < 5; ++kind) of[kind] = row_of(weight, kind * channels + channel, WIDTH);
            const uint8_t* was = last + channel * cells;
            for (int64_t cell = 0; cell < cells; ++cell) {
                const float likely = probability[channel * cells + cell];
                const Lanes* change = was[cell] ? of[4] : of[3];
                const float changed = was[cell] ? 1 - likely : likely;
                for (int i = 0; i < WIDTH; ++i) made[cell * WIDTH + i] += likely * of[2][i] + changed * change[i];
                marked[cell] |= likely > 0.5f;
            }
            for (int frame = 0; frame < 2; ++frame)
                visit_objects((frame ? last : before) + channel * cells, cells, [&](int64_t cell) {
                    for (int i = 0; i < WIDTH; ++i) made[cell * WIDTH + i] += of[frame][i];
                    marked[cell] = 1;
                });
        }
        for (int64_t cell = 0; cell < cells; ++cell)
            for (int i = 0; i < WIDTH; ++i)
                made[cell * WIDTH + i] = made[cell * WIDTH + i] * row_of(gate, map, WIDTH)[i] + row_of(shift, map, WIDTH)[i];
    }
}

}  // namespace

// Frames are bytes of 0 and 1, those of one map one after another, those of the next `stride` bytes later. All weights
// have one row of `size` floats, 8 or 16, for each input. `out` is [batch, cells, size].

// `weight` [planes, size], `context` [batch, size] or null, `position` [cells, size].
extern "C" void embed_objects(const uint8_t* frames, const float* weight, const float* bias, const float* context,
                              const float* position, float* out, int64_t stride, int64_t batch, int64_t planes,
                              int64_t cells, int64_t size) {
    const auto work = size == 8 ? embed<1> : embed<2>;
    work(frames, stride, weight, bias, context, position, out, batch, planes, cells);
}

// Two frames of each map; `predicted` [batch, channels, cells], `weight` [5 * channels, size], `presence`
// [channels, size], `gate` and `shift` [batch, size], `has_object` [batch, cells].
extern "C" void look_around(const uint8_t* frames, const float* predicted, const float* weight, const float* bias,
                            const float* presence, const float* gate, const float* shift, float* out,
                            uint8_t* has_object, int64_t stride, int64_t batch, int64_t channels, int64_t cells,
                            int64_t size) {
    const auto work = size == 8 ? look<1> : look<2>;
    work(frames, stride, predicted, weight, bias, presence, gate, shift, out, has_object, batch, channels, cells);
}
