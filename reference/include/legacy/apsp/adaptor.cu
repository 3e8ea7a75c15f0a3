// Shows a submission written to the older interface (void apsp(int n, int* graph)) as warpgrade/apsp.h asks.
// Compile it beside the submission's files with -I <submission> -I reference/include/legacy/apsp/include.
//
// Plan    two events, which order the default stream with the contract's.
// Run     apsp() on the default stream; what it allocates is inside the clock, as it has always been.
// Errors  an error code that apsp() left unread (of a launch without blocks, say) is not returned: the
// runner finds
//         it and notes it, and the distances decide.
#include <new>

#include "warpgrade/apsp.h"

void apsp(int n, int* graph);  // the submission's

// Tells the runner that error codes which nobody reads are noted, and not failures of their own.
extern "C" {
int warpgrade_notes_unread_errors = 1;
}

struct ApspPlan {
  cudaEvent_t edges_ready = nullptr;
  cudaEvent_t distances_ready = nullptr;
};

namespace {

constexpr cudaStream_t kDefaultStream = nullptr;

cudaError_t make_events(ApspPlan& plan) {
  const cudaError_t status = cudaEventCreateWithFlags(&plan.edges_ready, cudaEventDisableTiming);
  if (status != cudaSuccess) return status;
  return cudaEventCreateWithFlags(&plan.distances_ready, cudaEventDisableTiming);
}

}  // namespace

cudaError_t apsp_plan(int, ApspPlan** plan, cudaStream_t) {
  *plan = nullptr;
  ApspPlan* made = new (std::nothrow) ApspPlan;
  if (made == nullptr) return cudaErrorMemoryAllocation;
  const cudaError_t status = make_events(*made);
  if (status != cudaSuccess) {
    apsp_free(made);
    return status;
  }
  *plan = made;
  return cudaSuccess;
}

cudaError_t apsp_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream) {
  cudaError_t status = cudaEventRecord(plan->edges_ready, stream);
  if (status != cudaSuccess) return status;
  status = cudaStreamWaitEvent(kDefaultStream, plan->edges_ready, 0);
  if (status != cudaSuccess) return status;
  apsp(n, graph);
  status = cudaEventRecord(plan->distances_ready, kDefaultStream);
  if (status != cudaSuccess) return status;
  return cudaStreamWaitEvent(stream, plan->distances_ready, 0);
}

void apsp_free(ApspPlan* plan) {
  if (plan == nullptr) return;
  if (plan->edges_ready != nullptr) cudaEventDestroy(plan->edges_ready);
  if (plan->distances_ready != nullptr) cudaEventDestroy(plan->distances_ready);
  delete plan;
}
