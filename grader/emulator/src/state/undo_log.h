// What a launch's first writes found, so that the launch can be undone.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

#include "memory/device_memory.h"

namespace warpgrade::emu {

// Of one worker. Of a word that several workers write, the one that wrote it first remembers it.
class UndoLog {
 public:
  static constexpr size_t kMostWords = size_t{8} << 20;  // of all workers of a launch: 128 MiB

  // `bytes`, at most four, at `offset` in an allocation and, with initcheck, which of them were
  // written before.
  void remember(const Allocation& allocation, uint64_t offset, uint32_t bytes) {
    Word word{reinterpret_cast<uint64_t>(allocation.host(allocation.begin)) + offset, 0, 0, 0,
              static_cast<uint8_t>(bytes)};
    std::memcpy(&word.value, reinterpret_cast<const void*>(word.host), bytes);
    if (allocation.initialized) {
      uint32_t flags = 0;  // a byte for each byte, 0 or 1
      std::memcpy(&flags, allocation.initialized.get() + offset, bytes);
      word.written = static_cast<uint8_t>((flags | flags >> 7 | flags >> 14 | flags >> 21) & 15);
    }
    words_.push_back(word);
  }
  // The last words remembered were another worker's.
  void forget_last(size_t count = 1) { words_.resize(words_.size() - count); }
  void forget_all() { words_ = {}; }
  size_t words() const { return words_.size(); }

  void undo(const std::vector<Allocation>& allocations) const {
    const Allocation* a = nullptr;
    const auto holds = [&](const Allocation& each, uint64_t host) {
      return host >= each.begin + each.alias && host < each.end + each.alias;
    };
    for (const Word& word : words_) {
      std::memcpy(reinterpret_cast<void*>(word.host), &word.value, word.bytes);
      for (size_t k = 0; (a == nullptr || !holds(*a, word.host)) && k < allocations.size(); ++k)
        a = &allocations[k];
      if (!a->initialized) continue;
      uint8_t* flags = a->initialized.get() + (word.host - a->begin - a->alias);
      for (uint32_t k = 0; k < word.bytes; ++k) flags[k] = word.written >> k & 1;
    }
  }

 private:
  struct Word {
    uint64_t host;
    uint32_t value;
    uint16_t spare;
    uint8_t written;  // a bit a byte
    uint8_t bytes;
  };
  static_assert(sizeof(Word) == 16);

  std::vector<Word> words_;
};

}  // namespace warpgrade::emu
