// GCN, X * W, step 3: W lies in shared memory.
//
// Idea    all rows use the same 16 KB of W: a block stages it once, and L1 is left to X.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 256 rows, a thread a row, 16 KB
//         of shared memory.
// Cost    a load from memory and one from shared memory (a broadcast) a multiplication; X is walked once
//         for every class.
#include "rest_of_layer.cuh"

namespace {

constexpr int kRows = 256;  // a block

__global__ void gcn_transform_shared_w_kernel(int vertices, const double* x, const double* w, double* y) {
  __shared__ double weights[kGcnFeatures * kGcnClasses];
  for (int i = threadIdx.x; i < kGcnFeatures * kGcnClasses; i += kRows) weights[i] = w[i];
  __syncthreads();
  const std::size_t row = blockIdx.x * kRows + threadIdx.x;
  if (row >= vertices) return;
  for (int c = 0; c < kGcnClasses; ++c) {
    double sum = 0;
    for (int f = 0; f < kGcnFeatures; ++f) sum += x[row * kGcnFeatures + f] * weights[f * kGcnClasses + c];
    y[row * kGcnClasses + c] = sum;
  }
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_shared_w_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
