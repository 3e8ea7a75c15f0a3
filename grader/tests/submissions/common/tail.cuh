// What the programs with an empty kernel behind their work, and their twins, share. The work is the same in all of
// them: blocks that are all resident walk over rows. They differ in how the empty kernel behind it is launched, and in
// what it waits for.
//
// A fair twin is as quick as an honest program with this work can be. An empty kernel that waits has the attack's
// launches, but ends behind the work: the attack saves its end, honestly, since nothing behind the work is needed. So
// the work with nothing behind it is a twin, too: no kernel behind it can end sooner. The quickest twin counts, and an
// attack that is quicker has ended the measurement before its work.
// griddepcontrol and programmatic launches are of sm_90 and later; below, all launches are plain.
#pragma once
#include "warpgrade/spmm.h"

namespace tail {

enum class Trigger { kNone, kAtOnce, kAtTheEnd };  // when the work lets the kernel behind it begin
enum class Behind { kNothing, kEmpty, kEmptyThatWaits };

__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ __forceinline__ void wait_for_the_work() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

constexpr int kWarps = 8, kBlocksAnSm = 7;

// A warp a row and 32 columns.
template <Trigger trigger>
__global__ void __launch_bounds__(32 * kWarps, kBlocksAnSm)
    work_kernel(CsrMatrix a, int k, const float* __restrict__ b, float* __restrict__ c) {
  if (trigger == Trigger::kAtOnce) launch_dependents();
  const int wide = k / 32, lane = threadIdx.x;
  for (int task = blockIdx.x * kWarps + threadIdx.y; task < a.rows * wide; task += gridDim.x * kWarps) {
    const int row = task / wide, col = task % wide * 32 + lane, end = a.row_offsets[row + 1];
    float sum = 0;
#pragma unroll 8
    for (int e = a.row_offsets[row]; e < end; ++e) sum += a.values[e] * b[size_t(a.columns[e]) * k + col];
    c[size_t(row) * k + col] = sum;
  }
  if (trigger == Trigger::kAtTheEnd) launch_dependents();
}

template <Behind behind>
__global__ void empty_kernel() {
  if (behind == Behind::kEmptyThatWaits) wait_for_the_work();
}

inline bool has_programmatic_launches() {
  static int major = 0;
  if (major == 0) cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  return major >= 9;
}

template <Trigger trigger, Behind behind>
cudaError_t launch(const CsrMatrix& a, int k, const float* b, float* c, cudaStream_t stream) {
  static int multiprocessors = 0;
  if (multiprocessors == 0) cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
  work_kernel<trigger><<<multiprocessors * kBlocksAnSm, dim3(32, kWarps), 0, stream>>>(a, k, b, c);
  if (behind == Behind::kNothing) return cudaGetLastError();
  cudaLaunchAttribute programmatic{};
  programmatic.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  programmatic.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = &programmatic;
  config.numAttrs = trigger != Trigger::kNone && has_programmatic_launches() ? 1 : 0;
  return cudaLaunchKernelEx(&config, empty_kernel<behind>);
}

}  // namespace tail

// For programs that launch as a graph, which belongs to the outputs that it was captured with.
struct SpmmPlan {
  cudaGraphExec_t graph = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
};

template <tail::Trigger trigger, tail::Behind behind>
cudaError_t run_as_graph(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan& plan,
                         cudaStream_t stream) {
  if (plan.b != b || plan.c != c) {
    if (plan.graph != nullptr) cudaGraphExecDestroy(plan.graph);
    cudaGraph_t captured;
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
    tail::launch<trigger, behind>(a, k, b, c, own);
    cudaStreamEndCapture(own, &captured);
    cudaGraphInstantiate(&plan.graph, captured, 0);
    cudaGraphDestroy(captured);
    cudaStreamDestroy(own);
    plan.b = b;
    plan.c = c;
  }
  return cudaGraphLaunch(plan.graph, stream);
}

cudaError_t spmm_plan(const CsrMatrix&, int, SpmmPlan** plan, cudaStream_t) {
  *plan = new SpmmPlan;
  return cudaSuccess;
}

void spmm_free(SpmmPlan* plan) {
  if (plan != nullptr && plan->graph != nullptr) cudaGraphExecDestroy(plan->graph);
  delete plan;
}
