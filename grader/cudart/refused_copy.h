// Copies and fills that cannot be what the program means: what is wrong with them, and what cures it.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "cudart/backend.h"

namespace warpgrade::cudart {

enum class Side { host, device };

// Whether a pointer points there, as cudaMemcpyKind has it: managed, pinned and registered memory is on
// both sides.
bool may_be(const void* pointer, Side side);

// A copy whose direction is not that of its pointers, or one of them null: reports it, and returns its error.
cudaError_t refuse_copy(const void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);

// The same of a fill of memory that is the host's.
cudaError_t refuse_fill(const void* dst, size_t bytes);

// The same of a copy to or from a symbol: one that is no variable, or bytes that leave it.
cudaError_t refuse_symbol(const void* symbol, size_t offset, size_t bytes, cudaError_t error);

// Reports a copy whose source and destination share bytes, which is carried out all the same, as on a GPU.
void report_overlap(const RowsCopy& copy);

}  // namespace warpgrade::cudart
