// Draws the ids of lab histogram into the bench's private array and counts them: on the host by the oracle,
// on a GPU by kernels of the judge's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "judge/judging/arrays_bench.h"
#include "judge/labs/histogram/histogram_lab.h"

namespace warpgrade::histogram {

class Counting {
 public:
  virtual ~Counting() = default;
  virtual void draw(Pattern pattern, std::uint64_t seed) = 0;  // into input 0
  virtual const std::vector<unsigned>& expected() = 0;         // of the ids that were drawn last
};

std::unique_ptr<Counting> make_host_counting(ArraysBench& bench, const Shape& shape);
std::unique_ptr<Counting> make_cuda_counting(ArraysBench& bench, const Shape& shape);

}  // namespace warpgrade::histogram
