// NCCL's own header where it is installed, else the emulator's, and a check of its results.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#if __has_include(<nccl.h>)
#include <nccl.h>
#else
#include "../../libraries/nccl/nccl_api.h"
#endif

#define CHECK_NCCL(call)                                                                         \
  do {                                                                                           \
    const ncclResult_t result_ = (call);                                                         \
    if (result_ != ncclSuccess) {                                                                \
      std::printf("%s:%d: %s: %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(result_), \
                  ncclGetLastError(nullptr));                                                    \
      std::exit(100);                                                                            \
    }                                                                                            \
  } while (0)
