// What a row of a stand-in holds, said once for CPU and GPU.
//
// A row of length L is the set of the first L distinct columns among its draws 0, 1, 2, ... Draws come in
// rounds, as many in a round as were missing before it. A column comes from a window (the diagonal's
// neighbourhood, a community, everything), in proportion to its weight there. Where windows are too small to
// hold the row they widen with the rounds, and after the last one the unused columns from a drawn one on are
// taken in turn.
#pragma once

#include "counter_random.h"

namespace warpgrade::datasets {

inline constexpr int kRounds = 20;             // then unused columns in turn
inline constexpr int kRoundsWithPools = 5;     // then a row of its own
inline constexpr int kRoundsWithWindows = 10;  // then all columns
inline constexpr int kMostWindows = 40;        // near and communities
inline constexpr int kGuideBits = 16;

// What draws read; arrays in host or device memory.
struct StandInTables {
  int n = 0;
  u64 seed = 1;
  const int* row_offsets = nullptr;  // [n + 1]
  // Sums of weights before each id, and before each place in the communities' order.
  const u64* by_id = nullptr;     // [n + 1]
  const u64* by_place = nullptr;  // [n + 1]
  const int* guide = nullptr;     // [2^kGuideBits + 1]: the column at that share of all weight
  const int* place_of = nullptr;  // [n]; null: the id itself
  const int* id_at = nullptr;     // [n]; null: the place itself
  struct Window {
    int limit = 0;   // classes are chosen by 16 random bits below it
    int near = -1;   // the distance's bucket, or
    int block = -1;  // log2 of the community's nodes
  };
  Window windows[kMostWindows] = {};
  int window_count = 0;
  int copied = 0, log2_group = 0, log2_pool = 0;
};

namespace standin {

// The last i of [low, high] with sums[i] <= target.
WARPGRADE_HOST_DEVICE inline int find(const u64* sums, int low, int high, u64 target) {
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (sums[middle] <= target)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// In proportion to weights over [low, high]; -1 where they weigh nothing.
WARPGRADE_HOST_DEVICE inline int weighted(const u64* sums, int low, int high, u64 bits) {
  const u64 total = sums[high + 1] - sums[low];
  if (total == 0) return -1;
  return find(sums, low, high, sums[low] + below(bits, total));
}

WARPGRADE_HOST_DEVICE inline int anywhere(const StandInTables& t, u64 bits) {
  const int slot = static_cast<int>(bits >> (64 - kGuideBits));
  return find(t.by_id, t.guide[slot], t.guide[slot + 1], below(bits, t.by_id[t.n]));
}

// At a distance of [2^(bucket - 1), 2^bucket) from `id`; -1 where there is none.
WARPGRADE_HOST_DEVICE inline int nearby(const StandInTables& t, int id, int bucket, bool left, u64 bits) {
  if (bucket == 0) return id;
  const std::int64_t least = std::int64_t{1} << (bucket - 1), most = 2 * least - 1;
  for (int side = 0; side < 2; ++side, left = !left) {
    std::int64_t low = left ? id - most : id + least, high = left ? id - least : id + most;
    if (low < 0) low = 0;
    if (high > t.n - 1) high = t.n - 1;
    if (low > high) continue;
    const int column = weighted(t.by_id, static_cast<int>(low), static_cast<int>(high), bits);
    if (column >= 0) return column;
  }
  return -1;
}

WARPGRADE_HOST_DEVICE inline int in_community(const StandInTables& t, int id, int log2_nodes, u64 bits) {
  const int place = t.place_of != nullptr ? t.place_of[id] : id;
  const int low = place >> log2_nodes << log2_nodes;
  const std::int64_t end = low + (std::int64_t{1} << log2_nodes);
  const int found = weighted(t.by_place, low, static_cast<int>(end < t.n ? end : t.n) - 1, bits);
  return found >= 0 && t.id_at != nullptr ? t.id_at[found] : found;
}

// The column of a draw. `how` chooses the window, `where` the column in it.
WARPGRADE_HOST_DEVICE inline int column_of(const StandInTables& t, int id, u64 how, u64 where) {
  const int chosen = static_cast<int>(how >> 32 & 0xFFFF);
  for (int i = 0; i < t.window_count; ++i) {
    const StandInTables::Window& window = t.windows[i];
    if (chosen >= window.limit) continue;
    const int column = window.near >= 0 ? nearby(t, id, window.near, (how & 1) != 0, where)
                                        : in_community(t, id, window.block, where);
    if (column >= 0) return column;
    break;
  }
  return anywhere(t, where);
}

WARPGRADE_HOST_DEVICE inline u64 row_key(const StandInTables& t, int row) {
  return stream_key(t.seed, 16 + static_cast<u64>(row));
}

// Draw number `counter` of a row, in round `round`.
WARPGRADE_HOST_DEVICE inline int draw_column(const StandInTables& t, int row, u64 key, int round,
                                             u64 counter) {
  u64 how = draw_of(key, 2 * counter), where = draw_of(key, 2 * counter + 1);
  if (round >= kRoundsWithWindows) return anywhere(t, where);
  if (round >= kRoundsWithPools || static_cast<int>(how >> 48) >= t.copied)
    return column_of(t, row, how, where);
  const int group = row >> t.log2_group;
  const u64 pool = stream_key(t.seed, (u64{1} << 40) + static_cast<u64>(group));
  const u64 slot = where >> (64 - t.log2_pool);  // log2_pool is 1 to 30
  how = draw_of(pool, 2 * slot);
  where = draw_of(pool, 2 * slot + 1);
  const std::int64_t middle =
      (static_cast<std::int64_t>(group) << t.log2_group) + (std::int64_t{1} << t.log2_group) / 2;
  return column_of(t, static_cast<int>(middle < t.n ? middle : t.n - 1), how, where);
}

// Where the unused columns start once kRounds are over; `counter` draws were made.
WARPGRADE_HOST_DEVICE inline int fill_from(const StandInTables& t, u64 key, u64 counter) {
  return static_cast<int>(below(draw_of(key, 2 * counter), static_cast<u64>(t.n)));
}

}  // namespace standin
}  // namespace warpgrade::datasets
