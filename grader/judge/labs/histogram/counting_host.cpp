#include <span>

#include "base/error.h"
#include "histogram/oracle.h"
#include "judge/labs/histogram/counting.h"

namespace warpgrade::histogram {
namespace {

class HostCounting : public Counting {
 public:
  HostCounting(ArrayBuffers& buffers, const Shape& shape) : buffers_(buffers), shape_(shape) {}

  void draw(Pattern pattern, std::uint64_t seed) override {
    const std::span ids(static_cast<int*>(buffers_.input(0)), static_cast<std::size_t>(shape_.count));
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id_at(pattern, seed, i, shape_.nodes);
    expected_ = count(ids, shape_.nodes);
  }
  const std::vector<unsigned>& expected() override { return expected_; }

 private:
  ArrayBuffers& buffers_;
  Shape shape_;
  std::vector<unsigned> expected_;
};

}  // namespace

std::unique_ptr<Counting> make_host_counting(ArrayBuffers& buffers, const Shape& shape) {
  return std::make_unique<HostCounting>(buffers, shape);
}

// Programs without CUDA in them have this one; the judge's own stands in counting_cuda.cu.
[[gnu::weak]] std::unique_ptr<Counting> make_cuda_counting(ArrayBuffers&, const Shape&) {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::histogram
