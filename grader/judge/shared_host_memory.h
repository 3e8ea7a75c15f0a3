// Host memory that can be handed to another process: a memfd, with guard bytes around the payload.
#pragma once

#include <span>
#include <string>

#include "base/files.h"
#include "judge/shared_buffer.h"

namespace warpgrade {

class SharedHostMemory {
 public:
  // Throws JudgeFault when there is no memory.
  SharedHostMemory(std::string name, std::size_t bytes);
  ~SharedHostMemory();
  SharedHostMemory(const SharedHostMemory&) = delete;
  SharedHostMemory& operator=(const SharedHostMemory&) = delete;

  const SharedBuffer& buffer() const { return buffer_; }
  template <typename T>
  std::span<T> payload() {
    return {reinterpret_cast<T*>(base_ + buffer_.offset), buffer_.bytes / sizeof(T)};
  }

  void write_guards();
  // 0: whole; -1: damaged in front of the payload, +1: behind it.
  int damaged_guard();

 private:
  template <typename Visit>
  void for_guards(Visit visit);

  SharedBuffer buffer_;
  FileDescriptor fd_;
  std::byte* base_ = nullptr;
};

}  // namespace warpgrade
