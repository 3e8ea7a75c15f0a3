#include "judge/judging/shared_host_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/hash.h"
#include "judge/measure/random.h"

namespace warpgrade {

namespace {

#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif

}  // namespace

FileDescriptor sealed_memory(const std::string& name, std::size_t bytes) {
  FileDescriptor fd(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw JudgeFault("no {} MiB of memory for {}: {}", bytes >> 20, name, std::strerror(errno));
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw JudgeFault("cannot seal the memory of {}: {}", name, std::strerror(errno));
  return fd;
}

std::string sha256_of_payload(const SharedBuffer& buffer) {
  void* memory = mmap(nullptr, buffer.mapped_bytes, PROT_READ, MAP_SHARED, buffer.fd, 0);
  if (memory == MAP_FAILED) throw JudgeFault("cannot map {}: {}", buffer.name, std::strerror(errno));
  Sha256 hash;
  hash.raw({static_cast<const char*>(memory) + buffer.offset, buffer.bytes});
  munmap(memory, buffer.mapped_bytes);
  return hash.hex();
}

SharedHostMemory::SharedHostMemory(std::string name, std::size_t bytes, OthersMay others) {
  buffer_.name = std::move(name);
  buffer_.bytes = bytes;
  constexpr std::size_t kPage = 4096;
  buffer_.mapped_bytes = kGuardBytes + (bytes + kGuardBytes + kPage - 1) / kPage * kPage;
  fd_ = sealed_memory(buffer_.name, buffer_.mapped_bytes);
  buffer_.fd = fd_.get();
  void* memory = mmap(nullptr, buffer_.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (memory == MAP_FAILED)
    throw JudgeFault("cannot map {} MiB for {}", buffer_.mapped_bytes >> 20, buffer_.name);
  base_ = static_cast<std::byte*>(memory);
  // This mapping stays writable; every later one, by whoever holds the descriptor, is for reading. The last
  // seal forbids others, which could forbid the judge what it needs.
  if (others == OthersMay::kRead) fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
  fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SEAL);
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
