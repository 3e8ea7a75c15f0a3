#include "check/global_shadow.h"

#include <sys/mman.h>

#include <new>

namespace warpgrade::emu {

GlobalShadow::GlobalShadow(uint64_t bytes) {
  const uint64_t groups = bytes / sizeof(uint32_t) / Stamps::kGroup + 1, words = groups * Stamps::kGroup;
  stamps_ = 2 * (words + groups);
  void* memory = mmap(nullptr, stamps_ * sizeof(GlobalStamp), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // Nine times as much as what it follows: with small pages most of its cost would be page faults.
  madvise(memory, stamps_ * sizeof(GlobalStamp), MADV_HUGEPAGE);
  memory_ = static_cast<GlobalStamp*>(memory);
  writes = {memory_, memory_ + 2 * words};
  reads = {memory_ + words, memory_ + 2 * words + groups};
}

GlobalShadow::~GlobalShadow() {
  munmap(memory_, stamps_ * sizeof(GlobalStamp));
}

void Stamps::forget(uint64_t first_word, uint64_t words, uint32_t launch) const {
  for (uint64_t word = first_word; word < first_word + words; ++word) open(word, launch) = {};
}

}  // namespace warpgrade::emu
