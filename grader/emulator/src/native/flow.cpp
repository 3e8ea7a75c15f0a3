#include "native/flow.h"

#include <algorithm>
#include <deque>
#include <stdexcept>

namespace warpgrade::emu {
namespace {

// What the analysis may take for one kernel: facts that are kept, and looks at a fact.
constexpr size_t kMostFacts = 2'000'000, kMostLooks = 200'000'000;

uint64_t narrow(uint64_t value, uint32_t bytes) {
  return bytes == 4 ? uint32_t(value) : value;
}

Fact meet(const Fact& a, const Fact& b) {
  if (a.kind == Fact::Kind::unknown) return b;
  if (b.kind == Fact::Kind::unknown) return a;
  if (!a.is_scalar() || !b.is_scalar() || a.stride != b.stride || a.bytes != b.bytes) return Fact::vector();
  if (a.known && b.known && a.value == b.value) return a;
  Fact met = Fact::scalar(a.bytes, a.stride, std::min(a.align, b.align));
  if (a.bits != 0 && b.bits != 0) met.bits = std::max(a.bits, b.bits);
  return met;
}

// Steps that are worth keeping: larger ones are no row in memory, and products of them could overflow.
constexpr int64_t kMostStride = int64_t{1} << 24;

Fact affine(uint32_t bytes, int64_t stride, int align = 0) {
  if (stride > kMostStride || stride < -kMostStride) return Fact::vector();
  return Fact::scalar(static_cast<uint8_t>(bytes), stride,
                      static_cast<uint8_t>(std::clamp(align, 0, int(Fact::kMostAlign))));
}

constexpr int kLaneBits = 5;

// Blocks have 1024 threads at most.
constexpr uint8_t kThreadBits = 10;

Fact below_threads(Fact f) {
  f.bits = f.is_scalar() ? kThreadBits : 0;
  return f;
}

// Whether the lanes differ in the lowest bits alone, which hold the lane's number.
bool counts_lanes(const Fact& f) {
  return f.is_scalar() && f.stride == 1 && f.align >= kLaneBits;
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

Fact Flow::result(const Inst& i, const Decoded& d, const Facts& facts) const {
  if (i.guard != kAlwaysSlot || d.writes.empty()) return Fact::vector();
  const uint32_t bytes = d.writes[0].bytes;
  if (bytes != 4 && bytes != 8) return Fact::vector();
  const auto of = [&](uint32_t slot) { return fact(facts, slot); };
  const auto source = [&](size_t k) { return of(d.reads[k].slot); };
  if (d.operation == Operation::load_parameter) return Fact::scalar(static_cast<uint8_t>(bytes), 0);
  // All lanes take the value of one.
  if (d.operation == Operation::shuffle) {
    const bool picks = i.variant == kShuffleByIndex && source(1).is_uniform() && source(2).known &&
                       (source(2).value >> 8 & 31) == 0;
    return picks ? Fact::scalar(4, 0) : Fact::vector();
  }
  if (d.operation == Operation::load)
    return i.space != Space::local && source(0).is_uniform() ? Fact::scalar(static_cast<uint8_t>(bytes), 0)
                                                             : Fact::vector();
  if (is_float(d.type) && d.operation != Operation::move) return Fact::vector();
  if (d.reads.empty()) return Fact::vector();
  for (const Register& r : d.reads) {
    if (r.bytes == 0 || !of(r.slot).is_scalar()) return Fact::vector();
  }
  const Fact a = source(0), b = d.reads.size() > 1 ? source(1) : Fact(),
             c = d.reads.size() > 2 ? source(2) : Fact();
  const bool uniform =
      std::all_of(d.reads.begin(), d.reads.end(), [&](const Register& r) { return of(r.slot).is_uniform(); });
  // A product with a constant keeps a step; one with an unknown uniform factor has a step that is not known.
  const auto product = [&]() -> Fact {
    const int align = a.align + b.align;
    if (a.is_uniform() && b.is_uniform()) {
      return a.known && b.known && bytes == 4 ? Fact::constant(4, uint32_t(a.value * b.value))
                                              : affine(bytes, 0, align);
    }
    const Fact& factor = a.known ? a : b;
    const Fact& other = a.known ? b : a;
    const uint64_t limit = uint64_t(1) << 20;
    if (!factor.known || factor.value > limit) return Fact::vector();
    return affine(bytes, other.stride * static_cast<int64_t>(factor.value), align);
  };
  const auto with_sum = [&](const Fact& p) {
    return p.is_scalar() ? affine(bytes, p.stride + c.stride, std::min(p.align, c.align)) : p;
  };
  // Widening commutes with the step as long as no lane wraps around: the code checks that for steps upwards.
  const bool widens = a.stride >= 0 && b.stride >= 0 && !(a.stride != 0 && b.stride != 0);
  const int lower_align = std::min(a.align, b.align);
  switch (d.operation) {
    case Operation::move:
      return a;
    case Operation::add_immediate:
      return affine(bytes, a.stride,
                    std::min<int>(a.align, Fact::constant(8, static_cast<uint64_t>(i.imm)).align));
    case Operation::add:
      if (a.known && b.known)
        return Fact::constant(static_cast<uint8_t>(bytes), narrow(a.value + b.value, bytes));
      return affine(bytes, a.stride + b.stride, lower_align);
    case Operation::subtract:
      return affine(bytes, a.stride - b.stride, lower_align);
    case Operation::multiply:
      return product();
    case Operation::multiply_add:
      return with_sum(product());
    case Operation::multiply_wide:
      return widens ? product() : Fact::vector();
    case Operation::multiply_add_wide:
      return widens ? with_sum(product()) : Fact::vector();
    case Operation::shift_left:
      if (!b.known || b.value > 20) return uniform && b.known ? affine(bytes, 0) : Fact::vector();
      return affine(bytes, a.stride * (int64_t{1} << b.value), a.align + static_cast<int>(b.value));
    case Operation::shift_right:
      if (!b.known) return Fact::vector();
      // The sign of a thread's number: what a signed division by a power of two begins with.
      if (a.bits != 0 && b.value >= a.bits) return Fact::constant(static_cast<uint8_t>(bytes), 0);
      if (uniform)
        return affine(bytes, 0, a.align - static_cast<int>(std::min<uint64_t>(b.value, Fact::kMostAlign)));
      return counts_lanes(a) && b.value >= kLaneBits ? affine(bytes, 0) : Fact::vector();
    case Operation::bit_and: {
      if (uniform) return affine(bytes, 0, std::max(a.align, b.align));
      const Fact& mask = a.known ? a : b;
      const Fact& other = a.known ? b : a;
      if (!mask.known || !counts_lanes(other)) return Fact::vector();
      if ((mask.value & (kLanes - 1)) == kLanes - 1) return affine(bytes, 1, kLaneBits);
      return (mask.value & (kLanes - 1)) == 0 ? affine(bytes, 0, mask.align) : Fact::vector();
    }
    case Operation::bit_or:
    case Operation::bit_xor:
    case Operation::bit_not:
    case Operation::minimum:
    case Operation::maximum:
      return uniform ? affine(bytes, 0) : Fact::vector();
    case Operation::negate:
      return affine(bytes, -a.stride, a.align);
    case Operation::convert:
      if (bytes == 4) return affine(bytes, a.stride, a.align);
      return a.bytes == 8 || a.stride >= 0 ? affine(bytes, a.stride, a.align) : Fact::vector();
    default:
      return Fact::vector();
  }
}

}  // namespace warpgrade::emu
