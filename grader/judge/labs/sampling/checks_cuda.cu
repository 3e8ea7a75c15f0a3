#include <algorithm>
#include <cstring>
#include <utility>

#include "judge/judging/cuda_memory.h"
#include "judge/labs/sampling/checks.h"
#include "judge/measure/random.h"
#include "sampling/gpu_check.cuh"
#include "sampling/gpu_far.cuh"

namespace warpgrade::sampling {
namespace {

constexpr int kBlocks = 2048;

__global__ void fingerprint_kernel(const int* samples, std::uint64_t cells, std::uint64_t seed,
                                   unsigned long long* total) {
  const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
  unsigned long long sum = 0;
  for (std::uint64_t cell = blockIdx.x * static_cast<std::uint64_t>(blockDim.x) + threadIdx.x; cell < cells;
       cell += step) {
    sum += random_bits(seed ^ mix_bits(cell), static_cast<unsigned>(samples[cell]));
  }
  atomicAdd(total, sum);
}

struct DeviceRun {
  DeviceArray<unsigned> degrees;
  DeviceArray<int> places;
  DeviceArray<unsigned char> levels;
  LocatedArrays arrays() const { return {degrees.get(), places.get(), levels.get()}; }
};

class CudaChecks : public SamplingChecks {
 public:
  CudaChecks(ArrayBuffers& buffers, std::int64_t count, unsigned fanout)
      : buffers_(buffers),
        count_(static_cast<unsigned>(count)),
        fanout_(fanout),
        findings_(1),
        counts_(1),
        lag_counts_(1),
        triple_counts_(1),
        total_(1),
        bits_((cells() + 31) / 32),
        earlier_bits_((cells() + 31) / 32) {
    for (DeviceRun* run : {&run_, &earlier_}) {
      *run = {DeviceArray<unsigned>(count_), DeviceArray<int>(cells()), DeviceArray<unsigned char>(cells())};
    }
  }

  Found locate_output(std::uint64_t seed) override {
    WARPGRADE_CUDA(cudaMemsetAsync(findings_.get(), 0, sizeof(DeviceFindings)));
    locate_kernel<<<kBlocks, kCheckThreads>>>(array(kRowOffsets), array(kColumns), array(kNodes), count_,
                                              fanout_, samples(), static_cast<int>(kPoison), seed,
                                              run_.arrays(), findings_.get());
    WARPGRADE_CUDA(cudaGetLastError());
    DeviceFindings device;
    WARPGRADE_CUDA(cudaMemcpy(&device, findings_.get(), sizeof device, cudaMemcpyDeviceToHost));
    Found found;
    found.bad_cells = static_cast<std::int64_t>(device.bad_cells);
    found.never_written = static_cast<std::int64_t>(device.never_written);
    if (found.bad_cells > 0) found.first = first_mismatches();
    static_assert(sizeof found.levels.counts == sizeof device.levels);
    std::memcpy(found.levels.counts, device.levels, sizeof device.levels);
    return found;
  }

  PairCounts pairs(const Pairing& pairing) override {
    WARPGRADE_CUDA(cudaMemsetAsync(counts_.get(), 0, sizeof(PairCounts)));
    if (pairing.flat_mask != 0) {
      flat_pairs_kernel<<<kBlocks, kCheckThreads>>>(run_.levels.get(), cells(), pairing.flat_mask,
                                                    counts_.get());
    } else {
      grid_pairs_kernel<<<kBlocks, kCheckThreads>>>(run_.arrays(),
                                                    pairing.earlier_run ? earlier_.arrays() : run_.arrays(),
                                                    count_, fanout_, pairing, counts_.get());
    }
    WARPGRADE_CUDA(cudaGetLastError());
    PairCounts counts;
    WARPGRADE_CUDA(cudaMemcpy(&counts, counts_.get(), sizeof counts, cudaMemcpyDeviceToHost));
    return counts;
  }

  LagCounts lag(const Lag& lag) override {
    WARPGRADE_CUDA(cudaMemsetAsync(lag_counts_.get(), 0, sizeof(LagCounts)));
    lag_kernel<<<kFarBlocks, kCheckThreads>>>(
        run_.arrays(), lag.earlier_run ? earlier_.arrays() : run_.arrays(), fanout_, lag, lag_counts_.get());
    return fetch(lag_counts_);
  }

  TripleCounts triple(const Triple& triple) override {
    WARPGRADE_CUDA(cudaMemsetAsync(triple_counts_.get(), 0, sizeof(TripleCounts)));
    triple_kernel<<<kBlocks, kCheckThreads>>>(run_.levels.get(), triple, triple_counts_.get());
    return fetch(triple_counts_);
  }

  std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) override {
    draw_bits(run_, search.plane, seed, bits_.get());
    if (search.earlier_run) draw_bits(earlier_, search.plane, ~seed, earlier_bits_.get());
    enqueue_repeats(bits_.get(), search.earlier_run ? earlier_bits_.get() : bits_.get(), search, total_.get(),
                    nullptr);
    return fetch(total_);
  }

  void keep() override { std::swap(run_, earlier_); }

  std::uint64_t fingerprint(std::uint64_t seed) override {
    WARPGRADE_CUDA(cudaMemsetAsync(total_.get(), 0, sizeof(unsigned long long)));
    fingerprint_kernel<<<kBlocks, kCheckThreads>>>(samples(), cells(), seed, total_.get());
    unsigned long long total = 0;
    WARPGRADE_CUDA(cudaMemcpy(&total, total_.get(), sizeof total, cudaMemcpyDeviceToHost));
    return total;
  }

 private:
  // What the kernel before it has counted.
  template <typename T>
  static T fetch(const DeviceArray<T>& counts) {
    WARPGRADE_CUDA(cudaGetLastError());
    T fetched;
    WARPGRADE_CUDA(cudaMemcpy(&fetched, counts.get(), sizeof fetched, cudaMemcpyDeviceToHost));
    return fetched;
  }

  template <typename T>
  static T read(const T* device) {
    T value;
    WARPGRADE_CUDA(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
  }

  // In the order of cells, so that the same wrong samples get the same words. Asked only after a mistake.
  std::vector<Mismatch> first_mismatches() const {
    constexpr std::size_t kChunk = 1 << 20;
    std::vector<Mismatch> first;
    std::vector<int> places(std::min(kChunk, cells()));
    for (std::size_t begin = 0; begin < cells() && first.size() < kListedMismatches; begin += kChunk) {
      const std::size_t count = std::min(kChunk, cells() - begin);
      WARPGRADE_CUDA(
          cudaMemcpy(places.data(), run_.places.get() + begin, count * sizeof(int), cudaMemcpyDeviceToHost));
      for (std::size_t i = 0; i < count && first.size() < kListedMismatches; ++i) {
        if (places[i] == kBadPlace) first.push_back(mismatch_at(begin + i));
      }
    }
    return first;
  }

  Mismatch mismatch_at(std::size_t cell) const {
    const std::size_t row = cell / fanout_;
    return {static_cast<std::int64_t>(row), static_cast<int>(cell % fanout_), read(array(kNodes) + row),
            read(samples() + cell), read(run_.degrees.get() + row)};
  }

  void draw_bits(const DeviceRun& run, int plane, std::uint64_t seed, unsigned* bits) {
    bits_kernel<<<kBlocks, kCheckThreads>>>(run.arrays(), fanout_, static_cast<unsigned>(cells()), plane,
                                            seed, bits);
  }

  std::size_t cells() const { return static_cast<std::size_t>(count_) * fanout_; }
  const int* array(int number) const { return static_cast<const int*>(buffers_.input(number)); }
  const int* samples() const { return static_cast<const int*>(buffers_.output()); }

  ArrayBuffers& buffers_;
  unsigned count_, fanout_;
  DeviceRun run_, earlier_;
  DeviceArray<DeviceFindings> findings_;
  DeviceArray<PairCounts> counts_;
  DeviceArray<LagCounts> lag_counts_;
  DeviceArray<TripleCounts> triple_counts_;
  DeviceArray<unsigned long long> total_;
  DeviceArray<unsigned> bits_, earlier_bits_;  // of the planes that the search for repeats looks at
};

}  // namespace

std::unique_ptr<SamplingChecks> make_cuda_checks(ArrayBuffers& buffers, std::int64_t count, unsigned fanout) {
  return std::make_unique<CudaChecks>(buffers, count, fanout);
}

}  // namespace warpgrade::sampling
