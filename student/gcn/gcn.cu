// Lab gcn: a layer of a graph convolutional network. Yours to fill.
//
//   Y = X * W                          gcn_transform
//   Z = N * Y                          gcn_aggregate       N(i, j) = 1 / sqrt(deg(i)) / sqrt(deg(j))
//   O = log_softmax of each row of Z   gcn_log_softmax
//   all three                          gcn_run
//
// The functions below are the contract; reference/include/warpgrade/gcn.h states it in full. As they stand
// they compile, and say that they are not written yet: `make test` then skips their cases instead of failing
// them. Write one, and its cases run.
//
// Try it:  make test LAB=gcn                          all public cases
//          make test LAB=gcn CASE='xw-*'              those of X * W
//          make test LAB=gcn CASE=softmax-shifted     one of them
#include "warpgrade/gcn.h"

// What you want to keep between gcn_plan and the runs: a workspace for Y and Z, factors, another form of the
// graph. Leave it empty when you need nothing.
struct GcnPlan {};

// Look at the graph. Called once a graph; it sees no numbers.
//   graph  row_offsets and columns are device memory
//   plan   out: what the other functions will be given, or nullptr
cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t stream) {
  (void)graph, (void)stream;
  *plan = nullptr;
  return cudaSuccess;
}

// Y = X * W.
//   x  [vertices, 128], w  [128, 16], row-major, device
//   y  [vertices, 16], row-major, device: holds garbage, so write every cell
// Launch on `stream`, and return cudaGetLastError() so that a launch that failed is seen.
cudaError_t gcn_transform(int vertices, const double* x, const double* w, double* y, GcnPlan* plan,
                          cudaStream_t stream) {
  (void)vertices, (void)x, (void)w, (void)y, (void)plan, (void)stream;
  return cudaErrorNotSupported;  // becomes cudaGetLastError() when you have written it
}

// Z = N * Y. Rows of vertices without entries are 0: write them, too.
//   y  [graph.vertices, 16], z  [graph.vertices, 16], row-major, device
cudaError_t gcn_aggregate(const GcnGraph& graph, const double* y, double* z, GcnPlan* plan,
                          cudaStream_t stream) {
  (void)graph, (void)y, (void)z, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// o = z - log(sum of exp(z)) in each row.
//   z  [vertices, 16], o  [vertices, 16], row-major, device
cudaError_t gcn_log_softmax(int vertices, const double* z, double* o, GcnPlan* plan, cudaStream_t stream) {
  (void)vertices, (void)z, (void)o, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// All three: one after the other, or fused as you like. Nobody looks at Y and Z.
cudaError_t gcn_run(const GcnGraph& graph, const double* x, const double* w, double* o, GcnPlan* plan,
                    cudaStream_t stream) {
  (void)graph, (void)x, (void)w, (void)o, (void)plan, (void)stream;
  return cudaErrorNotSupported;
}

// Release what gcn_plan made. plan may be nullptr.
void gcn_free(GcnPlan* plan) {
  delete plan;
}
