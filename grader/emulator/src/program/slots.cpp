// Registers that are never live at the same time share a slot: the register files of a block's warps then
// fit into the processor's first-level cache. Liveness is a lane's: what other lanes do in between
// touches other elements.
#include "program/slots.h"

#include <algorithm>
#include <map>

namespace warpgrade::emu {
namespace {

// Instructions whose first operand is read, not written, or both. A destination that is missing here would
// only live longer.
bool writes_first_operand(const LinearInst& inst) {
  for (const char* op : {"st",
                         "sust",
                         "red",
                         "cp",
                         "bra",
                         "brx",
                         "bar",
                         "barrier",
                         "nanosleep",
                         "prefetch",
                         "prefetchu",
                         "applypriority",
                         "vprintf",
                         "__assertfail",
                         "malloc",
                         "free",
                         "cudaGraphSetConditional",
                         "call.indirect",
                         "stackrestore",
                         "wgmma"}) {
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

struct LiveBlock {
  uint32_t begin, end;
  std::vector<uint32_t> predecessors;
};

struct Interval {
  uint32_t begin = ~0u, end = 0;
  void extend(uint32_t at) {
    begin = std::min(begin, at);
    end = std::max(end, at);
  }
  bool empty() const { return begin == ~0u; }
};

// Each register is followed backwards from the blocks that read it to those that define it, so the time is
// that of the live ranges: most registers never leave their block. Nor is one followed to where none of its
// writes can lead: a register that is written on some paths only would be live from the kernel's begin.
class Liveness {
 public:
  explicit Liveness(const LinearFunction& function)
      : function_(function), code_(function.code), uses_(function.registers.size()) {}

  std::vector<Interval> intervals() {
    split();
    find_lowest_reachable();
    result_.resize(function_.registers.size());
    for (uint32_t i = 0; i < code_.size(); ++i) {
      if (code_[i].guard != kNoRegister) result_[code_[i].guard].extend(i);
      for (const Ref& o : code_[i].operands) visit_registers(o, [&](uint32_t r) { result_[r].extend(i); });
    }
    defined_by_.assign(blocks_.size(), kNoRegister);
    enters_.assign(blocks_.size(), kNoRegister);
    for (uint32_t r = 0; r < uses_.size(); ++r) follow(r);
    return std::move(result_);
  }

 private:
  struct BlockUses {
    std::vector<uint32_t> reads;  // blocks that read the register before they define it
    std::vector<uint32_t> definitions;
    std::vector<uint32_t> writes;  // definitions and whatever may write it, for some lanes or not at all
  };

  void split() {
    const CodeBlocks found = find_blocks(code_);
    for (uint32_t b = 0; b < found.count(); ++b)
      blocks_.push_back({found.begins[b], found.begins[b + 1], {}});
    for (const auto& [from, to] : found.edges) blocks_[to].predecessors.push_back(from);
    for (uint32_t i = 0; i < code_.size(); ++i) note(code_[i], found.block_of[i]);
  }

  // Instructions come in order: a block stands at the end of a register's list or not at all.
  void note(const LinearInst& inst, uint32_t block) {
    const auto add = [&](std::vector<uint32_t>& list) {
      if (list.empty() || list.back() != block) list.push_back(block);
    };
    const auto use = [&](uint32_t r) {
      const std::vector<uint32_t>& definitions = uses_[r].definitions;
      if (definitions.empty() || definitions.back() != block) add(uses_[r].reads);
    };
    const bool writes =
        writes_first_operand(inst) && !inst.operands.empty() && inst.operands[0].kind != Ref::Kind::address;
    if (!inst.operands.empty()) {
      visit_registers(inst.operands[0], [&](uint32_t r) { add(uses_[r].writes); });
    }
    if (inst.guard != kNoRegister) use(inst.guard);
    for (size_t k = writes ? 1 : 0; k < inst.operands.size(); ++k) visit_registers(inst.operands[k], use);
    if (!writes) return;
    // A guarded write leaves the old value to some lanes: it reads as well.
    visit_registers(inst.operands[0],
                    [&](uint32_t r) { inst.guard != kNoRegister ? use(r) : add(uses_[r].definitions); });
  }

  // The lowest block that each block leads to, itself included.
  void find_lowest_reachable() {
    lowest_reachable_.assign(blocks_.size(), ~0u);
    std::vector<uint32_t> work;
    for (uint32_t lowest = 0; lowest < blocks_.size(); ++lowest) {
      work.push_back(lowest);
      while (!work.empty()) {
        const uint32_t b = work.back();
        work.pop_back();
        if (lowest_reachable_[b] != ~0u) continue;
        lowest_reachable_[b] = lowest;
        work.insert(work.end(), blocks_[b].predecessors.begin(), blocks_[b].predecessors.end());
      }
    }
  }

  void follow(uint32_t r) {
    uint32_t floor = ~0u;
    for (const uint32_t b : uses_[r].writes) floor = std::min(floor, lowest_reachable_[b]);
    for (const uint32_t b : uses_[r].definitions) defined_by_[b] = r;
    std::vector<uint32_t> work;
    const auto enter = [&](uint32_t b) {
      if (enters_[b] == r) return;
      enters_[b] = r;
      work.push_back(b);
    };
    for (const uint32_t b : uses_[r].reads) enter(b);
    while (!work.empty()) {
      const LiveBlock& block = blocks_[work.back()];
      work.pop_back();
      result_[r].extend(block.begin);
      for (const uint32_t p : block.predecessors) {
        if (p < floor) continue;
        result_[r].extend(blocks_[p].end - 1);
        if (defined_by_[p] != r) enter(p);
      }
    }
  }

  const LinearFunction& function_;
  const std::vector<LinearInst>& code_;
  std::vector<LiveBlock> blocks_;
  std::vector<BlockUses> uses_;  // of each register
  std::vector<uint32_t> lowest_reachable_;
  std::vector<uint32_t> defined_by_;  // of each block: the register that is followed, when it defines that
  std::vector<uint32_t> enters_;      // of each block: the register that is followed, when it is live there
  std::vector<Interval> result_;
};

}  // namespace

std::vector<uint32_t> assign_slots(const LinearFunction& function, RegisterFile& file) {
  const std::vector<Interval> intervals = Liveness(function).intervals();
  std::vector<uint32_t> order;
  std::vector<uint32_t> slots(function.registers.size(), kNoSlot);
  for (uint32_t r = 0; r < intervals.size(); ++r) {
    if (r == function.return_register || r == function.frame_register) {
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
