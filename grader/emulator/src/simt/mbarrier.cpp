// mbarrier.*: lane after lane; a block runs on one thread, so that no update is torn.
#include "simt/mbarrier.h"

#include "check/async_copies.h"
#include "exec/handlers.h"
#include "state/access.h"

namespace warpgrade::emu {
namespace {

// Inst::flags of arrive.
constexpr uint8_t kExpectsBytes = 1, kDrops = 2;

// Calls update(barrier, lane, host address) for each lane's barrier.
template <class Update>
void for_each_barrier(Warp& w, const Inst& i, AccessKind kind, Update update) {
  Access x;
  resolve_async(w, i, sizeof(uint64_t), kind, x);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    uint64_t& bits = *reinterpret_cast<uint64_t*>(x.host[l]);
    Mbarrier barrier(bits);
    update(barrier, l, x.host[l]);
    bits = barrier.bits();
    follow_mbarrier(w, x.host[l], barrier.parity());
  }
}

void initialize(Warp& w, const Inst& i) {
  const uint32_t* count = lanes<uint32_t>(w, i.b);
  for_each_barrier(w, i, AccessKind::store,
                   [&](Mbarrier& b, uint32_t l, uint64_t) { b = Mbarrier::expecting(count[l]); });
}

void invalidate(Warp& w, const Inst& i) {
  for_each_barrier(w, i, AccessKind::atomic, [](Mbarrier& b, uint32_t, uint64_t) { b = Mbarrier(); });
}

// variant 1: the bytes have come.
void count_bytes(Warp& w, const Inst& i) {
  const uint32_t* bytes = lanes<uint32_t>(w, i.b);
  for_each_barrier(w, i, AccessKind::atomic, [&](Mbarrier& b, uint32_t l, uint64_t) {
    i.variant != 0 ? b.complete_bytes(bytes[l]) : b.expect_bytes(bytes[l]);
  });
}

// b: arrivals; c: bytes, with kExpectsBytes.
void arrive(Warp& w, const Inst& i) {
  const uint32_t* count = lanes<uint32_t>(w, i.b);
  for_each_barrier(w, i, AccessKind::atomic, [&](Mbarrier& b, uint32_t l, uint64_t host) {
    follow_arrival(w, host);
    const uint64_t before = b.bits();
    if (i.flags & kExpectsBytes) b.expect_bytes(lanes<uint32_t>(w, i.c)[l]);
    if (i.flags & kDrops) b.drop(count[l]);
    b.arrive(count[l]);
    if (i.d != kNoSlot) lanes<uint64_t>(w, i.d)[l] = before;
  });
}

// Whether the phase that b names is over: a state, or with variant 1 its parity.
void test_wait(Warp& w, const Inst& i) {
  uint32_t done = 0;
  for_each_barrier(w, i, AccessKind::atomic, [&](const Mbarrier& b, uint32_t l, uint64_t host) {
    const uint32_t asked =
        i.variant != 0 ? lanes<uint32_t>(w, i.b)[l] & 1 : Mbarrier(lanes<uint64_t>(w, i.b)[l]).parity();
    if (b.parity() == asked) return;
    done |= 1u << l;
    follow_wait(w, host);
  });
  if (i.d != kNoSlot) write_predicate(w, i.d, done);
}

void pending_count(Warp& w, const Inst& i) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const int l = __builtin_ctz(m);
    lanes<uint32_t>(w, i.d)[l] = Mbarrier(lanes<uint64_t>(w, i.a)[l]).pending();
  }
}

}  // namespace

void add_mbarrier_handlers(HandlerTable& t) {
  t.add(initialize, "mbarrier.init");
  t.add(invalidate, "mbarrier.inval");
  t.add(count_bytes, "mbarrier.tx");
  t.add(arrive, "mbarrier.arrive");
  t.add(test_wait, "mbarrier.test_wait");
  t.add(pending_count, "mbarrier.pending_count");
}

}  // namespace warpgrade::emu
