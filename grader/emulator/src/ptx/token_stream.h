// A cursor over a module's tokens, shared by the module parser and the body parser.
#pragma once
#include <string>
#include <string_view>

#include "ptx/lexer.h"
#include "ptx/module.h"

namespace warpgrade::emu {

class TokenStream {
 public:
  TokenStream(const Module& module, size_t begin, size_t end) : module_(module), at_(begin), end_(end) {}

  bool done() const { return at_ >= end_; }
  size_t position() const { return at_; }
  std::string_view peek(size_t ahead = 0) const {
    return at_ + ahead < end_ ? module_.tokens[at_ + ahead] : std::string_view();
  }
  bool at(std::string_view token) const { return peek() == token; }
  std::string_view next();
  bool accept(std::string_view token);
  void expect(std::string_view token);
  void skip_past(std::string_view token);
  // The opening brace has been read; stops after its match.
  void skip_braces();
  uint64_t unsigned_number();
  [[noreturn]] void fail(const std::string& message) const;

 private:
  const Module& module_;
  size_t at_;
  size_t end_;
};

// The value of an integer literal, or the bits of 0f... and 0d... literals.
uint64_t parse_number(std::string_view token);

// A variable's declaration after its state space: alignment, type, name, dimensions (and initializer).
Variable parse_variable(TokenStream& in, Space space);
// (.param .b32 a, .param .align 8 .b8 b[16])
std::vector<Variable> parse_parameters(TokenStream& in);

}  // namespace warpgrade::emu
