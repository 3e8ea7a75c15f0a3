// The contract of the lab `apsp`: the lengths of the shortest paths between all pairs of nodes, in place.
//
//   graph[i * n + j] = min over k of graph[i * n + k] + graph[k * n + j], until nothing changes
//
// A submission defines the three functions below in any of its .cu files. The judge calls, in one process and
// always on the same stream:
//
//   apsp_plan(n, &plan, stream)         once
//   apsp_run(n, graph, plan, stream)    many times, each with another graph
//   apsp_free(plan)                     once
//
// Input       graph[i * n + j] is the weight of the edge from i to j, kApspInfinity where there is none.
//             Edges have a direction: the matrix need not be symmetric.
//             Weights are 0 or more, the diagonal is 0.
// Output      the length of the shortest path from i to j; kApspInfinity where there is no path.
// Range       (n - 1) * (greatest weight) < kApspInfinity, so that no path is as long as "no path", and
//             the sum of any two cells, two infinities too, fits into an int.
//             The judge refuses other inputs.
// Compulsory  8 * n * n bytes; Floyd-Warshall relaxes n * n * n times.
// Exactness   every cell is exact.
// Sizes       1 <= n <= 16384; no tile need divide n. Rows are n cells apart.
// Stream      enqueue all device work on `stream` (or order it by events with `stream`). apsp_run need
//             not synchronize.
// Memory      allocate what you need in apsp_plan, keep it in your ApspPlan, free it in apsp_free.
//
// Return cudaSuccess, or the error that stopped you. An unwritten function returns cudaErrorNotSupported: it
// is reported as `not_implemented`, never as a failure.
#pragma once

#include <cuda_runtime.h>

constexpr int kApspInfinity = (1 << 30) - 1;

struct ApspPlan;  // yours: define it in your .cu file, or leave it undefined

// Prepare. Timed on its own, outside apsp_run; it sees no graph.
//   n     nodes
//   plan  out: handed to apsp_run and apsp_free; may be set to nullptr
cudaError_t apsp_plan(int n, ApspPlan** plan, cudaStream_t stream);

// Solve.
//   graph  [n, n] row-major, device, 256-byte aligned: edges on entry, distances on return
cudaError_t apsp_run(int n, int* graph, ApspPlan* plan, cudaStream_t stream);

// Release what apsp_plan made; plan may be nullptr.
void apsp_free(ApspPlan* plan);
