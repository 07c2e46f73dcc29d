// The first convolution of a policy on binary frames, with bias and rectifier, and its gradients: what `SameConv2d` and
// `relu` (network.py) compute. Frames are nearly empty, so it visits their objects only: each adds its filter weights
// to the few outputs that see it. There are no products, so all machines round alike.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

// Objects are found as the lowest set bit of eight bytes. Elsewhere this does not compile, so the policy convolves.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte must have the lowest bits");

namespace {

struct Shape {
    int64_t batch, channels, rows, columns, filters, kernel_rows, kernel_columns, stride;
};

// Where the first filter of an output, and of the weight by which it sees a cell, lies in memory.
struct Tap {
    int64_t output, weight;
};

int64_t count_outputs(int64_t size, int64_t stride) { return (size + stride - 1) / stride; }

// For each place on an axis and each offset in the kernel: the output that sees the place there, under TensorFlow's
// SAME padding; -1 if there is none.
std::vector<int64_t> list_outputs(int64_t size, int64_t kernel, int64_t stride) {
    const int64_t outputs = count_outputs(size, stride);
    const int64_t padding = std::max<int64_t>((outputs - 1) * stride + kernel - size, 0);
    std::vector<int64_t> listed(size * kernel, -1);
    for (int64_t output = 0; output < outputs; ++output)
        for (int64_t offset = 0; offset < kernel; ++offset) {
            const int64_t place = output * stride + offset - padding / 2;
            if (place >= 0 && place < size) listed[place * kernel + offset] = output;
        }
    return listed;
}

// The taps of each cell, listed once for all frames, so that the loop over objects has no divisions and no borders.
class Taps {
   public:
    explicit Taps(const Shape& shape) : begin_{0} {
        const auto y = list_outputs(shape.rows, shape.kernel_rows, shape.stride);
        const auto x = list_outputs(shape.columns, shape.kernel_columns, shape.stride);
        const int64_t width = count_outputs(shape.columns, shape.stride);
        for (int64_t row = 0; row < shape.rows; ++row)
            for (int64_t column = 0; column < shape.columns; ++column) {
                for (int64_t down = 0; down < shape.kernel_rows; ++down)
                    for (int64_t right = 0; right < shape.kernel_columns; ++right) {
                        const int64_t top = y[row * shape.kernel_rows + down];
                        const int64_t left = x[column * shape.kernel_columns + right];
                        if (top >= 0 && left >= 0)
                            taps_.push_back({(top * width + left) * shape.filters,
                                             (down * shape.kernel_columns + right) * shape.filters});
                    }
                begin_.push_back(int64_t(taps_.size()));
            }
    }

    // Calls `work` with each tap of each object of a frame, in the order of memory.
    template <typename Work>
    void visit(const uint8_t* frame, const Shape& shape, const Work& work) const {
        const int64_t cells = shape.rows * shape.columns, size = shape.channels * cells;
        const int64_t kernel = shape.kernel_rows * shape.kernel_columns * shape.filters;
        int64_t channel = 0;
        for (int64_t place = 0; place < size; place += 8) {
            uint64_t eight = 0;
            if (place + 8 <= size)
                std::memcpy(&eight, frame + place, 8);
            else
                std::memcpy(&eight, frame + place, size - place);
            for (; eight != 0; eight &= eight - 1) {
                const int64_t object = place + __builtin_ctzll(eight) / 8;
                while (object >= (channel + 1) * cells) ++channel;
                const int64_t cell = object - channel * cells;
                for (int64_t tap = begin_[cell]; tap < begin_[cell + 1]; ++tap)
                    work(Tap{taps_[tap].output, channel * kernel + taps_[tap].weight});
            }
        }
    }

   private:
    std::vector<Tap> taps_;
    std::vector<int64_t> begin_;
};

void add(float* __restrict total, const float* __restrict part, int64_t count) {
    for (int64_t i = 0; i < count; ++i) total[i] += part[i];
}

}  // namespace

// Frames are bytes 0 and 1 [batch, channels, rows, columns] that lie `frame_stride` bytes apart; weights are
// [channels, kernel rows, kernel columns, filters], so that those of one object lie together. Features are
// [batch, output rows, output columns, filters].
extern "C" void convolve_objects(const uint8_t* frames, int64_t frame_stride, const float* weight, const float* bias,
                                 float* features, int64_t batch, int64_t channels, int64_t rows, int64_t columns,
                                 int64_t filters, int64_t kernel_rows, int64_t kernel_columns, int64_t stride) {
    const Shape shape{batch, channels, rows, columns, filters, kernel_rows, kernel_columns, stride};
    const Taps taps(shape);
    const int64_t size = count_outputs(rows, stride) * count_outputs(columns, stride) * filters;
    for (int64_t index = 0; index < batch; ++index) {
        float* output = features + index * size;
        for (int64_t i = 0; i < size; i += filters) std::copy_n(bias, filters, output + i);
        taps.visit(frames + index * frame_stride, shape,
                   [&](const Tap& tap) { add(output + tap.output, weight + tap.weight, filters); });
        // Not a number stays so, as in torch: otherwise a policy that diverges would go unnoticed.
        for (int64_t i = 0; i < size; ++i) output[i] = output[i] < 0 ? 0 : output[i];
    }
}

// Adds the gradients of weight and bias, in the layouts above, to zeros.
extern "C" void convolve_objects_backward(const uint8_t* frames, int64_t frame_stride, const float* features,
                                          const float* gradient, float* weight, float* bias, int64_t batch,
                                          int64_t channels, int64_t rows, int64_t columns, int64_t filters,
                                          int64_t kernel_rows, int64_t kernel_columns, int64_t stride) {
    const Shape shape{batch, channels, rows, columns, filters, kernel_rows, kernel_columns, stride};
    const Taps taps(shape);
    const int64_t size = count_outputs(rows, stride) * count_outputs(columns, stride) * filters;
    const int64_t weights = channels * kernel_rows * kernel_columns * filters;
    std::vector<float> passed(size), sums(weights + filters);
    for (int64_t index = 0; index < batch; ++index) {
        const float *output = features + index * size, *above = gradient + index * size;
        for (int64_t i = 0; i < size; ++i) passed[i] = output[i] <= 0 ? 0 : above[i];
        for (int64_t i = 0; i < size; i += filters) add(sums.data() + weights, passed.data() + i, filters);
        taps.visit(frames + index * frame_stride, shape,
                   [&](const Tap& tap) { add(sums.data() + tap.weight, passed.data() + tap.output, filters); });
        // Sums of some frames first: one long sum of float32 numbers loses digits.
        if (index % 32 < 31 && index < batch - 1) continue;
        add(weight, sums.data(), weights);
        add(bias, sums.data() + weights, filters);
        std::fill(sums.begin(), sums.end(), 0.0f);
    }
}
