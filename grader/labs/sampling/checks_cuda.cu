#include <algorithm>
#include <cstring>
#include <utility>

#include "judge/cuda_memory.h"
#include "labs/sampling/checks.h"
#include "measure/random.h"
#include "sampling/gpu_check.cuh"

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
  CudaChecks(ArraysBench& bench, std::int64_t count, unsigned fanout)
      : bench_(bench),
        count_(static_cast<unsigned>(count)),
        fanout_(fanout),
        findings_(1),
        counts_(1),
        total_(1) {
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
    for (int i = 0; i < std::min<std::int64_t>(found.bad_cells, 16); ++i) {
      const DeviceMismatch& m = device.first[i];
      found.first.push_back({m.row, m.draw, m.node, m.got, m.degree});
    }
    std::sort(found.first.begin(), found.first.end(), [](const Mismatch& a, const Mismatch& b) {
      return std::pair(a.row, a.draw) < std::pair(b.row, b.draw);
    });
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

  void keep() override { std::swap(run_, earlier_); }

  std::uint64_t fingerprint(std::uint64_t seed) override {
    WARPGRADE_CUDA(cudaMemsetAsync(total_.get(), 0, sizeof(unsigned long long)));
    fingerprint_kernel<<<kBlocks, kCheckThreads>>>(samples(), cells(), seed, total_.get());
    unsigned long long total = 0;
    WARPGRADE_CUDA(cudaMemcpy(&total, total_.get(), sizeof total, cudaMemcpyDeviceToHost));
    return total;
  }

 private:
  std::size_t cells() const { return static_cast<std::size_t>(count_) * fanout_; }
  const int* array(int number) const { return static_cast<const int*>(bench_.input(number)); }
  const int* samples() const { return static_cast<const int*>(bench_.output()); }

  ArraysBench& bench_;
  unsigned count_, fanout_;
  DeviceRun run_, earlier_;
  DeviceArray<DeviceFindings> findings_;
  DeviceArray<PairCounts> counts_;
  DeviceArray<unsigned long long> total_;
};

}  // namespace

std::unique_ptr<SamplingChecks> make_cuda_checks(ArraysBench& bench, std::int64_t count, unsigned fanout) {
  return std::make_unique<CudaChecks>(bench, count, fanout);
}

}  // namespace warpgrade::sampling
