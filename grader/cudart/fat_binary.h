// The containers of device code that nvcc embeds in a program. The layout is not documented by NVIDIA; what
// is used here is known from other open tools and checked by magic numbers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace warpgrade::cudart {

// `wrapper`: what a program passes to __cudaRegisterFatBinary. The containers lie in the program, each
// as long as its header says; a pointer to none is an empty span. No container when the wrapper has
// another format.
std::vector<std::span<const uint8_t>> containers_of(const void* wrapper);

// The bytes that a container with this header has, header included; 0 when `bytes` do not begin with
// a header.
uint64_t container_bytes(std::span<const uint8_t> bytes);

}  // namespace warpgrade::cudart
