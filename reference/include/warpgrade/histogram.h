// The contract of the lab `histogram`: how often are the nodes of each group of 40 sampled?
//
//   counts[b] = |{ i : ids[i] / 40 == b }|     b in [0, histogram_bins(nodes))
//
// A submission defines the three functions below in any of its .cu files. The judge calls, in one process and
// always on the same stream:
//
//   histogram_plan(count, nodes, &plan, stream)             once
//   histogram_run(ids, count, nodes, counts, plan, stream)  many times, each with other ids
//   histogram_free(plan)                                    once
//
// Input       ids may be spread evenly, follow a power law, or all lie in one bin,
//             the first or the last.
//             The last bin is a partial one unless 40 divides `nodes`.
// Compulsory  4 * count + 4 * bins bytes.
// Exactness   every count is exact.
// Sizes       0 <= count < 2^31, 1 <= nodes < 2^31 - 40.
// Stream      enqueue all device work on `stream`, or order it by events with `stream`;
//             histogram_run need not synchronize.
// Memory      allocate what you need in histogram_plan,
//             keep it in your HistogramPlan,
//             free it in histogram_free.
//
// Return cudaSuccess, or the error that stopped you. An unwritten function returns cudaErrorNotSupported: it
// is reported as `not_implemented`, never as a failure.
#pragma once

#include <cuda_runtime.h>

constexpr int kNodesPerBin = 40;

constexpr int histogram_bins(int nodes) {
  return (nodes + kNodesPerBin - 1) / kNodesPerBin;
}

struct HistogramPlan;  // yours: define it in your .cu file, or leave it undefined

// Prepare. Timed on its own, outside histogram_run; it sees no ids.
//   count  ids of each run
//   nodes  ids are in [0, nodes)
//   plan   out: handed to histogram_run and histogram_free; may be set to nullptr
cudaError_t histogram_plan(int count, int nodes, HistogramPlan** plan, cudaStream_t stream);

// Count.
//   ids     [count], device, 256-byte aligned, read-only, each in [0, nodes)
//   counts  [histogram_bins(nodes)], device, 256-byte aligned; contents undefined on entry: write every cell
cudaError_t histogram_run(const int* ids, int count, int nodes, unsigned* counts, HistogramPlan* plan,
                          cudaStream_t stream);

// Release what histogram_plan made; plan may be nullptr.
void histogram_free(HistogramPlan* plan);
