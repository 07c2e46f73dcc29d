// Which cells of the next frame are on, from their log-odds: what `predict_objects` (next_frame.py) decides by tensors.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace {

// The settings of one dream: cells below `flip` in the size of their log-odds take the less likely value.
struct Rule {
    float object_log_odds, flip;
};

inline bool has_object(const uint8_t* cells, int64_t count) { return std::memchr(cells, 1, count) != nullptr; }

inline float find_highest(const float* log_odds, int64_t cells) {
    float highest = log_odds[0];
    for (int64_t cell = 1; cell < cells; ++cell) highest = log_odds[cell] > highest ? log_odds[cell] : highest;
    return highest;
}

// A channel of any number of objects.
inline void choose_many(const float* log_odds, const uint8_t* last, const Rule& rule, float highest, int64_t cells,
                        uint8_t* shown) {
    const bool keeps_one = highest > rule.object_log_odds && has_object(last, cells);
    const float kept = keeps_one ? highest : std::numeric_limits<float>::infinity();
    for (int64_t cell = 0; cell < cells; ++cell) {
        const bool flips = std::fabs(log_odds[cell]) < rule.flip;
        shown[cell] = ((log_odds[cell] > 0) != flips) | (log_odds[cell] == kept);
    }
}

}  // namespace

// `log_odds` and `shown` are [batch, channels, cells]; the last frames of 0 and 1 lie `stride` bytes apart.
// `one_object` is [channels, channels]: for each channel those that together with it always show one object; `flip`
// [batch], null for the most likely frame. At most 64 channels.
extern "C" void choose_objects(const float* log_odds, const uint8_t* last, int64_t stride, const uint8_t* one_object,
                               const float* flip, const float* object_log_odds, uint8_t* shown, int64_t batch,
                               int64_t channels, int64_t cells) {
    float highest[64];
    for (int64_t dream = 0; dream < batch; ++dream, log_odds += channels * cells, shown += channels * cells) {
        const Rule rule{*object_log_odds, flip ? flip[dream] : 0.0f};
        for (int64_t channel = 0; channel < channels; ++channel)
            highest[channel] = find_highest(log_odds + channel * cells, cells);
        for (int64_t channel = 0; channel < channels; ++channel) {
            const float* of_channel = log_odds + channel * cells;
            uint8_t* made = shown + channel * cells;
            const uint8_t* group = one_object + channel * channels;
            if (!group[channel]) {
                choose_many(of_channel, last + dream * stride + channel * cells, rule, highest[channel], cells, made);
                continue;
            }
            float of_group = -std::numeric_limits<float>::infinity();
            for (int64_t other = 0; other < channels; ++other)
                if (group[other] && highest[other] > of_group) of_group = highest[other];
            for (int64_t cell = 0; cell < cells; ++cell) made[cell] = of_channel[cell] == of_group;
        }
    }
}
