// Runs one SpMM submission once, on a power-law matrix that is the same on every machine: its kernels are
// what ncu measures on a GPU and what the emulator counts. Linked with the submission's own files.
//
//   spmm_ladder K          prints the emulator's counters
//   spmm_ladder K NAME     times it beside the naive loop in native code (stopwatch.h)
//
// BENCH_SIZE in the environment (a power of two; default 1) multiplies the rows.
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../programs/stopwatch.h"
#include "warpgrade/spmm.h"

namespace {

const int kNodes = 4096 * stopwatch::size_factor();
const double kEntries = 7.0 * kNodes;
constexpr double kSkew = 0.6;  // the shape of ogbn-arxiv

#define CUDA_CHECK(call)                                                                              \
  do {                                                                                                \
    const cudaError_t status = (call);                                                                \
    if (status != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status)); \
      std::exit(1);                                                                                   \
    }                                                                                                 \
  } while (0)

// SplitMix64: the same numbers everywhere.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* p = nullptr;
  CUDA_CHECK(cudaMalloc(&p, values.size() * sizeof(T)));
  CUDA_CHECK(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

// Row lengths follow rank^-0.6, ranks are spread over the rows; columns are uniform, sorted in each row.
struct HostMatrix {
  std::vector<int> offsets, columns;
};

HostMatrix make_matrix() {
  double weights = 0;
  for (int i = 0; i < kNodes; ++i) weights += std::pow(i + 1.0, -kSkew);
  std::vector<int> offsets(kNodes + 1, 0), columns;
  for (int row = 0; row < kNodes; ++row) {
    const int rank = static_cast<int>(row * 2531ll % kNodes);
    const auto length = static_cast<int>(std::pow(rank + 1.0, -kSkew) / weights * kEntries);
    for (int e = 0; e < length; ++e)
      columns.push_back(static_cast<int>(mix(static_cast<std::uint64_t>(row) << 32 | e) % kNodes));
    std::sort(columns.end() - length, columns.end());
    offsets[row + 1] = static_cast<int>(columns.size());
  }
  return {offsets, columns};
}

void native_spmm(const HostMatrix& a, const float* b, float* c, int k) {
  for (int r = 0; r < kNodes; ++r) {
    float* __restrict__ out = c + std::size_t(r) * k;
    std::fill_n(out, k, 0.0f);
    for (int e = a.offsets[r]; e < a.offsets[r + 1]; ++e) {
      const float* from = b + std::size_t(a.columns[e]) * k;
      for (int j = 0; j < k; ++j) out[j] += 0.5f * from[j];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int k = argc > 1 ? std::atoi(argv[1]) : 32;
  const HostMatrix host = make_matrix();
  const auto nnz = static_cast<int>(host.columns.size());
  const std::vector<float> values(host.columns.size(), 0.5f), dense(std::size_t(kNodes) * k, 0.25f);
  const CsrMatrix a = {kNodes,           kNodes, nnz, on_device(host.offsets), on_device(host.columns),
                       on_device(values)};
  const float* b = on_device(dense);
  float* c = on_device(dense);
  SpmmPlan* plan = nullptr;
  CUDA_CHECK(spmm_plan(a, k, &plan, nullptr));
  const auto run = [&] {
    CUDA_CHECK(spmm_run(a, k, b, c, plan, nullptr));
    CUDA_CHECK(cudaDeviceSynchronize());
  };
  if (argc > 2) {
    std::vector<float> out(dense.size());
    stopwatch::compare(argv[2], run, [&] { native_spmm(host, dense.data(), out.data(), k); });
    return 0;
  }
  run();
  spmm_free(plan);
  using Drain = std::size_t (*)(char*, std::size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  static char text[1 << 20];
  if (drain != nullptr && drain(text, sizeof text) != 0) std::fputs(text, stdout);
}
