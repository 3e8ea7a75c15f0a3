// GCN, X * W, step 1: a thread a row of Y, sums in device memory.
//
// Idea    the three loops as they stand in a textbook, one row a thread.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 256 rows.
// Cost    every multiplication loads X and W and stores the sum so far: Y might be part of X or W, so the
//         compiler may not wait with that. Lanes are a row apart: 32 lanes touch 32 sectors.
#include "rest_of_layer.cuh"

namespace {

constexpr int kRows = 256;  // a block

__global__ void gcn_transform_global_sums_kernel(int vertices, const double* x, const double* w, double* y) {
  const std::size_t row = blockIdx.x * kRows + threadIdx.x;
  if (row >= vertices) return;
  for (int c = 0; c < kGcnClasses; ++c) {
    y[row * kGcnClasses + c] = 0;
    for (int f = 0; f < kGcnFeatures; ++f)
      y[row * kGcnClasses + c] += x[row * kGcnFeatures + f] * w[f * kGcnClasses + c];
  }
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_global_sums_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
