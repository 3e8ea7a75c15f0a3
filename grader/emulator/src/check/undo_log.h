// What a launch's first writes found, so that the launch can be undone.
#pragma once
#include <cstdint>
#include <cstring>
#include <vector>

namespace warpgrade::emu {

// Of one worker. Of a word that several workers write, the one that wrote it first remembers it.
class UndoLog {
 public:
  // `bytes`, at most four, at a host address and, with initcheck, the flags that say which of them are
  // written.
  void remember(const uint8_t* data, const uint8_t* flags, uint32_t bytes) {
    Word word{const_cast<uint8_t*>(data), const_cast<uint8_t*>(flags), 0, 0, bytes};
    std::memcpy(&word.value, data, bytes);
    if (flags != nullptr) std::memcpy(&word.written, flags, bytes);
    words_.push_back(word);
  }
  // The last word remembered was another worker's.
  void forget_last() { words_.pop_back(); }
  void undo() const {
    for (const Word& word : words_) {
      std::memcpy(word.data, &word.value, word.bytes);
      if (word.flags != nullptr) std::memcpy(word.flags, &word.written, word.bytes);
    }
  }

 private:
  struct Word {
    uint8_t* data;
    uint8_t* flags;
    uint32_t value, written, bytes;
  };
  std::vector<Word> words_;
};

}  // namespace warpgrade::emu
