#include "check/async_copies.h"

#include <algorithm>

#include "check/shared_races.h"
#include "program/program.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kRemembered = 1 << 15;  // copies; older ones are forgotten

void finish(AsyncCopies::Copy& copy, uint32_t now) {
  copy.state = AsyncCopies::Copy::State::over;
  copy.over_at = now;
}

// The offset in the block's own shared memory.
std::optional<uint32_t> own_shared_offset(const Warp& w, uint64_t address) {
  const uint64_t offset = address & ~kTagMask;
  if (offset >= w.block->shared_bytes) return std::nullopt;
  return static_cast<uint32_t>(offset);
}

std::optional<uint32_t> own_shared_host(const Warp& w, uint64_t host) {
  return own_shared_offset(w, host - reinterpret_cast<uint64_t>(w.block->shared));
}

// A place in the shared memory of a block of the cluster.
struct SharedPlace {
  Block* block;
  uint32_t offset;
  bool is_by_rank;  // the address names the block: the checks of accesses do not know it
  uint32_t number() const { return block->rank << kRankShift | offset; }
};

std::optional<SharedPlace> shared_place(const Warp& w, uint64_t address) {
  const uint64_t named = (address & ~kTagMask) >> kRankShift;
  const std::vector<Block*>& blocks = w.block->cluster->blocks;
  if (named > blocks.size()) return std::nullopt;
  Block* block = named == 0 ? w.block : blocks[named - 1];
  const auto offset = static_cast<uint32_t>(address & kSharedOffsetMask);
  if (offset >= block->shared_bytes || block->has_returned) return std::nullopt;
  return SharedPlace{block, offset, named != 0};
}

std::optional<SharedPlace> shared_place_of_host(const Warp& w, uint64_t host) {
  for (Block* block : w.block->cluster->blocks) {
    const uint64_t offset = host - reinterpret_cast<uint64_t>(block->shared);
    if (offset < block->shared_bytes) return SharedPlace{block, static_cast<uint32_t>(offset), false};
  }
  return std::nullopt;
}

}  // namespace

bool is_async_copy(const std::string& opcode) {
  const auto holds = [&](const char* word) { return opcode.find(word) != std::string::npos; };
  if (!opcode.starts_with("cp.async") && !opcode.starts_with("cp.reduce.async")) return false;
  return !holds("mbarrier.arrive") && !holds("commit_group") && !holds("wait_group") && !holds("wait_all") &&
         !holds("prefetch");
}

AsyncCopies::AsyncCopies(const Launch& launch, uint32_t units)
    : copies_(kRemembered), writes_(units, 0), reads_(units, 0) {
  const Program& program = *launch.program;
  for (size_t k = 0; k < program.texts.size(); ++k) {
    const std::string& text = program.texts[k];
    is_copy_.push_back(is_async_copy(text));
    is_flag_.push_back(program.synchronizes[k] && text.find("mbarrier") == std::string::npos);
  }
}

void AsyncCopies::start(const Block& block, uint32_t now) {
  const size_t warps = block.warps.size();
  const std::vector<Block*>& blocks = block.cluster->blocks;
  if (block.rank == 0) own_order_.start(warps, blocks.size());  // before those of higher rank
  order_ = &blocks.front()->races->async()->own_order_;
  order_->start_block(block.rank, now);
  std::fill(writes_.begin(), writes_.end(), 0);
  std::fill(reads_.begin(), reads_.end(), 0);
  pending_.assign(warps, {});
  pending_bulk_.assign(warps, {});
  bulk_groups_.assign(warps * kLanes, 0);
}

AsyncCopies::Copy* AsyncCopies::find(uint32_t number) {
  const bool kept = number != 0 && next_ - number <= kRemembered;
  return kept ? &copies_[number % kRemembered] : nullptr;
}

void AsyncCopies::issue(Copy copy, uint32_t first, uint32_t units) {
  const uint32_t number = next_++;
  copies_[number % kRemembered] = copy;
  std::fill_n((copy.writes ? writes_ : reads_).begin() + first, units, number);
  if (copy.state != Copy::State::under_way) return;
  (copy.writes ? pending_ : pending_bulk_)[copy.thread / kLanes].push_back(number);
}

bool AsyncCopies::is_known_over(const Copy& copy, uint32_t warp) const {
  switch (copy.state) {
    case Copy::State::under_way:
      return false;
    case Copy::State::ends_with_phase:
      return order_->knows_end_of(warp, copy.barrier, copy.phase);
    case Copy::State::over:
      break;
  }
  return order_->is_before(copy.over_at, number_in_cluster(*copy.issuer, copy.thread / kLanes), warp);
}

const AsyncCopies::Copy* AsyncCopies::racing_of(uint32_t number, uint32_t warp) const {
  if (number == 0 || next_ - number > kRemembered) return nullptr;
  const Copy& copy = copies_[number % kRemembered];
  return is_known_over(copy, warp) ? nullptr : &copy;
}

const AsyncCopies::Copy* AsyncCopies::racing(uint32_t unit, uint32_t warp, AccessKind kind) const {
  if (const Copy* copy = racing_of(writes_[unit], warp)) return copy;
  return kind == AccessKind::load ? nullptr : racing_of(reads_[unit], warp);
}

void AsyncCopies::finish_groups(uint32_t warp, uint32_t end, uint32_t now) {
  std::erase_if(pending_[warp], [&](uint32_t number) {
    Copy* copy = find(number);
    if (copy != nullptr && copy->group >= end) return false;
    if (copy != nullptr) finish(*copy, now);
    return true;
  });
}

void AsyncCopies::leave_to_barrier(uint32_t warp, uint32_t barrier) {
  for (const uint32_t number : pending_[warp]) {
    Copy* copy = find(number);
    if (copy == nullptr) continue;
    copy->state = Copy::State::ends_with_phase;
    copy->barrier = barrier;
    copy->phase = order_->phase_of(barrier);
  }
  pending_[warp].clear();
}

void AsyncCopies::finish_bulk(uint32_t thread, uint32_t left, uint32_t now) {
  const uint32_t committed = bulk_groups_[thread];
  std::erase_if(pending_bulk_[thread / kLanes], [&](uint32_t number) {
    Copy* copy = find(number);
    if (copy == nullptr) return true;
    if (copy->thread != thread || copy->group + left >= committed) return false;
    finish(*copy, now);
    return true;
  });
}

AsyncCopies* async_copies(const Warp& w) {
  return w.block->races != nullptr ? w.block->races->async() : nullptr;
}

void follow_copy_to_shared(Warp& w, const Inst& i, uint32_t lane, uint64_t to, uint32_t bytes,
                           uint64_t barrier) {
  const auto place = shared_place(w, to), at = shared_place(w, barrier);
  if (bytes == 0 || async_copies(w) == nullptr || !place || !at) return;
  SharedShadow& races = *place->block->races;
  if (place->is_by_rank) races.check_copy(w, i, lane, place->offset, bytes, AccessKind::store);
  races.async()->issue({.instruction = i.index,
                        .thread = w.index * kLanes + lane,
                        .issuer = w.block,
                        .barrier = at->number(),
                        .phase = races.async()->order().phase_of(at->number()),
                        .state = AsyncCopies::Copy::State::ends_with_phase,
                        .writes = true},
                       races.unit_of(place->offset), races.units_of(place->offset, bytes));
}

void follow_copy_between_blocks(Warp& w, const Inst& i, uint32_t lane, uint64_t from, uint32_t bytes,
                                uint64_t barrier) {
  AsyncCopies* copies = async_copies(w);
  const auto offset = own_shared_offset(w, from);
  const auto at = shared_place(w, barrier);
  if (bytes == 0 || copies == nullptr || !offset || !at) return;
  copies->issue({.instruction = i.index,
                 .thread = w.index * kLanes + lane,
                 .issuer = w.block,
                 .barrier = at->number(),
                 .phase = copies->order().phase_of(at->number()),
                 .state = AsyncCopies::Copy::State::ends_with_phase},
                w.block->races->unit_of(*offset), w.block->races->units_of(*offset, bytes));
}

void follow_copy_from_shared(Warp& w, const Inst& i, uint32_t lane, uint64_t from, uint32_t bytes) {
  AsyncCopies* copies = async_copies(w);
  const auto offset = own_shared_offset(w, from);
  if (bytes == 0 || copies == nullptr || !offset) return;
  const uint32_t thread = w.index * kLanes + lane;
  copies->issue(
      {.instruction = i.index, .thread = thread, .issuer = w.block, .group = copies->bulk_group(thread)},
      w.block->races->unit_of(*offset), w.block->races->units_of(*offset, bytes));
}

void follow_lane_copies(Warp& w, const Inst& i, uint32_t bytes, const uint64_t* to) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
    const auto offset = own_shared_host(w, to[lane]);
    if (!offset) continue;
    copies->issue({.instruction = i.index,
                   .thread = w.index * kLanes + lane,
                   .issuer = w.block,
                   .group = w.async_group[lane],
                   .writes = true},
                  w.block->races->unit_of(*offset), w.block->races->units_of(*offset, bytes));
  }
}

void follow_mbarrier(Warp& w, uint64_t host, uint32_t parity) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  if (const auto barrier = shared_place_of_host(w, host))
    copies->order().see_parity(barrier->number(), parity);
}

void follow_arrival(Warp& w, uint64_t host) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  const auto barrier = shared_place_of_host(w, host);
  if (!barrier) return;
  BlockOrder& clock = w.block->races->order();
  copies->order().arrive(number_in_cluster(*w.block, w.index), barrier->number(), clock.now());
  clock.advance();
}

void follow_wait(Warp& w, uint64_t host) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  if (const auto barrier = shared_place_of_host(w, host))
    copies->order().pass(number_in_cluster(*w.block, w.index), barrier->number());
}

void follow_async_arrival(Warp& w, uint64_t host) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  if (const auto barrier = shared_place_of_host(w, host))
    copies->leave_to_barrier(w.index, barrier->number());
}

void follow_async_wait(Warp& w, uint32_t end) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  BlockOrder& clock = w.block->races->order();
  copies->finish_groups(w.index, end, clock.now());
  clock.advance();
}

void commit_bulk_group(Warp& w) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  for (uint32_t m = w.mask; m != 0; m &= m - 1)
    copies->commit_bulk(w.index * kLanes + static_cast<uint32_t>(__builtin_ctz(m)));
}

void wait_for_bulk_groups(Warp& w, uint32_t left) {
  AsyncCopies* copies = async_copies(w);
  if (copies == nullptr) return;
  BlockOrder& clock = w.block->races->order();
  for (uint32_t m = w.mask; m != 0; m &= m - 1)
    copies->finish_bulk(w.index * kLanes + static_cast<uint32_t>(__builtin_ctz(m)), left, clock.now());
  clock.advance();
}

}  // namespace warpgrade::emu
