// Splits PTX text into tokens: words (identifiers, opcodes with their modifiers, numbers),
// strings, punctuation.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade::emu {

// PTX that cannot be read or is not supported; `line` counts from 1 in the PTX text, 0 when unknown.
class PtxError : public std::runtime_error {
 public:
  PtxError(const std::string& message, unsigned ptx_line) : std::runtime_error(message), line(ptx_line) {}
  unsigned line;
  unsigned location = 0;  // index into Module::locations, 0 when unknown
};

// The tokens view into `text`, which must outlive them.
std::vector<std::string_view> tokenize(std::string_view text);

// 1-based line of a token inside the text it views.
unsigned line_of(std::string_view text, std::string_view token);

}  // namespace warpgrade::emu
