// GCN, optimized: the transform on fp64 tensor cores; aggregation and log-softmax in one kernel that
// gathers from L2.
//
// Shapes  X [v, 128], W [128, 16], Y, Z, O [v, 16], fp64, row-major; 16 columns are 128 bytes, one cache
//         line.
// Floor   X is read once (1024 bytes a vertex): 0.29 GB for 281,903 vertices, 67 us of an H200's memory.
//         Y (36 MB) stays in L2, where the aggregation gathers 128 bytes an entry. O is written once.
// Parts   transform.cuh: a warp makes 16 rows of Y with mma. aggregate.cuh: eight lanes gather a row of
//         those that plan.cuh has sorted by length; the longest are cut into segments that other blocks take.
//         In gcn_run the transform scales row j by 1 / sqrt(deg(j)), so that an entry costs one gather, and
//         the aggregation starts on the transform's heels.
#include <new>

#include "aggregate.cuh"
#include "plan.cuh"
#include "transform.cuh"
#include "warpgrade/gcn.h"

using namespace optimized;

cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t stream) {
  GcnPlan* p = *plan = new (std::nothrow) GcnPlan;
  if (p == nullptr) return cudaErrorMemoryAllocation;
  return build_plan(graph, *p, stream);
}

cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan* plan,
                          cudaStream_t stream) {
  return launch_transform<false>(vertices, x, w, nullptr, y, *plan, stream);
}

cudaError_t gcn_aggregate(const GcnGraph& graph, const double* y, double* z, GcnPlan* plan,
                          cudaStream_t stream) {
  return launch_aggregate<AggregateMode::kPlain>(graph.vertices, y, z, *plan, stream);
}

cudaError_t gcn_log_softmax(int vertices, const double* z, double* o, GcnPlan*, cudaStream_t stream) {
  return launch_log_softmax(vertices, z, o, stream);
}

cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  const cudaError_t status =
      launch_transform<true>(graph.vertices, x, w, plan->factors, plan->y, *plan, stream);
  if (status != cudaSuccess) return status;
  return launch_aggregate<AggregateMode::kScaledLogSoftmax>(graph.vertices, plan->y, o, *plan, stream);
}

void gcn_free(GcnPlan* plan) {
  delete plan;
}
