// A program with one instruction changed. Whether a lab's cases notice it says how much they see
// (WARPEMU_MUTANT, `warpgrade labs mutants`). The PTX is changed after it was read and before anything is
// made of it, so the interpreter and native code run the same mutant.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"
#include "ptx/module.h"

namespace warpgrade::emu {

struct MutantKey {
  std::string operation;  // the operator's name (mutant_operators.h)
  std::string function;   // mangled: a kernel, or a function that was not inlined
  uint32_t ordinal = 0;   // of the instruction in the function's PTX, from 0

  std::string text() const { return operation + ":" + function + ":" + std::to_string(ordinal); }
};

// "<operator>:<function>:<ordinal>"; nothing where the text is something else.
std::optional<MutantKey> read_mutant_key(std::string_view text);

struct MutantFacts {
  MutantKey key;
  bool in_kernel = false;  // false: in a device function that is called
  uint32_t block = 0;      // of the function: its instructions run together, but for their guards
  uint32_t ptx_line = 0;
  std::string ptx;       // the instruction as it stands
  Program::Place place;  // nothing without -lineinfo

  std::string json_line() const;
};

// Every mutant of a module, in the order of its functions' text.
std::vector<MutantFacts> list_mutants(Module& module);

// False: the module has no such function. Throws PtxError where the function has no such instruction, or the
// operator does not fit it.
bool apply_mutant(Module& module, const MutantKey& key);

}  // namespace warpgrade::emu
