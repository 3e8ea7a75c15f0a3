// The ways to change one instruction, as PTX in place of PTX.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade::emu {

// An instruction as it is written.
struct WrittenInstruction {
  std::string guard;  // "%p1", "!%p1" or empty
  std::vector<std::string> parts;
  std::vector<std::string> operands;

  bool is(std::string_view operation) const { return parts[0] == operation; }
  bool has(std::string_view modifier) const;
  std::string_view type() const { return parts.back(); }
  std::string opcode() const;
  std::string guarded() const { return guard.empty() ? "" : "@" + guard + " "; }
  std::string text() const;
};

// `text`: "@%p1 st.global.f32 [%rd1+4], %f2" without its semicolon.
WrittenInstruction read_written(std::string_view text);

struct MutantOperator {
  const char* name;
  // What runs instead; nothing where the operator does not fit.
  std::function<std::optional<std::string>(const WrittenInstruction&)> rewrite;
};
std::span<const MutantOperator> mutant_operators();

// An operator of its own, which is not listed: traps where the instruction would run. A case that accepts
// this never reaches it.
inline constexpr std::string_view kReachOperator = "trap";

}  // namespace warpgrade::emu
