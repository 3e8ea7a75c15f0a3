// The tests of draws that lie far apart, of lattices and of words that repeat: which of them a check makes,
// the counts on the CPU, and what the counts mean. A GPU counts by kernels (gpu_far.cuh) and shares the rest.
#pragma once

#include "sampling/lags.h"
#include "sampling/oracle.h"

namespace warpgrade::sampling {

// Tests beyond those of the pairings, chosen by a seed that the sampler never sees.
struct FarTests {
  std::vector<Lag> lags;
  std::vector<Triple> triples;
  std::vector<RepeatSearch> searches;
};

enum class FarDepth {
  kFirst,   // a checked run alone: everything within one run
  kSecond,  // a checked run and an earlier one under another seed: a part of that, and everything between
            // the two
  kTimed,   // a timed repetition: a few, chosen anew each time
};
// `earlier_run`: one is kept, under another seed.
FarTests far_tests(std::int64_t rows, unsigned fanout, std::uint64_t seed, FarDepth depth, bool earlier_run);

// Adds to `counts`, as the pairings' functions do.
void count_lag(const Located& run, const Located& earlier, const Lag& lag, LagCounts& counts);
void count_triple(const Located& run, const Triple& triple, TripleCounts& counts);

// The run's bits, 32 cells a word. `seed`: of the checker's own bits.
std::vector<std::uint32_t> bits_of(const Located& run, int plane, std::uint64_t seed);
// The largest repeat_key over all pairs of stretches; `earlier` as `run`, unless two runs are compared.
std::uint64_t search_repeats(const std::vector<std::uint32_t>& run, const std::vector<std::uint32_t>& earlier,
                             const RepeatSearch& search);

// `candidates`: how many lags this one was chosen from by looking at the same draws.
std::optional<Rejection> judge_lag(const Lag& lag, unsigned fanout, const LagCounts& counts,
                                   double candidates = 1);
std::optional<Rejection> judge_triple(const Triple& triple, const TripleCounts& counts);
std::optional<Rejection> judge_repeat(const RepeatSearch& search, std::uint64_t key);
// The distance at which the search's best pair lies, as a lag over the whole run, to be judged
// with lag_candidates().
Lag lag_of_repeat(const RepeatSearch& search, std::uint64_t key);
double lag_candidates(const RepeatSearch& search);

// Both backends offer this; what a check does with it is the same for both.
class FarCounter {
 public:
  virtual ~FarCounter() = default;
  // How many threads may count at the same time.
  virtual int threads() const { return 1; }
  virtual LagCounts lag(const Lag& lag) = 0;
  virtual TripleCounts triple(const Triple& triple) = 0;
  virtual std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) = 0;
};
// All rejections of these tests. `seed`: of the checker's own bits.
std::vector<Rejection> run_far_tests(FarCounter& counter, const FarTests& tests, unsigned fanout,
                                     std::uint64_t seed);

// How many tail bounds far_tests() of a run of this size compares with kTestAlarm.
int tail_bounds_of(const FarTests& tests);

}  // namespace warpgrade::sampling
