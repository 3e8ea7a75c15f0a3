// The older interface of the lab `apsp`: shortest paths between all pairs of nodes, in place.
//
//   graph  [n, n] row-major, device memory: edges on entry, distances on return; no edge is 2^30 - 1
//
// Kernels go to the default stream. adaptor.cu shows such a function to the harness as warpgrade/apsp.h asks.
#pragma once

#include <cuda_runtime.h>

void apsp(int n, /* device */ int* graph);
