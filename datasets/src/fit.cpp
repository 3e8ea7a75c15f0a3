#include "warpgrade/datasets/fit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_set>

#include "counter_random.h"
#include "fit_search.h"
#include "standin_tables.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

struct Pattern {
  std::span<const int> row_offsets, columns;
  int rows() const { return static_cast<int>(row_offsets.size()) - 1; }
};

int share(double value) {
  return static_cast<int>(std::lround(std::clamp(value, 0.0, 1.0) * kWholeShare));
}

std::size_t bucket_of(std::int64_t distance) {
  return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(std::abs(distance))));
}

std::vector<int> row_of_entries(const Pattern& a) {
  std::vector<int> rows(a.columns.size());
  for (int row = 0; row < a.rows(); ++row)
    std::fill(rows.begin() + a.row_offsets[row], rows.begin() + a.row_offsets[row + 1], row);
  return rows;
}

// Shares of distances when the row of one entry meets the column of another: what degrees alone make.
std::vector<double> chance_distances(const Pattern& a, const std::vector<int>& rows, std::size_t buckets) {
  constexpr int kPairs = 1 << 18;
  std::vector<double> chance(buckets, 0);
  for (int i = 0; i < kPairs; ++i) {
    const auto at = [&](u64 stream) {
      return static_cast<std::size_t>(below(draw(1, stream, static_cast<u64>(i)), a.columns.size()));
    };
    const std::size_t bucket = bucket_of(std::int64_t{a.columns[at(30)]} - rows[at(31)]);
    if (bucket < buckets) chance[bucket] += 1.0 / kPairs;
  }
  return chance;
}

// What is nearer than chance would have it; the rest of the entries is drawn from everywhere.
void fit_distances(const Pattern& a, const Statistics& real, const std::vector<int>& rows,
                   StandInSpec& spec) {
  const std::vector<double> chance = chance_distances(a, rows, real.distances.size());
  double everywhere = 1;
  for (std::size_t b = 0; b < chance.size(); ++b) {
    if (chance[b] > 0.03) everywhere = std::min(everywhere, real.distances[b] / chance[b]);
  }
  for (std::size_t b = 0; b < chance.size(); ++b)
    spec.near.push_back(share(0.999 * std::max(0.0, real.distances[b] - everywhere * chance[b])));
}

// How alike rows beside each other are: until a thread a row leaves as many lanes idle as in the real graph.
void fit_runs(const Statistics& real, StandInSpec& spec) {
  const auto efficiency = [&](int alike) {
    spec.alike = alike;
    return warp_efficiency_of(HostTables(spec).row_offsets());
  };
  int low = 0, high = kWholeShare;
  if (efficiency(low) >= real.warp_efficiency) {
    spec.alike = 0;
    return;
  }
  while (high - low > 256) {
    const int middle = (low + high) / 2;
    (efficiency(middle) < real.warp_efficiency ? low : high) = middle;
  }
  spec.alike = high;
}

int log2_of_community(const Statistics& real) {
  return std::bit_width(static_cast<std::uint64_t>(real.community_nodes * 4 / 3)) - 1;
}

// Entries within communities that distances do not explain.
void fit_communities(const Pattern& a, const Statistics& real, StandInSpec& spec) {
  if (real.community == 0) return;
  const std::vector<int> labels = labels_of(a.row_offsets, a.columns);
  double unexplained = 0, near = 0;
  for (int row = 0; row < a.rows(); ++row) {
    for (int i = a.row_offsets[row]; i < a.row_offsets[row + 1]; ++i) {
      if (labels[row] != labels[a.columns[i]]) continue;
      const std::size_t bucket = bucket_of(std::int64_t{a.columns[i]} - row);
      unexplained += 1 - std::min(1.0, spec.near[bucket] / (kWholeShare * real.distances[bucket]));
    }
  }
  for (const int bucket : spec.near) near += static_cast<double>(bucket) / kWholeShare;
  const double extra = std::min(unexplained / static_cast<double>(real.nnz), 0.999 - near);
  if (extra > 0.01) spec.communities = {{log2_of_community(real), share(extra)}};
}

// Communities of neighbouring ids: they take over from the distances what they make of them.
void lay_side_by_side(const Statistics& real, StandInSpec& spec) {
  const int log2_nodes = log2_of_community(real);
  if (real.community_nodes < 8) return;
  const double size = std::exp2(log2_nodes);
  // Of two nodes of a block: the chance to be nearer than d is 1 - (1 - d/size)^2.
  const auto nearer = [&](double distance) { return 1 - std::pow(1 - std::min(1.0, distance / size), 2); };
  double taken = real.community;
  std::vector<double> made(spec.near.size(), 0);
  for (std::size_t b = 1; b < spec.near.size(); ++b) {
    made[b] = nearer(std::exp2(b)) - nearer(std::exp2(b) / 2);
    if (made[b] > 0.15) taken = std::min(taken, 1.2 * spec.near[b] / kWholeShare / made[b]);
  }
  if (taken < 0.02) return;
  int left = kWholeShare - share(taken);
  for (std::size_t b = 0; b < spec.near.size(); ++b) {
    spec.near[b] = std::min(left, std::max(0, spec.near[b] - share(taken * made[b])));
    left -= spec.near[b];
  }
  spec.scattered = false;
  spec.communities = {{log2_nodes, share(taken)}};
}

// Distinct columns in groups of 2^log2_group rows, in the mean; groups are sampled.
double distinct_columns(const Pattern& a, int log2_group) {
  const int groups = ((a.rows() - 1) >> log2_group) + 1, step = std::max(1, groups / 2000);
  double sum = 0;
  int count = 0;
  for (int group = 0; group < groups; group += step, ++count) {
    const int begin = group << log2_group, end = std::min(a.rows(), (group + 1) << log2_group);
    std::unordered_set<int> seen(a.columns.begin() + a.row_offsets[begin],
                                 a.columns.begin() + a.row_offsets[end]);
    sum += static_cast<double>(seen.size());
  }
  return sum / count;
}

// log2 of the pool from which `draws` draws find `used` different slots.
int pool_of(double draws, double used) {
  int best = 1;
  for (int log2_pool = 1; log2_pool < 24; ++log2_pool) {
    const double slots = std::exp2(log2_pool);
    if (slots * (1 - std::exp(-draws / slots)) <= std::max(used, 2.0)) best = log2_pool;
  }
  return best;
}

Pattern pattern_of(const Csr& matrix) {
  return {matrix.row_offsets, matrix.columns};
}

// Rows that share columns: the group's size and the share, of a few, whose reuse is nearest to the real one.
void fit_copies(const Pattern& a, const Statistics& real, StandInSpec& spec,
                const std::function<void(const std::string&)>& say) {
  StandInSpec best = spec;
  const Csr plain = generate_standin(spec);
  const Reuse without = reuse_of(plain.cols, plain.columns, INT32_MAX);
  double least = reuse_distance(without, real.reuse);
  if (say) say(fmt::format("no copies: reuse {:.2f} octaves away", least));
  for (const int log2_group : {2, 4, 6, 8, 10}) {
    const double wanted = distinct_columns(a, log2_group),
                 has = distinct_columns(pattern_of(plain), log2_group);
    if (wanted >= 0.97 * has) continue;
    const double entries = std::exp2(log2_group) * real.row_degrees.mean;
    for (const double copied : {0.2, 0.4, 0.6, 0.8, 0.95}) {
      StandInSpec trial = spec;
      trial.copied = share(copied);
      trial.log2_group = log2_group;
      trial.log2_pool = pool_of(copied * entries, wanted - (1 - copied) * has);
      const Csr matrix = generate_standin(trial);
      const double away = reuse_distance(reuse_of(matrix.cols, matrix.columns, INT32_MAX), real.reuse);
      if (away >= 0.98 * least) continue;
      least = away;
      best = trial;
      if (say)
        say(fmt::format("groups of {} rows, {:.0f} % copied, pools of {}: reuse {:.2f} octaves away",
                        1 << log2_group, 100 * copied, 1 << trial.log2_pool, away));
    }
  }
  spec = best;
}

// A search may start where communities take part in nothing yet, and rows share nothing.
void make_searchable(const Statistics& real, StandInSpec& spec) {
  if (spec.communities.empty()) spec.communities = {{std::max(2, log2_of_community(real)), 0}};
  if (spec.log2_pool == 0) {
    spec.log2_group = 4;
    spec.log2_pool = 6;
  }
}

// Communities as strong as the real graph's, at the cost of the distances and of copies, which lead out of
// them: another place to start from.
StandInSpec with_strong_communities(const Statistics& real, StandInSpec spec) {
  int left = kWholeShare * 999 / 1000;
  for (int& bucket : spec.near) {
    bucket /= 2;
    left -= bucket;
  }
  spec.scattered = true;
  spec.copied /= 2;
  spec.communities = {{std::max(2, log2_of_community(real)), std::min(left, share(1.2 * real.community))}};
  return spec;
}

// The best of what follows from the figures, moved until it comes no nearer.
Candidate choose(const Pattern& a, const Statistics& real, const StandInSpec& spec,
                 const std::function<void(const std::string&)>& say) {
  StandInSpec scattered = spec, side_by_side = spec;
  fit_communities(a, real, scattered);
  lay_side_by_side(real, side_by_side);
  std::vector<Candidate> starts;
  for (StandInSpec candidate : {scattered, side_by_side}) {
    if (!starts.empty() && candidate.communities.empty()) continue;
    fit_copies(a, real, candidate, say);
    starts.push_back(evaluate(candidate, real));
    if (say)
      say(fmt::format("communities {}: {:.2f} away", candidate.scattered ? "scattered" : "side by side",
                      starts.back().away));
  }
  if (real.community > 0) starts.push_back(evaluate(with_strong_communities(real, starts[0].spec), real));
  std::optional<Candidate> best;
  SearchEffort effort;
  for (Candidate& start : starts) {
    make_searchable(real, start.spec);
    const Candidate found = search(start, real, 1, effort, say);
    if (say) say(fmt::format("from {:.2f} to {:.2f} away", start.away, found.away));
    if (!best || found.away < best->away) best = found;
  }
  return search(*best, real, 2, effort, say);
}

}  // namespace

double reuse_distance(const Reuse& a, const Reuse& b) {
  const std::size_t buckets = std::max(a.histogram.size(), b.histogram.size());
  double difference = 0, distance = 0;  // what must still move to the right
  for (std::size_t i = 0; i < buckets; ++i) {
    difference += i < a.histogram.size() ? a.histogram[i] : 0;
    difference -= i < b.histogram.size() ? b.histogram[i] : 0;
    distance += std::abs(difference);
  }
  return distance;
}

Fit fit_standin(std::span<const int> row_offsets, std::span<const int> columns, std::uint64_t seed,
                const std::function<void(const std::string&)>& say) {
  const Pattern a{row_offsets, columns};
  if (columns.empty()) throw DatasetError("a matrix without entries has no stand-in");
  const std::vector<int> rows = row_of_entries(a);
  Fit fit;
  fit.real = statistics_of(a.rows(), row_offsets, columns);
  StandInSpec& spec = fit.spec;
  spec.n = a.rows();
  spec.nnz = fit.real.nnz;
  spec.seed = seed;
  std::vector<int> lengths(static_cast<std::size_t>(spec.n)), counts(lengths.size(), 0);
  for (int row = 0; row < spec.n; ++row) lengths[row] = row_offsets[row + 1] - row_offsets[row];
  for (const int column : columns) ++counts[column];
  spec.row_degrees = curve_of(lengths);
  if (!fit.real.symmetric) spec.column_degrees = curve_of(counts);
  fit_runs(fit.real, spec);
  fit_distances(a, fit.real, rows, spec);
  const Candidate best = choose(a, fit.real, spec, say);
  spec = best.spec;
  fit.standin = best.made;
  fit.reuse_distance = reuse_distance(fit.standin.reuse, fit.real.reuse);
  return fit;
}

}  // namespace warpgrade::datasets
