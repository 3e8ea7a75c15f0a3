// What a library of the emulator's (cuBLAS and its kin) does in a captured stream: a node of the graph that runs
// it at each launch, as a GPU runs the kernels that NVIDIA's library would have put there.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

#include "cudart/stream.h"

namespace warpgrade::cudart {

struct LibraryNode {
  // Given a stream of its own, which stands for the one in which the node runs.
  std::function<cudaError_t(cudaStream_t)> work;
  bool waits = false;  // perhaps for nodes of other graphs
  int device = 0;
};

cudaError_t run(const LibraryNode& node, StreamId stream);

}  // namespace warpgrade::cudart

// Puts the work into a captured stream. Libraries find this function by its name
// (emulator/libraries/captured_work.h).
extern "C" cudaError_t warpgrade_capture_work(cudaStream_t stream,
                                              const std::function<cudaError_t(cudaStream_t)>& work,
                                              bool waits);
