// Host access to device memory: from the pointers of cudaMemcpy and friends to addresses that the host can
// use.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace warpgrade::emu {

enum class Side { host, device };

// The host address of `bytes` at a pointer that may be host or device memory. Reports ranges that leave their
// allocation and sets `error`.
uint8_t* host_view(const void* pointer, size_t bytes, const char* call, cudaError_t& error);

// Where a pointer points, as cudaMemcpyKind needs it: managed, pinned and registered memory is on both sides.
bool may_be(const void* pointer, Side side);

// Written by the host: no longer uninitialized for initcheck.
void note_written(const void* pointer, size_t bytes);

// dst and src of a copy, checked against `kind`.
cudaError_t copy_bytes(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);
cudaError_t fill_bytes(void* dst, int value, size_t bytes);

cudaMemcpy3DParms linear_copy(void* dst, const void* src, size_t bytes, cudaMemcpyKind kind);
// Rows of pitched memory, or what is wrong with them; arrays are unsupported, which is reported.
cudaError_t check_copy_3d(const cudaMemcpy3DParms& copy);
cudaError_t copy_3d(const cudaMemcpy3DParms& copy);
// Rows of 1-, 2- or 4-byte elements.
cudaError_t fill_elements(const cudaMemsetParams& fill);

}  // namespace warpgrade::emu
