#include "check/lost_update.h"

#include <algorithm>

#include "program/program.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostBetween = 32;  // instructions between load and store

bool begins(const std::string& text, const char* word) {
  return text.compare(0, std::char_traits<char>::length(word), word) == 0;
}

bool is_plain(const Program& program, uint32_t k, const char* opcode) {
  return program.code[k].category == Category::memory && begins(program.texts[k], opcode);
}

bool same_place(const Inst& x, const Inst& y) {
  return x.a == y.a && x.imm == y.imm && x.space == y.space && x.bytes == y.bytes &&
         x.address_is_32 == y.address_is_32 && x.vec_count == 1 && y.vec_count == 1;
}

// Registers of PTX share their places in the file: another address may lie there by then.
bool address_changes(const Program& program, uint32_t load, uint32_t store) {
  const uint32_t address = program.code[store].a;
  for (uint32_t k = load; k < store; ++k) {
    const Inst& i = program.code[k];
    const bool is_load = i.category == Category::memory && begins(program.texts[k], "ld");
    if (!is_load && i.d == address) return true;
    for (uint32_t part = 0; is_load && part < i.vec_count; ++part) {
      if (i.vec[part] == address) return true;
    }
  }
  return false;
}

bool same_line(const Program& program, const Inst& x, const Inst& y) {
  const Program::Place here = program.place(x), there = program.place(y);
  return here.line != 0 && here.line == there.line && here.path == there.path;
}

std::string atomic_for(const std::string& text) {
  for (const auto& [opcode, name] : {std::pair{"add", "atomicAdd"},
                                     {"sub", "atomicSub"},
                                     {"fma", "atomicAdd"},
                                     {"mad", "atomicAdd"},
                                     {"min", "atomicMin"},
                                     {"max", "atomicMax"},
                                     {"and", "atomicAnd"},
                                     {"or", "atomicOr"},
                                     {"xor", "atomicXor"}}) {
    if (begins(text, opcode)) return name;
  }
  return "";
}

// The operation that makes the stored value, where it takes the loaded one.
const Inst* operation_between(const Program& program, const Inst& load, const Inst& store) {
  for (uint32_t k = store.index; k-- > load.index + 1;) {
    const Inst& i = program.code[k];
    if (i.d != store.vec[0] || i.category == Category::memory) continue;
    const uint32_t value = load.vec[0];
    return i.a == value || i.b == value || i.c == value ? &i : nullptr;
  }
  return nullptr;
}

std::optional<Update> update_between(const Program& program, uint32_t load, uint32_t store) {
  const Inst &from = program.code[load], &to = program.code[store];
  // A number of Triton's is loaded by all threads and stored by one.
  if (from.guard != to.guard || from.guard_flip != to.guard_flip) return std::nullopt;
  if (address_changes(program, load, store)) return std::nullopt;
  const Inst* operation = operation_between(program, from, to);
  if (operation == nullptr && !same_line(program, from, to)) return std::nullopt;
  return Update{store, operation == nullptr ? "" : atomic_for(program.texts[operation->index])};
}

}  // namespace

std::optional<Update> update_of(const Program& program, uint32_t instruction) {
  const Inst& mine = program.code[instruction];
  const auto count = static_cast<uint32_t>(program.code.size());
  if (is_plain(program, instruction, "st")) {
    const uint32_t first = instruction - std::min(instruction, kMostBetween);
    for (uint32_t k = instruction; k-- > first;) {
      if (is_plain(program, k, "ld") && same_place(program.code[k], mine))
        return update_between(program, k, instruction);
    }
  } else if (is_plain(program, instruction, "ld")) {
    for (uint32_t k = instruction + 1; k < std::min(count, instruction + kMostBetween); ++k) {
      if (is_plain(program, k, "st") && same_place(mine, program.code[k]))
        return update_between(program, instruction, k);
    }
  }
  return std::nullopt;
}

}  // namespace warpgrade::emu
