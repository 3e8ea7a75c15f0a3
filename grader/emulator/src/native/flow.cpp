#include "native/flow.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace warpgrade::emu {
namespace {

// What the analysis may take for one kernel: facts that are kept, and looks at a fact.
constexpr size_t kMostFacts = 2'000'000, kMostLooks = 200'000'000;

Fact meet(const Fact& a, const Fact& b) {
  if (a.kind == Fact::Kind::unknown) return b;
  if (b.kind == Fact::Kind::unknown) return a;
  if (!a.is_scalar() || !b.is_scalar() || a.stride != b.stride || a.bytes != b.bytes) return Fact::vector();
  if (a.known && b.known && a.value == b.value) return a;
  Fact met = Fact::scalar(a.bytes, a.stride, std::min(a.align, b.align));
  if (a.bits != 0 && b.bits != 0) met.bits = std::max(a.bits, b.bits);
  return met;
}

// Blocks have 1024 threads at most.
constexpr uint8_t kThreadBits = 10;

Fact below_threads(Fact f) {
  f.bits = f.is_scalar() ? kThreadBits : 0;
  return f;
}

bool ends_block(Operation operation) {
  return operation == Operation::branch || operation == Operation::barrier || operation == Operation::leave;
}

// Where control may go beside the next instruction.
bool leaves_for_good(const Program& program, const Inst& i) {
  const std::string& name = program.operations[i.index];
  return i.guard == kAlwaysSlot && (name == "exit" || name == "bra" || name == "brx" || name == "trap" ||
                                    name.compare(0, 3, "ret") == 0);
}

}  // namespace

Flow::Flow(const Program& program, LaunchShapeFacts shape,
           const std::set<std::pair<uint32_t, uint32_t>>& doubted)
    : program_(program), units_(static_cast<uint32_t>(program.register_image.size() / kSlotUnit + 1)) {
  for (const Inst& i : program.code) decoded_.push_back(decode_operation(program, i));
  find_fixed(shape);
  find_blocks();
  if (blocks_.size() * units_ > kMostFacts) throw std::length_error("too many blocks and registers");
  find_liveness();
  find_facts(doubted);
}

void Flow::find_fixed(LaunchShapeFacts shape) {
  fixed_.assign(units_, false);
  fixed_facts_.assign(units_, Fact::vector());
  const auto fix = [&](uint32_t slot, const Fact& fact) {
    fixed_[unit_of(slot)] = true;
    fixed_facts_[unit_of(slot)] = fact;
  };
  for (const ConstantRegister& c : program_.constants) {
    fix(c.slot, c.bytes == 4 || c.bytes == 8 ? Fact::constant(static_cast<uint8_t>(c.bytes), c.bits)
                                             : Fact::vector());
  }
  for (const auto* specials : {&program_.warp_specials, &program_.block_specials}) {
    for (const SpecialRegister& s : *specials) {
      const auto bytes = static_cast<uint8_t>(s.bytes);
      switch (s.what) {
        case Special::tid_x:
          fix(s.slot,
              shape.tid_x_is_affine ? below_threads(Fact::scalar(bytes, 1, kLaneBits)) : Fact::vector());
          break;
        case Special::ntid_x:
          fix(s.slot, Fact::scalar(bytes, 0, shape.rows_are_whole ? kLaneBits : 0));
          break;
        case Special::tid_y:
        case Special::tid_z:
          fix(s.slot, shape.tid_yz_are_uniform ? below_threads(Fact::scalar(bytes, 0)) : Fact::vector());
          break;
        case Special::laneid:
          fix(s.slot, Fact::scalar(bytes, 1, Fact::kMostAlign));
          break;
        case Special::lanemask_eq:
        case Special::lanemask_le:
        case Special::lanemask_lt:
        case Special::lanemask_ge:
        case Special::lanemask_gt:
        case Special::local_window:
          fix(s.slot, Fact::vector());
          break;
        default:
          fix(s.slot, Fact::scalar(bytes, 0));
          break;
      }
    }
  }
  if (program_.param_slot != kNoSlot) fix(program_.param_slot, Fact::scalar(8, 0));
}

void Flow::find_blocks() {
  const auto n = static_cast<uint32_t>(program_.code.size());
  std::vector<bool> leader(n + 1, false);
  leader[0] = leader[program_.entry] = true;
  for (const FunctionRecord& f : program_.functions) leader[f.entry] = true;
  for (const std::vector<uint32_t>& table : program_.branch_tables) {
    for (const uint32_t t : table) leader[t] = true;
  }
  for (const Inst& i : program_.code) {
    const Operation operation = decoded_[i.index].operation;
    if (operation == Operation::branch) leader[i.target] = true;
    if (ends_block(operation) || operation == Operation::opaque) leader[i.index + 1] = true;
  }
  block_at_.assign(n + 1, kNone);
  for (uint32_t k = 0; k < n; ++k) {
    if (leader[k]) {
      block_at_[k] = static_cast<uint32_t>(blocks_.size());
      blocks_.emplace_back().begin = k;
    }
    blocks_.back().end = k + 1;
  }
  for (FlowBlock& b : blocks_) {
    const Inst& last = program_.code[b.end - 1];
    if (decoded_[last.index].operation == Operation::branch) b.successors.push_back(block_at_[last.target]);
    if (program_.operations[last.index] == "brx") {
      for (const uint32_t t : program_.branch_tables[last.target]) b.successors.push_back(block_at_[t]);
    }
    if (b.end < n && !leaves_for_good(program_, last)) b.successors.push_back(block_at_[b.end]);
  }
}

void Flow::step_back(const Inst& i, BitSet& live) const {
  const Decoded& d = decoded_[i.index];
  if (d.operation == Operation::opaque) return live.fill();
  const bool writes_all = i.guard == kAlwaysSlot && d.operation < Operation::handler;
  if (writes_all) {
    for (const Register& r : d.writes) live.reset(unit_of(r.slot));
  }
  for (const Register& r : d.reads) live.set(unit_of(r.slot));
  if (i.guard != kAlwaysSlot) {
    live.set(unit_of(i.guard));
    for (const Register& r : d.writes) live.set(unit_of(r.slot));
  }
}

void Flow::find_liveness() {
  for (FlowBlock& b : blocks_) b.live_in = b.live_out = BitSet(units_);
  size_t rounds = 0;
  for (bool changed = true; changed;) {
    changed = false;
    if (++rounds * (program_.code.size() + blocks_.size() * units_ / 64) > kMostLooks)
      throw std::length_error("the analysis takes too long");
    for (size_t k = blocks_.size(); k-- > 0;) {
      FlowBlock& b = blocks_[k];
      for (const uint32_t s : b.successors) b.live_out.add(blocks_[s].live_in);
      BitSet live = b.live_out;
      for (uint32_t at = b.end; at-- > b.begin;) step_back(program_.code[at], live);
      changed |= b.live_in.add(live);
    }
  }
}

std::vector<BitSet> Flow::live_after(const FlowBlock& block) const {
  std::vector<BitSet> after(block.end - block.begin, BitSet(units_));
  BitSet live = block.live_out;
  for (uint32_t at = block.end; at-- > block.begin;) {
    after[at - block.begin] = live;
    step_back(program_.code[at], live);
  }
  return after;
}

void Flow::find_facts(const std::set<std::pair<uint32_t, uint32_t>>& doubted) {
  for (FlowBlock& b : blocks_) b.in.assign(units_, Fact());
  std::deque<uint32_t> work;
  std::vector<bool> queued(blocks_.size(), false), seen(blocks_.size(), false);
  const auto enqueue = [&](uint32_t b) {
    if (!queued[b]) work.push_back(b);
    queued[b] = true;
  };
  // Whatever starts without a known past knows nothing.
  const auto start = [&](uint32_t instruction) {
    const uint32_t b = block_at_[instruction];
    blocks_[b].in.assign(units_, Fact::vector());
    seen[b] = true;
    enqueue(b);
  };
  start(program_.entry);
  for (const FunctionRecord& f : program_.functions) start(f.entry);
  for (const FlowBlock& b : blocks_) {
    if (decoded_[b.end - 1].operation == Operation::opaque && b.end < program_.code.size()) start(b.end);
  }
  size_t looks = 0;
  while (!work.empty()) {
    const uint32_t k = work.front();
    work.pop_front();
    looks += units_ * (1 + blocks_[k].successors.size());
    if (looks > kMostLooks) throw std::length_error("the analysis takes too long");
    queued[k] = false;
    Facts facts = blocks_[k].in;
    for (uint32_t at = blocks_[k].begin; at < blocks_[k].end; ++at) apply(program_.code[at], facts);
    for (const uint32_t s : blocks_[k].successors) {
      bool changed = !seen[s];
      seen[s] = true;
      for (uint32_t u = 0; u < units_; ++u) {
        const Fact met =
            doubted.contains({blocks_[s].begin, u}) ? Fact::vector() : meet(blocks_[s].in[u], facts[u]);
        changed |= !(met == blocks_[s].in[u]);
        blocks_[s].in[u] = met;
      }
      if (changed) enqueue(s);
    }
  }
  for (FlowBlock& b : blocks_) {
    for (Fact& f : b.in) {
      if (f.kind == Fact::Kind::unknown) f = Fact::vector();
    }
  }
}

void Flow::apply(const Inst& i, Facts& facts) const {
  const Decoded& d = decoded_[i.index];
  if (d.operation == Operation::opaque) {
    facts.assign(units_, Fact::vector());
    return;
  }
  if (d.writes.empty()) return;
  const Fact fact = result(i, d, facts);
  for (const Register& r : d.writes) facts[unit_of(r.slot)] = r.bytes == 0 ? Fact::vector() : fact;
}

}  // namespace warpgrade::emu
