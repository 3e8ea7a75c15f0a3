// Arrays in device memory, and how errors are handed on.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#define TRY(call)                               \
  do {                                          \
    const cudaError_t status_ = (call);         \
    if (status_ != cudaSuccess) return status_; \
  } while (0)

namespace optimized {

// An array in device memory.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  cudaError_t allocate(std::size_t count) {
    return count == 0 ? cudaSuccess : cudaMalloc(&data_, count * sizeof(T));
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace optimized
