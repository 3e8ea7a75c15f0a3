#include "sampling/oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <thread>

#include "sampling/statistics.h"

namespace warpgrade::sampling {
namespace {

std::string text(const char* format, auto... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// Wrong samples of one thread's rows, in their order.
struct BadSamples {
  std::int64_t count = 0, never_written = 0;
  std::vector<Mismatch> first;
};

void locate_rows(const GraphView& graph, std::span<const int> nodes, std::span<const int> samples, int poison,
                 std::uint64_t seed, std::int64_t begin, std::int64_t end, Located& run, BadSamples& bad) {
  for (std::int64_t row = begin; row < end; ++row) {
    const int node = nodes[row];
    const unsigned degree = run.degrees[row] = graph.degree(node);
    const int* neighbours = graph.columns.data() + graph.row_offsets[node];
    for (unsigned draw = 0; draw < run.fanout; ++draw) {
      const std::int64_t cell = row * run.fanout + draw;
      Place place;
      if (degree > 0) {
        place = place_of(neighbours, degree, samples[cell], tie_breaker(cell, seed));
      } else if (samples[cell] != kNoSample) {
        place.place = kBadPlace;
      }
      run.places[cell] = place.place;
      run.levels[cell] = place.level;
      if (place.place != kBadPlace) continue;
      ++bad.count;
      if (samples[cell] == poison) ++bad.never_written;
      if (bad.first.size() < kListedMismatches)
        bad.first.push_back({row, static_cast<int>(draw), node, samples[cell], degree});
    }
  }
}

bool is_random(unsigned char level) {
  return level != kNoLevel;
}

void count_cell_pair(unsigned char a, unsigned char b, PairCounts& counts) {
  if (!is_random(a) || !is_random(b)) return;
  constexpr int kShare = kLevels / kPairLevels;
  ++counts.cells[a / kShare * kPairLevels + b / kShare];
}

void count_flat_pairs(const Located& run, const Located& earlier, const Pairing& pairing,
                      PairCounts& counts) {
  const std::uint64_t cells = run.levels.size();
  for (std::uint64_t cell = 0; cell < cells; ++cell) {
    const std::uint64_t partner = cell ^ pairing.flat_mask;
    if (partner >= cells || (!pairing.earlier_run && partner < cell)) continue;
    count_cell_pair(run.levels[cell], earlier.levels[partner], counts);
  }
}

std::string name_of(const Pairing& pairing) {
  if (pairing.flat_mask != 0) return "period";
  if (pairing.earlier_run) return "seeds";
  return pairing.row_mask != 0 ? "rows" : "same_row";
}

std::string describe(const Pairing& pairing) {
  if (pairing.flat_mask != 0)
    return text("draws %llu cells apart", static_cast<unsigned long long>(pairing.flat_mask));
  const std::string apart =
      text("rows i and i ^ %u, draws j and j ^ %u", pairing.row_mask, pairing.draw_mask);
  if (pairing.earlier_run) return "draws of two runs with different seeds (" + apart + ")";
  return pairing.row_mask != 0 ? "draws of different rows (" + apart + ")"
                               : text("draws j and j ^ %u of one row", pairing.draw_mask);
}

// The log tail of dependence alone: KL(pairs || uniform) is KL(pairs || product of the two marginals) and the
// marginals' own KL from uniform, in exact sum.
double log_tail_of_dependence(const PairCounts& counts) {
  std::uint64_t first[kPairLevels] = {}, second[kPairLevels] = {};
  for (int a = 0; a < kPairLevels; ++a) {
    for (int b = 0; b < kPairLevels; ++b) {
      first[a] += counts.cells[a * kPairLevels + b];
      second[b] += counts.cells[a * kPairLevels + b];
    }
  }
  const double divergence = divergence_from_uniform(counts.cells) - divergence_from_uniform(first) -
                            divergence_from_uniform(second);
  return log_tail_of_divergence(divergence, (kPairLevels - 1) * (kPairLevels - 1));
}

Rejection too_even(double log_tail) {
  return {"uniformity",
          text("all parts of the rows are drawn almost equally often: chance would spread them more (chance: "
               "below "
               "1e%.0f)",
               std::ceil(log_tail / std::log(10.0))),
          log_tail};
}

}  // namespace

Located locate(const GraphView& graph, std::span<const int> nodes, unsigned fanout,
               std::span<const int> samples, int poison, std::uint64_t seed, int threads) {
  Located run;
  run.rows = static_cast<std::int64_t>(nodes.size());
  run.fanout = fanout;
  run.degrees.resize(nodes.size());
  run.places.resize(samples.size());
  run.levels.resize(samples.size());
  const std::int64_t part = (run.rows + threads - 1) / std::max(threads, 1);
  std::vector<BadSamples> parts(part == 0 ? 0 : (run.rows + part - 1) / part);
  {
    std::vector<std::jthread> pool;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(i) * part;
      pool.emplace_back([&, i, begin] {
        locate_rows(graph, nodes, samples, poison, seed, begin, std::min(begin + part, run.rows), run,
                    parts[i]);
      });
    }
  }
  for (const BadSamples& bad : parts) {  // in the order of rows, so that the words do not depend on threads
    run.bad_cells += bad.count;
    run.never_written += bad.never_written;
    for (const Mismatch& mismatch : bad.first) {
      if (run.first.size() < kListedMismatches) run.first.push_back(mismatch);
    }
  }
  return run;
}

void LevelCounts::add(const LevelCounts& other) {
  for (int c = 0; c < kDegreeClasses; ++c) {
    for (int level = 0; level < kLevels; ++level) counts[c][level] += other.counts[c][level];
  }
}

void count_levels(const Located& run, LevelCounts& counts) {
  for (std::int64_t row = 0; row < run.rows; ++row) {
    if (run.degrees[row] < 2) continue;
    std::uint64_t* line = counts.counts[std::bit_width(run.degrees[row]) - 1];
    for (unsigned draw = 0; draw < run.fanout; ++draw) {
      const unsigned char level = run.levels[row * run.fanout + draw];
      if (is_random(level)) ++line[level];
    }
  }
}

void count_pairs(const Located& run, const Located& earlier, const Pairing& pairing, PairCounts& counts) {
  if (pairing.flat_mask != 0) return count_flat_pairs(run, earlier, pairing, counts);
  for (std::int64_t row = 0; row < run.rows; ++row) {
    const std::int64_t other_row = row ^ pairing.row_mask;
    if (other_row >= run.rows || (!pairing.earlier_run && other_row < row)) continue;
    const unsigned degree = run.degrees[row];
    const bool comparable = degree > 1 && degree == earlier.degrees[other_row];
    for (unsigned draw = 0; draw < run.fanout; ++draw) {
      const unsigned other_draw = draw ^ pairing.draw_mask;
      if (other_draw >= run.fanout) continue;
      if (!pairing.earlier_run && pairing.row_mask == 0 && other_draw < draw) continue;
      const std::int64_t cell = row * run.fanout + draw, partner = other_row * run.fanout + other_draw;
      count_cell_pair(run.levels[cell], earlier.levels[partner], counts);
      if (!comparable) continue;
      ++counts.comparable;
      counts.equal += run.places[cell] == earlier.places[partner] ? 1 : 0;
      counts.expected_equal += 1.0 / degree;
    }
  }
}

// Beside the powers of two: of cells 3, 5, 6 or 7 apart a quarter or more are paired so.
constexpr unsigned kNearMasks[] = {3, 5, 6, 7};

std::vector<Pairing> pairings_of_a_run(std::int64_t rows, unsigned fanout) {
  std::vector<Pairing> pairings;
  for (const unsigned mask : kNearMasks) {
    if (mask < fanout) pairings.push_back({.draw_mask = mask});
    if (mask < rows) pairings.push_back({.row_mask = mask});
  }
  for (unsigned mask = 1; mask < fanout; mask *= 2) pairings.push_back({.draw_mask = mask});
  for (std::int64_t mask = 1; mask < rows; mask *= 2)
    pairings.push_back({.row_mask = static_cast<unsigned>(mask)});
  // Draw j + 1 of row i is draw j of row i + 1 where a generator's counter is i + j.
  if (rows > 1 && fanout > 1) {
    for (const auto& [row, draw] : {std::pair(1u, 1u), std::pair(1u, 2u), std::pair(2u, 1u)})
      pairings.push_back({.row_mask = row, .draw_mask = draw});
  }
  const auto cells = static_cast<std::uint64_t>(rows) * fanout;
  for (std::uint64_t mask = 64; mask < cells; mask *= 2) pairings.push_back({.flat_mask = mask});
  return pairings;
}

std::vector<Pairing> pairings_of_two_runs() {
  return {{.earlier_run = true}, {.earlier_run = true, .draw_mask = 1}, {.earlier_run = true, .row_mask = 1}};
}

std::optional<Rejection> judge_levels(const LevelCounts& counts) {
  // Classes are independent of each other: their statistics add up, and so do their degrees of freedom.
  double sum = 0, least_tail = 0, even_tail = 0;
  int classes = 0, worst = 0;
  std::uint64_t all[kLevels] = {};
  for (int c = 0; c < kDegreeClasses; ++c) {
    const double divergence = divergence_from_uniform(counts.counts[c]);
    if (std::all_of(counts.counts[c], counts.counts[c] + kLevels, [](std::uint64_t n) { return n == 0; }))
      continue;
    sum += divergence;
    ++classes;
    even_tail = std::min(even_tail, log_tail_of_evenness(counts.counts[c]));
    for (int level = 0; level < kLevels; ++level) all[level] += counts.counts[c][level];
    const double log_tail = log_tail_of_divergence(divergence, kLevels - 1);
    if (log_tail > least_tail) continue;
    least_tail = log_tail;
    worst = c;
  }
  if (classes == 0) return std::nullopt;
  even_tail = std::min(even_tail, log_tail_of_evenness(all));
  const double all_tail = log_tail_of_divergence(sum, classes * (kLevels - 1));
  if (rejects(even_tail)) return too_even(even_tail);
  if (!rejects(least_tail) && !rejects(all_tail)) return std::nullopt;
  const std::uint64_t* line = counts.counts[worst];
  const auto most = std::max_element(line, line + kLevels) - line;
  double total = 0;
  for (int level = 0; level < kLevels; ++level) total += static_cast<double>(line[level]);
  const double log_tail = std::min(least_tail, all_tail);
  return Rejection{
      "uniformity",
      text("neighbours are not equally likely: in rows of %llu to %llu neighbours, of %.0f draws "
           "the part of the row from %d/64 to %d/64 got %.2f times its share (chance: below 1e%.0f)",
           1ull << worst, (2ull << worst) - 1, total, static_cast<int>(most), static_cast<int>(most) + 1,
           static_cast<double>(line[most]) * kLevels / total, std::ceil(log_tail / std::log(10.0))),
      log_tail};
}

std::optional<Rejection> judge_pairs(const Pairing& pairing, const PairCounts& counts) {
  const double levels_tail =
      log_tail_of_divergence(divergence_from_uniform(counts.cells), kPairLevels * kPairLevels - 1);
  const double equal_tail = log_tail_of_hits(static_cast<double>(counts.equal),
                                             static_cast<double>(counts.comparable), counts.expected_equal);
  if (!rejects(levels_tail) && !rejects(equal_tail)) return std::nullopt;
  Rejection rejection{name_of(pairing), describe(pairing), std::min(levels_tail, equal_tail),
                      std::min(log_tail_of_dependence(counts), equal_tail)};
  if (equal_tail <= levels_tail) {
    rejection.what += text(": %llu of %llu pairs took the same neighbour, %.1f expected",
                           static_cast<unsigned long long>(counts.equal),
                           static_cast<unsigned long long>(counts.comparable), counts.expected_equal);
  } else {
    rejection.what += ": positions in the row are correlated";
  }
  rejection.what += text(" (chance: below 1e%.0f)", std::ceil(rejection.log_tail / std::log(10.0)));
  return rejection;
}

std::optional<Rejection> explain(const std::optional<Rejection>& levels,
                                 const std::vector<Rejection>& pairs) {
  const auto evidence = [&](const Rejection& pair) { return levels ? pair.beyond_uneven : pair.log_tail; };
  const auto strongest =
      std::min_element(pairs.begin(), pairs.end(),
                       [&](const Rejection& a, const Rejection& b) { return evidence(a) < evidence(b); });
  if (strongest == pairs.end() || (levels && levels->log_tail <= evidence(*strongest))) return levels;
  return *strongest;
}

}  // namespace warpgrade::sampling
