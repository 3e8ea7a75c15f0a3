// The same graph with its nodes renamed at random: P·A·Pᵀ for a permutation drawn from a seed. Rows keep
// their lengths, so what changes a kernel's time is where rows of B lie, that is locality, and the order in
// which long rows come.
#pragma once

#include <numeric>

#include "powerlaw_matrix.cuh"

namespace bench {

// Fisher-Yates; [node] is the node's new name. The same seed gives the same names everywhere.
inline std::vector<int> draw_new_names(int nodes, std::uint64_t seed) {
  std::vector<int> names(nodes);
  std::iota(names.begin(), names.end(), 0);
  for (int i = nodes - 1; i > 0; --i) {
    const auto other = static_cast<int>(mix(mix(seed) ^ static_cast<std::uint64_t>(i)) % (i + 1u));
    std::swap(names[i], names[other]);
  }
  return names;
}

// A warp copies a row of `a` to where its new name lies.
__global__ void rename_rows_kernel(DeviceCsr a, const int* names, const int* new_offsets, int* columns,
                                   float* values) {
  const int lane = threadIdx.x % 32, warps = static_cast<int>(gridDim.x * blockDim.x / 32);
  for (int row = static_cast<int>((blockIdx.x * blockDim.x + threadIdx.x) / 32); row < a.rows; row += warps) {
    const int from = a.row_offsets[row], length = a.row_offsets[row + 1] - from;
    const int to = new_offsets[names[row]];
    for (int e = lane; e < length; e += 32) {
      columns[to + e] = names[a.columns[from + e]];
      values[to + e] = a.values[from + e];
    }
  }
}

// Rows that do not hold what the row of the old name held, whatever the order of entries.
__global__ void compare_rows_kernel(DeviceCsr a, DeviceCsr permuted, const int* names, int* wrong) {
  const auto row_sum = [](const DeviceCsr& m, int row, const int* new_names) {
    std::uint64_t sum = 0;
    for (int e = m.row_offsets[row]; e < m.row_offsets[row + 1]; ++e) {
      const auto column = static_cast<std::uint64_t>(new_names ? new_names[m.columns[e]] : m.columns[e]);
      sum += mix(column << 32 | __float_as_uint(m.values[e]));
    }
    return sum;
  };
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); row < a.rows; row += step) {
    if (row_sum(a, row, names) != row_sum(permuted, names[row], nullptr)) atomicAdd(wrong, 1);
  }
}

// Sorts each row by column, into `a`; frees what it read.
inline void sort_rows(int* columns, float* values, DeviceCsr* a) {
  BENCH_CHECK(cudaMalloc(&a->columns, a->nnz * sizeof(int)));
  BENCH_CHECK(cudaMalloc(&a->values, a->nnz * sizeof(float)));
  std::size_t bytes = 0;
  void* work_space = nullptr;
  const auto sort = [&] {
    BENCH_CHECK(cub::DeviceSegmentedSort::SortPairs(work_space, bytes, columns, a->columns, values, a->values,
                                                    a->nnz, a->rows, a->row_offsets, a->row_offsets + 1));
  };
  sort();
  BENCH_CHECK(cudaMalloc(&work_space, bytes + 16));
  sort();
  BENCH_CHECK(cudaDeviceSynchronize());
  for (void* buffer : {work_space, static_cast<void*>(columns), static_cast<void*>(values)})
    BENCH_CHECK(cudaFree(buffer));
}

inline DeviceCsr permute_matrix(const DeviceCsr& a, std::uint64_t seed) {
  const std::vector<int> names = draw_new_names(a.rows, seed);
  std::vector<int> offsets(a.rows + 1), new_offsets(a.rows + 1, 0);
  BENCH_CHECK(
      cudaMemcpy(offsets.data(), a.row_offsets, offsets.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int row = 0; row < a.rows; ++row) new_offsets[names[row] + 1] = offsets[row + 1] - offsets[row];
  std::partial_sum(new_offsets.begin(), new_offsets.end(), new_offsets.begin());

  DeviceCsr permuted{a.rows, a.cols, a.nnz};
  permuted.row_offsets = upload(new_offsets);
  int* device_names = upload(names);
  int* columns = nullptr;
  float* values = nullptr;
  BENCH_CHECK(cudaMalloc(&columns, a.nnz * sizeof(int)));
  BENCH_CHECK(cudaMalloc(&values, a.nnz * sizeof(float)));
  rename_rows_kernel<<<2048, 256>>>(a, device_names, permuted.row_offsets, columns, values);
  BENCH_CHECK(cudaGetLastError());
  sort_rows(columns, values, &permuted);

  int* wrong = upload(std::vector<int>{0});
  int wrong_rows = 0;
  compare_rows_kernel<<<2048, 256>>>(a, permuted, device_names, wrong);
  BENCH_CHECK(cudaMemcpy(&wrong_rows, wrong, sizeof(int), cudaMemcpyDeviceToHost));
  if (wrong_rows > 0)
    throw std::runtime_error("permuting lost entries of " + std::to_string(wrong_rows) + " rows");
  BENCH_CHECK(cudaFree(wrong));
  BENCH_CHECK(cudaFree(device_names));
  return permuted;
}

}  // namespace bench
