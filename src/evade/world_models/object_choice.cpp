// Which cells of the next frame are on: what `predict_objects` (next_frame.py) decides by tensors.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace {

constexpr float INFINITE = std::numeric_limits<float>::infinity();
constexpr int NEIGHBOURS = 9;

struct Grid {
    int64_t rows, columns;
    int64_t cells() const { return rows * columns; }
};

// In Python's order: the cell itself, its neighbours in the row and the column, those at the corners.
constexpr int64_t DOWN[NEIGHBOURS] = {0, 0, 0, -1, 1, -1, -1, 1, 1};
constexpr int64_t RIGHT[NEIGHBOURS] = {0, -1, 1, 0, 0, -1, 1, -1, 1};

// The cell at an offset; -1 beyond the edge.
inline int64_t neighbour(const Grid& grid, int64_t cell, int offset) {
    const int64_t row = cell / grid.columns + DOWN[offset], column = cell % grid.columns + RIGHT[offset];
    return row < 0 || column < 0 || row >= grid.rows || column >= grid.columns ? -1 : row * grid.columns + column;
}

inline float find_highest(const float* log_odds, int64_t cells) {
    float highest = log_odds[0];
    for (int64_t cell = 1; cell < cells; ++cell) highest = log_odds[cell] > highest ? log_odds[cell] : highest;
    return highest;
}

// The correction for oversampling of one channel: log-odds and factors of the odds of more objects, and of fewer.
struct Excess {
    float more, more_factor, fewer_factor;
    float correct(float probability, float factor) const {
        return probability / (probability + (1 - probability) * factor);
    }
};

// Each cell by itself; those of log-odds below `flip` in size take the less likely value.
inline bool choose_cell(float log_odds, float flip) { return (log_odds > 0) != (std::fabs(log_odds) < flip); }

// Where one object goes: `probability` of each cell that is its own, 0 for the others; sets `shown` of these cells.
void choose_place(const float (&probability)[NEIGHBOURS], float share, float least, const Excess& excess,
                  bool (&shown)[NEIGHBOURS]) {
    int main = 0;
    for (int offset = 1; offset < NEIGHBOURS; ++offset)
        if (probability[offset] > probability[main]) main = offset;
    float kept = probability[main], total = probability[main], begin = 0;
    for (int offset = 0; offset < NEIGHBOURS; ++offset) {
        if (offset == main) continue;
        total += probability[offset];
        if (probability[offset] < least) kept += probability[offset];
    }
    const bool is_certain = kept >= 1 - least;
    for (int offset = 0; offset < NEIGHBOURS; ++offset) {
        if (offset == main) continue;
        float likely = probability[offset];
        shown[offset] = likely >= 1 - least;
        if (shown[offset] || likely < least) continue;
        // Beside an object that stays for certain this is one more.
        if (is_certain) likely = excess.correct(likely, excess.more_factor);
        shown[offset] = likely >= least && begin <= share && share < begin + likely;
        if (likely >= least) begin += likely;
    }
    const float ended = std::max(1 - kept - begin, 0.0f);
    if (ended < 1 - least) kept += ended - excess.correct(ended, excess.fewer_factor);
    const float missing = 1 - kept;
    shown[main] = total >= least && (missing < least || share >= std::max(missing, begin));
}

// Each object of the last frame goes to one of the cells around it; the other cells are decided by themselves.
void move_objects(const float* log_odds, const float* probability, const uint8_t* last, float share, float flip,
                  float least, float certain, const Excess& excess, const Grid& grid, std::vector<int8_t>& owner,
                  uint8_t* shown) {
    const int64_t cells = grid.cells();
    for (int64_t cell = 0; cell < cells; ++cell)
        shown[cell] = choose_cell(log_odds[cell] < certain ? log_odds[cell] - excess.more : log_odds[cell], flip);
    if (std::memchr(last, 1, cells) == nullptr) return;
    // Each cell belongs to the nearest object: `owner` is the offset from that object to the cell, -1 for no object.
    for (int64_t cell = 0; cell < cells; ++cell) owner[cell] = -1;
    for (int offset = 0; offset < NEIGHBOURS; ++offset)
        for (int64_t object = 0; object < cells; ++object) {
            if (!last[object]) continue;
            const int64_t cell = neighbour(grid, object, offset);
            if (cell >= 0 && owner[cell] < 0) owner[cell] = int8_t(offset);
        }
    for (int64_t object = 0; object < cells; ++object) {
        if (!last[object]) continue;
        float likely[NEIGHBOURS] = {};
        int64_t place[NEIGHBOURS];
        for (int offset = 0; offset < NEIGHBOURS; ++offset) {
            place[offset] = neighbour(grid, object, offset);
            if (place[offset] >= 0 && owner[place[offset]] != offset) place[offset] = -1;
            if (place[offset] >= 0) likely[offset] = probability[place[offset]];
        }
        bool is_shown[NEIGHBOURS];
        choose_place(likely, share, least, excess, is_shown);
        for (int offset = 0; offset < NEIGHBOURS; ++offset)
            if (place[offset] >= 0) shown[place[offset]] = is_shown[offset];
    }
}

}  // namespace

// `log_odds` and `shown` are [batch, channels, rows, columns]; the last frames of 0 and 1 lie `stride` bytes apart.
// `one_object` is [channels, channels]: for each channel those that together with it always show one object. `flip`
// [batch] is null for the most likely frame; `probability` (of `log_odds`), `share` [batch] and `excess` [3, channels]
// (log-odds of more objects, factors of the odds of more and of fewer) are null unless objects go to one place each.
// `limits` are the log-odds above which a channel keeps an object, those of what is certain, and the least
// probability. At most 64 channels.
extern "C" void choose_objects(const float* log_odds, const uint8_t* last, int64_t stride, const uint8_t* one_object,
                               const float* flip, const float* probability, const float* share, const float* excess,
                               const float* limits, uint8_t* shown, int64_t batch, int64_t channels, int64_t rows,
                               int64_t columns) {
    const Grid grid{rows, columns};
    const int64_t cells = grid.cells();
    float highest[64];
    std::vector<int8_t> owner(cells);
    for (int64_t dream = 0; dream < batch; ++dream) {
        for (int64_t channel = 0; channel < channels; ++channel)
            highest[channel] = find_highest(log_odds + (dream * channels + channel) * cells, cells);
        for (int64_t channel = 0; channel < channels; ++channel) {
            const int64_t at = (dream * channels + channel) * cells;
            const uint8_t *before = last + dream * stride + channel * cells, *group = one_object + channel * channels;
            if (group[channel]) {
                float of_group = -INFINITE;
                for (int64_t other = 0; other < channels; ++other)
                    if (group[other] && highest[other] > of_group) of_group = highest[other];
                for (int64_t cell = 0; cell < cells; ++cell) shown[at + cell] = log_odds[at + cell] == of_group;
            } else if (probability) {
                const Excess of_channel{excess[channel], excess[channels + channel], excess[2 * channels + channel]};
                move_objects(log_odds + at, probability + at, before, share[dream], flip[dream], limits[2], limits[1],
                             of_channel, grid, owner, shown + at);
            } else {
                const bool keeps_one = highest[channel] > limits[0] && std::memchr(before, 1, cells) != nullptr;
                const float kept = keeps_one ? highest[channel] : INFINITE;
                for (int64_t cell = at; cell < at + cells; ++cell)
                    shown[cell] = choose_cell(log_odds[cell], flip ? flip[dream] : 0.0f) | (log_odds[cell] == kept);
            }
        }
    }
}
