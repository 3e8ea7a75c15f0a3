#include "sampling/far.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "sampling/spectrum.h"
#include "sampling/statistics.h"
#include "sampling/tasks.h"

namespace warpgrade::sampling {
namespace {

constexpr std::uint64_t kFewestPairs = 256;  // of fewer nothing can be told at this rate of false alarms

std::string far_text(const char* format, auto... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

// The checker's own random numbers.
class Chooser {
 public:
  explicit Chooser(std::uint64_t seed) : seed_(seed) {}
  // In [0, range).
  std::uint64_t below(std::uint64_t range) {
    return range == 0 ? 0 : (static_cast<std::uint64_t>(word()) << 32 | word()) % range;
  }
  // In [1, most]: each power of two is as likely as the next one.
  std::uint64_t log_uniform(std::uint64_t most) {
    const double exponent = std::log2(static_cast<double>(most) + 1) * word() / 4294967296.0;
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::exp2(exponent)), 1, most);
  }

 private:
  std::uint32_t word() { return tie_breaker(next_++, seed_); }
  std::uint64_t seed_, next_ = 0;
};

class Plan {
 public:
  Plan(std::int64_t rows, unsigned fanout, std::uint64_t seed)
      : choose_(seed), rows_(static_cast<std::uint64_t>(rows)), fanout_(fanout), cells_(rows_ * fanout) {}

  FarTests made;

  void near_lags(std::uint64_t most) {
    for (std::uint64_t distance = 1; distance <= most; ++distance)
      lag(static_cast<std::int64_t>(distance), false);
  }
  void random_lags(int log_uniform, int uniform, int of_rows) {
    if (cells_ < 2) return;
    for (int i = 0; i < log_uniform; ++i)
      lag(static_cast<std::int64_t>(choose_.log_uniform(cells_ - 1)), false);
    for (int i = 0; i < uniform; ++i) lag(static_cast<std::int64_t>(1 + choose_.below(cells_ - 1)), false);
    for (int i = 0; i < of_rows && rows_ > 1; ++i) {
      const auto rows = static_cast<std::int64_t>(choose_.log_uniform(rows_ - 1) * fanout_);
      lag(rows + static_cast<std::int64_t>(choose_.below(4)), false);
    }
  }
  void lags_of_two_runs(int count) {
    if (cells_ < 2) return;
    for (int i = 0; i < count; ++i) {
      const auto distance = static_cast<std::int64_t>(choose_.log_uniform(cells_ - 1));
      lag(choose_.below(2) == 0 ? distance : -distance, true);
    }
  }
  // Consecutive draws, the same draw of three rows, two large powers of two, and any. A congruence modulo 2^m
  // has a constant second difference from some power of two on, so the large ones stand for all.
  void all_triples(int random) {
    triple(1, 2);
    triple(fanout_, 2ull * fanout_);
    const std::uint64_t largest = std::bit_floor(cells_ * 3 / 8);
    triple(largest, 2 * largest);
    triple(largest / 2, largest);
    random_triples(random);
  }
  void random_triples(int count) {
    for (int i = 0; i < count && cells_ > 4; ++i) {
      const std::uint64_t first = choose_.log_uniform(cells_ / 2);
      switch (choose_.below(3)) {
        case 0:
          triple(first, first + choose_.log_uniform(cells_ / 2));
          break;
        case 1:
          triple(first, 2 * first);
          break;
        default:
          triple(std::bit_floor(first), 2 * std::bit_floor(first));
      }
    }
  }
  // The looked-for block begins anywhere in this part of the run.
  struct Part {
    double from, to;
  };
  void search(int plane, bool earlier_run, Part part) {
    RepeatSearch search{.plane = plane, .earlier_run = earlier_run, .cells = cells_};
    search.words = static_cast<unsigned>(
        std::min<std::uint64_t>(plane == 0 ? kMostStretchWords / 2 : kMostStretchWords, cells_ / 4 / 32));
    if (search.words * 32ull < kFewestPairs) return;
    const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(cells_)));
    search.block = static_cast<unsigned>(std::clamp<std::uint64_t>(std::bit_floor(root), 64, kMostBlock));
    const std::uint64_t room = cells_ - search.words * 32ull - search.block;
    const auto at = [&](double share) {
      return static_cast<std::uint64_t>(share * static_cast<double>(room));
    };
    search.base = at(part.from) + choose_.below(at(part.to) - at(part.from) + 1);
    made.searches.push_back(search);
  }

 private:
  void lag(std::int64_t distance, bool earlier_run) {
    const auto apart = static_cast<std::uint64_t>(std::abs(distance));
    if (apart >= cells_ || cells_ - apart < kFewestPairs) return;
    const std::uint64_t length = std::min(cells_ - apart, kMostPairs);
    const std::uint64_t begin = choose_.below(cells_ - apart - length + 1) + (distance < 0 ? apart : 0);
    made.lags.push_back({distance, earlier_run, begin, begin + length});
  }
  void triple(std::uint64_t first, std::uint64_t second) {
    if (first == 0 || second <= first || second >= cells_ || cells_ - second < kFewestPairs) return;
    const std::uint64_t length = std::min(cells_ - second, kMostTriples);
    const std::uint64_t begin = choose_.below(cells_ - second - length + 1);
    made.triples.push_back({first, second, begin, begin + length});
  }

  Chooser choose_;
  std::uint64_t rows_, fanout_, cells_;
};

// Walks cells in order and knows each one's row.
struct Walker {
  std::uint64_t fanout, cell, row, left;  // left: cells of this row from this one on
  Walker(const Located& run, std::uint64_t begin)
      : fanout(run.fanout), cell(begin), row(begin / fanout), left(fanout - begin % fanout) {}
  void next(std::uint64_t cells = 1) {  // within this row, or to the beginning of the next one
    cell += cells;
    left -= cells;
    if (left > 0) return;
    ++row;
    left = fanout;
  }
};

double log10_bound(double log_tail) {
  return std::ceil(log_tail / std::log(10.0));
}

// The bits of the stretch that begins at a cell, two words of 32 in one.
std::vector<std::uint64_t> stretch_at(const std::vector<std::uint32_t>& bits, std::uint64_t cell,
                                      unsigned words) {
  std::vector<std::uint64_t> stretch((words + 1) / 2);
  const auto word = [&](std::uint64_t at) -> std::uint64_t { return at < bits.size() ? bits[at] : 0; };
  for (unsigned w = 0; w < words; ++w) {
    const std::uint64_t at = cell / 32 + w, shift = cell % 32;
    const std::uint64_t value = ((word(at + 1) << 32 | word(at)) >> shift) & 0xFFFFFFFFull;
    stretch[w / 2] |= value << (w % 2 * 32);
  }
  return stretch;
}

#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target_clones("popcnt", "default")]]
#endif
int differing_bits(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
  int differ = 0;
  for (std::size_t w = 0; w < words; ++w) differ += __builtin_popcountll(a[w] ^ b[w]);
  return differ;
}

}  // namespace

FarTests far_tests(std::int64_t rows, unsigned fanout, std::uint64_t seed, FarDepth depth, bool earlier_run) {
  Plan plan(rows, fanout, seed);
  // From near the beginning every distance within a run is reached; from the middle those to another run
  // in both directions.
  constexpr Plan::Part kBegin{0, 1.0 / 16}, kMiddle{3.0 / 8, 5.0 / 8}, kAnywhere{0, 1};
  switch (depth) {
    case FarDepth::kFirst:
      plan.near_lags(6);
      plan.random_lags(3, 3, 3);
      plan.all_triples(2);
      plan.search(0, false, kBegin);
      plan.search(0, false, kAnywhere);
      plan.search(1, false, kBegin);
      break;
    case FarDepth::kSecond:
      plan.random_lags(1, 1, 1);
      plan.random_triples(1);
      if (!earlier_run) break;
      plan.lags_of_two_runs(2);
      plan.search(0, true, seed % 4 == 1 ? kAnywhere : kMiddle);
      if (seed % 4 == 0) plan.search(1, true, kMiddle);
      break;
    case FarDepth::kTimed:
      plan.random_lags(1, 1, 1);
      plan.random_triples(1);
      if (earlier_run) plan.lags_of_two_runs(1);
      // One repetition in sixteen looks for stretches that occur twice.
      for (int plane = 0; seed % 16 == 0 && plane < kPlanes; ++plane) plan.search(plane, false, kBegin);
      break;
  }
  return plan.made;
}

void count_lag(const Located& run, const Located& earlier, const Lag& lag, LagCounts& counts) {
  const Located& other = lag.earlier_run ? earlier : run;
  Walker cell(run, lag.begin);
  Walker partner(other, static_cast<std::uint64_t>(static_cast<std::int64_t>(lag.begin) + lag.distance));
  while (cell.cell < lag.end) {
    // Cells of one row whose partners are of one row as well.
    const std::uint64_t length = std::min({cell.left, partner.left, lag.end - cell.cell});
    const unsigned degree = run.degrees[cell.row];
    const bool comparable = degree == other.degrees[partner.row];
    std::uint64_t random = 0, equal = 0;
    for (std::uint64_t i = 0; i < length; ++i) {
      const unsigned char a = run.levels[cell.cell + i], b = other.levels[partner.cell + i];
      if (a == kNoLevel || b == kNoLevel) continue;
      ++counts.joint[a * kLevels + b];
      ++random;
      if (comparable) equal += run.places[cell.cell + i] == other.places[partner.cell + i] ? 1 : 0;
    }
    if (comparable && random > 0) {
      counts.comparable += random;
      counts.equal += equal;
      counts.expected_equal += static_cast<double>(random) / degree;
    }
    cell.next(length);
    partner.next(length);
  }
}

void count_triple(const Located& run, const Triple& triple, TripleCounts& counts) {
  constexpr int kShare = kLevels / kTripleLevels;
  for (std::uint64_t cell = triple.begin; cell < triple.end; ++cell) {
    const unsigned char a = run.levels[cell], b = run.levels[cell + triple.first],
                        c = run.levels[cell + triple.second];
    if (a == kNoLevel || b == kNoLevel || c == kNoLevel) continue;
    ++counts.joint[(a / kShare * kTripleLevels + b / kShare) * kTripleLevels + c / kShare];
  }
}

std::vector<std::uint32_t> bits_of(const Located& run, int plane, std::uint64_t seed) {
  std::vector<std::uint32_t> bits((run.levels.size() + 31) / 32);
  for (Walker at(run, 0); at.cell < run.levels.size(); at.next()) {
    bits[at.cell / 32] |= plane_bit(plane, run.degrees[at.row], run.places[at.cell], run.levels[at.cell],
                                    tie_breaker(at.cell, seed))
                          << (at.cell % 32);
  }
  return bits;
}

std::uint64_t search_repeats(const std::vector<std::uint32_t>& run, const std::vector<std::uint32_t>& earlier,
                             const RepeatSearch& search) {
  const std::vector<std::uint32_t>& source = search.earlier_run ? earlier : run;
  const std::size_t length = (search.words + 1) / 2;
  std::vector<std::uint64_t> babies;  // [block, length]
  for (unsigned baby = 0; baby < search.block; ++baby) {
    const auto stretch = stretch_at(source, search.base + baby, search.words);
    babies.insert(babies.end(), stretch.begin(), stretch.end());
  }
  std::uint64_t best = 0;
  for (std::uint64_t giant = 0; giant < search.giants(); ++giant) {
    const auto stretch = stretch_at(run, giant * search.block, search.words);
    for (unsigned baby = 0; baby < search.block; ++baby) {
      if (!search.earlier_run && giant * search.block == search.base + baby) continue;
      const int agreement = static_cast<int>(search.words) * 32 -
                            differing_bits(stretch.data(), babies.data() + baby * length, length);
      best = std::max(best, repeat_key(agreement, search.words, giant, baby));
    }
  }
  return best;
}

std::optional<Rejection> judge_lag(const Lag& lag, unsigned fanout, const LagCounts& counts,
                                   double candidates) {
  std::uint64_t differences[kLevels] = {};
  for (int a = 0; a < kLevels; ++a) {
    for (int b = 0; b < kLevels; ++b) differences[(b - a) & (kLevels - 1)] += counts.joint[a * kLevels + b];
  }
  const double chosen = std::log(candidates);
  const double difference_tail =
      log_tail_of_divergence(divergence_from_uniform(differences), kLevels - 1) + chosen;
  const double equal_tail = log_tail_of_hits(static_cast<double>(counts.equal),
                                             static_cast<double>(counts.comparable), counts.expected_equal) +
                            chosen;
  const Form form = strongest_form(counts);
  const double form_tail = form.log_tail + chosen;
  const double log_tail = std::min({difference_tail, equal_tail, form_tail});
  if (!rejects(log_tail)) return std::nullopt;
  const auto apart = static_cast<unsigned long long>(std::abs(lag.distance));
  const bool same_row = !lag.earlier_run && apart < fanout;
  Rejection rejection{lag.earlier_run ? "seeds" : same_row ? "same_row" : "period", {}, log_tail, log_tail};
  rejection.what = lag.earlier_run
                       ? far_text("draws of two runs with different seeds, %llu cells apart", apart)
                       : far_text("draws %llu cells apart", apart);
  if (equal_tail == log_tail) {
    rejection.what += far_text(": %llu of %llu pairs took the same neighbour, %.1f expected",
                               static_cast<unsigned long long>(counts.equal),
                               static_cast<unsigned long long>(counts.comparable), counts.expected_equal);
  } else if (form_tail == log_tail) {
    rejection.what += far_text(": %d x + %d y of their positions x and y is not uniform",
                               form.coefficients[0], form.coefficients[1]);
  } else {
    rejection.what += ": the difference of their positions in the rows is not uniform";
  }
  rejection.what += far_text(" (chance: below 1e%.0f)", log10_bound(log_tail));
  return rejection;
}

std::optional<Rejection> judge_triple(const Triple& triple, const TripleCounts& counts) {
  const Form form = strongest_form(counts);
  if (!rejects(form.log_tail)) return std::nullopt;
  return Rejection{
      "lattice",
      far_text("positions x, y, z of draws 0, %llu and %llu cells on lie in planes: %d x + %d y + %d z is "
               "not uniform (chance: below 1e%.0f)",
               static_cast<unsigned long long>(triple.first), static_cast<unsigned long long>(triple.second),
               form.coefficients[0], form.coefficients[1], form.coefficients[2], log10_bound(form.log_tail)),
      form.log_tail, form.log_tail};
}

std::optional<Rejection> judge_repeat(const RepeatSearch& search, std::uint64_t key) {
  const Repeat repeat = repeat_of(key, search);
  const double bits = search.words * 32.0;
  const double pairs = static_cast<double>(search.giants()) * search.block;
  const double log_tail = log_tail_of_hits(bits / 2 + repeat.deviation, bits, bits / 2) + std::log(pairs);
  if (!rejects(log_tail)) return std::nullopt;
  const auto at = static_cast<unsigned long long>(repeat.giant),
             earlier = static_cast<unsigned long long>(repeat.baby);
  const char* where = search.earlier_run ? "of the run with another seed" : "of the same run";
  return Rejection{
      search.earlier_run ? "seeds" : "period",
      far_text("the %.0f draws from cell %llu on depend on those from cell %llu on %s: %.0f %% agree in one "
               "bit, 50 %% expected (chance: below 1e%.0f)",
               bits, at, earlier, where, 50 + 100 * repeat.deviation / bits, log10_bound(log_tail)),
      log_tail, log_tail};
}

Lag lag_of_repeat(const RepeatSearch& search, std::uint64_t key) {
  const Repeat repeat = repeat_of(key, search);
  const std::int64_t distance =
      static_cast<std::int64_t>(repeat.baby) - static_cast<std::int64_t>(repeat.giant);
  Lag lag{.distance = search.earlier_run ? distance : std::abs(distance), .earlier_run = search.earlier_run};
  const auto apart = static_cast<std::uint64_t>(std::abs(lag.distance));
  lag.begin = lag.distance < 0 ? apart : 0;
  lag.end = lag.begin + std::min(search.cells - apart, kMostPairs);
  return lag;
}

double lag_candidates(const RepeatSearch& search) {
  return 2.0 * static_cast<double>(search.cells);
}

std::vector<Rejection> run_far_tests(FarCounter& counter, const FarTests& tests, unsigned fanout,
                                     std::uint64_t seed) {
  using Found = std::vector<std::optional<Rejection>>;
  const std::size_t lags = tests.lags.size(), triples = tests.triples.size();
  std::vector<Found> found(lags + triples + tests.searches.size());
  // The searches take longest and begin first.
  for_each_task(found.size(), counter.threads(), [&](std::size_t task) {
    const std::size_t number = found.size() - 1 - task;
    if (number < lags) {
      const Lag& lag = tests.lags[number];
      found[number] = {judge_lag(lag, fanout, counter.lag(lag))};
    } else if (number < lags + triples) {
      const Triple& triple = tests.triples[number - lags];
      found[number] = {judge_triple(triple, counter.triple(triple))};
    } else {
      const RepeatSearch& search = tests.searches[number - lags - triples];
      const std::uint64_t key = counter.repeats(search, seed);
      found[number] = {judge_repeat(search, key)};
      const Lag lag = lag_of_repeat(search, key);
      if (lag.earlier_run || lag.distance != 0)
        found[number].push_back(judge_lag(lag, fanout, counter.lag(lag), lag_candidates(search)));
    }
  });
  std::vector<Rejection> rejected;
  for (const Found& of_test : found) {
    for (const std::optional<Rejection>& rejection : of_test) {
      if (rejection) rejected.push_back(*rejection);
    }
  }
  return rejected;
}

int tail_bounds_of(const FarTests& tests) {
  constexpr int kOfALag = 3, kOfATriple = 1, kOfASearch = 1 + kOfALag;
  return static_cast<int>(tests.lags.size()) * kOfALag + static_cast<int>(tests.triples.size()) * kOfATriple +
         static_cast<int>(tests.searches.size()) * kOfASearch;
}

}  // namespace warpgrade::sampling
