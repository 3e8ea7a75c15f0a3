// Memory for generated code: written first, executable and read-only from then on.
#pragma once
#include <cstddef>
#include <cstdint>

namespace warpgrade::emu {

class CodeMemory {
 public:
  CodeMemory() = default;
  explicit CodeMemory(size_t bytes);  // data() is nullptr when there is none to be had
  ~CodeMemory();
  CodeMemory(CodeMemory&& other) noexcept;
  CodeMemory& operator=(CodeMemory&& other) noexcept;

  uint8_t* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  // Keeps the first `used` bytes, from now on executable. False when the system refuses.
  bool seal(size_t used);
  // Of all code of this process.
  static size_t sealed_bytes();

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  bool sealed_ = false;
};

}  // namespace warpgrade::emu
