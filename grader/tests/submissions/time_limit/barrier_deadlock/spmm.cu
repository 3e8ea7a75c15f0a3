// One warp waits at a barrier for the other, which waits for a flag that is set behind the barrier.
#include "warpgrade/spmm.h"

__global__ void spmm_deadlock_kernel(CsrMatrix a, int k, const float* b, float* c) {
  __shared__ volatile int loaded;
  if (threadIdx.x == 0) loaded = 0;
  __syncthreads();
  if (threadIdx.y == 0) {
    __syncthreads();
    loaded = 1;
  } else {
    while (loaded == 0) {
    }
    __syncthreads();
  }
  size_t row = blockIdx.x;
  int col = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++)
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  if (threadIdx.y == 0) c[row * k + col] = sum;
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_deadlock_kernel<<<dim3(a.rows, k / 32), dim3(32, 2), 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
