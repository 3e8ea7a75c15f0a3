#include <algorithm>
#include <mutex>

#include "judge/judging/cuda_memory.h"
#include "judge/judging/staged_copy.h"
#include "judge/labs/declared/cell_work.h"

namespace warpgrade::declared {
namespace {

constexpr int kThreads = 256, kMostBlocks = 4096;
constexpr std::size_t kScratchBytes = std::size_t{256} << 20;

struct Found {
  unsigned long long cells, most;  // `most`: the bits of a number that is not negative
  double squares;
};

__device__ std::int64_t first_cell() {
  return std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t step() {
  return std::int64_t(gridDim.x) * blockDim.x;
}

// Cells [begin, end) of the array, the first of them at `cells`.
__global__ void draw_kernel(FieldDraw field, std::int64_t begin, std::int64_t end, std::byte* cells) {
  std::byte* array = cells - begin * static_cast<std::int64_t>(field.stride);
  for (std::int64_t i = begin + first_cell(); i < end; i += step()) write_cell(field, i, array);
}

__global__ void absolute_kernel(declaration::Scalar type, std::byte* cells, std::int64_t count) {
  for (std::int64_t i = first_cell(); i < count; i += step()) {
    std::byte* at = cells + static_cast<std::size_t>(i) * bytes_of(type);
    write_real(type, fabs(read_real(type, at)), at);
  }
}

// Cells [begin, end); those of `wanted` and `magnitudes` lie from `begin` on.
__global__ void compare_kernel(FieldComparison field, std::int64_t begin, std::int64_t end,
                               const std::byte* got, const std::byte* wanted, const std::byte* magnitudes,
                               Found* found) {
  wanted -= begin * static_cast<std::int64_t>(field.wanted.stride);
  if (magnitudes != nullptr) magnitudes -= begin * static_cast<std::int64_t>(field.magnitude.stride);
  unsigned cells = 0;
  double most = 0, squares = 0;
  for (std::int64_t i = begin + first_cell(); i < end; i += step()) {
    const double share = share_of_cell(field, i, got, wanted, magnitudes);
    if (!(share <= field.most)) {
      ++cells;
      continue;
    }
    most = share > most ? share : most;
    squares += share * share;
  }
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    cells += __shfl_xor_sync(~0u, cells, lanes);
    const double other = __shfl_xor_sync(~0u, most, lanes);
    most = other > most ? other : most;
    squares += __shfl_xor_sync(~0u, squares, lanes);
  }
  if (threadIdx.x % 32 != 0) return;
  if (cells > 0) atomicAdd(&found->cells, cells);
  if (most > 0) {  // numbers that are not negative are in the order of their bits
    atomicMax(&found->most, declaration::bits_of_double(most));
    atomicAdd(&found->squares, squares);
  }
}

int blocks_for(std::int64_t count) {
  return static_cast<int>(std::clamp<std::int64_t>((count + kThreads - 1) / kThreads, 1, kMostBlocks));
}

class CudaCellWork : public CellWork {
 public:
  std::shared_ptr<std::byte> allocate(std::size_t bytes) override {
    auto memory = std::make_shared<DeviceArray<std::byte>>(bytes);
    return {memory, memory->get()};
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    WARPGRADE_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice));
  }
  void draw(const std::vector<FieldDraw>& fields, void* cells, std::size_t /*bytes*/) override {
    draw_some(fields, 0, fields.front().count, static_cast<std::byte*>(cells));
  }
  void draw_to_host(const std::vector<FieldDraw>& fields, std::span<std::byte> cells) override {
    const std::lock_guard lock(mutex_);
    const std::size_t stride = fields.front().stride, each = kScratchBytes / stride * stride;
    for (std::size_t at = 0; at < cells.size(); at += each) {
      const std::size_t bytes = std::min(each, cells.size() - at);
      draw_some(fields, static_cast<std::int64_t>(at / stride),
                static_cast<std::int64_t>((at + bytes) / stride), scratch_.get());
      WARPGRADE_CUDA(cudaDeviceSynchronize());
      copies_.to_host(cells.data() + at, scratch_.get(), bytes);
    }
  }
  void make_absolute(declaration::Scalar type, void* cells, std::int64_t count) override {
    absolute_kernel<<<blocks_for(count), kThreads>>>(type, static_cast<std::byte*>(cells), count);
    WARPGRADE_CUDA(cudaGetLastError());
  }
  Differences compare(const FieldComparison& field, const void* got, const void* wanted,
                      const void* magnitudes) override {
    begin_comparison();
    compare_some(field, 0, field.count, got, wanted, magnitudes);
    return end_comparison();
  }
  // Piece by piece: a copy waits for the kernel before it, since both are in one stream.
  Differences compare_with_host(const FieldComparison& field, const void* got,
                                std::span<const std::byte> wanted,
                                std::span<const std::byte> magnitudes) override {
    const std::lock_guard lock(mutex_);
    const std::size_t beside = magnitudes.empty() ? 0 : field.magnitude.stride;
    const auto each = static_cast<std::int64_t>(kScratchBytes / (field.wanted.stride + beside));
    begin_comparison();
    for (std::int64_t begin = 0; begin < field.count; begin += each) {
      const std::int64_t end = std::min(field.count, begin + each);
      const auto copy = [&](std::byte* to, std::span<const std::byte> from, std::size_t stride) {
        copies_.to_device(to, from.data() + static_cast<std::size_t>(begin) * stride,
                          static_cast<std::size_t>(end - begin) * stride);
      };
      std::byte* there = scratch_.get() + static_cast<std::size_t>(each) * field.wanted.stride;
      copy(scratch_.get(), wanted, field.wanted.stride);
      if (!magnitudes.empty()) copy(there, magnitudes, field.magnitude.stride);
      compare_some(field, begin, end, got, scratch_.get(), magnitudes.empty() ? nullptr : there);
    }
    return end_comparison();
  }

 private:
  static void draw_some(const std::vector<FieldDraw>& fields, std::int64_t begin, std::int64_t end,
                        std::byte* cells) {
    const auto bytes = static_cast<std::size_t>(end - begin) * fields.front().stride;
    if (fields.size() > 1) WARPGRADE_CUDA(cudaMemsetAsync(cells, 0, bytes));  // the padding too
    for (const FieldDraw& field : fields)
      draw_kernel<<<blocks_for(end - begin), kThreads>>>(field, begin, end, cells);
    WARPGRADE_CUDA(cudaGetLastError());
  }

  void begin_comparison() { WARPGRADE_CUDA(cudaMemsetAsync(found_.get(), 0, sizeof(Found))); }
  void compare_some(const FieldComparison& field, std::int64_t begin, std::int64_t end, const void* got,
                    const void* wanted, const void* magnitudes) {
    compare_kernel<<<blocks_for(end - begin), kThreads>>>(
        field, begin, end, static_cast<const std::byte*>(got), static_cast<const std::byte*>(wanted),
        static_cast<const std::byte*>(magnitudes), found_.get());
    WARPGRADE_CUDA(cudaGetLastError());
  }
  Differences end_comparison() {
    Found found{};
    WARPGRADE_CUDA(cudaMemcpy(&found, found_.get(), sizeof found, cudaMemcpyDeviceToHost));
    return {static_cast<std::int64_t>(found.cells), declaration::double_of_bits(found.most), found.squares};
  }

  DeviceArray<Found> found_{1};
  std::mutex mutex_;
  // Of what comes from or goes to the host; it is there before anybody asks how much memory a submission
  // has taken.
  DeviceArray<std::byte> scratch_{kScratchBytes};
  StagedCopy copies_;
};

}  // namespace

std::unique_ptr<CellWork> make_cuda_cell_work() {
  return std::make_unique<CudaCellWork>();
}

}  // namespace warpgrade::declared
