// Operations between the lanes of a warp: shfl, vote, match, redux, elect, bar.warp.sync.
//
// Each waits until every live lane that its member mask names has arrived (state/convergence.h). Lanes of one
// warp may carry different masks, as cooperative-groups tiles do; each mask is then served by itself.
#include "check/warp_sync.h"
#include "exec/lane_loops.h"
#include "state/convergence.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

enum ShuffleMode : uint8_t { kUp, kDown, kButterfly, kIndex };

// Lanes that the mask names and that are gone have no value to give. Lanes outside the mask are left alone:
// results taken from them are often thrown away.
void check_sources(Warp& w, const Inst& i, const uint8_t* sources) {
  const uint32_t* members = lanes<uint32_t>(w, i.e);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    const bool present = w.mask >> sources[l] & 1, named = members[l] >> sources[l] & 1;
    if (!present && named) return report_absent_source(w, i, l, sources[l]);
  }
}

void shuffle(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  const uint32_t* a = lanes<uint32_t>(w, i.a);
  const uint32_t* b = lanes<uint32_t>(w, i.b);
  const uint32_t* c = lanes<uint32_t>(w, i.c);
  alignas(64) uint32_t result[kLanes];
  uint8_t sources[kLanes];
  uint32_t in_range = 0;
  for (int l = 0; l < int(kLanes); ++l) {
    const int distance = int(b[l] & 31), clamp = int(c[l] & 31), segment = int(c[l] >> 8 & 31);
    const int last = (l & segment) | (clamp & ~segment), first = l & segment;
    int from = l;
    bool valid = true;
    switch (i.variant) {
      case kUp:
        from = l - distance;
        valid = from >= last;
        break;
      case kDown:
        from = l + distance;
        valid = from <= last;
        break;
      case kButterfly:
        from = l ^ distance;
        valid = from <= last;
        break;
      default:
        from = first | (distance & ~segment);
        valid = from <= last;
        break;
    }
    result[l] = a[valid ? from : l];
    in_range |= uint32_t(valid) << l;
    sources[l] = uint8_t(valid ? from : l);
  }
  if (w.worker->sync_check) [[unlikely]]
    check_sources(w, i, sources);
  if (i.d != kNoSlot) assign<uint32_t>(w, i.d, [&](uint32_t l) { return result[l]; });
  if (i.vec[0] != kNoSlot) write_predicate(w, i.vec[0], in_range);
}

// Runs `serve(group)` once for each distinct member mask, with w.mask = group.
template <class Serve>
void for_each_group(Warp& w, uint32_t mask_slot, Serve serve) {
  const uint32_t* members = lanes<uint32_t>(w, mask_slot);
  const uint32_t all = w.mask;
  for (uint32_t rest = all; rest != 0;) {
    const uint32_t wanted = members[__builtin_ctz(rest)];
    uint32_t group = 0;
    for (uint32_t m = rest; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      if (members[l] == wanted) group |= 1u << l;
    }
    rest &= ~group;
    w.mask = group;
    serve(group);
  }
  w.mask = all;
}

enum VoteMode : uint8_t { kBallot, kAny, kAll, kUniform };

void vote(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  for_each_group(w, i.e, [&](uint32_t group) {
    const uint32_t yes = (predicate(w, i.a) ^ (i.flags ? ~0u : 0u)) & group;
    if (i.variant == kBallot) {
      assign<uint32_t>(w, i.d, [=](uint32_t) { return yes; });
      return;
    }
    const bool result = i.variant == kAny   ? yes != 0
                        : i.variant == kAll ? yes == group
                                            : yes == 0 || yes == group;
    write_predicate(w, i.d, result ? ~0u : 0u);
  });
}

// variant: 1 all, 0 any.
template <class T>
void match(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  const T* a = lanes<T>(w, i.a);
  for_each_group(w, i.e, [&](uint32_t group) {
    alignas(64) uint32_t equal[kLanes] = {};
    bool all_equal = true;
    for (uint32_t m = group; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      for (uint32_t n = group; n != 0; n &= n - 1) {
        const auto k = uint32_t(__builtin_ctz(n));
        if (a[k] == a[l]) equal[l] |= 1u << k;
      }
      all_equal = all_equal && equal[l] == group;
    }
    const bool any = i.variant == 0;
    assign<uint32_t>(w, i.d, [&](uint32_t l) { return any ? equal[l] : all_equal ? group : 0u; });
    if (i.vec[0] != kNoSlot) write_predicate(w, i.vec[0], all_equal ? ~0u : 0u);
  });
}

enum ReduceMode : uint8_t { kSum, kMin, kMax, kAnd, kOr, kXor };

template <class T>
T reduce_two(uint8_t mode, T x, T y) {
  switch (mode) {
    case kSum:
      return T(uint32_t(x) + uint32_t(y));
    case kMin:
      return smaller(x, y);
    case kMax:
      return larger(x, y);
    case kAnd:
      return T(x & y);
    case kOr:
      return T(x | y);
    default:
      return T(x ^ y);
  }
}

template <class T>
void reduce(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  const T* a = lanes<T>(w, i.a);
  for_each_group(w, i.e, [&](uint32_t group) {
    T total = a[__builtin_ctz(group)];
    for (uint32_t m = group & (group - 1); m != 0; m &= m - 1)
      total = reduce_two(i.variant, total, a[__builtin_ctz(m)]);
    assign<T>(w, i.d, [=](uint32_t) { return total; });
  });
}

void elect(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  for_each_group(w, i.e, [&](uint32_t group) {
    const auto leader = uint32_t(__builtin_ctz(group));
    if (i.d != kNoSlot) assign<uint32_t>(w, i.d, [=](uint32_t) { return leader; });
    if (i.vec[0] != kNoSlot) write_predicate(w, i.vec[0], 1u << leader);
  });
}

void warp_barrier(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
}

}  // namespace

void add_warp_handlers(HandlerTable& t) {
  t.add(shuffle, "shfl");
  t.add(vote, "vote");
  t.add(match<uint32_t>, "match", "4");
  t.add(match<uint64_t>, "match", "8");
  t.add(reduce<uint32_t>, "redux", "u32");
  t.add(reduce<int32_t>, "redux", "s32");
  t.add(elect, "elect");
  t.add(warp_barrier, "bar.warp");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
