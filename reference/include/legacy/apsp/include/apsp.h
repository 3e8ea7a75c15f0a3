// The older interface of the lab `apsp`: shortest paths between all pairs of nodes, in place.
//
//   graph  [n, n] row-major, device memory: edges on entry, distances on return; no edge is 2^30 - 1
//
// Promised: a complete graph, weights 0 .. 10,000, n up to 10,000. (Cells beyond the matrix may be taken as
// 10,000 or more: no path through them is shorter.) Kernels go to the default stream. adaptor.cu shows such a
// function to the harness as warpgrade/apsp.h asks.
#pragma once

#include <cuda_runtime.h>

void apsp(int n, /* device */ int* graph);

// The course's own solution, which a submission may name and must not call: it is not there.
void apspRef(int n, /* device */ int* graph);
