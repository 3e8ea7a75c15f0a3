// Draws the ids of lab histogram into the buffers' private array and counts them: on the host by the oracle,
// on a GPU by kernels of the judge's own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "judge/judging/array_buffers.h"
#include "judge/labs/histogram/histogram_lab.h"

namespace warpgrade::histogram {

class Counting {
 public:
  virtual ~Counting() = default;
  virtual void draw(Pattern pattern, std::uint64_t seed) = 0;  // into input 0
  virtual const std::vector<unsigned>& expected() = 0;         // of the ids that were drawn last
};

std::unique_ptr<Counting> make_host_counting(ArrayBuffers& buffers, const Shape& shape);
std::unique_ptr<Counting> make_cuda_counting(ArrayBuffers& buffers, const Shape& shape);

}  // namespace warpgrade::histogram
