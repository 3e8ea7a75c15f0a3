#include "judge/shared_host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "measure/random.h"

namespace warpgrade {

SharedHostMemory::SharedHostMemory(std::string name, std::size_t bytes) {
  buffer_.name = std::move(name);
  buffer_.bytes = bytes;
  constexpr std::size_t kPage = 4096;
  buffer_.mapped_bytes = kGuardBytes + (bytes + kGuardBytes + kPage - 1) / kPage * kPage;
  fd_ = FileDescriptor(memfd_create(buffer_.name.c_str(), MFD_CLOEXEC));
  if (!fd_ || ftruncate(fd_.get(), static_cast<off_t>(buffer_.mapped_bytes)) != 0) {
    throw JudgeFault("no {} MiB of memory for {}", buffer_.mapped_bytes >> 20, buffer_.name);
  }
  buffer_.fd = fd_.get();
  void* memory = mmap(nullptr, buffer_.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED)
    throw JudgeFault("cannot map {} MiB for {}", buffer_.mapped_bytes >> 20, buffer_.name);
  base_ = static_cast<std::byte*>(memory);
  write_guards();
}

SharedHostMemory::~SharedHostMemory() {
  munmap(base_, buffer_.mapped_bytes);
}

template <typename Visit>
void SharedHostMemory::for_guards(Visit visit) {
  const auto range = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto want = static_cast<std::byte>(random_bits(kGuardSeed, i >> 3) >> (8 * (i & 7)));
      if (!visit(base_[i], want)) return false;
    }
    return true;
  };
  if (range(0, buffer_.offset)) range(buffer_.offset + buffer_.bytes, buffer_.mapped_bytes);
}

void SharedHostMemory::write_guards() {
  for_guards([](std::byte& byte, std::byte want) {
    byte = want;
    return true;
  });
}

int SharedHostMemory::damaged_guard() {
  int where = 0;
  for_guards([&](std::byte& byte, std::byte want) {
    if (byte == want) return true;
    where = &byte < base_ + buffer_.offset ? -1 : 1;
    return false;
  });
  return where;
}

}  // namespace warpgrade
