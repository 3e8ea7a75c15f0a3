// Synthetic power-law matrices in device memory, shaped like the thirteen graphs of the lab: the same node
// and entry counts and a skew that gives comparable hubs, but no community structure.
//
// Row r's expected length is proportional to (rank + 1)^-skew with ranks shuffled over the rows; columns are
// drawn with the same law, so that popular columns exist as in a graph. Columns are sorted within a row,
// duplicates are kept, values are uniform in [-0.5, 0.5).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cub/device/device_segmented_sort.cuh>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/side_by_side.cuh"

namespace bench {

struct PowerlawShape {
  const char* name;
  int nodes;
  std::int64_t entries;
  double skew;
};
inline constexpr PowerlawShape kShapes[] = {{"arxiv", 169343, 1166243, 0.6},
                                            {"collab", 235868, 2358104, 0.4},
                                            {"citation", 2927963, 30561187, 0.4},
                                            {"ddi", 4267, 2135822, 0.3},
                                            {"protein", 132534, 79122504, 0.3},
                                            {"ppa", 576289, 42463862, 0.35},
                                            {"reddit.dgl", 232965, 114615892, 0.5},
                                            {"products", 2449029, 123718280, 0.4},
                                            {"youtube", 1138499, 5980886, 0.75},
                                            {"amazon_cogdl", 1569960, 264339468, 0.5},
                                            {"yelp", 716847, 13954819, 0.5},
                                            {"wikikg2", 2500604, 16109182, 0.55},
                                            {"am", 881680, 5668682, 0.8}};

struct DeviceCsr {
  int rows = 0, cols = 0;
  int nnz = 0;
  int* row_offsets = nullptr;
  int* columns = nullptr;
  float* values = nullptr;
};

// splitmix64, defined here once more: nvcc builds the benches without the project's other folders.
__host__ __device__ inline std::uint64_t mix(std::uint64_t z) {
  z = (z + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
__host__ __device__ inline double unit(std::uint64_t bits) {
  return (bits >> 11) * 0x1p-53;
}

// A bijection of [0, nodes): multiplication by a unit modulo nodes.
struct Shuffle {
  std::int64_t nodes, factor;
  explicit Shuffle(std::int64_t n) : nodes(n), factor(std::max<std::int64_t>(1, n * 618 / 1000)) {
    const auto gcd = [](std::int64_t a, std::int64_t b) {
      while (b != 0) std::swap(a %= b, b);
      return a;
    };
    while (gcd(factor, nodes) != 1) ++factor;
  }
  __host__ __device__ std::int64_t operator()(std::int64_t i) const { return i * factor % nodes; }
};

__global__ void draw_entries_kernel(std::int64_t nnz, Shuffle shuffle, double skew, int* columns,
                                    float* values) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t e = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; e < nnz;
       e += step) {
    const std::uint64_t bits = mix(e);
    const double rank = pow(unit(bits), 1.0 / (1.0 - skew)) * shuffle.nodes;  // inverse of the cumulative law
    columns[e] = static_cast<int>(shuffle(min(static_cast<std::int64_t>(rank), shuffle.nodes - 1)));
    values[e] = static_cast<float>((bits & 1023) / 1024.0 - 0.5);
  }
}

inline DeviceCsr make_powerlaw_matrix(const PowerlawShape& shape) {
  const Shuffle shuffle(shape.nodes);
  double weights = 0.0;
  for (int i = 0; i < shape.nodes; ++i) weights += std::pow(i + 1.0, -shape.skew);
  std::vector<int> lengths(shape.nodes), offsets(shape.nodes + 1, 0);
  for (int i = 0; i < shape.nodes; ++i) {
    const double expected = std::pow(i + 1.0, -shape.skew) / weights * static_cast<double>(shape.entries);
    lengths[shuffle(i)] = static_cast<int>(std::min(shape.nodes - 1.0, expected + unit(mix(i))));
  }
  for (int i = 0; i < shape.nodes; ++i) offsets[i + 1] = offsets[i] + lengths[i];

  DeviceCsr a{shape.nodes, shape.nodes, offsets.back()};
  const std::size_t offsets_bytes = offsets.size() * sizeof(int);
  int* unsorted = nullptr;
  BENCH_CHECK(cudaMalloc(&a.row_offsets, offsets_bytes));
  BENCH_CHECK(cudaMalloc(&a.columns, a.nnz * sizeof(int)));
  BENCH_CHECK(cudaMalloc(&a.values, a.nnz * sizeof(float)));
  BENCH_CHECK(cudaMalloc(&unsorted, a.nnz * sizeof(int)));
  BENCH_CHECK(cudaMemcpy(a.row_offsets, offsets.data(), offsets_bytes, cudaMemcpyHostToDevice));
  draw_entries_kernel<<<4096, 256>>>(a.nnz, shuffle, shape.skew, unsorted, a.values);
  BENCH_CHECK(cudaGetLastError());
  std::size_t bytes = 0;
  void* work_space = nullptr;
  const auto sort = [&] {
    BENCH_CHECK(cub::DeviceSegmentedSort::SortKeys(work_space, bytes, unsorted, a.columns, a.nnz, a.rows,
                                                   a.row_offsets, a.row_offsets + 1));
  };
  sort();
  BENCH_CHECK(cudaMalloc(&work_space, bytes + 16));
  sort();
  BENCH_CHECK(cudaDeviceSynchronize());
  BENCH_CHECK(cudaFree(work_space));
  BENCH_CHECK(cudaFree(unsorted));
  return a;
}

inline void free_matrix(const DeviceCsr& a) {
  BENCH_CHECK(cudaFree(a.row_offsets));
  BENCH_CHECK(cudaFree(a.columns));
  BENCH_CHECK(cudaFree(a.values));
}

__global__ void draw_dense_kernel(std::int64_t count, float* b) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    b[i] = static_cast<float>(unit(mix(i)) - 0.5);
  }
}

}  // namespace bench
