// Marks all device memory and shared memory that it gets, and looks in it for marks of an earlier plan, run or case.
// Gain: what it has computed once need not be computed again. It finds nothing: all is overwritten in between. Where it
// finds a mark it refuses to work.
#include <vector>

#include "honest.cuh"

namespace {

constexpr unsigned kMark = 0x6d61726bu;
constexpr int kSharedBytes = 160 * 1024, kThreads = 256;

__global__ void look_and_mark(unsigned* words, size_t count, unsigned* found) {
  const size_t stride = (size_t)gridDim.x * blockDim.x;
  for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    if (words[i] == kMark) atomicAdd(found, 1);
    words[i] = kMark;
  }
}

__global__ void look_and_mark_shared(int count, unsigned* found) {
  extern __shared__ volatile unsigned words[];
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    if (words[i] == kMark) atomicAdd(found, 1);
    words[i] = kMark;
  }
}

int shared_bytes() {
  int bytes = 0;
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  return bytes < kSharedBytes ? bytes : kSharedBytes;
}

}  // namespace

struct SpmmPlan {
  unsigned* found = nullptr;
  std::vector<void*> kept;
};

// Of each size three pieces: one goes with the plan, one at once, one is the stream-ordered pool's.
cudaError_t mark_memory(SpmmPlan& plan, cudaStream_t stream) {
  std::vector<unsigned*> at_once, pools;
  for (const size_t bytes : {size_t(4096), size_t(65536), size_t(1) << 20, size_t(8) << 20}) {
    for (int kind = 0; kind < 3; ++kind) {
      unsigned* piece = nullptr;
      const cudaError_t error =
          kind == 2 ? cudaMallocAsync((void**)&piece, bytes, stream) : cudaMalloc(&piece, bytes);
      if (error != cudaSuccess) return error;
      look_and_mark<<<64, kThreads, 0, stream>>>(piece, bytes / sizeof(unsigned), plan.found);
      kind == 0 ? plan.kept.push_back(piece) : kind == 1 ? at_once.push_back(piece) : pools.push_back(piece);
    }
  }
  for (unsigned* piece : at_once) cudaFree(piece);
  for (unsigned* piece : pools) cudaFreeAsync(piece, stream);
  return cudaGetLastError();
}

cudaError_t refuse_what_was_found(const SpmmPlan& plan, cudaStream_t stream) {
  unsigned found = 0;
  cudaMemcpyAsync(&found, plan.found, sizeof found, cudaMemcpyDeviceToHost, stream);
  const cudaError_t error = cudaStreamSynchronize(stream);
  return found != 0 ? cudaErrorUnknown : error;
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t stream) {
  *plan = new SpmmPlan;
  if (const cudaError_t error = cudaMalloc(&(*plan)->found, sizeof(unsigned)); error != cudaSuccess)
    return error;
  cudaMemsetAsync((*plan)->found, 0, sizeof(unsigned), stream);
  if (const cudaError_t error = mark_memory(**plan, stream); error != cudaSuccess) return error;
  cudaFuncSetAttribute(look_and_mark_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes());
  return refuse_what_was_found(**plan, stream);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  const int bytes = shared_bytes();
  if (const cudaError_t error = honest_run(a, k, b, c, stream); error != cudaSuccess) return error;
  static int multiprocessors = 0;
  if (multiprocessors == 0) cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  // A block each, which are there at once: none finds what another of this launch has left.
  look_and_mark_shared<<<multiprocessors, kThreads, bytes, stream>>>(bytes / 4, plan->found);
  return refuse_what_was_found(*plan, stream);
}

void spmm_free(SpmmPlan* plan) {
  if (plan == nullptr) return;
  for (void* piece : plan->kept) cudaFree(piece);
  cudaFree(plan->found);
  delete plan;
}
