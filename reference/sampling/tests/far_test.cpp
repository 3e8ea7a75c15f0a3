// The tests of far draws, lattices and repeats: generators of known badness are found, honest ones never, and
// the bounds hold against exact tails. Seeds are printed with every failure.
#include "sampling/far.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>

#include "sampling/spectrum.h"
#include "sampling/statistics.h"

namespace warpgrade::sampling {
namespace {

constexpr std::uint64_t kSeed = 20261122;

// A definition of its own: this folder is built and tested without any other of the project.
std::uint64_t splitmix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

enum class Reduction { kMultiply, kRemainder };

// A run of rows of given degrees whose words come one after another; every neighbour is its own place.
struct Shape {
  std::vector<unsigned> degrees;
  unsigned fanout;
  std::uint64_t cells() const { return degrees.size() * fanout; }
};

using Words = std::vector<std::uint32_t>;

Located run_of(const Shape& shape, const Words& words, Reduction reduction, std::uint64_t check_seed) {
  Located run;
  run.rows = static_cast<std::int64_t>(shape.degrees.size());
  run.fanout = shape.fanout;
  run.degrees = shape.degrees;
  for (std::uint64_t cell = 0; cell < shape.cells(); ++cell) {
    const unsigned degree = shape.degrees[cell / shape.fanout];
    if (degree < 2) {
      run.places.push_back(kNoPlace);
      run.levels.push_back(kNoLevel);
      continue;
    }
    const unsigned place =
        reduction == Reduction::kMultiply ? draw_below(words[cell], degree) : words[cell] % degree;
    const std::uint64_t fine = std::uint64_t{place} * kLevels + tie_breaker(cell, check_seed) % kLevels;
    run.places.push_back(static_cast<int>(place));
    run.levels.push_back(static_cast<unsigned char>(fine / degree));
  }
  return run;
}

// Degrees like a social network's: many small, a tail to thousands. `least`: of every row.
Shape power_law(std::size_t rows, unsigned fanout, unsigned least, std::uint64_t seed) {
  Shape shape{{}, fanout};
  std::mt19937_64 random(seed);
  for (std::size_t row = 0; row < rows; ++row) {
    const double u = (static_cast<double>(random() >> 11) + 1) / 9007199254740993.0;
    shape.degrees.push_back(std::min(20000u, static_cast<unsigned>(least * std::pow(u, -0.7))));
  }
  return shape;
}

class HostCounter : public FarCounter {
 public:
  HostCounter(const Located& run, const Located& earlier) : run_(run), earlier_(earlier) {}
  LagCounts lag(const Lag& lag) override {
    LagCounts counts;
    count_lag(run_, earlier_, lag, counts);
    return counts;
  }
  TripleCounts triple(const Triple& triple) override {
    TripleCounts counts;
    count_triple(run_, triple, counts);
    return counts;
  }
  std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) override {
    const auto bits = bits_of(run_, search.plane, seed);
    return search_repeats(bits, search.earlier_run ? bits_of(earlier_, search.plane, ~seed) : bits, search);
  }

 private:
  const Located &run_, &earlier_;
};

// A checked run and one under another seed, as the judge makes them; the words of all rejections.
std::vector<std::string> rejections(const Shape& shape, const std::function<Words(std::uint64_t)>& words,
                                    Reduction reduction, std::uint64_t seed, std::uint64_t other_seed) {
  const Located first = run_of(shape, words(seed), reduction, splitmix(seed)),
                second = run_of(shape, words(other_seed), reduction, splitmix(~other_seed));
  std::vector<std::string> found;
  for (const Located* run : {&first, &second}) {
    LevelCounts levels;
    count_levels(*run, levels);
    if (judge_levels(levels)) found.push_back("uniformity");
  }
  HostCounter alone(first, first), both(second, first);
  const auto keep = [&](const std::vector<Rejection>& rejected) {
    for (const Rejection& rejection : rejected) found.push_back(rejection.test);
  };
  const std::uint64_t hidden = splitmix(seed ^ 0x5eed);
  keep(run_far_tests(alone, far_tests(first.rows, first.fanout, hidden, FarDepth::kFirst, false),
                     shape.fanout, hidden));
  keep(run_far_tests(both, far_tests(first.rows, first.fanout, ~hidden, FarDepth::kSecond, true),
                     shape.fanout, ~hidden));
  return found;
}

// Word `i` of the run under `seed`.
using Generator = std::function<std::uint32_t(std::uint64_t i, std::uint64_t seed)>;

std::function<Words(std::uint64_t)> indexed(const Shape& shape, Generator generator) {
  return [cells = shape.cells(), generator](std::uint64_t seed) {
    Words words(cells);
    for (std::uint64_t i = 0; i < cells; ++i) words[i] = generator(i, seed);
    return words;
  };
}

// One state that goes from cell to cell.
std::function<Words(std::uint64_t)> sequential(const Shape& shape,
                                               std::function<std::uint32_t(std::uint64_t&)> step) {
  return [cells = shape.cells(), step](std::uint64_t seed) {
    std::uint64_t state = seed;
    Words words(cells);
    for (auto& word : words) word = step(state);
    return words;
  };
}

std::uint32_t mixed(std::uint64_t i, std::uint64_t seed) {
  return static_cast<std::uint32_t>(splitmix(splitmix(seed) + i * 0x9E3779B97F4A7C15ull) >> 32);
}

void expect_found(const Shape& shape, const std::function<Words(std::uint64_t)>& words,
                  const std::string& test, const std::string& name,
                  Reduction reduction = Reduction::kMultiply, std::uint64_t other_seed = kSeed + 1) {
  const auto found = rejections(shape, words, reduction, kSeed, other_seed);
  EXPECT_TRUE(std::find(found.begin(), found.end(), test) != found.end())
      << name << ", seed " << kSeed << ": not found by " << test << ", but by " << found.size() << " tests"
      << (found.empty() ? "" : ", the first " + found.front());
}

// ---- what is found ----

TEST(Repeats, of_any_period_up_to_nearly_the_length_are_found) {
  const Shape shape = power_law(4000, 10, 4, kSeed);
  std::mt19937_64 random(kSeed);
  std::vector<std::uint64_t> periods = {64, 101, 1000, 4099, 8191, 12289, 16411, 19997, 20000, 30011};
  for (int i = 0; i < 6; ++i) periods.push_back(64 + random() % (shape.cells() / 2 - 64));
  for (const std::uint64_t period : periods) {
    expect_found(
        shape,
        indexed(shape, [period](std::uint64_t i, std::uint64_t seed) { return mixed(i % period, seed); }),
        "period", "period " + std::to_string(period));
  }
}

TEST(Repeats, are_found_where_words_are_reduced_by_a_remainder) {
  const Shape shape = power_law(4000, 10, 4, kSeed);
  for (const std::uint64_t period : {101, 4099, 19997}) {
    expect_found(
        shape,
        indexed(shape, [period](std::uint64_t i, std::uint64_t seed) { return mixed(i % period, seed); }),
        "period", "period " + std::to_string(period), Reduction::kRemainder);
  }
}

TEST(Repeats, are_found_in_rows_of_few_neighbours) {
  Shape shape{std::vector<unsigned>(9000), 10};
  for (std::size_t row = 0; row < shape.degrees.size(); ++row) shape.degrees[row] = 1 + row % 5;
  expect_found(shape,
               indexed(shape, [](std::uint64_t i, std::uint64_t seed) { return mixed(i % 40009, seed); }),
               "period", "period 40009");
}

TEST(Repeats, in_a_part_of_the_run_alone_are_found) {
  const Shape shape = power_law(20000, 10, 8, kSeed);
  // The first half is honest, the second repeats it 77,777 cells later.
  expect_found(shape,
               indexed(shape, [](std::uint64_t i,
                                 std::uint64_t seed) { return mixed(i < 100000 ? i : i - 77777, seed); }),
               "period", "a second half");
}

TEST(Repeats, of_another_seed_s_words_at_any_distance_are_found) {
  const Shape shape = power_law(20000, 10, 8, kSeed);
  expect_found(
      shape,
      indexed(shape, [](std::uint64_t i, std::uint64_t seed) { return mixed(i + (seed & 1) * 54321, 5); }),
      "seeds", "a seed that moves the counter");
}

TEST(Lattice, of_linear_congruences_is_found) {
  const Shape shape = power_law(20000, 10, 100, kSeed);
  expect_found(shape,
               sequential(shape,
                          [](std::uint64_t& x) {
                            x = (65539 * (x | 1)) & 0x7FFFFFFF;
                            return static_cast<std::uint32_t>(x << 1);
                          }),
               "lattice", "RANDU");
  expect_found(shape,
               sequential(shape,
                          [](std::uint64_t& x) {
                            x = (1103515245 * x + 12345) & 0x7FFFFFFF;
                            return static_cast<std::uint32_t>(x << 1);
                          }),
               "lattice", "modulus 2^31");
  expect_found(shape,
               sequential(shape,
                          [](std::uint64_t& x) {
                            x = (1664525 * x + 1013904223) & 0xFFFFFFFF;
                            return static_cast<std::uint32_t>(x);
                          }),
               "lattice", "modulus 2^32");
}

TEST(Lattice, of_a_congruence_started_in_every_thread_is_found) {
  const Shape shape = power_law(20000, 10, 100, kSeed);
  expect_found(shape,
               indexed(shape,
                       [](std::uint64_t i, std::uint64_t seed) {
                         return static_cast<std::uint32_t>((48271 * ((i + seed) % 0x7FFFFFFF) % 0x7FFFFFFF)
                                                           << 1);
                       }),
               "period", "minimal standard, one step from the cell's number");
}

TEST(FarTests, find_sequences_that_are_too_regular) {
  const Shape shape = power_law(8000, 10, 200, kSeed);
  const auto van_der_corput = [](std::uint64_t i, std::uint64_t seed) {
    std::uint32_t x = static_cast<std::uint32_t>(i), reversed = 0;
    for (int bit = 0; bit < 32; ++bit, x >>= 1) reversed = reversed << 1 | (x & 1);
    return reversed + static_cast<std::uint32_t>(splitmix(seed));
  };
  expect_found(shape, indexed(shape, van_der_corput), "same_row", "van der Corput");
  expect_found(shape,
               indexed(shape,
                       [](std::uint64_t i, std::uint64_t seed) {
                         return static_cast<std::uint32_t>(i * 2654435769u + splitmix(seed));
                       }),
               "same_row", "a multiple of the golden ratio");
  // A permuted counter: every 2^32 / cells once.
  const std::uint64_t cells = shape.cells();
  expect_found(
      shape,
      [cells](std::uint64_t seed) {
        Words words(cells);
        for (std::uint64_t i = 0; i < cells; ++i) words[i] = static_cast<std::uint32_t>((i << 32) / cells);
        std::mt19937_64 random(seed);
        std::shuffle(words.begin(), words.end(), random);
        return words;
      },
      "uniformity", "a permuted counter");
}

TEST(FarTests, find_generators_that_wear_out) {
  const Shape shape = power_law(8000, 10, 20, kSeed);
  expect_found(shape,
               indexed(shape, [](std::uint64_t i, std::uint64_t seed) { return mixed(i & 0xFFFF, seed); }),
               "period", "the counter's low 16 bits");
  expect_found(shape,
               sequential(shape,
                          [](std::uint64_t& x) {
                            x = (x & 0xFFFFFFFF) * (x & 0xFFFFFFFF) >> 16;
                            return static_cast<std::uint32_t>(x);
                          }),
               "period", "middle square");
}

TEST(FarTests, find_seeds_that_differ_too_little) {
  const Shape shape = power_law(8000, 10, 20, kSeed);
  expect_found(shape, indexed(shape, [](std::uint64_t i, std::uint64_t seed) { return mixed(i, seed >> 4); }),
               "seeds", "the low four bits of the seed are lost", Reduction::kMultiply, kSeed ^ 1);
  expect_found(
      shape,
      indexed(shape, [](std::uint64_t i,
                        std::uint64_t seed) { return mixed(i, 0) + static_cast<std::uint32_t>(seed) * 7; }),
      "seeds", "the seed is added to the words", Reduction::kMultiply, kSeed ^ 1);
}

// ---- what is not ----

struct Xorwow {
  std::uint32_t s[5], d;
  explicit Xorwow(std::uint64_t seed) : d(static_cast<std::uint32_t>(splitmix(seed + 9))) {
    for (int i = 0; i < 5; ++i) s[i] = static_cast<std::uint32_t>(splitmix(seed + i)) | 1;
  }
  std::uint32_t operator()() {
    const std::uint32_t t = s[0] ^ (s[0] >> 2);
    std::copy(s + 1, s + 5, s);
    s[4] = (s[4] ^ (s[4] << 4)) ^ (t ^ (t << 1));
    d += 362437;
    return s[4] + d;
  }
};

std::vector<std::pair<std::string, std::function<std::function<Words(std::uint64_t)>(const Shape&)>>>
honest() {
  const auto by_index = [](Generator generator) {
    return [generator](const Shape& shape) { return indexed(shape, generator); };
  };
  return {
      {"splitmix", by_index(mixed)},
      {"philox", by_index([](std::uint64_t i, std::uint64_t seed) {
         const PhiloxWords words = philox(i / 4, seed);
         return i % 4 == 0 ? words.x : i % 4 == 1 ? words.y : i % 4 == 2 ? words.z : words.w;
       })},
      {"a hash of cell and seed", by_index([](std::uint64_t i, std::uint64_t seed) {
         return static_cast<std::uint32_t>(splitmix(i ^ splitmix(seed)));
       })},
      {"xorwow, one a row",
       [](const Shape& shape) {
         return [shape](std::uint64_t seed) {
           Words words;
           for (std::size_t row = 0; row < shape.degrees.size(); ++row) {
             Xorwow generator(splitmix(seed) + row * 1000003);
             for (unsigned j = 0; j < shape.fanout; ++j) words.push_back(generator());
           }
           return words;
         };
       }},
      {"pcg32",
       [](const Shape& shape) {
         return sequential(shape, [](std::uint64_t& x) {
           const std::uint64_t old = x;
           x = old * 6364136223846793005ull + 1442695040888963407ull;
           const auto word = static_cast<std::uint32_t>(((old >> 18) ^ old) >> 27);
           const auto turn = static_cast<std::uint32_t>(old >> 59);
           return word >> turn | word << ((32 - turn) & 31);
         });
       }},
      {"xoshiro256**",
       [](const Shape& shape) {
         return [cells = shape.cells()](std::uint64_t seed) {
           std::uint64_t s[4];
           for (int i = 0; i < 4; ++i) s[i] = splitmix(seed + i * 77);
           Words words;
           for (std::uint64_t i = 0; i < cells; ++i) {
             const std::uint64_t result = std::rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
             s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t, s[3] = std::rotl(s[3], 45);
             words.push_back(static_cast<std::uint32_t>(result >> 32));
           }
           return words;
         };
       }},
      {"mt19937",
       [](const Shape& shape) {
         return [cells = shape.cells()](std::uint64_t seed) {
           std::mt19937 random(static_cast<std::uint32_t>(splitmix(seed)));
           Words words(cells);
           for (auto& word : words) word = static_cast<std::uint32_t>(random());
           return words;
         };
       }},
  };
}

// WARPGRADE_HONEST_RUNS: how many pairs of runs of each generator; the README says what larger numbers found.
TEST(FarTests, honest_generators_raise_no_alarm) {
  const char* given = std::getenv("WARPGRADE_HONEST_RUNS");
  const int runs = given != nullptr ? std::atoi(given) : 1;
  const Shape shapes[] = {power_law(1500, 10, 4, kSeed),
                          power_law(300, 64, 40, kSeed + 1),
                          {{40000}, 8000},
                          {std::vector<unsigned>(2500, 2), 4},
                          {std::vector<unsigned>(60, 0), 7}};
  int pairs = 0;
  for (int run = 0; run < runs; ++run) {
    for (const auto& [name, make] : honest()) {
      for (const Shape& shape : shapes) {
        const Reduction reduction = pairs++ % 2 == 0 ? Reduction::kMultiply : Reduction::kRemainder;
        const std::uint64_t seed = splitmix(kSeed + run), other = seed ^ (1ull << (run % 64));
        const auto found = rejections(shape, make(shape), reduction, seed, other);
        EXPECT_TRUE(found.empty()) << name << ", " << shape.degrees.size() << " x " << shape.fanout
                                   << ", seeds " << seed << " and " << other << ": " << found.front();
      }
    }
  }
  RecordProperty("pairs_of_runs", pairs);
}

// ---- the bounds ----

// Pairs of 1,000 draws: the bound of the strongest form is below a level at most as often as it says.
TEST(SpectrumBound, holds_for_honest_draws) {
  std::mt19937_64 random(kSeed);
  int below[3] = {};
  constexpr double kAt[] = {0.3, 0.1, 0.01};
  constexpr int kSets = 400;
  for (int set = 0; set < kSets; ++set) {
    LagCounts counts;
    int last = static_cast<int>(random() % kLevels);
    for (int i = 0; i < 1000; ++i) {
      const int next = static_cast<int>(random() % kLevels);
      ++counts.joint[last * kLevels + next];
      last = next;  // pairs overlap, as the judge's do
    }
    const Form form = strongest_form(counts);
    for (int i = 0; i < 3; ++i) below[i] += form.log_tail < std::log(kAt[i]) ? 1 : 0;
  }
  for (int i = 0; i < 3; ++i) EXPECT_LE(below[i], kSets * kAt[i] + 3 * std::sqrt(kSets * kAt[i])) << kAt[i];
}

// exp(s^2 / 4) is no less than the moment generating function of m phases, for every m that a form may leave.
TEST(SpectrumBound, is_above_the_moments_of_every_number_of_phases) {
  for (const int phases : {4, 8, 16, 32, 64}) {
    for (double s = 0.05; s < 12; s += 0.05) {
      for (const double turn : {0.0, 0.1, 0.37}) {
        double moment = 0;
        for (int k = 0; k < phases; ++k)
          moment += std::exp(s * std::cos(6.283185307179586 * (k + turn) / phases)) / phases;
        EXPECT_LE(moment, std::exp(s * s / 4) * (1 + 1e-12)) << phases << " " << s;
      }
    }
  }
}

TEST(Spectrum, names_the_form_that_a_lattice_keeps_constant) {
  TripleCounts counts;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 4000; ++i) {
    const int x = static_cast<int>(random() % 32), y = static_cast<int>(random() % 32);
    ++counts.joint[(x * 32 + y) * 32 + ((6 * y - 9 * x) & 31)];
  }
  const Form form = strongest_form(counts);
  // Any multiple of 9 x - 6 y + z, modulo 32.
  EXPECT_EQ((form.coefficients[0] - 9 * form.coefficients[2]) & 31, 0);
  EXPECT_EQ((form.coefficients[1] + 6 * form.coefficients[2]) & 31, 0);
  EXPECT_NEAR(form.strength, 1, 1e-4);
}

TEST(Evenness, is_bounded_above_the_exact_probability) {
  // 64 draws into 2 categories: P(at most `off` from 32).
  for (int off = 0; off < 6; ++off) {
    const std::uint64_t counts[] = {static_cast<std::uint64_t>(32 + off),
                                    static_cast<std::uint64_t>(32 - off)};
    double exact = 0;
    for (int k = 32 - off; k <= 32 + off; ++k)
      exact += std::exp(std::lgamma(65) - std::lgamma(k + 1) - std::lgamma(65 - k) - 64 * std::log(2.0));
    EXPECT_GE(std::exp(log_tail_of_evenness(counts)), std::min(1.0, exact) - 1e-9) << off;
  }
}

TEST(Alarm, counts_fewer_tests_in_a_run_of_all_cases_than_it_allows) {
  // The largest case, five full checks and 255 timed repetitions of it and of its baseline's, for each of
  // 16 cases.
  const std::int64_t rows = 232965;
  const unsigned fanout = 1000;
  const int pairings = static_cast<int>(pairings_of_a_run(rows, fanout).size());
  constexpr int kOfAPairing = 2, kOfLevels = 2 + kDegreeClasses * 2 + 1;
  int timed = 0;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    timed = std::max(timed, tail_bounds_of(far_tests(rows, fanout, seed, FarDepth::kTimed, true)));
  const int full = tail_bounds_of(far_tests(rows, fanout, 1, FarDepth::kFirst, false)) +
                   4 * tail_bounds_of(far_tests(rows, fanout, 1, FarDepth::kSecond, true)) +
                   5 * (kOfLevels + kOfAPairing * (pairings + 3)) + kOfLevels;
  const double all = 16.0 * (full + 2 * 255.0 * (timed + 4 * kOfAPairing + kOfLevels));
  EXPECT_LT(all, kMostTests) << full << " " << timed;
}

}  // namespace
}  // namespace warpgrade::sampling
