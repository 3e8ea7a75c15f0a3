#include "standin_tables.h"

#include <algorithm>
#include <numeric>

#include "fixed_point.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

constexpr u64 kRankStream = 1, kColumnRankStream = 6, kPlaceStream = 7;  // ranks: 9 and 14 too
constexpr int kWeightBits = 8;                                           // a weight's fraction

// A permutation of [0, n) (Fisher-Yates).
std::vector<int> permutation(int n, u64 seed, u64 stream) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  const u64 key = stream_key(seed, stream);
  for (int i = n - 1; i > 0; --i)
    std::swap(order[i], order[below(draw_of(key, static_cast<u64>(i)), static_cast<u64>(i) + 1)]);
  return order;
}

// The nodes by rank: by the sum of a number of the node's run of ids and one of its own.
std::vector<int> nodes_by_rank(const StandInSpec& spec, u64 stream) {
  if (spec.alike == 0) return permutation(spec.n, spec.seed, stream);
  const u64 own = stream_key(spec.seed, stream), runs = stream_key(spec.seed, stream + 8);
  const auto alike = static_cast<u64>(spec.alike), rest = static_cast<u64>(kWholeShare - spec.alike);
  std::vector<std::pair<u64, int>> keys(static_cast<std::size_t>(spec.n));
  for (int node = 0; node < spec.n; ++node) {
    const u64 of_run = draw_of(runs, static_cast<u64>(node) >> spec.log2_run) >> 17;
    const u64 of_node = draw_of(own, static_cast<u64>(node)) >> 17;
    keys[node] = {alike * of_run + rest * of_node, node};
  }
  std::sort(keys.begin(), keys.end());
  std::vector<int> order(keys.size());
  for (std::size_t rank = 0; rank < keys.size(); ++rank) order[rank] = keys[rank].second;
  return order;
}

// The curve at every rank, times 2^bits.
std::vector<u64> values_of(const DegreeCurve& curve, int n, int bits) {
  std::vector<u64> values(static_cast<std::size_t>(n));
  values[0] = static_cast<u64>(curve.points[0].degree) << bits;
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const auto &from = curve.points[i - 1], &to = curve.points[i];
    const std::int64_t span = to.rank - from.rank, drop = from.degree - to.degree;
    for (std::int64_t rank = from.rank + 1; rank <= to.rank; ++rank) {
      const auto fallen =
          static_cast<u64>((static_cast<u128>(drop * (rank - from.rank)) << bits) / static_cast<u128>(span));
      values[rank] = (static_cast<u64>(from.degree) << bits) - fallen;
    }
  }
  return values;
}

// Row lengths by rank, adding up to nnz exactly: the longest stays, the others are scaled, and what rounding
// leaves goes to them one by one.
std::vector<int> lengths_by_rank(const StandInSpec& spec) {
  std::vector<u64> degrees = values_of(spec.row_degrees, spec.n, kWeightBits);
  const u64 rest = std::accumulate(degrees.begin() + 1, degrees.end(), u64{0});
  std::vector<int> lengths(degrees.size());
  lengths[0] = static_cast<int>(std::min(spec.row_degrees.points[0].degree, spec.nnz));
  const auto cap = static_cast<u64>(std::min<std::int64_t>(spec.n, std::max(lengths[0], 1)));
  std::int64_t left = spec.nnz - lengths[0];
  const auto wanted = static_cast<u64>(left);
  for (std::size_t rank = 1; rank < degrees.size(); ++rank) {
    lengths[rank] =
        rest == 0
            ? 0
            : static_cast<int>(std::min<u64>(cap, static_cast<u64>(u128(wanted) * degrees[rank] / rest)));
    left -= lengths[rank];
  }
  // First rows of the curve's positive part, then any, then beyond the cap where nothing else is possible.
  for (int pass = 0; left > 0; ++pass) {
    const auto most = pass < 64 ? static_cast<int>(cap) : spec.n;
    const std::int64_t step = std::max<std::int64_t>(1, left / spec.n);
    for (std::size_t rank = 0; rank < lengths.size() && left > 0; ++rank) {
      if (lengths[rank] >= most || (pass < 32 && degrees[rank] == 0)) continue;
      const auto more = static_cast<int>(std::min<std::int64_t>(step, most - lengths[rank]));
      lengths[rank] += more;
      left -= more;
    }
  }
  return lengths;
}

}  // namespace

HostTables::HostTables(const StandInSpec& spec) {
  check(spec);
  const auto n = static_cast<std::size_t>(spec.n);
  const std::vector<int> node_of = nodes_by_rank(spec, kRankStream);
  const std::vector<int> lengths = lengths_by_rank(spec);
  std::vector<u64> weights(n);
  row_offsets_.assign(n + 1, 0);
  for (std::size_t rank = 0; rank < n; ++rank) {
    row_offsets_[node_of[rank] + 1] = lengths[rank];
    weights[node_of[rank]] = static_cast<u64>(lengths[rank]) << kWeightBits;
  }
  std::partial_sum(row_offsets_.begin(), row_offsets_.end(), row_offsets_.begin());
  if (!spec.column_degrees.points.empty()) {
    const std::vector<int> column_of = nodes_by_rank(spec, kColumnRankStream);
    const std::vector<u64> by_rank = values_of(spec.column_degrees, spec.n, kWeightBits);
    for (std::size_t rank = 0; rank < n; ++rank) weights[column_of[rank]] = by_rank[rank];
  }
  if (std::all_of(weights.begin(), weights.end(), [](u64 weight) { return weight == 0; }))
    std::fill(weights.begin(), weights.end(), 1);
  by_id_.assign(n + 1, 0);
  std::partial_sum(weights.begin(), weights.end(), by_id_.begin() + 1);
  if (spec.scattered && !spec.communities.empty()) {
    id_at_ = permutation(spec.n, spec.seed, kPlaceStream);
    place_of_.resize(n);
    by_place_.assign(n + 1, 0);
    for (std::size_t place = 0; place < n; ++place) {
      place_of_[id_at_[place]] = static_cast<int>(place);
      by_place_[place + 1] = by_place_[place] + weights[id_at_[place]];
    }
  }
  guide_.resize((std::size_t{1} << kGuideBits) + 1);
  for (u64 slot = 0, at = 0; slot < guide_.size(); ++slot) {
    const auto reach = static_cast<u64>((u128(by_id_[n]) * slot) >> kGuideBits);
    while (at + 1 < n && by_id_[at + 1] <= reach) ++at;
    guide_[slot] = static_cast<int>(at);
  }
  choose_windows(spec);
}

void HostTables::choose_windows(const StandInSpec& spec) {
  view_.n = spec.n;
  view_.seed = spec.seed;
  view_.row_offsets = row_offsets_.data();
  view_.by_id = by_id_.data();
  view_.guide = guide_.data();
  view_.by_place = by_place_.empty() ? by_id_.data() : by_place_.data();
  view_.place_of = place_of_.empty() ? nullptr : place_of_.data();
  view_.id_at = id_at_.empty() ? nullptr : id_at_.data();
  int limit = 0;
  for (std::size_t bucket = 0; bucket < spec.near.size(); ++bucket) {
    if (spec.near[bucket] == 0) continue;
    limit += spec.near[bucket];
    view_.windows[view_.window_count++] = {limit, static_cast<int>(bucket), -1};
  }
  for (const auto& community : spec.communities) {
    if (community.share == 0) continue;
    limit += community.share;
    view_.windows[view_.window_count++] = {limit, -1, community.log2_nodes};
  }
  view_.copied = spec.copied;
  view_.log2_group = spec.log2_group;
  view_.log2_pool = spec.log2_pool;
}

void check(const StandInSpec& spec) {
  if (spec.n < 1 || spec.nnz < 0 || spec.nnz > static_cast<std::int64_t>(spec.n) * spec.n ||
      spec.nnz > INT32_MAX)
    throw DatasetError("a stand-in of {} rows and {} entries is not possible", spec.n, spec.nnz);
  for (const DegreeCurve* curve : {&spec.row_degrees, &spec.column_degrees}) {
    const char* name = curve == &spec.row_degrees ? "row_degrees" : "column_degrees";
    const auto& points = curve->points;
    if (points.empty() && curve == &spec.column_degrees) continue;
    if (points.empty() || points.front().rank != 0 || points.back().rank != spec.n - 1)
      throw DatasetError("{}: expected points from rank 0 to rank {}", name, spec.n - 1);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const bool ordered =
          i == 0 || (points[i].rank > points[i - 1].rank && points[i].degree <= points[i - 1].degree);
      if (!ordered || points[i].degree < 0 || points[i].degree > spec.n)
        throw DatasetError("{}: point {} ({}, {}): expected ascending ranks and falling degrees of 0 to {}",
                           name, i, points[i].rank, points[i].degree, spec.n);
    }
  }
  std::int64_t shares = 0;
  for (const int share : spec.near) shares += share < 0 ? kWholeShare + 1 : share;
  for (const auto& [log2_nodes, share] : spec.communities) {
    shares += share < 0 ? kWholeShare + 1 : share;
    if (log2_nodes < 0 || log2_nodes > 30)
      throw DatasetError("communities: 2^{} nodes; expected an exponent of 0 to 30", log2_nodes);
  }
  if (shares > kWholeShare)
    throw DatasetError("near and communities: expected shares of 0 or more that add up to {} at most",
                       kWholeShare);
  if (spec.near.size() > 31 || spec.communities.size() > 8)
    throw DatasetError("expected at most 31 distances and 8 sizes of communities");
  if (spec.alike < 0 || spec.alike > kWholeShare || spec.log2_run < 0 || spec.log2_run > 30)
    throw DatasetError("alike {}, log2_run {}: expected a share of up to {} and an exponent of up to 30",
                       spec.alike, spec.log2_run, kWholeShare);
  if (spec.copied < 0 || spec.copied > kWholeShare || spec.log2_group < 0 || spec.log2_group > 30 ||
      (spec.copied > 0 && (spec.log2_pool < 1 || spec.log2_pool > 30)))
    throw DatasetError(
        "copied {}, log2_group {}, log2_pool {}: expected a share of up to {}, and exponents of up to 30",
        spec.copied, spec.log2_group, spec.log2_pool, kWholeShare);
}

}  // namespace warpgrade::datasets
