// Why a naive histogram's time can change by 1.9 times between two runs of the same program: the place of
// its counters.
//
//   placement [ids] [repetitions]        233 M ids and 5 repetitions by default; also on the emulator
//   reference/histogram/tools/bench.sh BUILD_DIR placement [ids] [repetitions]      builds and runs it
//
// The kernel is naive's: an id a thread, an atomic in global memory. The ids stay the same; the 5,825
// counters (23 KB) are put at different places: an allocation of their own, offsets of 64 MiB of cudaMalloc,
// memory of cuMemCreate that processes can share (as the judge's is), and whole sectors of 32 bytes spread
// over the 64 MiB. L2 is flushed before each repetition, counts are checked at each place. Prints one table
// and the levels that its times fall into. Exit code 0; 1 when counts differ.
#include <cuda.h>

#include "histogram/inputs.h"
#include "tools/side_by_side.cuh"
#include "warpgrade/histogram.h"

namespace bench {
namespace {

using namespace warpgrade::histogram;

constexpr int kNodes = 232965;
constexpr int kBins = histogram_bins(kNodes);
constexpr int kThreads = 256;
constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr std::size_t kLargeBytes = 64 * kMiB;
constexpr unsigned kSectors = kLargeBytes / 32;
constexpr double kSameLevel = 1.05;

// Where bin b is counted: beside its neighbours, or with the 7 others of its sector anywhere in kLargeBytes.
struct Dense {
  __host__ __device__ unsigned operator()(unsigned bin) const { return bin; }
};
struct SpreadSectors {
  __host__ __device__ unsigned operator()(unsigned bin) const {
    const unsigned sector = bin / 8 * 0x9E3779B1u % kSectors;  // odd: no two sectors meet
    return 8 * sector + bin % 8;
  }
};

__global__ void draw_kernel(std::uint64_t seed, unsigned count, int* ids) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    ids[i] = id_at(Pattern::kUniform, seed, i, kNodes);
}

template <typename Place>
__global__ void count_kernel(const int* __restrict__ ids, unsigned count, unsigned* __restrict__ counts,
                             Place place) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) atomicAdd(&counts[place(ids[i] / kNodesPerBin)], 1u);
}

// Memory that another process could map, from the driver; none where the device does not have it, as on
// the emulator.
class SharableMemory {
 public:
  explicit SharableMemory(std::size_t bytes) {
    CUmemAllocationProp properties = {};
    BENCH_CHECK(cudaGetDevice(&properties.location.id));
    if (!has_virtual_memory(properties.location.id)) return;
    const auto create = function<decltype(&cuMemCreate)>("cuMemCreate");
    const auto reserve = function<decltype(&cuMemAddressReserve)>("cuMemAddressReserve");
    const auto map = function<decltype(&cuMemMap)>("cuMemMap");
    const auto allow = function<decltype(&cuMemSetAccess)>("cuMemSetAccess");
    const auto granularity_of =
        function<decltype(&cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    std::size_t granularity = 0;
    check(granularity_of(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    bytes = (bytes + granularity - 1) / granularity * granularity;
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr address = 0;
    CUmemAccessDesc access = {};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(create(&handle, bytes, &properties, 0));
    check(reserve(&address, bytes, 0, 0, 0));
    check(map(address, bytes, 0, handle, 0));
    check(allow(address, bytes, &access, 1));
    data_ = reinterpret_cast<unsigned char*>(address);  // until the program ends
  }
  unsigned char* data() const { return data_; }  // nullptr: there is none

 private:
  template <typename Function>
  static Function function(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    BENCH_CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
#else
    BENCH_CHECK(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result));
#endif
    return result == cudaDriverEntryPointSuccess ? reinterpret_cast<Function>(found) : nullptr;
  }
  static bool has_virtual_memory(int device) {
    const auto attribute_of = function<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute");
    int has = 0;
    return attribute_of != nullptr &&
           attribute_of(&has, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) ==
               CUDA_SUCCESS &&
           has != 0;
  }
  static void check(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "the driver's memory functions: CUresult %d\n", static_cast<int>(result));
    std::exit(2);
  }

  unsigned char* data_ = nullptr;
};

struct Row {
  std::string memory;
  std::size_t offset;
  double ms;
};

class Probe {
 public:
  Probe(unsigned count, int repetitions) : count_(count), repetitions_(repetitions) {}

  // Times the counters at `memory` + `offset` and adds a row.
  template <typename Place = Dense>
  void time(const std::string& name, const int* ids, unsigned char* memory, std::size_t offset,
            Place place = {}) {
    auto* counts = reinterpret_cast<unsigned*>(memory + offset);
    const std::size_t words = place(kBins - 1) == kBins - 1 ? kBins : kLargeBytes / sizeof(unsigned);
    std::vector<double> times;
    for (int repetition = 0; repetition < repetitions_; ++repetition) {
      BENCH_CHECK(cudaMemset(counts, 0, words * sizeof(unsigned)));
      times.push_back(watch_.milliseconds(nullptr, [&] {
        count_kernel<<<(count_ + kThreads - 1) / kThreads, kThreads>>>(ids, count_, counts, place);
        return cudaGetLastError();
      }));
    }
    check(name, counts, words, place);
    rows_.push_back({name, offset, median(times)});
  }

  void print() const {
    double fastest = rows_.front().ms;
    for (const Row& row : rows_) fastest = std::min(fastest, row.ms);
    std::printf("| memory of the counters | offset, bytes | ms | over the fastest |\n|---|---:|---:|---:|\n");
    for (const Row& row : rows_)
      std::printf("| %s | %zu | %.3f | %.2f |\n", row.memory.c_str(), row.offset, row.ms, row.ms / fastest);
  }

  // Times within kSameLevel of a level's least are of that level.
  void print_levels() const {
    std::vector<double> times;
    for (const Row& row : rows_) times.push_back(row.ms);
    std::sort(times.begin(), times.end());
    std::printf("levels:");
    for (std::size_t first = 0; first < times.size();) {
      std::size_t end = first;
      while (end < times.size() && times[end] <= kSameLevel * times[first]) ++end;
      std::printf(" %.2f ms at %zu places%s", times[(first + end) / 2], end - first,
                  end < times.size() ? "," : "\n");
      first = end;
    }
  }

  int wrong() const { return wrong_; }

 private:
  template <typename Place>
  void check(const std::string& name, const unsigned* counts, std::size_t words, Place place) {
    std::vector<unsigned> all(words), got(kBins);
    BENCH_CHECK(cudaMemcpy(all.data(), counts, words * sizeof(unsigned), cudaMemcpyDeviceToHost));
    std::size_t sum = 0;
    for (unsigned bin = 0; bin < kBins; ++bin) sum += got[bin] = all[place(bin)];
    if (want_.empty()) want_ = got;
    if (got == want_ && sum == count_) return;
    ++wrong_;
    std::printf("WRONG %s: %zu ids counted of %u\n", name.c_str(), sum, count_);
  }

  unsigned count_;
  int repetitions_;
  Stopwatch watch_;
  std::vector<unsigned> want_;
  std::vector<Row> rows_;
  int wrong_ = 0;
};

int probe_places(unsigned count, int repetitions) {
  const auto drawn = [count](int* ids) {
    draw_kernel<<<2048, kThreads>>>(7, count, ids);
    BENCH_CHECK(cudaDeviceSynchronize());
    return ids;
  };
  const int* ids = drawn(allocate<int>(count));
  Probe probe(count, repetitions);
  auto* own = reinterpret_cast<unsigned char*>(allocate<unsigned>(kBins));
  probe.time("cudaMalloc of their own", ids, own, 0);
  unsigned char* large = allocate<unsigned char>(kLargeBytes);
  for (const std::size_t offset :
       {std::size_t{0}, std::size_t{16}, std::size_t{128}, std::size_t{256}, 4 * kKiB, 64 * kKiB, kMiB,
        2 * kMiB, 2 * kMiB + 256, 4 * kMiB + 64 * kKiB, 16 * kMiB, 32 * kMiB, 33 * kMiB})
    probe.time("cudaMalloc of 64 MiB", ids, large, offset);
  for (int number = 1; number <= 4; ++number) {
    const SharableMemory memory(2 * kMiB);
    if (memory.data() == nullptr) break;
    for (const std::size_t offset : {std::size_t{0}, 4 * kKiB, 64 * kKiB})
      probe.time("cuMemCreate, no. " + std::to_string(number), ids, memory.data(), offset);
  }
  const SharableMemory other(count * sizeof(int));
  if (other.data() != nullptr)
    probe.time("cudaMalloc of their own, ids in cuMemCreate", drawn(reinterpret_cast<int*>(other.data())),
               own, 0);
  probe.time("sectors spread over 64 MiB", ids, large, 0, SpreadSectors{});
  probe.print();
  probe.print_levels();
  if (other.data() == nullptr) std::printf("the device has no memory of cuMemCreate: it is left out\n");
  std::printf("%d wrong\n", probe.wrong());
  return probe.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  const long count = argc > 1 ? std::atol(argv[1]) : 232965000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 5;
  if (argc > 3 || count < 1 || count > 0x7fffffff || repetitions < 1) {
    std::fprintf(stderr, "want: %s [ids, 1 to 2^31 - 1] [repetitions]\n", argv[0]);
    return 2;
  }
  return bench::probe_places(static_cast<unsigned>(count), repetitions);
}
