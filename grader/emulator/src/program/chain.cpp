#include "program/chain.h"

#include <algorithm>
#include <unordered_map>

#include "program/instruction_class.h"
#include "program/operation.h"

namespace warpgrade::emu {
namespace {

// Nominal waits in cycles, which decide what chain is longest; their sizes in an estimate are the device's.
constexpr uint32_t kGlobal = 500, kShared = 30, kSpecial = 20, kDouble = 8, kPlain = 4, kBarrier = 30;

struct Ready {
  uint32_t at = 0;
  Chain chain;
};

// Waits that an instruction's results add to the chain of what it reads.
void wait(InstructionClass c, bool loads, Ready& r) {
  switch (c) {
    case InstructionClass::global:
    case InstructionClass::generic:
    case InstructionClass::local:
      if (!loads) return;
      r.at += kGlobal, ++r.chain.global;
      return;
    case InstructionClass::shared:
    case InstructionClass::warp:
      if (!loads) return;
      r.at += kShared, ++r.chain.shared;
      return;
    case InstructionClass::barrier:
      r.at += kBarrier, r.chain.cycles += kBarrier;
      return;
    case InstructionClass::special:
    case InstructionClass::matrix:
      r.at += kSpecial, r.chain.cycles += kSpecial;
      return;
    case InstructionClass::fp64:
      r.at += kDouble, r.chain.cycles += kDouble;
      return;
    case InstructionClass::other:
    case InstructionClass::parameter:
    case InstructionClass::constant:
      return;  // moves that ptxas drops, operands from constant memory
    default:
      r.at += kPlain, r.chain.cycles += kPlain;
  }
}

InstructionClass space_of_update(const std::string& opcode) {
  return opcode.find(".shared") != std::string::npos ? InstructionClass::shared : InstructionClass::global;
}

class Chains {
 public:
  explicit Chains(const Program& program) : program_(program), chains_(program.code.size()) {
    for (const Inst& i : program.code) decoded_.push_back(decode_operation(program, i));
  }

  std::vector<Chain> run() {
    const std::vector<bool> leader = leaders();
    uint32_t begin = 0;
    for (uint32_t k = 0; k < program_.code.size(); ++k) {
      if (leader[k] && k != begin) {
        finish(begin);
        begin = k;
      }
      step(k);
    }
    finish(begin);
    return std::move(chains_);
  }

 private:
  std::vector<bool> leaders() const {
    std::vector<bool> leader(program_.code.size() + 1, false);
    leader[program_.entry] = true;
    for (const FunctionRecord& f : program_.functions) leader[f.entry] = true;
    for (const auto& table : program_.branch_tables) {
      for (const uint32_t t : table) leader[t] = true;
    }
    for (const Inst& i : program_.code) {
      const Operation operation = decoded_[i.index].operation;
      if (operation == Operation::branch) leader[i.target] = true;
      if (operation == Operation::branch || operation == Operation::barrier || operation == Operation::leave)
        leader[i.index + 1] = true;
    }
    return leader;
  }

  void step(uint32_t k) {
    const Inst& i = program_.code[k];
    const Decoded& d = decoded_[k];
    const InstructionClass c = classify(program_.texts[k]);
    const bool loads =
        program_.texts[k].compare(0, 2, "st") != 0 && program_.texts[k].compare(0, 3, "red") != 0;
    const bool updates = c == InstructionClass::atomic;
    Ready now;
    const auto after = [&](uint32_t slot) {
      const auto found = ready_.find(slot);
      if (found != ready_.end() && found->second.at > now.at) now = found->second;
    };
    for (const Register& r : d.reads) after(r.slot);
    if (i.guard != kAlwaysSlot) after(i.guard);
    if (updates && now.at >= last_.at) last_ = now;  // for what it returns waits only who reads that
    wait(updates ? space_of_update(program_.texts[k]) : c, loads, now);
    for (const Register& r : d.writes) ready_[r.slot] = now;
    if (updates) return;
    const bool from_memory = c == InstructionClass::global || c == InstructionClass::generic;
    loads_ += loads && from_memory ? 1 : 0;
    if (now.at >= last_.at) last_ = now;
  }

  void finish(uint32_t begin) {
    last_.chain.loads = loads_;
    chains_[begin] = last_.chain;
    ready_.clear();
    last_ = {};
    loads_ = 0;
  }

  const Program& program_;
  std::vector<Decoded> decoded_;
  std::vector<Chain> chains_;
  std::unordered_map<uint32_t, Ready> ready_;  // by register: when it has its value
  Ready last_;
  uint32_t loads_ = 0;
};

}  // namespace

std::vector<Chain> find_chains(const Program& program) {
  return Chains(program).run();
}

}  // namespace warpgrade::emu
