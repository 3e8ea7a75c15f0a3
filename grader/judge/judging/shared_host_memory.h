// Host memory that can be handed to another process: a memfd, with guard bytes around the payload. Its
// size is sealed: who holds the descriptor can neither cut it (which would end the judge by SIGBUS) nor
// let it grow.
#pragma once

#include <span>
#include <string>

#include "base/files.h"
#include "judge/judging/shared_buffer.h"

namespace warpgrade {

// A memfd of this size, for good. Throws JudgeFault when there is no memory.
FileDescriptor sealed_memory(const std::string& name, std::size_t bytes);

// Of a buffer on the host. Throws JudgeFault where it cannot be read.
std::string sha256_of_payload(const SharedBuffer& buffer);

enum class OthersMay { kRead, kWrite };

class SharedHostMemory {
 public:
  // kRead: nobody but the judge can write to it, whatever they do with the descriptor (Linux 5.1 and later;
  // else writes are found by comparison). Throws JudgeFault when there is no memory.
  SharedHostMemory(std::string name, std::size_t bytes, OthersMay others = OthersMay::kWrite);
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
