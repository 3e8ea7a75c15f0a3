// The elements of a collective: their types, and how operations join those of all ranks.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nccl/nccl_api.h"

namespace warpgrade::nccl {

size_t bytes_of(ncclDataType_t type);      // 0 of what is none
const char* name_of(ncclDataType_t type);  // "float32"
bool can_reduce(ncclDataType_t type);

using Scalar = std::array<uint8_t, 8>;  // an element of the call's type

// Element by element, in the order of the ranks; sums and products of halves are rounded once, at the end. A target
// may be one of the sources. `op`: ncclNumOps stands for a sum of elements times their rank's scalar.
void reduce(std::span<const uint8_t* const> from, std::span<uint8_t* const> to, size_t count,
            ncclDataType_t type, ncclRedOp_t op, std::span<const Scalar> scalars);

}  // namespace warpgrade::nccl
