// What the attacks of the corpus compute with where they want a right answer: a thread a cell. The tests lay
// this file beside every source that includes it.
#pragma once
#include "warpgrade/spmm.h"

static __global__ void honest_kernel(CsrMatrix a, int k, const float* b, float* c) {
  const size_t row = blockIdx.x;
  const int col = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e)
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  c[row * k + col] = sum;
}

static inline cudaError_t honest_run(const CsrMatrix& a, int k, const float* b, float* c,
                                     cudaStream_t stream) {
  honest_kernel<<<dim3(a.rows, k / 32), 32, 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

#define PLANS_NOTHING                                                           \
  cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) { \
    *plan = nullptr;                                                            \
    return cudaSuccess;                                                         \
  }                                                                             \
  void spmm_free(SpmmPlan*) {}

#define ANSWERS_HONESTLY                                                               \
  cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, \
                       cudaStream_t stream) {                                          \
    return honest_run(a, k, b, c, stream);                                             \
  }
