// The contract of the lab `sampling`: draw neighbours of nodes of a graph, with replacement, as mini-batch
// training of graph neural networks does.
//
//   samples[i, j] = columns[row_offsets[v] + r]     v = nodes[i], r uniform in [0, degree(v))
//
// for i in [0, count) and j in [0, fanout): every draw independent of every other one, in the same row, in
// other rows (also of the same node: `nodes` may repeat) and under other generator seeds.
//
// A submission defines the three functions below in any of its .cu files. The judge calls, in one process and
// always on the same stream:
//
//   sampling_plan(graph, count, fanout, &plan, stream)              once
//   sampling_run(graph, nodes, count, fanout, seed, ...)            many times, other nodes and seeds
//   sampling_free(plan)                                             once
//
// Random      the generator is counter-based or seeded anew in each run.
//             The same graph, nodes and seed give the same samples, bit for bit, in every run;
//             seeds that differ in any of their 64 bits give other samples.
//             A neighbour's probability may be off by a factor of 1 +- degree / 2^32, what reducing
//             32 random bits to a range costs. Reducing 16 bits is a wrong answer.
// No edges    a node of degree 0 has no neighbour to draw: its samples are kNoNeighbour.
// Compulsory  4 * count * fanout bytes written, and each row used read in part or whole.
// Sizes       count * fanout < 2^31, graph.edges < 2^31.
// Stream      enqueue all device work on `stream`, or order it by events with `stream`;
//             sampling_run need not synchronize.
// Memory      allocate what you need in sampling_plan,
//             keep it in your SamplingPlan,
//             free it in sampling_free.
//
// Return cudaSuccess, or the error that stopped you. An unwritten function returns cudaErrorNotSupported: it
// is reported as `not_implemented`, never as a failure.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int kNoNeighbour = -1;  // every sample of a node without edges

// The graph: row v of a CSR matrix without values holds the neighbours of node v, sorted. A neighbour that
// occurs twice is twice as likely. Both arrays are device memory, 256-byte aligned and read-only: the judge
// notices a write and rejects the run.
struct CsrGraph {
  int nodes;               // rows
  int edges;               // = row_offsets[nodes]
  const int* row_offsets;  // [nodes + 1], device, row_offsets[0] == 0
  const int* columns;      // [edges], device, each >= 0
};

struct SamplingPlan;  // yours: define it in your .cu file, or leave it undefined

// Prepare. Timed on its own, outside sampling_run; it sees neither nodes nor seeds.
//   graph   device memory, valid and unchanged until sampling_free
//   count   nodes of each run
//   fanout  draws a node
//   plan    out: handed to sampling_run and sampling_free; may be set to nullptr
cudaError_t sampling_plan(const CsrGraph& graph, int count, int fanout, SamplingPlan** plan,
                          cudaStream_t stream);

// Draw.
//   nodes    [count], device, 256-byte aligned, read-only, each in [0, graph.nodes)
//   seed     of the generator
//   samples  [count, fanout] row-major, device, 256-byte aligned; contents undefined on entry:
//            write every cell
cudaError_t sampling_run(const CsrGraph& graph, const int* nodes, int count, int fanout, std::uint64_t seed,
                         int* samples, SamplingPlan* plan, cudaStream_t stream);

// Release what sampling_plan made; plan may be nullptr.
void sampling_free(SamplingPlan* plan);
