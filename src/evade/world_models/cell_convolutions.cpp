// Small convolutions with all that surrounds them in the world model's stages: see cell_convolutions.py.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

constexpr int LANES = 8;
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

// Maps computed together: 6 x 16 sums and a row of the kernel fill the 16 vector registers of AVX2.
constexpr int TOGETHER = 6;

struct Shape {
    int64_t rows, columns;
    int64_t cells() const { return rows * columns; }
};

struct Tap {
    int64_t cell, place;  // of the input, of the kernel
};

// Everything but the batch: pointers may be null where something is not asked for.
struct Stage {
    const float *kernel, *bias;        // [places, in, out], [out]
    const float *position;             // [padded cells, channels], added to the input
    const float *scale, *offset;       // of the norm, [channels]
    const float* later_position;       // [cells, channels], added at the end
    bool norms_input;                  // or else what is finished
    Shape input, padded, output;
    std::vector<Tap> taps;             // of all output cells
    std::vector<int64_t> begin;        // [output cells + 1]
};

// Which cells of the padded input each output cell sees, and through which place of the kernel.
void find_taps(Stage& stage, int64_t size, int64_t stride, int64_t padding, bool is_transposed) {
    const Shape& in = stage.padded;
    stage.begin.push_back(0);
    for (int64_t cell = 0; cell < stage.output.cells(); ++cell) {
        const int64_t row = cell / stage.output.columns, column = cell % stage.output.columns;
        for (int64_t place = 0; place < size * size; ++place) {
            int64_t y = row * stride - padding + place / size, x = column * stride - padding + place % size;
            if (is_transposed) {
                y = row + padding - place / size;
                x = column + padding - place % size;
                if (y < 0 || x < 0 || y % stride || x % stride) continue;
                y /= stride;
                x /= stride;
            }
            if (y >= 0 && x >= 0 && y < in.rows && x < in.columns) stage.taps.push_back({y * in.columns + x, place});
        }
        stage.begin.push_back(int64_t(stage.taps.size()));
    }
}

// The sum of all lanes, in each of them.
inline Lanes add_up(Lanes x) {
    x += Lanes{x[4], x[5], x[6], x[7], x[0], x[1], x[2], x[3]};
    x += Lanes{x[2], x[3], x[0], x[1], x[6], x[7], x[4], x[5]};
    return x + Lanes{x[1], x[0], x[3], x[2], x[5], x[4], x[7], x[6]};
}

// Layer norm over the channels of one cell.
template <int WIDTH>
inline void norm(Lanes (&x)[WIDTH], const float* scale, const float* offset) {
    Lanes sum{}, squares{};
    for (int i = 0; i < WIDTH; ++i) sum += x[i];
    const Lanes mean = add_up(sum) * (1.0f / (WIDTH * LANES));
    for (int i = 0; i < WIDTH; ++i) {
        x[i] -= mean;
        squares += x[i] * x[i];
    }
    const float inverse = 1 / std::sqrt(add_up(squares)[0] * (1.0f / (WIDTH * LANES)) + 1e-6f);
    for (int i = 0; i < WIDTH; ++i)
        x[i] = x[i] * inverse * ((const Lanes*)scale)[i] + ((const Lanes*)offset)[i];
}

// One map as the convolution sees it: normed, gated and shifted by the action, padded, with positions.
template <int WIDTH>
void prepare(const Stage& stage, const float* map, const float* gate, const float* shift, Lanes* prepared) {
    const Shape &in = stage.input, &padded = stage.padded;
    const Lanes *from = (const Lanes*)map, *position = (const Lanes*)stage.position;
    for (int64_t row = 0; row < padded.rows; ++row)
        for (int64_t column = 0; column < padded.columns; ++column, prepared += WIDTH) {
            Lanes x[WIDTH] = {};
            if (row < in.rows && column < in.columns) {
                for (int i = 0; i < WIDTH; ++i) x[i] = *from++;
                if (stage.norms_input) norm(x, stage.scale, stage.offset);
                if (gate)
                    for (int i = 0; i < WIDTH; ++i) x[i] = x[i] * ((const Lanes*)gate)[i] + ((const Lanes*)shift)[i];
            }
            for (int i = 0; i < WIDTH; ++i) prepared[i] = position ? x[i] + *position++ : x[i];
        }
}

// COUNT prepared maps to as many finished ones.
template <int WIDTH, int COUNT>
void convolve(const Stage& stage, const Lanes* prepared, const float* residual, float* out) {
    constexpr int64_t channels = WIDTH * LANES;
    const int64_t apart = stage.padded.cells() * channels, out_apart = stage.output.cells() * channels;
    for (int64_t cell = 0; cell < stage.output.cells(); ++cell) {
        Lanes sums[COUNT][WIDTH];
        for (auto& sum : sums)
            for (int i = 0; i < WIDTH; ++i) sum[i] = ((const Lanes*)stage.bias)[i];
        for (int64_t t = stage.begin[cell]; t < stage.begin[cell + 1]; ++t) {
            const float* from = (const float*)prepared + stage.taps[t].cell * channels;
            const Lanes* weight = (const Lanes*)(stage.kernel + stage.taps[t].place * channels * channels);
            for (int64_t channel = 0; channel < channels; ++channel, weight += WIDTH)
                for (int map = 0; map < COUNT; ++map)
                    for (int i = 0; i < WIDTH; ++i) sums[map][i] += from[map * apart + channel] * weight[i];
        }
        for (int map = 0; map < COUNT; ++map) {
            const int64_t place = map * out_apart + cell * channels;
            Lanes(&x)[WIDTH] = sums[map];
            for (int i = 0; i < WIDTH; ++i) {
                x[i] = x[i] < 0 ? Lanes{} : x[i];  // not a number stays so, as in torch
                if (residual) x[i] += ((const Lanes*)(residual + place))[i];
            }
            if (stage.scale && !stage.norms_input) norm(x, stage.scale, stage.offset);
            for (int i = 0; i < WIDTH; ++i) {
                if (stage.later_position) x[i] += ((const Lanes*)(stage.later_position + cell * channels))[i];
                ((Lanes*)(out + place))[i] = x[i];
            }
        }
    }
}

template <int WIDTH>
void convolve_all(const Stage& stage, const float* maps, const float* gate, const float* shift, const float* residual,
                  float* out, int64_t batch) {
    constexpr int64_t channels = WIDTH * LANES;
    const int64_t in_size = stage.input.cells() * channels, out_size = stage.output.cells() * channels;
    std::vector<Lanes> prepared(TOGETHER * stage.padded.cells() * WIDTH);
    for (int64_t first = 0; first < batch; first += TOGETHER) {
        const int64_t count = std::min<int64_t>(TOGETHER, batch - first);
        for (int64_t map = 0; map < count; ++map) {
            const int64_t row = (first + map) * channels;
            prepare<WIDTH>(stage, maps + (first + map) * in_size, gate ? gate + row : nullptr,
                           shift ? shift + row : nullptr, prepared.data() + map * stage.padded.cells() * WIDTH);
        }
        if (count == TOGETHER) {
            convolve<WIDTH, TOGETHER>(stage, prepared.data(), residual ? residual + first * out_size : nullptr,
                                      out + first * out_size);
            continue;
        }
        for (int64_t map = 0; map < count; ++map)
            convolve<WIDTH, 1>(stage, prepared.data() + map * stage.padded.cells() * WIDTH,
                               residual ? residual + (first + map) * out_size : nullptr, out + (first + map) * out_size);
    }
}

}  // namespace

// Maps are [batch, rows, columns, channels] with as many channels in as out: 8 or 16. `gate` and `shift` are
// [batch, channels], `residual` has the shape of `out`.
extern "C" void convolve_cells(const float* maps, const float* kernel, const float* bias, const float* gate,
                               const float* shift, const float* position, const float* residual, const float* scale,
                               const float* offset, const float* later_position, float* out, int64_t batch,
                               int64_t channels, int64_t rows, int64_t columns, int64_t padded_rows,
                               int64_t padded_columns, int64_t out_rows, int64_t out_columns, int64_t size,
                               int64_t stride, int64_t padding, int64_t is_transposed, int64_t norms_input) {
    Stage stage{kernel, bias, position, scale, offset, later_position, norms_input != 0,
                {rows, columns}, {padded_rows, padded_columns}, {out_rows, out_columns}, {}, {}};
    find_taps(stage, size, stride, padding, is_transposed != 0);
    if (channels == 8) convolve_all<1>(stage, maps, gate, shift, residual, out, batch);
    if (channels == 16) convolve_all<2>(stage, maps, gate, shift, residual, out, batch);
}
