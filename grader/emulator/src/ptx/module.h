// A PTX module as data: declarations, functions, and the statements of function bodies. Names are views into
// the module's text. Bodies are parsed on demand (parse_body), because a module holds far more functions
// than run.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "ptx/types.h"

namespace warpgrade::emu {

// One .loc directive. `parent` indexes the call site that inlined it (-1: not inlined).
struct SourceLocation {
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  int32_t parent = -1;
};

// One word of a variable's initializer: a number, or the address of a symbol plus an addend.
struct InitialValue {
  uint64_t bits = 0;
  std::string_view symbol;  // empty for a number
};

struct Variable {
  std::string_view name;
  Space space = Space::generic;
  Type type = Type::none;
  uint32_t align = 1;
  uint64_t count = 1;  // elements; 0 for an array of unknown size (dynamic shared memory)
  bool is_extern = false;
  std::vector<InitialValue> initial;

  uint64_t bytes() const { return count * size_of(type); }
};

struct Operand {
  enum class Kind : uint8_t { name, number, address, vector, sink };
  Kind kind = Kind::name;
  bool negated = false;  // !p
  std::string_view
      name;  // register, special register, symbol or label; for address: its base ("" if a number)
  std::string_view second;        // the q of p|q
  uint64_t bits = 0;              // number
  Type number_type = Type::none;  // f32 or f64 for floating-point literals
  int64_t offset = 0;             // address
  std::vector<Operand> elements;  // vector: {a, b, c, d} or (a, b)
};

struct Instruction {
  std::string_view opcode;              // "ld.global.nc.v4.f32"
  std::vector<std::string_view> parts;  // {"ld", "global", "nc", "v4", "f32"}
  std::string_view guard;               // predicate register, empty when unconditional
  bool guard_negated = false;
  std::vector<Operand> operands;
  uint32_t location = 0;  // index into Module::locations
};

struct Label {
  std::string_view name;
};
struct ScopeOpen {};
struct ScopeClose {};
struct RegisterDeclaration {
  std::string_view name;
  Type type;
  bool is_family;  // %r<32> declares %r0 ... %r31
};
struct BranchTargets {
  std::string_view name;
  std::vector<std::string_view> labels;
};
// What an indirect call passes and takes back.
struct CallPrototype {
  std::string_view name;
  std::vector<Variable> params;
  std::vector<Variable> returns;
};

using Statement = std::variant<Instruction, Label, ScopeOpen, ScopeClose, RegisterDeclaration, Variable,
                               BranchTargets, CallPrototype>;

struct Function {
  std::string_view name;
  bool is_entry = false;
  std::vector<Variable> params;
  std::vector<Variable> returns;
  uint32_t max_threads = 0;         // .maxntid or .reqntid product, 0 when absent
  uint32_t cluster[3] = {0, 0, 0};  // .reqnctapercluster
  size_t body_begin =
      0;  // token range of the body, without its braces; equal when there is only a declaration
  size_t body_end = 0;
  bool body_parsed = false;
  uint32_t file_base = 0;  // added to the file numbers of its .loc directives
  std::vector<Statement> body;

  bool has_body() const { return body_end != 0; }
};

// Addresses of functions carry this tag, the number of their module, and the place of their name in its text.
inline constexpr uint64_t kFunctionTag = 0x5c00000000000000ull;

// The PTX of one file, or of several that were compiled as relocatable device code, one after the other.
struct Module {
  uint32_t number = 0;
  std::string text;
  std::string mutant_text;  // what stands for one instruction (program/mutants.h)
  std::vector<std::string_view> tokens;
  unsigned target = 0;                                       // 80 for .target sm_80
  std::unordered_map<std::string_view, Variable> variables;  // .global, .const and module-scope .shared
  std::vector<std::string_view> variable_order;              // as declared
  std::unordered_map<std::string_view, Function> functions;
  std::map<uint32_t, std::string> files;
  std::vector<SourceLocation> locations{SourceLocation{}};  // [0]: unknown

  uint64_t address_of(const Function& function) const {
    return kFunctionTag | uint64_t(number) << 32 | static_cast<uint64_t>(function.name.data() - text.data());
  }
};

}  // namespace warpgrade::emu
