#include "check/async_order.h"

namespace warpgrade::emu {

void AsyncOrder::Knowledge::take(const Knowledge& other) {
  if (clocks.size() < other.clocks.size()) clocks.resize(other.clocks.size(), 0);
  for (size_t k = 0; k < other.clocks.size(); ++k) clocks[k] = std::max(clocks[k], other.clocks[k]);
  for (const auto& [barrier, phase] : other.phases) {
    uint32_t& mine = phases[barrier];
    mine = std::max(mine, phase);
  }
}

void AsyncOrder::start(size_t warps, size_t blocks) {
  const Knowledge nothing{std::vector<uint32_t>(warps * blocks, 0), {}};
  warps_ = warps;
  known_.assign(warps * blocks, nothing);
  common_.assign(blocks, nothing);
  flags_ = nothing;
  barriers_.clear();
}

void AsyncOrder::start_block(size_t rank, uint32_t now) {
  for (Knowledge& of_block : common_) std::fill_n(of_block.clocks.begin() + rank * warps_, warps_, now);
}

void AsyncOrder::meet(size_t rank, uint32_t now) {
  Knowledge& common = common_[rank];
  for (size_t warp = rank * warps_; warp < (rank + 1) * warps_; ++warp) common.take(known_[warp]);
  std::fill_n(common.clocks.begin() + rank * warps_, warps_, now);
}

void AsyncOrder::meet_blocks() {
  Knowledge all;
  for (const Knowledge& of_block : common_) all.take(of_block);
  std::fill(common_.begin(), common_.end(), all);
}

void AsyncOrder::publish(uint32_t warp, uint32_t now, Knowledge& into) {
  Knowledge& mine = known_[warp];
  mine.clocks[warp] = now;
  into.take(common_of(warp));
  into.take(mine);
}

void AsyncOrder::arrive(uint32_t warp, uint32_t barrier, uint32_t now) {
  publish(warp, now, barriers_[barrier].arrived);
}

void AsyncOrder::pass(uint32_t warp, uint32_t barrier) {
  const Barrier& passed = barriers_[barrier];
  known_[warp].take(passed.arrived);
  known_[warp].phases[barrier] = passed.phase - 1;
}

void AsyncOrder::use_flag(uint32_t warp, uint32_t now) {
  publish(warp, now, flags_);
  known_[warp].take(flags_);
}

void AsyncOrder::see_parity(uint32_t barrier, uint32_t parity) {
  Barrier& seen = barriers_[barrier];
  if (seen.parity == parity) return;
  seen.parity = parity;
  ++seen.phase;
}

bool AsyncOrder::knows_end_of(uint32_t warp, uint32_t barrier, uint32_t phase) const {
  const auto last = [barrier](const Knowledge& of) {
    const auto found = of.phases.find(barrier);
    return found != of.phases.end() ? found->second : 0;
  };
  return phase <= std::max(last(common_of(warp)), last(known_[warp]));
}

}  // namespace warpgrade::emu
