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

void AsyncOrder::start(size_t warps, uint32_t now) {
  const Knowledge nothing{std::vector<uint32_t>(warps, 0), {}};
  known_.assign(warps, nothing);
  flags_ = nothing;
  common_ = {std::vector<uint32_t>(warps, now), {}};
  barriers_.clear();
}

void AsyncOrder::meet(uint32_t now) {
  for (const Knowledge& of_warp : known_) common_.take(of_warp);
  std::fill(common_.clocks.begin(), common_.clocks.end(), now);
}

void AsyncOrder::publish(uint32_t warp, uint32_t now, Knowledge& into) {
  Knowledge& mine = known_[warp];
  mine.clocks[warp] = now;
  into.take(common_);
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
  return phase <= std::max(last(common_), last(known_[warp]));
}

}  // namespace warpgrade::emu
