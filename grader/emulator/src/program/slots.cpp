// Registers that are never live at the same time share a slot: the register files of a block's warps then fit
// into the processor's first-level cache. Liveness is a lane's: what other lanes do in between touches other
// elements.
#include "program/slots.h"

#include <algorithm>
#include <map>

namespace warpgrade::emu {
namespace {

// Bit sets over the registers of a function.
class RegisterSet {
 public:
  explicit RegisterSet(size_t registers) : words_((registers + 63) / 64, 0) {}

  bool contains(uint32_t r) const { return words_[r / 64] >> (r % 64) & 1; }
  void insert(uint32_t r) { words_[r / 64] |= 1ull << (r % 64); }
  void erase(uint32_t r) { words_[r / 64] &= ~(1ull << (r % 64)); }
  // Adds the members of `other` that are not in `except`; true when this set grew.
  bool add(const RegisterSet& other, const RegisterSet& except) {
    bool grew = false;
    for (size_t k = 0; k < words_.size(); ++k) {
      const uint64_t joined = words_[k] | (other.words_[k] & ~except.words_[k]);
      grew |= joined != words_[k];
      words_[k] = joined;
    }
    return grew;
  }

 private:
  std::vector<uint64_t> words_;
};

// Instructions whose first operand is read, not written. A destination that is missing here would only live
// longer.
bool writes_first_operand(const LinearInst& inst) {
  for (const char* op : {"st", "red", "cp", "bra", "brx", "bar", "barrier", "nanosleep", "prefetch",
                         "prefetchu", "applypriority", "vprintf", "__assertfail"}) {
    if (inst.is(op)) return false;
  }
  return true;
}

template <class Visit>
void visit_registers(const Ref& ref, Visit visit) {
  if (ref.reg != kNoRegister) visit(ref.reg);
  if (ref.second != kNoRegister) visit(ref.second);
  for (const Ref& e : ref.elements) visit_registers(e, visit);
}

struct Block {
  uint32_t begin, end;
  std::vector<uint32_t> successors;
  RegisterSet used, defined, live_in, live_out;  // used: read before any definition in the block
};

struct Interval {
  uint32_t begin = ~0u, end = 0;
  void extend(uint32_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
  bool empty() const { return begin == ~0u; }
};

class Liveness {
 public:
  explicit Liveness(const LinearFunction& function) : function_(function), code_(function.code) {}

  std::vector<Interval> intervals() {
    split();
    solve();
    std::vector<Interval> result(function_.registers.size());
    for (const Block& b : blocks_) {
      for (uint32_t r = 0; r < result.size(); ++r) {
        if (b.live_in.contains(r)) result[r].extend(b.begin);
        if (b.live_out.contains(r)) result[r].extend(b.end - 1);
      }
      for (uint32_t i = b.begin; i < b.end; ++i) {
        if (code_[i].guard != kNoRegister) result[code_[i].guard].extend(i);
        for (const Ref& o : code_[i].operands) visit_registers(o, [&](uint32_t r) { result[r].extend(i); });
      }
    }
    return result;
  }

 private:
  void split() {
    std::vector<bool> leads(code_.size() + 1, false);
    leads[0] = true;
    for (uint32_t i = 0; i < code_.size(); ++i) {
      if (code_[i].is("bra")) leads[code_[i].target] = true;
      for (const uint32_t t : code_[i].targets) leads[t] = true;
      if (code_[i].ends_block()) leads[i + 1] = true;
    }
    const RegisterSet none(function_.registers.size());
    std::vector<uint32_t> block_of(code_.size());
    for (uint32_t i = 0; i < code_.size(); ++i) {
      if (leads[i]) blocks_.push_back({i, i, {}, none, none, none, none});
      blocks_.back().end = i + 1;
      block_of[i] = static_cast<uint32_t>(blocks_.size() - 1);
      note(code_[i], blocks_.back());
    }
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      const LinearInst& last = code_[blocks_[b].end - 1];
      if (last.is("bra")) blocks_[b].successors.push_back(block_of[last.target]);
      for (const uint32_t t : last.targets) blocks_[b].successors.push_back(block_of[t]);
      if (last.falls_through() && b + 1 < blocks_.size()) blocks_[b].successors.push_back(b + 1);
    }
  }

  static void note(const LinearInst& inst, Block& block) {
    const auto use = [&](uint32_t r) {
      if (!block.defined.contains(r)) block.used.insert(r);
    };
    const bool writes =
        writes_first_operand(inst) && !inst.operands.empty() && inst.operands[0].kind != Ref::Kind::address;
    if (inst.guard != kNoRegister) use(inst.guard);
    for (size_t k = writes ? 1 : 0; k < inst.operands.size(); ++k) visit_registers(inst.operands[k], use);
    if (!writes) return;
    // A guarded write leaves the old value to some lanes: it reads as well.
    visit_registers(inst.operands[0],
                    [&](uint32_t r) { inst.guard != kNoRegister ? use(r) : block.defined.insert(r); });
  }

  void solve() {
    const RegisterSet none(function_.registers.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t k = blocks_.size(); k-- > 0;) {
        Block& b = blocks_[k];
        for (const uint32_t s : b.successors) changed |= b.live_out.add(blocks_[s].live_in, none);
        changed |= b.live_in.add(b.used, none);
        changed |= b.live_in.add(b.live_out, b.defined);
      }
    }
  }

  const LinearFunction& function_;
  const std::vector<LinearInst>& code_;
  std::vector<Block> blocks_;
};

}  // namespace

std::vector<uint32_t> assign_slots(const LinearFunction& function, RegisterFile& file) {
  const std::vector<Interval> intervals = Liveness(function).intervals();
  std::vector<uint32_t> order;
  std::vector<uint32_t> slots(function.registers.size(), kNoSlot);
  for (uint32_t r = 0; r < intervals.size(); ++r) {
    if (r == function.return_register) {
      slots[r] = file.allocate(lane_bytes(function.registers[r]));  // set by calls, which do not name it
    } else if (!intervals[r].empty()) {
      order.push_back(r);
    }
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t x, uint32_t y) { return intervals[x].begin < intervals[y].begin; });
  std::multimap<uint32_t, uint32_t> busy;                   // registers by the end of their interval
  std::map<uint32_t, std::vector<uint32_t>> free_by_width;  // slots by bytes a lane
  for (const uint32_t r : order) {
    // A slot is free only after the instruction that reads it last: destinations never overlap sources.
    while (!busy.empty() && busy.begin()->first < intervals[r].begin) {
      const uint32_t done = busy.begin()->second;
      free_by_width[lane_bytes(function.registers[done])].push_back(slots[done]);
      busy.erase(busy.begin());
    }
    const uint32_t width = lane_bytes(function.registers[r]);
    std::vector<uint32_t>& available = free_by_width[width];
    if (available.empty()) {
      slots[r] = file.allocate(width);
    } else {
      slots[r] = available.back();
      available.pop_back();
    }
    busy.emplace(intervals[r].end, r);
  }
  return slots;
}

}  // namespace warpgrade::emu
