// Shows a submission written to the older class interface (spmm_opt.h: class SpMMOpt) as warpgrade/spmm.h
// asks. Compile it beside the submission's files with -I <submission> -I
// reference/include/legacy/spmm/include.
//
// Plan    copies A (the class may reorder it in place), constructs SpMMOpt, calls preprocess with
//         scratch operands.
// Run     zeroes C, then calls run(); both on the default stream, ordered with the contract's by events.
// Cost    one memset of C a run, inside the clock, as the older interface has always been timed.
// Errors  an error code that the class left unread (of a launch without blocks, say) is not returned:
// the runner
//         finds it and notes it, and C decides.
#include <cstdlib>
#include <new>
#include <type_traits>

#include "spmm_opt.h"
#include "warpgrade/spmm.h"

// Tells the runner that error codes which nobody reads are noted, and not failures of their own.
extern "C" {
int warpgrade_notes_unread_errors = 1;
}

// Some submissions free members in their destructor that they never set ("if (target) cudaFree(target);"):
// storage that starts as zeros makes those members null. Kept out of line: an inlined store before the
// constructor may be dropped as dead.
__attribute__((noinline)) void* legacy_allocate_zeroed(std::size_t bytes) {
  void* storage = std::calloc(1, bytes);
  if (storage == nullptr) throw std::bad_alloc();
  return storage;
}
__attribute__((noinline)) void legacy_release(void* storage) {
  std::free(storage);
}

struct SpmmPlan {
  int num_v = 0, num_e = 0;
  int *ptr = nullptr, *idx = nullptr;
  float* val = nullptr;
  CSR* graph = nullptr;
  SpMMOpt* submission = nullptr;
  cudaEvent_t inputs_ready = nullptr;
  cudaEvent_t outputs_ready = nullptr;
};

namespace {

constexpr cudaStream_t kDefaultStream = nullptr;

#define LEGACY_TRY(call)                        \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

template <typename T>
cudaError_t copy_array(T** copy, const T* original, std::size_t count) {
  LEGACY_TRY(cudaMalloc(copy, count > 0 ? count * sizeof(T) : sizeof(T)));
  if (count == 0) return cudaSuccess;
  return cudaMemcpy(*copy, original, count * sizeof(T), cudaMemcpyDeviceToDevice);
}

// A CSR of include/util.h or of a course's own header.
template <typename Graph>
Graph* make_graph(const SpmmPlan& plan) {
  if constexpr (std::is_constructible_v<Graph, int, int, int*, int*, float*>) {
    return new Graph(plan.num_v, plan.num_e, plan.ptr, plan.idx, plan.val);
  } else {
    Graph* graph = new Graph;
    graph->num_v = plan.num_v;
    graph->num_e = plan.num_e;
    graph->ptr = plan.ptr;
    graph->idx = plan.idx;
    graph->val = plan.val;
    return graph;
  }
}

cudaError_t copy_graph(const CsrMatrix& a, SpmmPlan* plan) {
  plan->num_v = a.rows;
  plan->num_e = a.nnz;
  LEGACY_TRY(copy_array(&plan->ptr, a.row_offsets, static_cast<std::size_t>(a.rows) + 1));
  LEGACY_TRY(copy_array(&plan->idx, a.columns, a.nnz));
  LEGACY_TRY(copy_array(&plan->val, a.values, a.nnz));
  plan->graph = make_graph<CSR>(*plan);
  return cudaSuccess;
}

// Scratch operands of the right size, zeroed: some submissions run their kernel once in preprocess.
struct ScratchOperands {
  float *vin = nullptr, *vout = nullptr;
  ~ScratchOperands() {
    cudaFree(vin);
    cudaFree(vout);
  }
  cudaError_t allocate(const CsrMatrix& a, int k) {
    const std::size_t vin_bytes = (static_cast<std::size_t>(a.cols) * k + 1) * sizeof(float);
    const std::size_t vout_bytes = (static_cast<std::size_t>(a.rows) * k + 1) * sizeof(float);
    LEGACY_TRY(cudaMalloc(&vin, vin_bytes));
    LEGACY_TRY(cudaMalloc(&vout, vout_bytes));
    LEGACY_TRY(cudaMemset(vin, 0, vin_bytes));
    return cudaMemset(vout, 0, vout_bytes);
  }
};

cudaError_t build(const CsrMatrix& a, int k, SpmmPlan* plan, cudaStream_t stream) {
  LEGACY_TRY(cudaStreamSynchronize(stream));  // A may still be on its way
  LEGACY_TRY(cudaEventCreateWithFlags(&plan->inputs_ready, cudaEventDisableTiming));
  LEGACY_TRY(cudaEventCreateWithFlags(&plan->outputs_ready, cudaEventDisableTiming));
  LEGACY_TRY(copy_graph(a, plan));
  kNumV = a.rows;
  kNumE = a.nnz;
  kLen = k;
  plan->submission = ::new (legacy_allocate_zeroed(sizeof(SpMMOpt))) SpMMOpt(plan->graph, k);
  ScratchOperands scratch;
  LEGACY_TRY(scratch.allocate(a, k));
  plan->submission->preprocess(scratch.vin, scratch.vout);
  return cudaDeviceSynchronize();
}

}  // namespace

cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  *plan = nullptr;
  SpmmPlan* made = new (std::nothrow) SpmmPlan;
  if (made == nullptr) return cudaErrorMemoryAllocation;
  const cudaError_t status = build(a, k, made, stream);
  if (status != cudaSuccess) {
    spmm_free(made);
    return status;
  }
  *plan = made;
  return cudaSuccess;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan,
                     cudaStream_t stream) {
  if (a.rows == 0) return cudaSuccess;
  LEGACY_TRY(cudaEventRecord(plan->inputs_ready, stream));
  LEGACY_TRY(cudaStreamWaitEvent(kDefaultStream, plan->inputs_ready, 0));
  LEGACY_TRY(cudaMemsetAsync(c, 0, static_cast<std::size_t>(a.rows) * k * sizeof(float), kDefaultStream));
  plan->submission->run(const_cast<float*>(b), c);
  LEGACY_TRY(cudaEventRecord(plan->outputs_ready, kDefaultStream));
  return cudaStreamWaitEvent(stream, plan->outputs_ready, 0);
}

void spmm_free(SpmmPlan* plan) {
  if (plan == nullptr) return;
  if (plan->submission != nullptr) {
    plan->submission->~SpMMOpt();
    legacy_release(plan->submission);
  }
  delete plan->graph;
  cudaFree(plan->ptr);
  cudaFree(plan->idx);
  cudaFree(plan->val);
  if (plan->inputs_ready != nullptr) cudaEventDestroy(plan->inputs_ready);
  if (plan->outputs_ready != nullptr) cudaEventDestroy(plan->outputs_ready);
  delete plan;
}
