// GCN, X * W, step 5: outer products.
//
// Idea    the loops change places: sixteen sums stay in registers, and a number of X, read once, feeds
//         sixteen multiplications. 32 registers do what 256 did.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 256 rows, a thread a row, 16 KB
//         of shared memory.
// Cost    X is read once, but lanes are a row apart: a load of 32 lanes takes 8 of the 32 bytes of each
//         of 32 sectors, and the other 24 have to wait in L1 for the next three.
#include "rest_of_layer.cuh"

namespace {

constexpr int kRows = 256;  // a block

__global__ void gcn_transform_outer_product_kernel(int vertices, const double* x, const double* w,
                                                   double* y) {
  __shared__ double weights[kGcnFeatures * kGcnClasses];
  for (int i = threadIdx.x; i < kGcnFeatures * kGcnClasses; i += kRows) weights[i] = w[i];
  __syncthreads();
  const std::size_t row = blockIdx.x * kRows + threadIdx.x;
  if (row >= vertices) return;
  double sums[kGcnClasses] = {};
  for (int f = 0; f < kGcnFeatures; ++f) {
    const double own = x[row * kGcnFeatures + f];
#pragma unroll
    for (int c = 0; c < kGcnClasses; ++c) sums[c] += own * weights[f * kGcnClasses + c];
  }
#pragma unroll
  for (int c = 0; c < kGcnClasses; ++c) y[row * kGcnClasses + c] = sums[c];
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_outer_product_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
