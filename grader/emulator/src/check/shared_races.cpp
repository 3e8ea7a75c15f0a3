#include "check/shared_races.h"

#include <algorithm>
#include <array>

#include "check/initialized.h"
#include "check/race_report.h"
#include "check/vector_checks.h"
#include "program/program.h"
#include "state/launch.h"
#include "support/for_each_level.h"

// The scans over a row of stamps are the check's whole cost in kernels that tile; they are built for
// each vector width.
#define WARPEMU_FOR_EACH_ISA WARPEMU_FOR_EACH_LEVEL

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostUnits = kLanes * 16;  // of a warp's access: 16 bytes a lane, byte by byte

// In memory, because there are vectors of them, but no vectors of shifts, at every level.
constexpr auto kLaneBits = [] {
  std::array<uint32_t, kLanes> bits{};
  for (uint32_t l = 0; l < kLanes; ++l) bits[l] = 1u << l;
  return bits;
}();

// Not zero when an access of some unit is unordered; mine: the threads that access each unit, since: when
// each of their lanes last met its warp.
WARPEMU_FOR_EACH_ISA
uint32_t any_unordered(const uint32_t* when, const uint32_t* whom, const uint32_t* mine,
                       const uint32_t* since, uint32_t all_since, uint32_t units) {
  uint32_t found = 0;
  for (uint32_t u = 0; u < units; ++u) {
    const uint32_t differs = whom[u] ^ mine[u];
    const uint32_t recent = when[u] >= all_since, others = (differs & kThreadMask) != 0;
    const uint32_t apart = uint32_t((differs & kWarpMask) != 0) | uint32_t(when[u] >= since[u]);
    found |= recent & others & apart;
  }
  return found;
}

WARPEMU_FOR_EACH_ISA
void stamp(uint32_t* when, uint32_t* whom, const uint32_t* mine, uint32_t now, uint32_t instruction,
           uint32_t units) {
  for (uint32_t u = 0; u < units; ++u) {
    when[u] = now;
    whom[u] = instruction << kThreadBits | mine[u];
  }
}

// Keeps what is there unless all threads have met since.
WARPEMU_FOR_EACH_ISA
void stamp_stale(uint32_t* when, uint32_t* whom, const uint32_t* mine, uint32_t now, uint32_t all_since,
                 uint32_t instruction, uint32_t units) {
  for (uint32_t u = 0; u < units; ++u) {
    const bool stale = when[u] < all_since;
    when[u] = stale ? now : when[u];
    whom[u] = stale ? instruction << kThreadBits | mine[u] : whom[u];
  }
}

// The lanes that have not met their warp after `when`.
WARPEMU_FOR_EACH_ISA
uint32_t lanes_not_since(uint32_t when, const uint32_t* since) {
  uint32_t found = 0;
  for (uint32_t l = 0; l < kLanes; ++l) found |= when >= since[l] ? kLaneBits[l] : 0;
  return found;
}

// The lanes of `mask`, of a warp of which the first lane is `whom`, whose access is not ordered behind a
// write that is more recent than the last meeting of all threads.
uint32_t unordered_lanes(uint32_t when, uint32_t writer, uint32_t whom, const uint32_t* since,
                         uint32_t mask) {
  if (((writer ^ whom) & kWarpMask) != 0) return mask;
  return lanes_not_since(when, since) & mask & ~(1u << writer % kLanes);
}

RacedMemory describe(const Launch& launch, uint64_t offset) {
  RacedMemory memory;
  memory.space = Space::shared;
  memory.address = kSharedTag | offset;
  for (const SharedVariable& v : launch.shared) {
    if (offset < v.begin || offset >= v.end) continue;
    memory.name = v.name;
    memory.bytes = v.end - v.begin;
    memory.offset = static_cast<int64_t>(offset - v.begin);
  }
  return memory;
}

}  // namespace

// The units of a row access, and who touches each.
struct SharedShadow::Range {
  uint32_t first = 0, units = 0;
  alignas(64) uint32_t mine[kMostUnits];   // warp and lane
  alignas(64) uint32_t since[kMostUnits];  // of that lane

  Range(const BlockOrder& order, uint32_t warp, uint32_t begin, uint32_t units_a_lane)
      : first(begin), units(units_a_lane * kLanes) {
    const auto& lanes_since = order.lanes_since(warp);
    if (units_a_lane == 1) {
      for (uint32_t l = 0; l < kLanes; ++l) mine[l] = warp * kLanes | l;
      std::copy_n(lanes_since.begin(), kLanes, since);
      return;
    }
    for (uint32_t l = 0, u = 0; l < kLanes; ++l) {
      for (uint32_t k = 0; k < units_a_lane; ++k, ++u) {
        mine[u] = warp * kLanes | l;
        since[u] = lanes_since[l];
      }
    }
  }
};

void SharedShadow::prepare(const Launch& launch) {
  const Program& program = *launch.program;
  shift_ = program.narrow_shared ? 0 : 2;
  const size_t units = (launch.shared_bytes >> shift_) + kMostUnits;
  for (Stamps* stamps : {&write_, &first_read_, &last_read_}) {
    stamps->when.assign(units, 0);
    stamps->whom.assign(units, 0);
  }
  const bool copies = std::any_of(program.texts.begin(), program.texts.end(),
                                  [](const std::string& text) { return is_async_copy(text); });
  async_ = copies ? std::make_unique<AsyncCopies>(launch, static_cast<uint32_t>(units)) : nullptr;
}

void SharedShadow::start(const Block& block) {
  block_ = &block;
  if (async_) async_->start(block, order_.now());
  order_.start(block.warps.size());
}

SharedStamps SharedShadow::stamps() {
  if (async_ || shift_ != 2) return {};
  return {write_.when.data(),      write_.whom.data(),     first_read_.when.data(),
          first_read_.whom.data(), last_read_.when.data(), last_read_.whom.data()};
}

void SharedShadow::meet() {
  if (async_) async_->order().meet(block_->rank, order_.now());
  order_.order_all();
}

// A lock's compare-and-swap, a flag's exchange, an acquire or a release orders: what it guards is
// not followed.
void SharedShadow::order_by(const Warp& w, const Inst& i) {
  if (!w.block->program->synchronizes[i.index]) return;
  if (async_ && async_->is_flag(i.index))
    async_->order().use_flag(number_in_cluster(*w.block, w.index), order_.now());
  order_.order_all();
}

// What copies that are under way, as far as the warp knows, read or write; of a copy that is issued, also
// what others have done and are not ordered before.
void SharedShadow::check_beside_copies(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind,
                                       const Access& x) {
  const bool is_copy = async_->is_copy(i.index);
  if (is_copy && kind == AccessKind::atomic) return;  // of its barrier
  const auto base = reinterpret_cast<uint64_t>(w.block->shared);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    if (is_copy) {
      check_copy(w, i, l, static_cast<uint32_t>(x.host[l] - base), bytes, kind);
      continue;
    }
    const auto first = static_cast<uint32_t>(x.host[l] - base) >> shift_;
    for (uint32_t unit = first; unit < first + std::max(1u, bytes >> shift_); ++unit) {
      const AsyncCopies::Copy* copy = async_->racing(unit, number_in_cluster(*w.block, w.index), kind);
      if (copy == nullptr) continue;
      report_copy_race(*copy->issuer, {copy->instruction, copy->thread, copy->writes},
                       {i.index, w.index * kLanes + l, w.block->linear},
                       describe(*w.block->launch, uint64_t{unit} << shift_));
      return;
    }
  }
}

// Whether the stamped access is not ordered before a copy that the lane issues now.
bool SharedShadow::report_plain_access(Warp& w, const Inst& i, uint32_t lane, uint32_t unit,
                                       const Stamps& stamps, AccessKind copies) {
  const uint32_t whom = stamps.whom[unit], thread = thread_of(whom);
  if (async_->is_copy(instruction_of(whom)) || w.block->program->synchronizes[instruction_of(whom)] ||
      async_->order().is_before(stamps.when[unit], number_in_cluster(*block_, thread / kLanes),
                                number_in_cluster(*w.block, w.index)))
    return false;
  report_copy_race(*w.block, {i.index, w.index * kLanes + lane, copies == AccessKind::store},
                   {instruction_of(whom), thread, block_->linear},
                   describe(*w.block->launch, uint64_t{unit} << shift_));
  return true;
}

void SharedShadow::check_copy(Warp& w, const Inst& i, uint32_t lane, uint32_t offset, uint32_t bytes,
                              AccessKind kind) {
  const uint32_t first = unit_of(offset), thread = w.index * kLanes + lane;
  for (uint32_t unit = first; unit < first + units_of(offset, bytes); ++unit) {
    if (const AsyncCopies::Copy* other = async_->racing(unit, number_in_cluster(*w.block, w.index), kind)) {
      return report_copy_race(*w.block, {i.index, thread, kind == AccessKind::store},
                              {other->instruction, other->thread, other->issuer->linear},
                              describe(*w.block->launch, uint64_t{unit} << shift_));
    }
    if (report_plain_access(w, i, lane, unit, write_, kind)) return;
    if (kind == AccessKind::store && (report_plain_access(w, i, lane, unit, first_read_, kind) ||
                                      report_plain_access(w, i, lane, unit, last_read_, kind)))
      return;
  }
}

void SharedShadow::check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (async_) check_beside_copies(w, i, bytes, kind, x);
  order_by(w, i);
  if (kind == AccessKind::load && x.low == x.high) return check_uniform(w, i, bytes, x.low);
  if (kind != AccessKind::atomic && is_row(w.mask, bytes, x)) {
    const auto begin = static_cast<uint32_t>(x.low - reinterpret_cast<uint64_t>(w.block->shared)) >> shift_;
    const uint32_t units_a_lane = std::max(1u, bytes >> shift_);
    if (pass_row(w, i, begin, units_a_lane, kind)) return;
    const Range range(order_, w.index, begin, units_a_lane);
    if (has_conflicts(kind, range)) [[unlikely]]
      find_conflicts(w, i, (range.units / kLanes) << shift_, kind, x);
    return remember_row(i, kind, range);
  }
  check_lanes(w, i, bytes, kind, x);
}

void SharedShadow::check_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  if (async_) check_beside_copies(w, i, bytes, kind, row.access());
  order_by(w, i);
  if (kind == AccessKind::load && row.stride == 0) return check_uniform(w, i, bytes, row.low);
  if (row.stride == 0) return check_lanes(w, i, bytes, kind, row.access());
  const auto begin = static_cast<uint32_t>(row.low - reinterpret_cast<uint64_t>(w.block->shared)) >> shift_;
  const uint32_t units_a_lane = std::max(1u, bytes >> shift_);
  if (pass_row(w, i, begin, units_a_lane, kind)) return;
  const Range range(order_, w.index, begin, units_a_lane);
  if (has_conflicts(kind, range)) [[unlikely]]
    find_conflicts(w, i, (range.units / kLanes) << shift_, kind, row.access());
  remember_row(i, kind, range);
}

// Of a row of which nothing has to be reported; false: look closer.
bool SharedShadow::pass_row(const Warp& w, const Inst& i, uint32_t first, uint32_t units_a_lane,
                            AccessKind kind) {
  if (units_a_lane > sizeof(uint32_t) || !vector_checks()) return false;
  const RowAccess row = {order_.now(), order_.all_since(), order_.lanes_since(w.index).data(),
                         who(i.index, w.index, 0), units_a_lane};
  const auto stamps = [first](Stamps& of) { return StampedRow{&of.when[first], &of.whom[first]}; };
  if (has_unordered(stamps(write_), row)) return false;
  if (kind == AccessKind::load) {
    stamp_row(stamps(first_read_), row, true);
    stamp_row(stamps(last_read_), row, false);
    return true;
  }
  if (has_unordered(stamps(first_read_), row) || has_unordered(stamps(last_read_), row)) return false;
  stamp_row(stamps(write_), row, false);
  return true;
}

bool SharedShadow::has_conflicts(AccessKind kind, const Range& range) const {
  const auto unordered = [&](const Stamps& stamps) {
    return any_unordered(&stamps.when[range.first], &stamps.whom[range.first], range.mine, range.since,
                         order_.all_since(), range.units);
  };
  uint32_t found = unordered(write_);
  if (kind == AccessKind::store) found |= unordered(first_read_) | unordered(last_read_);
  return found != 0;
}

void SharedShadow::remember_row(const Inst& i, AccessKind kind, const Range& range) {
  const uint32_t all_since = order_.all_since(), now = order_.now();
  if (kind == AccessKind::store) {
    stamp(&write_.when[range.first], &write_.whom[range.first], range.mine, now, i.index, range.units);
  } else {
    stamp_stale(&first_read_.when[range.first], &first_read_.whom[range.first], range.mine, now, all_since,
                i.index, range.units);
    stamp(&last_read_.when[range.first], &last_read_.whom[range.first], range.mine, now, i.index,
          range.units);
  }
}

void SharedShadow::remember_read(uint32_t unit, uint32_t whom) {
  if (first_read_.when[unit] < order_.all_since()) {
    first_read_.when[unit] = order_.now();
    first_read_.whom[unit] = whom;
  }
  last_read_.when[unit] = order_.now();
  last_read_.whom[unit] = whom;
}

// All lanes read one place.
void SharedShadow::check_uniform(Warp& w, const Inst& i, uint32_t bytes, uint64_t host) {
  const auto first = static_cast<uint32_t>(host - reinterpret_cast<uint64_t>(w.block->shared)) >> shift_;
  const auto& since = order_.lanes_since(w.index);
  const uint32_t units = std::max(1u, bytes >> shift_);
  const auto lowest = static_cast<uint32_t>(__builtin_ctz(w.mask));
  for (uint32_t unit = first; unit < first + units; ++unit) {
    if (write_.when[unit] >= order_.all_since() &&
        unordered_lanes(write_.when[unit], write_.whom[unit], who(i.index, w.index, 0), since.data(),
                        w.mask) != 0) [[unlikely]] {
      for (uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto l = static_cast<uint32_t>(__builtin_ctz(m));
        if (!is_unordered(write_.when[unit], write_.whom[unit], who(i.index, w.index, l), order_.all_since(),
                          since[l]))
          continue;
        conflicts(w, i, l, unit, AccessKind::load, host, bytes);
        break;
      }
    }
    remember_read(unit, who(i.index, w.index, lowest));
  }
}

void SharedShadow::check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  const uint32_t units = std::max(1u, bytes >> shift_);
  const auto base = reinterpret_cast<uint64_t>(w.block->shared);
  const auto& since = order_.lanes_since(w.index);
  const uint32_t all_since = order_.all_since(), now = order_.now();
  const auto& code = w.block->program->code;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const auto first = static_cast<uint32_t>(x.host[l] - base) >> shift_;
    const uint32_t me = who(i.index, w.index, l);
    for (uint32_t unit = first; unit < first + units; ++unit) {
      bool found = is_unordered(write_.when[unit], write_.whom[unit], me, all_since, since[l]);
      // Atomics do not race with each other.
      if (found && kind == AccessKind::atomic)
        found = code[instruction_of(write_.whom[unit])].category != Category::atomic;
      if (kind != AccessKind::load) {
        found |= is_unordered(first_read_.when[unit], first_read_.whom[unit], me, all_since, since[l]) |
                 is_unordered(last_read_.when[unit], last_read_.whom[unit], me, all_since, since[l]);
      }
      if (found) conflicts(w, i, l, unit, kind, x.host[l], bytes);
      if (kind == AccessKind::load) {
        remember_read(unit, me);
      } else {
        write_.when[unit] = now;
        write_.whom[unit] = me;
      }
    }
  }
}

void SharedShadow::find_conflicts(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  const auto base = reinterpret_cast<uint64_t>(w.block->shared);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const auto first = static_cast<uint32_t>(x.host[l] - base) >> shift_;
    for (uint32_t unit = first; unit < first + std::max(1u, bytes >> shift_); ++unit) {
      if (conflicts(w, i, l, unit, kind, x.host[l], bytes)) return;
    }
  }
}

// Reports what the lane's access of the unit races with; false when it is harmless after all.
bool SharedShadow::conflicts(Warp& w, const Inst& i, uint32_t lane, uint32_t unit, AccessKind kind,
                             uint64_t host, uint32_t bytes) {
  const uint32_t me = who(i.index, w.index, lane), lane_since = order_.lanes_since(w.index)[lane];
  const auto try_one = [&](const Stamps& stamps, bool written) {
    const uint32_t whom = stamps.whom[unit];
    if (!is_unordered(stamps.when[unit], whom, me, order_.all_since(), lane_since)) return false;
    if (w.block->program->synchronizes[instruction_of(whom)]) return false;  // they poll, or lock
    const bool theirs_atomic = w.block->program->code[instruction_of(whom)].category == Category::atomic;
    if (written && kind == AccessKind::atomic && theirs_atomic) return false;
    // The usual compare-and-swap loop begins with a plain load.
    if (w.block->program->compares_and_swaps && (kind == AccessKind::atomic || theirs_atomic)) return false;
    // Who reads meanwhile misses a barrier whatever is written.
    if (written && kind == AccessKind::store && is_silent_store(w, i, lane, host)) return false;
    const bool same_instruction = instruction_of(whom) == i.index && thread_of(whom) / kLanes == w.index;
    if (written && kind == AccessKind::store && same_instruction && stores_same(w, i, lane, whom % kLanes))
      return false;
    const uint64_t offset = host - reinterpret_cast<uint64_t>(w.block->shared);
    report_race(w, i, lane, bytes, kind, {instruction_of(whom), thread_of(whom), w.block->linear},
                describe(*w.block->launch, offset));
    return true;
  };
  if (try_one(write_, true)) return true;
  return kind != AccessKind::load && (try_one(first_read_, false) || try_one(last_read_, false));
}

}  // namespace warpgrade::emu
