// SpMM, naive: one thread a row, which walks its row once for every column of C.
//
// Shapes  A [m, n] CSR, B [n, k], C [m, k] row-major.
// Work    2 * nnz * k flop.
// Cost    Neighbouring threads read unrelated rows of B: a 32-byte sector moves for each 4-byte operand, and
//         A is read k times. One long row keeps its warp busy while the other 31 lanes wait.
// Idea    None: this is the line that every improvement is measured against.
#include <cstdint>

#include "warpgrade/spmm.h"

namespace {

constexpr int kBlockThreads = 128;

__global__ void spmm_naive_kernel(int rows, std::int64_t k, const int* __restrict__ row_offsets,
                                  const int* __restrict__ columns, const float* __restrict__ values,
                                  const float* __restrict__ b,  // [n, k]
                                  float* __restrict__ c) {      // [m, k]
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  for (std::int64_t j = 0; j < k; ++j) {
    float sum = 0.0f;
    for (int e = begin; e < end; ++e) sum += values[e] * b[columns[e] * k + j];
    c[row * k + j] = sum;
  }
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  const unsigned blocks = (static_cast<unsigned>(a.rows) + kBlockThreads - 1) / kBlockThreads;
  spmm_naive_kernel<<<blocks, kBlockThreads, 0, stream>>>(a.rows, k, a.row_offsets, a.columns, a.values, b,
                                                          c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
