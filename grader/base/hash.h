// SHA-256 of texts and files, in lower-case hexadecimal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace warpgrade {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  // Every part is preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
  Sha256& part(std::string_view bytes);
  Sha256& raw(std::string_view bytes);
  std::string hex();
  std::uint64_t number();  // the first 64 bits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256(std::string_view text);

}  // namespace warpgrade
