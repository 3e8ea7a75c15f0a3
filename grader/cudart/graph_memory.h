// Memory that nodes of graphs allocate and free. A node's address stands from its creation on; the device's
// memory behind it is taken then, too, and goes back when neither a graph nor the program has it. Between a
// free and the next allocation it is nobody's, which is not checked.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <optional>

namespace warpgrade::cudart {

struct Graph;

struct GraphAllocation {
  uint64_t address = 0, bytes = 0;
  bool is_live = false;  // allocated and not yet freed
  ~GraphAllocation();
};

struct MemAllocNode {
  cudaMemAllocNodeParams params{};
  std::shared_ptr<GraphAllocation> allocation;
};
struct MemFreeNode {
  uint64_t address = 0;
};

// cudaErrorMemoryAllocation, cudaErrorInvalidValue for 0 bytes.
cudaError_t make_allocation(const cudaMemAllocNodeParams& params, MemAllocNode& node);
bool is_graph_memory(uint64_t address);

// What the nodes do when their graph runs. An allocation that is live already is cudaErrorInvalidValue, and
// so is the free of one that is not.
cudaError_t run_allocation(const MemAllocNode& node);
cudaError_t run_free(const MemFreeNode& node);
// What a graph's launch wants first: its allocations were freed, or are now, where it was instantiated so.
cudaError_t prepare_allocations(const Graph& graph, bool frees);
bool has_memory_nodes(const Graph& graph);

// A free of the program's (cudaFree, cudaFreeAsync); empty when the address is no graph's.
std::optional<cudaError_t> free_graph_memory(uint64_t address);
// The device's memory is gone, all of it.
void forget_graph_memory();

}  // namespace warpgrade::cudart
