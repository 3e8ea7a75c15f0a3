// The checks of lab sampling on the buffers' private arrays: on the host by the oracle (reference/sampling),
// on a GPU by its counting kernels. What the counts mean is decided by the oracle's functions for both.
#pragma once

#include <memory>

#include "judge/judging/array_buffers.h"
#include "sampling/far.h"
#include "sampling/oracle.h"

namespace warpgrade::sampling {

// The buffers' inputs, by number.
enum SamplingInput { kRowOffsets = 0, kColumns = 1, kNodes = 2 };

struct Found {
  std::int64_t bad_cells = 0, never_written = 0;
  std::vector<Mismatch> first;
  LevelCounts levels;
};

class SamplingChecks : public FarCounter {
 public:
  // Locates the samples of the buffers' private output. `seed`: of the checker's own bits, another one
  // each time.
  virtual Found locate_output(std::uint64_t seed) = 0;
  // Pairs of the located run, with a kept one where the pairing asks for an earlier run.
  virtual PairCounts pairs(const Pairing& pairing) = 0;
  // Of the located run, and the kept one where a test asks for an earlier run.
  LagCounts lag(const Lag& lag) override = 0;
  TripleCounts triple(const Triple& triple) override = 0;
  std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) override = 0;
  // The located run becomes the earlier one.
  virtual void keep() = 0;
  // A hash of all samples and their cells under a hidden seed.
  virtual std::uint64_t fingerprint(std::uint64_t seed) = 0;
};

// `graph` outlives the checks.
std::unique_ptr<SamplingChecks> make_host_checks(ArrayBuffers& buffers, const GraphView& graph,
                                                 std::int64_t count, unsigned fanout, int threads);
std::unique_ptr<SamplingChecks> make_cuda_checks(ArrayBuffers& buffers, std::int64_t count, unsigned fanout);

}  // namespace warpgrade::sampling
