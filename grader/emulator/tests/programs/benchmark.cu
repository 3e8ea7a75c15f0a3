// Not a test: times the emulator on kernels of the courses, beside the naive loop in native code
// (stopwatch.h). BENCH_SIZE in the environment (a power of two; default 1) multiplies the inputs.
#include <algorithm>
#include <cmath>

#include "check.h"
#include "stopwatch.h"

__global__ void spmm_thread_a_row(const int* __restrict__ offsets, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float* __restrict__ b,
                                  float* __restrict__ c, int rows, int k) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int begin = offsets[row], end = offsets[row + 1];
  for (int j = 0; j < k; ++j) {
    float sum = 0;
    for (int p = begin; p < end; ++p) sum += values[p] * b[size_t(columns[p]) * k + j];
    c[size_t(row) * k + j] = sum;
  }
}

__global__ void spmm_warp_a_row(const int* __restrict__ offsets, const int* __restrict__ columns,
                                const float* __restrict__ values, const float* __restrict__ b,
                                float* __restrict__ c, int rows, int k) {
  __shared__ int s_column[8][32];
  __shared__ float s_value[8][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = blockIdx.x * 8 + warp;
  if (row >= rows) return;
  const int end = offsets[row + 1];
  float sum = 0;
  for (int base = offsets[row]; base < end; base += 32) {
    if (base + lane < end) {
      s_column[warp][lane] = columns[base + lane];
      s_value[warp][lane] = values[base + lane];
    }
    __syncwarp();
    const int n = min(32, end - base);
    for (int j = 0; j < n; ++j) sum += s_value[warp][j] * b[size_t(s_column[warp][j]) * k + lane];
    __syncwarp();
  }
  c[size_t(row) * k + lane] = sum;
}

__global__ void row_sums(const int* offsets, const float* values, float* out, int rows) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int p = offsets[row] + lane; p < offsets[row + 1]; p += 32) sum += values[p];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(~0u, sum, o);
  if (lane == 0) out[row] = sum;
}

// The last phase of a blocked Floyd-Warshall: every tile outside row and column k of tiles.
__global__ void min_plus_tile(int* d, int n, int k) {
  if (blockIdx.x == k || blockIdx.y == k) return;
  __shared__ int a[32][32], b[32][32];
  const int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 32 + y, j = blockIdx.x * 32 + x;
  a[y][x] = d[i * n + k * 32 + x];
  b[y][x] = d[(k * 32 + y) * n + j];
  __syncthreads();
  int best = d[i * n + j];
#pragma unroll
  for (int m = 0; m < 32; ++m) best = min(best, a[y][m] + b[m][x]);
  d[i * n + j] = best;
}

__global__ void histogram(const int* ids, int n, int* bins, int bin_count) {
  extern __shared__ int own[];
  for (int i = threadIdx.x; i < bin_count; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[ids[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < bin_count; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

// The naive loops that the kernels are compared with, for one core.
void native_spmm(const int* offsets, const int* columns, const float* values, const float* b, float* c,
                 int rows, int k) {
  for (int r = 0; r < rows; ++r) {
    float* __restrict__ out = c + size_t(r) * k;
    std::fill_n(out, k, 0.0f);
    for (int p = offsets[r]; p < offsets[r + 1]; ++p) {
      const float* from = b + size_t(columns[p]) * k;
      for (int j = 0; j < k; ++j) out[j] += values[p] * from[j];
    }
  }
}

void native_row_sums(const int* offsets, const float* values, float* out, int rows) {
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int p = offsets[r]; p < offsets[r + 1]; ++p) sum += values[p];
    out[r] = sum;
  }
}

void native_min_plus(int* d, int n) {
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) d[i * n + j] = std::min(d[i * n + j], d[i * n + k] + d[k * n + j]);
    }
  }
}

int main() {
  const int size = stopwatch::size_factor(), rows = 50000 * size, k = 32, n = 512 * int(std::sqrt(size));
  std::vector<int> lengths(rows);
  int nnz = 0;
  for (int r = 0; r < rows; ++r) nnz += lengths[r] = bits_of(r, 1) % 64 == 0 ? 160 : int(bits_of(r, 2) % 35);
  Managed<int> offsets(rows + 1), columns(nnz), distances(size_t(n) * n);
  Managed<float> values(nnz), b(size_t(rows) * k), c(size_t(rows) * k);
  for (int r = 0; r < rows; ++r) offsets[r + 1] = offsets[r] + lengths[r];
  for (int p = 0; p < nnz; ++p) columns[p] = int(bits_of(p, 3) % rows);
  for (int p = 0; p < nnz; ++p) values[p] = float(p % 100) / 100;
  for (size_t p = 0; p < b.size; ++p) b[p] = float(p % 1000) / 1000;
  for (size_t p = 0; p < distances.size; ++p) distances[p] = int(bits_of(int(p), 4) % 10000);
  Managed<int> ids(size_t(size) << 20), bins(1024);
  for (size_t p = 0; p < ids.size; ++p) ids[p] = int(bits_of(int(p), 5) % bins.size);
  const auto finish = [] {
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  };
  const auto spmm = [&] { native_spmm(offsets.data, columns.data, values.data, b.data, c.data, rows, k); };
  stopwatch::compare(
      "SpMM, a thread a row",
      [&] {
        spmm_thread_a_row<<<(rows + 127) / 128, 128>>>(offsets.data, columns.data, values.data, b.data,
                                                       c.data, rows, k);
        finish();
      },
      spmm);
  stopwatch::compare(
      "SpMM, a warp a row, staged",
      [&] {
        spmm_warp_a_row<<<(rows + 7) / 8, 256>>>(offsets.data, columns.data, values.data, b.data, c.data,
                                                 rows, k);
        finish();
      },
      spmm);
  stopwatch::compare(
      "row sums with shuffles",
      [&] {
        row_sums<<<rows / 8, 256>>>(offsets.data, values.data, c.data, rows);
        finish();
      },
      [&] { native_row_sums(offsets.data, values.data, c.data, rows); });
  stopwatch::compare(
      "Floyd-Warshall, last phase in tiles",
      [&] {
        for (int t = 0; t < n / 32; ++t)
          min_plus_tile<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(distances.data, n, t);
        finish();
      },
      [&] { native_min_plus(distances.data, n); });
  stopwatch::compare(
      "histogram, a copy a block",
      [&] {
        histogram<<<64, 256, bins.size * sizeof(int)>>>(ids.data, int(ids.size), bins.data, int(bins.size));
        finish();
      },
      [&] {
        for (size_t p = 0; p < ids.size; ++p) ++bins[ids[p]];
      });
}
