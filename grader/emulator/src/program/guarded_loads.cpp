#include "program/guarded_loads.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "program/instruction_class.h"

namespace warpgrade::emu {
namespace {

struct Guard {
  uint32_t predicate = kNoRegister;
  bool negated = false;

  bool operator==(const Guard&) const = default;
};

template <typename Visit>
void each_register(const Ref& ref, Visit visit) {
  for (const uint32_t r : {ref.reg, ref.second})
    if (r != kNoRegister) visit(r);
  for (const Ref& element : ref.elements) each_register(element, visit);
}

bool is_store(const LinearInst& i) {
  return i.is("st") || i.is("red");
}

// A lane's result follows from its own operands, and nothing else does.
bool computes_alone(const LinearInst& i) {
  const InstructionClass c = classify(i.opcode);
  return c == InstructionClass::conversion || c == InstructionClass::other ||
         (is_arithmetic(c) && c != InstructionClass::matrix);
}

bool says_which_thread(std::string_view special) {
  return special.starts_with("%tid") || special.starts_with("%lane") || special.starts_with("%warp");
}

class Uses {
 public:
  explicit Uses(const LinearFunction& function)
      : function_(function),
        written_by_(function.registers.size()),
        read_by_(function.registers.size()),
        early_(function.registers.size(), false) {
    bool has_branched = false;
    for (uint32_t k = 0; k < function.code.size(); ++k) {
      const LinearInst& i = function.code[k];
      for (size_t o = 0; o < i.operands.size(); ++o) {
        const bool is_result = o == 0 && !is_store(i);
        each_register(i.operands[o], [&](uint32_t r) {
          if (!is_result) return read_by_[r].push_back(k);
          written_by_[r].push_back(k);
          early_[r] = !has_branched;
        });
      }
      if (i.guard != kNoRegister) read_by_[i.guard].push_back(k);
      has_branched |= i.ends_block() || i.is("call");
    }
    for (const LinearInst& i : function.code)
      for (const uint32_t target : i.targets) first_target_ = std::min(first_target_, target);
    for (const LinearInst& i : function.code)
      if (i.is("bra")) first_target_ = std::min(first_target_, i.target);
  }

  // Under which all lanes that use the value of the load at `k` do so.
  std::optional<Guard> guard_of(uint32_t k) const {
    std::vector<bool> seen(function_.registers.size(), false);
    std::vector<uint32_t> open;
    const auto follow = [&](uint32_t r) {
      if (!seen[r]) open.push_back(r);
      seen[r] = true;
    };
    each_register(function_.code[k].operands[0], follow);
    std::optional<Guard> guard;
    while (!open.empty()) {
      const uint32_t r = open.back();
      open.pop_back();
      for (const uint32_t user : read_by_[r]) {
        const LinearInst& i = function_.code[user];
        if (i.guard == r) return std::nullopt;
        if (i.guard == kNoRegister) {
          if (!computes_alone(i) || i.operands.empty()) return std::nullopt;
          each_register(i.operands[0], follow);
          continue;
        }
        const Guard own{i.guard, i.guard_negated};
        if (!(is_store(i) || i.is("atom")) || (guard && *guard != own)) return std::nullopt;
        guard = own;
      }
    }
    if (!guard || written_by_[guard->predicate].size() != 1 || !early_[guard->predicate]) return std::nullopt;
    return is_set_before(guard->predicate, k) ? guard : std::nullopt;
  }

  // All threads of a block have this value: it is made of parameters, numbers of the block, and what lies
  // there.
  bool is_the_block_s(uint32_t r) const {
    return comes_from(
        r, [](const LinearInst& i) { return i.is("ld"); },
        [](std::string_view special) { return !says_which_thread(special); });
  }

  // It says which thread this is and nothing else.
  bool is_the_thread_s(uint32_t r) const {
    return comes_from(
        r, [](const LinearInst&) { return false; }, says_which_thread);
  }

 private:
  template <typename Instruction, typename Special>
  bool comes_from(uint32_t of, Instruction takes, Special takes_special) const {
    std::vector<bool> seen(function_.registers.size(), false);
    std::vector<uint32_t> open{of};
    while (!open.empty()) {
      const uint32_t r = open.back();
      open.pop_back();
      if (seen[r]) continue;
      seen[r] = true;
      if (written_by_[r].empty()) return false;
      for (const uint32_t k : written_by_[r]) {
        const LinearInst& i = function_.code[k];
        if (!takes(i) && !computes_alone(i)) return false;
        for (size_t o = 1; o < i.operands.size(); ++o) {
          if (i.operands[o].kind == Ref::Kind::special && !takes_special(i.operands[o].name)) return false;
          each_register(i.operands[o], [&](uint32_t read) { open.push_back(read); });
        }
      }
    }
    return true;
  }

  // By an instruction that every lane passes on its way.
  bool is_set_before(uint32_t predicate, uint32_t k) const {
    for (uint32_t at = 0; at < std::min(k, first_target_); ++at) {
      const LinearInst& i = function_.code[at];
      bool sets = false;
      if (!i.operands.empty() && !is_store(i))
        each_register(i.operands[0], [&](uint32_t r) { sets |= r == predicate; });
      if (sets) return i.guard == kNoRegister;
    }
    return false;
  }

  const LinearFunction& function_;
  std::vector<std::vector<uint32_t>> written_by_;
  std::vector<std::vector<uint32_t>> read_by_;
  std::vector<bool> early_;  // last written before anything branches
  uint32_t first_target_ = ~0u;
};

bool is_plain_load(const LinearInst& i) {
  return i.is("ld") && i.guard == kNoRegister && classify(i.opcode) == InstructionClass::global &&
         i.opcode.find("volatile") == std::string_view::npos &&
         i.opcode.find("acquire") == std::string_view::npos &&
         i.opcode.find("relaxed") == std::string_view::npos;
}

}  // namespace

void guard_loads_as_their_stores(LinearFunction& function) {
  if (std::none_of(function.code.begin(), function.code.end(), is_plain_load)) return;
  const Uses uses(function);
  for (uint32_t k = 0; k < function.code.size(); ++k) {
    if (!is_plain_load(function.code[k])) continue;
    const uint32_t address = function.code[k].operands[1].reg;
    if (address == kNoRegister || !uses.is_the_block_s(address)) continue;
    if (const auto guard = uses.guard_of(k); guard && uses.is_the_thread_s(guard->predicate)) {
      function.code[k].guard = guard->predicate;
      function.code[k].guard_negated = guard->negated;
    }
  }
}

}  // namespace warpgrade::emu
