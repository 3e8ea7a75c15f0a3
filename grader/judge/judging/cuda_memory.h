// Device memory that can be handed to another process: CUDA's virtual memory management, exported as a
// POSIX descriptor.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "judge/judging/shared_buffer.h"

namespace warpgrade {

// Throws JudgeFault with the call and CUDA's words.
void check_cuda(cudaError_t error, const char* call);
#define WARPGRADE_CUDA(call) ::warpgrade::check_cuda((call), #call)

class SharedDeviceMemory {
 public:
  SharedDeviceMemory(std::string name, std::size_t bytes);
  ~SharedDeviceMemory();
  SharedDeviceMemory(const SharedDeviceMemory&) = delete;
  SharedDeviceMemory& operator=(const SharedDeviceMemory&) = delete;

  const SharedBuffer& buffer() const { return buffer_; }
  unsigned char* base() const { return base_; }  // device
  template <typename T>
  T* payload() const {
    return reinterpret_cast<T*>(base_ + buffer_.offset);
  }
  std::size_t count_of(std::size_t size) const { return buffer_.bytes / size; }

 private:
  SharedBuffer buffer_;
  unsigned char* base_ = nullptr;
  unsigned long long handle_ = 0;
};

// Private device memory.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t count) : count_(count) {
    WARPGRADE_CUDA(cudaMalloc(&data_, std::max<std::size_t>(count, 1) * sizeof(T)));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(DeviceArray&& other) noexcept : data_(other.data_), count_(other.count_) {
    other.data_ = nullptr;
  }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  T* get() const { return data_; }
  std::size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

// Name, UUID, driver, multiprocessors, memory, L2 and peak bandwidth of the current device.
nlohmann::json describe_cuda_device();

}  // namespace warpgrade
