// Pieces of what solutions do, to find which of them costs a different time natively and through the executor
// (differences.sh). The pieces stand in SpMM's functions, so that fidelity_solution.cu drives them; they do
// not compute SpMM. -DPIECE says which:
//   0  one kernel that reads the row offsets and writes C
//   1  the same; the plan launches another kernel of the module
//   2  the same; the plan allocates a small array, which the kernel reads, and copies it from the host
//   3  the same; a kernel in the plan fills that array
//   4  piece 0; the plan allocates scratch memory and frees it
//   5  cudaMemsetAsync of C, then the kernel of piece 0
//   6  two kernels, the second is that of piece 0
//   7  cudaMemsetAsync of C alone
#include <cuda_runtime.h>

#include <vector>

#include "warpgrade/spmm.h"

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

struct SpmmPlan {
  int* rows = nullptr;  // [rows], pieces 2 and 3
};

namespace {

constexpr int kThreads = 256;

__global__ void pieces_main_kernel(int count, const int* __restrict__ from, float* __restrict__ c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) c[i] = static_cast<float>(from[i]);
}
__global__ void pieces_fill_kernel(int count, int* to) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = i;
}
__global__ void pieces_other_kernel(int count, float* c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) c[i] = 1;
}

unsigned blocks_for(int count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int, SpmmPlan** plan, cudaStream_t stream) {
  *plan = new SpmmPlan;
  const std::size_t bytes = static_cast<std::size_t>(a.rows) * sizeof(int);
  int* array = nullptr;
  if (PIECE >= 1 && PIECE <= 4) TRY(cudaMalloc(&array, bytes));
  if (PIECE == 1 || PIECE == 3)
    pieces_fill_kernel<<<blocks_for(a.rows), kThreads, 0, stream>>>(a.rows, array);
  if (PIECE == 2) {
    const std::vector<int> values(static_cast<std::size_t>(a.rows), 1);
    TRY(cudaMemcpy(array, values.data(), bytes, cudaMemcpyHostToDevice));
  }
  TRY(cudaStreamSynchronize(stream));
  if (PIECE == 2 || PIECE == 3)
    (*plan)->rows = array;
  else
    TRY(cudaFree(array));
  return cudaGetLastError();
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float*, float* c, SpmmPlan* plan, cudaStream_t stream) {
  const std::size_t bytes = static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(k) * sizeof(float);
  if (PIECE == 5 || PIECE == 7) TRY(cudaMemsetAsync(c, 0, bytes, stream));
  if (PIECE == 6) pieces_other_kernel<<<blocks_for(a.rows), kThreads, 0, stream>>>(a.rows, c);
  const int* from = plan->rows != nullptr ? plan->rows : a.row_offsets;
  if (PIECE != 7) pieces_main_kernel<<<blocks_for(a.rows), kThreads, 0, stream>>>(a.rows, from, c);
  return cudaGetLastError();
}

void spmm_free(SpmmPlan* plan) {
  cudaFree(plan->rows);
  delete plan;
}
