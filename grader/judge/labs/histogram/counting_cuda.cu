#include "histogram/oracle.h"
#include "judge/judging/cuda_memory.h"
#include "judge/labs/histogram/counting.h"

namespace warpgrade::histogram {
namespace {

constexpr int kThreads = 256, kBlocks = 1024;
constexpr unsigned kBinsAPass = 8 * 1024;  // 32 KB of shared memory

__global__ void draw_kernel(Shape shape, std::uint64_t seed, int* ids) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < shape.count; i += step)
    ids[i] = id_at(shape.pattern, seed, i, shape.nodes);
}

// Counts that a skewed input doesn't slow down: shared memory first. Grid: y = passes over ranges of bins.
__global__ void count_kernel(const int* ids, std::size_t count, unsigned bins, unsigned* counts) {
  __shared__ unsigned own_counts[kBinsAPass];
  const unsigned first = blockIdx.y * kBinsAPass;
  for (unsigned b = threadIdx.x; b < kBinsAPass; b += kThreads) own_counts[b] = 0;
  __syncthreads();
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const unsigned bin = static_cast<unsigned>(ids[i]) / kBinWidth - first;
    if (bin < kBinsAPass) atomicAdd(&own_counts[bin], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBinsAPass && first + b < bins; b += kThreads) {
    if (own_counts[b] != 0) atomicAdd(&counts[first + b], own_counts[b]);
  }
}

class CudaCounting : public Counting {
 public:
  CudaCounting(ArrayBuffers& buffers, const Shape& shape)
      : buffers_(buffers),
        shape_(shape),
        expected_((shape.nodes + kBinWidth - 1) / kBinWidth),
        counts_(expected_.size()) {}

  void draw(Pattern pattern, std::uint64_t seed) override {
    int* ids = static_cast<int*>(buffers_.input(0));
    const auto bins = static_cast<unsigned>(expected_.size());
    Shape drawn = shape_;
    drawn.pattern = pattern;
    draw_kernel<<<kBlocks, kThreads>>>(drawn, seed, ids);
    WARPGRADE_CUDA(cudaMemsetAsync(counts_.get(), 0, bins * sizeof(unsigned)));
    const dim3 grid(kBlocks, (bins + kBinsAPass - 1) / kBinsAPass);
    count_kernel<<<grid, kThreads>>>(ids, shape_.count, bins, counts_.get());
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(
        cudaMemcpy(expected_.data(), counts_.get(), bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
  }
  const std::vector<unsigned>& expected() override { return expected_; }

 private:
  ArrayBuffers& buffers_;
  Shape shape_;
  std::vector<unsigned> expected_;
  DeviceArray<unsigned> counts_;
};

}  // namespace

std::unique_ptr<Counting> make_cuda_counting(ArrayBuffers& buffers, const Shape& shape) {
  return std::make_unique<CudaCounting>(buffers, shape);
}

}  // namespace warpgrade::histogram
