// GCN, X * W, step 4: the row of X in registers, sixteen inner products.
//
// Idea    X is read once: a thread takes its whole row, then forms the inner product with each column of
//         W.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 256 rows, a thread a row, 16 KB
//         of shared memory.
// Cost    a load from shared memory a multiplication. 128 doubles are 256 registers and a thread has 255:
//         some numbers are spilled to local memory, and eight warps fill a multiprocessor.
#include "rest_of_layer.cuh"

namespace {

constexpr int kRows = 256;  // a block

__global__ void __launch_bounds__(kRows)
    gcn_transform_x_in_registers_kernel(int vertices, const double* x, const double* w, double* y) {
  __shared__ double weights[kGcnFeatures * kGcnClasses];
  for (int i = threadIdx.x; i < kGcnFeatures * kGcnClasses; i += kRows) weights[i] = w[i];
  __syncthreads();
  const std::size_t row = blockIdx.x * kRows + threadIdx.x;
  if (row >= vertices) return;
  double own[kGcnFeatures];
#pragma unroll
  for (int f = 0; f < kGcnFeatures; ++f) own[f] = x[row * kGcnFeatures + f];
#pragma unroll 1
  for (int c = 0; c < kGcnClasses; ++c) {
    double sum = 0;
#pragma unroll
    for (int f = 0; f < kGcnFeatures; ++f) sum += own[f] * weights[f * kGcnClasses + c];
    y[row * kGcnClasses + c] = sum;
  }
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_x_in_registers_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
