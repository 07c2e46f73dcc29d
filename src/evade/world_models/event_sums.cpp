// Sums over the events of a step: of their weights for each dream, which `sum_densely` (event_prior.py) computes by
// convolutions, and of their numbers over real steps. Frames are nearly empty, so both visit their objects only.
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

// Calls `visit` with the place of each of one object's neighbours in [channels + 1, 3, 3]; outside the grid the
// neighbour is the edge.
template <typename Visit>
void visit_neighbours(const Object& object, const Grid& grid, const std::vector<uint64_t>& cells, Visit visit) {
    const int64_t width = grid.columns + 2;
    for (int offset = 0; offset < 9; ++offset) {
        const int64_t row = object.row + offset / 3, column = object.column + offset % 3;
        if (row == 0 || column == 0 || row == grid.rows + 1 || column == grid.columns + 1) {
            visit(grid.channels * 9 + offset);
            continue;
        }
        for (uint64_t kinds = cells[row * width + column]; kinds != 0; kinds &= kinds - 1)
            visit(__builtin_ctzll(kinds) * 9 + offset);
    }
}

// The weights of one object's neighbours.
float sum_neighbours(const Object& object, const Grid& grid, const std::vector<uint64_t>& cells, const float* weight) {
    float total = 0;
    visit_neighbours(object, grid, cells, [&](int64_t place) { total += weight[place]; });
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

// Adds 1 to the number of each event of a step, once however often it happens in it; `then` and `predicted` are two
// frames that followed, whose events are taken together. The pointers are the parts of `numbers`, in all `num_events`,
// in the shapes above; `taken` [batch, A] is 1 for the actions that events of the present frame count under.
extern "C" void count_events(const uint8_t* now, int64_t now_stride, const uint8_t* then, const uint8_t* predicted,
                             const uint8_t* taken, float* met, float* met_now, float* moved, float* placed,
                             float* placed_now, float* numbers, int64_t num_events, int64_t num_actions, int64_t batch,
                             int64_t channels, int64_t rows, int64_t columns) {
    const Grid grid{channels, rows, columns};
    const int64_t places = channels * rows * columns, pairs = (channels + 1) * 9;
    std::vector<Object> before, after;
    std::vector<uint64_t> cells_before((rows + 2) * (columns + 2)), cells_after(cells_before.size());
    std::vector<int64_t> last_step(num_events, -1);
    for (int64_t step = 0; step < batch; ++step) {
        const auto count = [&](float* event) {
            int64_t& last = last_step[event - numbers];
            if (last != step) *event += 1;
            last = step;
        };
        read_frame(now + step * now_stride, grid, before, cells_before);
        for (const uint8_t* frames : {then, predicted}) {
            read_frame(frames + step * places, grid, after, cells_after);
            for (const Object& object : after) {
                const int64_t of_channel = object.channel * pairs;
                if (met) visit_neighbours(object, grid, cells_after, [&](int64_t at) { count(met + of_channel + at); });
                if (moved)
                    visit_neighbours(object, grid, cells_before, [&](int64_t at) { count(moved + of_channel + at); });
                if (placed) count(placed + (object.channel * rows + object.row) * columns + object.column);
            }
        }
        for (const Object& object : before)
            for (int64_t action = 0; action < num_actions; ++action) {
                if (!taken[step * num_actions + action]) continue;
                const int64_t kind = action * channels + object.channel;
                if (met_now)
                    visit_neighbours(object, grid, cells_before, [&](int64_t at) { count(met_now + kind * pairs + at); });
                if (placed_now) count(placed_now + (kind * rows + object.row) * columns + object.column);
            }
    }
}
