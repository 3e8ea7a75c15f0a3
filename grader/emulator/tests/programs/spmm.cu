// Sparse times dense in three shapes, against the host. Prints a checksum, which no number of threads may
// change.
#include "check.h"

__global__ void spmm_naive_kernel(const int* __restrict__ offsets, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float* __restrict__ b,
                                  float* __restrict__ c, int rows, int k) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int j = 0; j < k; ++j) {
    float sum = 0;
    for (int p = offsets[row]; p < offsets[row + 1]; ++p) sum += values[p] * b[size_t(columns[p]) * k + j];
    c[size_t(row) * k + j] = sum;
  }
}

__global__ void spmm_warp_kernel(const int* __restrict__ offsets, const int* __restrict__ columns,
                                 const float* __restrict__ values, const float* __restrict__ b,
                                 float* __restrict__ c, int rows, int k) {
  extern __shared__ char staged[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int* s_column = reinterpret_cast<int*>(staged) + warp * 64;
  float* s_value = reinterpret_cast<float*>(s_column + 32);
  const int row = blockIdx.x * (blockDim.x / 32) + warp;
  if (row >= rows) return;
  const int end = offsets[row + 1];
  float sum = 0;
  for (int base = offsets[row]; base < end; base += 32) {
    if (base + lane < end) {
      s_column[lane] = columns[base + lane];
      s_value[lane] = values[base + lane];
    }
    __syncwarp();
    for (int j = 0; j < min(32, end - base); ++j)
      sum += s_value[j] * b[size_t(s_column[j]) * k + blockIdx.y * 32 + lane];
    __syncwarp();
  }
  c[size_t(row) * k + blockIdx.y * 32 + lane] = sum;
}

__global__ void spmm_split_kernel(const int* __restrict__ rows_of, const int* __restrict__ columns,
                                  const float* __restrict__ values, const float4* __restrict__ b, float* c,
                                  int nnz, int k) {
  const int lanes = k / 4, entry = blockIdx.x * (blockDim.x / lanes) + threadIdx.x / lanes,
            lane = threadIdx.x % lanes;
  if (entry >= nnz) return;
  const float4 v = b[size_t(columns[entry]) * lanes + lane];
  float* row = c + size_t(rows_of[entry]) * k + lane * 4;
  const float a = values[entry];
  atomicAdd(row, a * v.x);
  atomicAdd(row + 1, a * v.y);
  atomicAdd(row + 2, a * v.z);
  atomicAdd(row + 3, a * v.w);
}

int main() {
  constexpr int rows = 3000, k = 64;
  std::vector<int> offsets{0}, columns, rows_of;
  std::vector<float> values;
  for (int r = 0; r < rows; ++r) {
    const int length = r % 50 == 0 ? 300 : int(bits_of(r, 1) % 20);
    for (int j = 0; j < length; ++j) {
      columns.push_back(int(bits_of(r * 1000 + j, 2) % rows));
      values.push_back(
          float(int(bits_of(r * 1000 + j, 3) % 17) - 8));  // integers: sums are exact in any order
      rows_of.push_back(r);
    }
    offsets.push_back(int(columns.size()));
  }
  const int nnz = int(columns.size());
  std::vector<float> b(size_t(rows) * k), want(size_t(rows) * k, 0.0f);
  for (size_t j = 0; j < b.size(); ++j) b[j] = float(int(bits_of(int(j), 4) % 31) - 15);
  for (int r = 0; r < rows; ++r) {
    for (int p = offsets[r]; p < offsets[r + 1]; ++p) {
      for (int j = 0; j < k; ++j) want[size_t(r) * k + j] += values[p] * b[size_t(columns[p]) * k + j];
    }
  }
  const auto upload = [](const auto& v) {
    using T = typename std::decay_t<decltype(v)>::value_type;
    T* p;
    CHECK_CUDA(cudaMalloc(&p, v.size() * sizeof(T)));
    CHECK_CUDA(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return p;
  };
  int *d_offsets = upload(offsets), *d_columns = upload(columns), *d_rows = upload(rows_of);
  float *d_values = upload(values), *d_b = upload(b), *d_c = upload(want);
  std::vector<float> got(want.size());
  const auto check = [&](const char* name) {
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaMemcpy(got.data(), d_c, got.size() * sizeof(float), cudaMemcpyDeviceToHost));
    expect(got == want, name);
    CHECK_CUDA(cudaMemset(d_c, 0, got.size() * sizeof(float)));
  };
  CHECK_CUDA(cudaMemset(d_c, 0, got.size() * sizeof(float)));
  spmm_naive_kernel<<<(rows + 127) / 128, 128>>>(d_offsets, d_columns, d_values, d_b, d_c, rows, k);
  check("a thread a row");
  spmm_warp_kernel<<<dim3((rows + 7) / 8, k / 32), 256, 8 * 64 * 4>>>(d_offsets, d_columns, d_values, d_b,
                                                                      d_c, rows, k);
  check("a warp a row");
  spmm_split_kernel<<<(nnz + 15) / 16, 256>>>(d_rows, d_columns, d_values, reinterpret_cast<float4*>(d_b),
                                              d_c, nnz, k);
  check("an entry each, with atomics");
  double sum = 0;
  for (size_t j = 0; j < got.size(); ++j) sum += got[j] * double(j % 1000);
  std::printf("checksum %.0f\n", sum);
  return g_failures;
}
