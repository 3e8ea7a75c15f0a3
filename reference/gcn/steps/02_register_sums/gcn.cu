// GCN, X * W, step 2: the sum stays in a register.
//
// Idea    a cell of Y belongs to one thread: it adds up in a register and is written once.
// Shapes  X [v, 128], W [128, 16], Y [v, 16], fp64, row-major. Blocks of 256 rows, a thread a row.
// Cost    two loads a multiplication; X is walked once for every class.
#include "rest_of_layer.cuh"

namespace {

constexpr int kRows = 256;  // a block

__global__ void gcn_transform_register_sums_kernel(int vertices, const double* x, const double* w,
                                                   double* y) {
  const std::size_t row = blockIdx.x * kRows + threadIdx.x;
  if (row >= vertices) return;
  for (int c = 0; c < kGcnClasses; ++c) {
    double sum = 0;
    for (int f = 0; f < kGcnFeatures; ++f) sum += x[row * kGcnFeatures + f] * w[f * kGcnClasses + c];
    y[row * kGcnClasses + c] = sum;
  }
}

}  // namespace

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan*,
                          cudaStream_t stream) {
  const int blocks = (vertices + kRows - 1) / kRows;
  gcn_transform_register_sums_kernel<<<blocks, kRows, 0, stream>>>(vertices, x, w, y);
  return cudaGetLastError();
}
