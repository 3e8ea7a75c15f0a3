// The error state of the runtime: the last error of each thread, and the sticky error that a kernel left.
#pragma once
#include <cuda_runtime_api.h>

// Names what is unsupported, once, and returns cudaErrorNotSupported, recorded.
extern "C" cudaError_t warpemu_not_implemented(const char* name);

namespace warpgrade::emu {

// Remembers a failure for cudaGetLastError and returns it.
cudaError_t record(cudaError_t error);

// A kernel's fault poisons the context: from the next call on, every call fails with it.
void set_sticky(cudaError_t error);
cudaError_t sticky();

// For calls that touch the device: the sticky error, recorded.
#define WARPEMU_RETURN_IF_STICKY()                                                        \
  do {                                                                                    \
    if (const cudaError_t poisoned = ::warpgrade::emu::sticky(); poisoned != cudaSuccess) \
      return ::warpgrade::emu::record(poisoned);                                          \
  } while (false)

cudaError_t take_last_error();
cudaError_t peek_last_error();

}  // namespace warpgrade::emu
