// One warp stages the row's values in shared memory and the others read them without __syncthreads() in between. The
// delay in the staging warp makes sure that the race is lost, on any machine.
#include "warpgrade/spmm.h"

const int WARPS = 4, BATCH = 128;

__device__ void wait_a_little() {
  long long start = clock64();
  for (int i = 0; i < 200 && clock64() - start < 200000; i++) __nanosleep(1000);
}

// Warp w computes the strips w, w + 4, ... of 32 columns; the last warp loads for all of them.
__global__ void spmm_staged_kernel(CsrMatrix a, int k, const float* b, float* c) {
  __shared__ float staged[BATCH];
  size_t row = blockIdx.x;
  int lane = threadIdx.x, warp = threadIdx.y;
  int begin = a.row_offsets[row], n = min(BATCH, a.row_offsets[row + 1] - begin);
  if (warp == WARPS - 1) {
    wait_a_little();
    for (int i = lane; i < n; i += 32) staged[i] = a.values[begin + i];
  }
  // __syncthreads() belongs here
  for (int col = warp * 32 + lane; col < k; col += WARPS * 32) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += staged[i] * b[(size_t)a.columns[begin + i] * k + col];
    for (int e = begin + n; e < a.row_offsets[row + 1]; e++) sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
    c[row * k + col] = sum;
  }
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  spmm_staged_kernel<<<a.rows, dim3(32, WARPS), 0, stream>>>(a, k, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
