// The contract of the lab `gcn`: one layer of a graph convolutional network in fp64, for inference.
//
//   Y[v, 16] = X[v, 128] * W[128, 16]             the transform
//   Z[v, 16] = N * Y                              the aggregation; N is the graph, symmetrically normalized
//   O[v, 16] = log_softmax of each row of Z       o = z - log(sum of exp(z))
//
// N(i, j) = 1 / sqrt(deg(i)) / sqrt(deg(j)) for every entry (i, j) of the graph, where deg(i) is the number
// of entries in row i. Entries that repeat count and add up as often as they stand there. A vertex without
// entries has no neighbours (its row of Z is 0) and contributes nothing to others: 1 / sqrt(0) is 0 here.
// Whether a vertex is its own neighbour is the graph's to say: the self-loop is then an entry like any other.
//
// A submission defines the functions below in any of its .cu files. The judge calls, in one process and
// always on the same stream:
//
//   gcn_plan(graph, &plan, stream)                once a graph
//   gcn_transform, gcn_aggregate, gcn_log_softmax, gcn_run      many times, with other numbers each time
//   gcn_free(plan)                                once
//
// The three operators and the whole are graded apart. gcn_run may call the operators one after the other or
// fuse them as it likes: nobody looks at Y and Z.
//
// Work        2 * 128 * 16 * v + 2 * 16 * nnz flop, 16 * v exponentials.
// Compulsory  transform 8 * (128 + 16) * v bytes; aggregation 4 * nnz + 4 * (v + 1) + 2 * 8 * 16 * v;
//             log-softmax 2 * 8 * 16 * v; whole 8 * (128 + 16) * v + 4 * nnz + 4 * (v + 1).
// Precision   fp64 throughout, sums in any order; fp64 tensor cores are fp64. fp32 is a wrong answer.
// Range       a row of Z may lie anywhere in |z| < 8e307: subtract its maximum before exp.
// Stream      enqueue all device work on `stream` (or order it by events with `stream`);
//             the functions need not synchronize.
// Memory      allocate what you need in gcn_plan, keep it in your GcnPlan, free it in gcn_free.
// Arrays      256-byte aligned device memory;
//             inputs are read-only,
//             outputs hold garbage on entry.
//
// Return cudaSuccess, or the error that stopped you. An unwritten function returns cudaErrorNotSupported: it
// is reported as `not_implemented`, never as a failure.
#pragma once

#include <cuda_runtime.h>

inline constexpr int kGcnFeatures = 128;  // columns of X
inline constexpr int kGcnClasses = 16;    // columns of W, Y, Z and O

// A graph as a sparse square matrix in CSR form without values. Columns are sorted within a row.
struct GcnGraph {
  int vertices;            // v, 1 or more
  int nnz;                 // entries, = row_offsets[vertices]; may be 0
  const int* row_offsets;  // [v + 1], device, row_offsets[0] == 0
  const int* columns;      // [nnz], device, each in [0, v)
};

struct GcnPlan;  // yours: define it in your .cu file with whatever gcn_plan builds, or leave it undefined

// Inspect the graph and build a plan. Timed on its own. `plan` may be set to nullptr.
cudaError_t gcn_plan(const GcnGraph& graph, GcnPlan** plan, cudaStream_t stream);

// Y = X * W.
cudaError_t gcn_transform(int vertices,
                          const double* x,  // [vertices, 128] row-major
                          const double* w,  // [128, 16] row-major
                          double* y,        // [vertices, 16] row-major, out
                          GcnPlan* plan, cudaStream_t stream);

// Z = N * Y.
cudaError_t gcn_aggregate(const GcnGraph& graph,
                          const double* y,  // [vertices, 16] row-major
                          double* z,        // [vertices, 16] row-major, out
                          GcnPlan* plan, cudaStream_t stream);

// O = log_softmax of each row of Z.
cudaError_t gcn_log_softmax(int vertices,
                            const double* z,  // [vertices, 16] row-major
                            double* o,        // [vertices, 16] row-major, out
                            GcnPlan* plan, cudaStream_t stream);

// All three: O from X and W.
cudaError_t gcn_run(const GcnGraph& graph,
                    const double* x,  // [vertices, 128] row-major
                    const double* w,  // [128, 16] row-major
                    double* o,        // [vertices, 16] row-major, out
                    GcnPlan* plan, cudaStream_t stream);

// Release what gcn_plan made; plan may be nullptr.
void gcn_free(GcnPlan* plan);
