// cp.async.bulk without tensors: each lane's copy happens when it is issued, which is one of the times at
// which it may happen on a GPU, and then counts its bytes at the barrier.
#include "program/bulk_copy.h"

#include <algorithm>
#include <cstring>

#include "check/async_copies.h"
#include "check/diagnose.h"
#include "exec/handlers.h"
#include "simt/mbarrier.h"
#include "state/access.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kUnit = 16;  // sizes and addresses are multiples of it
constexpr uint32_t kLargestPiece = 128;

// The instruction with one of its address operands as the plain one.
Inst with_address(const Inst& i, BulkOperand which, Space space) {
  Inst plain = i;
  plain.a = i.vec[2 * which];
  plain.imm = static_cast<int32_t>(i.vec[2 * which + 1]);
  plain.address_is_32 = i.flags >> which & 1;
  plain.space = space;
  return plain;
}

uint64_t lane_address(Warp& w, const Inst& i, uint32_t lane) {
  return i.address_is_32 ? uint32_t(lanes<uint32_t>(w, i.a)[lane] + uint32_t(i.imm))
                         : lanes<uint64_t>(w, i.a)[lane] + uint64_t(i.imm);
}

void report_size(Warp& w, const Inst& i, uint32_t lane, uint32_t bytes) {
  Diagnostic d = diagnose(w, i, lane, Finding::misaligned);
  d.bytes = bytes;
  d.message += "copies " + std::to_string(bytes) + " bytes in bulk, which is no multiple of 16";
  d.advice = "Round the size up to 16 bytes, or copy the rest with plain loads and stores.";
  w.block->launch->report(*w.block, std::move(d));
  w.block->launch->fail(*w.block, Fault::misaligned_address);
  w.stop = Stop::aborted;
}

// In pieces that are aligned at both ends, so that each is checked and counted like an access.
void copy_lane(Warp& w, Inst from, Inst to, uint32_t lane, uint32_t bytes) {
  const uint64_t start = lane_address(w, from, lane) | lane_address(w, to, lane);
  for (uint32_t done = 0; done < bytes && w.stop == Stop::none;) {
    uint32_t piece = kLargestPiece;
    while (piece > kUnit && (((start | done) & (piece - 1)) != 0 || piece > bytes - done)) piece /= 2;
    Access source, destination;
    resolve_async(w, from, piece, AccessKind::load, source);
    resolve_async(w, to, piece, AccessKind::store, destination);
    if (w.stop != Stop::none) return;
    std::memcpy(reinterpret_cast<void*>(destination.host[lane]),
                reinterpret_cast<const void*>(source.host[lane]), piece);
    from.imm += piece;
    to.imm += piece;
    done += piece;
  }
}

// variant: the BulkDirection; b: bytes.
void bulk_copy(Warp& w, const Inst& i) {
  const bool to_global = i.variant == kSharedToGlobal, from_shared = i.variant != kGlobalToShared;
  const Inst from = with_address(i, kBulkSource, from_shared ? Space::shared : Space::global);
  const Inst to = with_address(i, kBulkDestination, to_global ? Space::global : Space::shared);
  const Inst barrier = with_address(i, kBulkBarrier, Space::shared);
  const uint32_t* bytes = lanes<uint32_t>(w, i.b);
  const uint32_t all = w.mask;
  for (uint32_t m = all; m != 0 && w.stop == Stop::none; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    w.mask = 1u << l;
    if (bytes[l] % kUnit != 0) {
      report_size(w, i, l, bytes[l]);
      break;
    }
    copy_lane(w, from, to, l, bytes[l]);
    if (w.stop != Stop::none) break;
    if (to_global) {
      follow_copy_from_shared(w, i, l, lane_address(w, from, l), bytes[l]);
      continue;
    }
    const uint64_t at = lane_address(w, barrier, l);
    follow_copy_to_shared(w, i, l, lane_address(w, to, l), bytes[l], at);
    if (from_shared) follow_copy_between_blocks(w, i, l, lane_address(w, from, l), bytes[l], at);
    Access x;
    resolve_async(w, barrier, sizeof(uint64_t), AccessKind::atomic, x);
    auto& bits = *reinterpret_cast<uint64_t*>(x.host[l]);
    Mbarrier b(bits);
    b.complete_bytes(bytes[l]);
    bits = b.bits();
    follow_mbarrier(w, x.host[l], b.parity());
  }
  w.mask = all;
}

void commit_bulk(Warp& w, const Inst&) {
  commit_bulk_group(w);
}

// imm: groups that may stay under way. The copies themselves are done; racecheck takes them for under way.
void wait_bulk(Warp& w, const Inst& i) {
  wait_for_bulk_groups(w, static_cast<uint32_t>(i.imm));
}

}  // namespace

void add_bulk_copy_handlers(HandlerTable& t) {
  t.add(bulk_copy, "cp.async.bulk");
  t.add(commit_bulk, "cp.async.bulk.commit");
  t.add(wait_bulk, "cp.async.bulk.wait");
}

}  // namespace warpgrade::emu
