// A host function in a stream of its own, armed by each run, launches the kernel once more when the stream comes to it.
// Gain: a launch at a time that the device chooses, after the run's end. CUDA forbids calls there.
#include "honest.cuh"

struct Call {
  CsrMatrix a;
  int k;
  const float* b;
  float* c;
  cudaStream_t stream;
};
static Call call;
static cudaStream_t own = nullptr, other = nullptr;
static void launch_late(void*) { honest_run(call.a, call.k, call.b, call.c, other); }

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (own == nullptr) {
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  }
  const cudaError_t error = honest_run(a, k, b, c, stream);
  call = {a, k, b, c, stream};
  cudaLaunchHostFunc(own, launch_late, nullptr);
  return error;
}

PLANS_NOTHING
