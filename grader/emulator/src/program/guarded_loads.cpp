#include "program/guarded_loads.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
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
      : function_(function), written_by_(function.registers.size()), read_by_(function.registers.size()) {
    for (uint32_t k = 0; k < function.code.size(); ++k) {
      const LinearInst& i = function.code[k];
      for (size_t o = 0; o < i.operands.size(); ++o) {
        const bool is_result = o == 0 && !is_store(i);
        each_register(i.operands[o], [&](uint32_t r) {
          if (!is_result) return read_by_[r].push_back(k);
          written_by_[r].push_back(k);
        });
      }
      if (i.guard != kNoRegister) read_by_[i.guard].push_back(k);
    }
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
    return guard;
  }

  // All threads of a block have this value: it is made of parameters, numbers of the block, and what lies
  // there.
  bool is_the_block_s(uint32_t r) const {
    return comes_from(
        r, [](const LinearInst& i) { return i.is("ld"); },
        [](std::string_view special) { return !says_which_thread(special); });
  }

  // Of a register that says which thread this is and nothing else: the instructions that make it, in order.
  std::optional<std::set<uint32_t>> made_of_the_thread_by(uint32_t r) const {
    std::set<uint32_t> code;
    const auto takes_no_load = [](const LinearInst&) { return false; };
    const bool alone = comes_from(r, takes_no_load, says_which_thread, [&](uint32_t k) {
      code.insert(k);
      const LinearInst& i = function_.code[k];
      return i.guard == kNoRegister && written_by_[i.operands[0].reg].size() == 1;
    });
    return alone ? std::optional(code) : std::nullopt;
  }

 private:
  template <typename Instruction, typename Special>
  bool comes_from(uint32_t of, Instruction takes, Special takes_special) const {
    return comes_from(of, takes, takes_special, [](uint32_t) { return true; });
  }

  template <typename Instruction, typename Special, typename Visit>
  bool comes_from(uint32_t of, Instruction takes, Special takes_special, Visit visit) const {
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
        if ((!takes(i) && !computes_alone(i)) || !visit(k)) return false;
        for (size_t o = 1; o < i.operands.size(); ++o) {
          if (i.operands[o].kind == Ref::Kind::special && !takes_special(i.operands[o].name)) return false;
          each_register(i.operands[o], [&](uint32_t read) { open.push_back(read); });
        }
      }
    }
    return true;
  }

  const LinearFunction& function_;
  std::vector<std::vector<uint32_t>> written_by_;
  std::vector<std::vector<uint32_t>> read_by_;
};

bool is_plain_load(const LinearInst& i) {
  return i.is("ld") && i.guard == kNoRegister && classify(i.opcode) == InstructionClass::global &&
         i.opcode.find("volatile") == std::string_view::npos &&
         i.opcode.find("acquire") == std::string_view::npos &&
         i.opcode.find("relaxed") == std::string_view::npos;
}

void rename(Ref& ref, const std::map<uint32_t, uint32_t>& names) {
  for (uint32_t* r : {&ref.reg, &ref.second})
    if (const auto found = names.find(*r); *r != kNoRegister && found != names.end()) *r = found->second;
  for (Ref& element : ref.elements) rename(element, names);
}

// Appends to `to` what makes the predicate, in registers of its own; the register of the copy.
uint32_t copy_of(LinearFunction& function, const std::set<uint32_t>& made_by, uint32_t predicate,
                 std::vector<LinearInst>& to) {
  std::map<uint32_t, uint32_t> names;
  for (const uint32_t k : made_by) {
    LinearInst copy = function.code[k];
    each_register(copy.operands[0], [&](uint32_t r) {
      names[r] = static_cast<uint32_t>(function.registers.size());
      function.registers.push_back(Type(function.registers[r]));
    });
    for (Ref& operand : copy.operands) rename(operand, names);
    to.push_back(std::move(copy));
  }
  return names.at(predicate);
}

void put_first(LinearFunction& function, std::vector<LinearInst> code) {
  const auto count = static_cast<uint32_t>(code.size());
  for (LinearInst& i : function.code) {
    if (i.is("bra")) i.target += count;
    for (uint32_t& target : i.targets) target += count;
  }
  function.code.insert(function.code.begin(), std::make_move_iterator(code.begin()),
                       std::make_move_iterator(code.end()));
}

}  // namespace

void guard_loads_as_their_stores(LinearFunction& function) {
  if (std::none_of(function.code.begin(), function.code.end(), is_plain_load)) return;
  std::map<uint32_t, uint32_t> early;  // by predicate: the same, known from the beginning
  std::vector<LinearInst> first;
  const Uses uses(function);
  for (uint32_t k = 0; k < function.code.size(); ++k) {
    LinearInst& load = function.code[k];
    if (!is_plain_load(load)) continue;
    const uint32_t address = load.operands[1].reg;
    if (address == kNoRegister || !uses.is_the_block_s(address)) continue;
    const auto guard = uses.guard_of(k);
    if (!guard) continue;
    if (!early.contains(guard->predicate)) {
      const auto made_by = uses.made_of_the_thread_by(guard->predicate);
      if (!made_by) continue;
      early[guard->predicate] = copy_of(function, *made_by, guard->predicate, first);
    }
    load.guard = early[guard->predicate];
    load.guard_negated = guard->negated;
  }
  for (LinearInst& i : function.code)  // the same predicate for both ends of an update
    if (const auto found = early.find(i.guard); found != early.end() && is_store(i)) i.guard = found->second;
  put_first(function, std::move(first));
}

}  // namespace warpgrade::emu
