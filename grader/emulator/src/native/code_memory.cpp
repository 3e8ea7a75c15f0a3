#include "native/code_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <utility>

namespace warpgrade::emu {
namespace {

std::atomic<size_t> g_sealed{0};

size_t whole_pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

CodeMemory::CodeMemory(size_t bytes) : bytes_(whole_pages(bytes)) {
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    bytes_ = 0;
  } else {
    data_ = static_cast<uint8_t*>(memory);
  }
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (sealed_) g_sealed -= bytes_;
}

CodeMemory::CodeMemory(CodeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      sealed_(std::exchange(other.sealed_, false)) {}

CodeMemory& CodeMemory::operator=(CodeMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(sealed_, other.sealed_);
  return *this;
}

bool CodeMemory::seal(size_t used) {
  const size_t kept = whole_pages(used);
  if (kept < bytes_) munmap(data_ + kept, bytes_ - kept);
  bytes_ = kept;
  if (mprotect(data_, bytes_, PROT_READ | PROT_EXEC) != 0) return false;
  sealed_ = true;
  g_sealed += bytes_;
  return true;
}

size_t CodeMemory::sealed_bytes() {
  return g_sealed;
}

}  // namespace warpgrade::emu
