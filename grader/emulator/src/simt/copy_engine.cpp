#include "simt/copy_engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "check/async_copies.h"
#include "exec/handlers.h"
#include "simt/mbarrier.h"
#include "simt/reduce_element.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kPlainUnit = 16;      // sizes and addresses of plain bytes are multiples of it
constexpr uint32_t kObservedPiece = 16;  // that the checks and counters look at

bool check_size(const LaneCopy& c, uint32_t bytes) {
  if (bytes % kPlainUnit == 0) return true;
  Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::misaligned);
  d.bytes = bytes;
  d.message += "copies " + std::to_string(bytes) + " bytes in bulk, which is no multiple of 16";
  d.advice = "Round the size up to 16 bytes, or copy the rest with plain loads and stores.";
  stop_launch(c.w, std::move(d), Fault::misaligned_address);
  return false;
}

void copy_stretch(const LaneCopy& c, uint32_t bytes, uint64_t target, uint64_t barrier) {
  const bool from_shared = c.copy.reduction != Reduction::none || c.copy.to_global;
  const bool reduces = c.copy.reduction != Reduction::none;
  const Stretch from(c, c.address(c.copy.from), bytes, from_shared ? Space::shared : Space::global,
                     AccessKind::load, kPlainUnit);
  if (c.stops()) return;
  const Stretch to(c, target, bytes, c.copy.to_global ? Space::global : Space::shared,
                   reduces ? AccessKind::atomic : AccessKind::store, kPlainUnit);
  if (c.stops()) return;
  from.look_at(0, bytes);
  to.look_at(0, bytes);
  write_elements(c.copy, to.host(), from.host(), bytes, c.copy.type);
  if (from_shared && c.copy.to_global)
    follow_copy_from_shared(c.w, c.i, c.lane, c.address(c.copy.from), bytes);
  if (!from_shared) follow_copy_to_shared(c.w, c.i, c.lane, target, bytes, barrier);
  if (c.copy.has_barrier) complete_at(c, barrier, bytes);
}

void copy_plain(const LaneCopy& c) {
  const uint32_t bytes = lanes<uint32_t>(c.w, c.copy.bytes)[c.lane];
  if (bytes == 0 || !check_size(c, bytes)) return;
  for_each_receiver(c, [&](uint64_t target, uint64_t barrier) { copy_stretch(c, bytes, target, barrier); });
}

// By a whole warp, once.
void publish(Warp& w, const Inst& i) {
  const uint32_t all = w.mask;
  w.mask = all & -all;
  each_lane_copies<copy_plain>(w, i);
  w.mask = all;
}

}  // namespace

void stop_launch(Warp& w, Diagnostic d, Fault fault) {
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, fault);
  w.stop = Stop::aborted;
}

Stretch::Stretch(const LaneCopy& c, uint64_t address, uint32_t bytes, Space space, AccessKind kind,
                 uint32_t align)
    : c_(c), kind_(kind) {
  Access x;
  std::fill(std::begin(x.host), std::end(x.host), address);
  x.space = space;
  resolve_range(c.w, c.i, bytes, kind, x, align);
  // Another block's shared memory: the checks were made there.
  followed_ = std::exchange(c.w.worker->faulty_lanes, 0) == 0;
  host_ = reinterpret_cast<uint8_t*>(x.host[c.lane]);
  space_ = x.space;
}

void Stretch::look_at(uint32_t offset, uint32_t bytes) const {
  if (!followed_ || !c_.w.worker->observe) return;
  for (uint32_t done = 0; done < bytes;) {
    const uint64_t at = reinterpret_cast<uint64_t>(host_) + offset + done;
    uint32_t piece = kObservedPiece;
    while ((at & (piece - 1)) != 0 || piece > bytes - done) piece /= 2;
    Access x;
    std::fill(std::begin(x.host), std::end(x.host), at);
    x.low = x.high = at;
    x.space = space_;
    observe_access(c_.w, c_.i, piece, kind_, x);
    done += piece;
  }
}

void complete_at(const LaneCopy& c, uint64_t barrier, uint32_t bytes) {
  const Stretch place(c, barrier, sizeof(uint64_t), Space::shared, AccessKind::atomic, sizeof(uint64_t));
  if (c.stops()) return;
  place.look_at(0, sizeof(uint64_t));
  uint64_t bits;
  std::memcpy(&bits, place.host(), sizeof bits);
  Mbarrier b(bits);
  b.complete_bytes(bytes);
  bits = b.bits();
  std::memcpy(place.host(), &bits, sizeof bits);
  follow_mbarrier(c.w, reinterpret_cast<uint64_t>(place.host()), b.parity());
}

void write_elements(const TensorCopy& copy, uint8_t* to, const uint8_t* from, uint32_t bytes, Type type) {
  if (copy.reduction == Reduction::none) {
    std::memcpy(to, from, bytes);
    return;
  }
  const uint32_t size = bytes_of_reduced(type);
  for (uint32_t k = 0; k + size <= bytes; k += size) reduce_element(to + k, from + k, type, copy.reduction);
}

void add_copy_engine_handlers(HandlerTable& t) {
  t.add(each_lane_copies<copy_plain>, "cp.bytes");
  t.add(publish, "tensormap.publish");
}

}  // namespace warpgrade::emu
