// Runs one SpMM submission once, on a power-law matrix that is the same on every machine: its kernels are
// what ncu measures on a GPU and what the emulator counts. Linked with the submission's own files.
//
//   spmm_ladder K
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "warpgrade/spmm.h"

namespace {

constexpr int kNodes = 4096;
constexpr double kEntries = 7.0 * kNodes, kSkew = 0.6;  // the shape of ogbn-arxiv

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
CsrMatrix make_matrix() {
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
  const std::vector<float> values(columns.size(), 0.5f);
  const auto nnz = static_cast<int>(columns.size());
  return {kNodes, kNodes, nnz, on_device(offsets), on_device(columns), on_device(values)};
}

}  // namespace

int main(int argc, char** argv) {
  const int k = argc > 1 ? std::atoi(argv[1]) : 32;
  const CsrMatrix a = make_matrix();
  const float* b = on_device(std::vector<float>(std::size_t(kNodes) * k, 0.25f));
  float* c = on_device(std::vector<float>(std::size_t(kNodes) * k, 0.0f));
  SpmmPlan* plan = nullptr;
  CUDA_CHECK(spmm_plan(a, k, &plan, nullptr));
  CUDA_CHECK(spmm_run(a, k, b, c, plan, nullptr));
  CUDA_CHECK(cudaDeviceSynchronize());
  spmm_free(plan);
  using Drain = std::size_t (*)(char*, std::size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  static char text[1 << 20];
  if (drain != nullptr && drain(text, sizeof text) != 0) std::fputs(text, stdout);
}
