// The values of conditional handles of graphs, which kernels set and the host reads between the nodes of
// a graph.
#pragma once
#include <cstdint>
#include <optional>

namespace warpgrade::emu {

// A new handle, whose value is 0.
uint64_t create_condition();
// False for a handle that is none.
bool set_condition(uint64_t handle, uint32_t value);
std::optional<uint32_t> condition(uint64_t handle);

}  // namespace warpgrade::emu
