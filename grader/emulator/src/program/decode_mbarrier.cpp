// Decoders of mbarrier, cp.async.mbarrier.arrive and cp.async.bulk.
#include <algorithm>

#include "program/bulk_copy.h"
#include "program/decode.h"

namespace warpgrade::emu {
namespace {

void barrier_address(Decode& d, size_t operand) {
  d.out.space = d.take_space();
  d.address(operand);
  d.out.category = Category::atomic;
}

// arrive{_drop} state, [barrier]{, count}; with .expect_tx the number is that of bytes.
void arrive(Decode& d, bool drops) {
  const bool expects_bytes = d.take("expect_tx");
  d.take("noComplete");
  d.out.flags = static_cast<uint8_t>((expects_bytes ? 1 : 0) | (drops ? 2 : 0));
  d.out.d = d.operand(0).kind == Ref::Kind::sink ? kNoSlot : d.dest(0, 8);
  barrier_address(d, 1);
  d.out.b = d.out.c = d.file.constant(1, 4);
  if (d.count() > 2) (expects_bytes ? d.out.c : d.out.b) = d.source(2, 4);
  d.handler("mbarrier.arrive");
}

// p, [barrier], state or parity{, time}: a failed try_wait returns at once, whatever time it may take.
void test_wait(Decode& d) {
  d.out.variant = d.take("parity") ? 1 : 0;
  d.out.d = d.predicate_dest(0);
  barrier_address(d, 1);
  d.out.b = d.source(2, d.out.variant != 0 ? 4 : 8);
  d.handler("mbarrier.test_wait");
}

void set_up(Decode& d, const char* handler, bool has_number) {
  barrier_address(d, 0);
  if (has_number) d.out.b = d.source(1, 4);
  d.handler(handler);
}

void mbarrier(Decode& d) {
  d.ignore({"b64", "relaxed", "acquire", "release", "cta", "cluster"});
  if (d.take("init")) return set_up(d, "mbarrier.init", true);
  if (d.take("inval")) return set_up(d, "mbarrier.inval", false);
  if (d.take("arrive")) return arrive(d, false);
  if (d.take("arrive_drop")) return arrive(d, true);
  if (d.take("test_wait") || d.take("try_wait")) return test_wait(d);
  if (d.take("pending_count")) {
    d.out.d = d.dest(0, 4);
    d.out.a = d.source(1, 8);
    return d.handler("mbarrier.pending_count");
  }
  d.out.variant = d.take("complete_tx") ? 1 : 0;
  if (d.out.variant == 0 && !d.take("expect_tx")) d.fail("barrier operation");
  set_up(d, "mbarrier.tx", true);
}

void pack_address(Decode& d, size_t operand, BulkOperand which) {
  d.out.address_is_32 = false;
  d.address(operand);
  d.out.vec[2 * which] = d.out.a;
  d.out.vec[2 * which + 1] = static_cast<uint32_t>(d.out.imm);
  if (d.out.address_is_32) d.out.flags |= static_cast<uint8_t>(1u << which);
}

BulkDirection take_direction(Decode& d) {
  const auto at = [&](std::string_view word) {
    return std::find(d.in.parts.begin(), d.in.parts.end(), word) - d.in.parts.begin();
  };
  const bool from_shared = d.has("shared::cta"), to_cluster = d.has("shared::cluster");
  BulkDirection direction = kSharedToShared;
  if (d.has("global"))
    direction = from_shared && at("global") < at("shared::cta") ? kSharedToGlobal : kGlobalToShared;
  else if (!from_shared || !to_cluster)
    d.fail("copy form");
  d.ignore({"global", "shared::cta", "shared::cluster"});
  return direction;
}

}  // namespace

// cp.async.mbarrier.arrive{.noinc} [barrier]
void decode_async_arrive(Decode& d) {
  d.ignore({"async", "mbarrier", "arrive", "b64"});
  d.out.variant = d.take("noinc") ? 1 : 0;
  barrier_address(d, 0);
  d.handler("cp.async.mbarrier");
}

// cp.async.bulk [destination], [source], bytes{, [barrier]}; groups are complete when they are committed, for
// all but racecheck.
void decode_bulk_copy(Decode& d) {
  d.ignore({"async", "bulk"});
  if (d.take("commit_group")) return d.handler("cp.async.bulk.commit");
  if (d.take("wait_group")) {
    d.take("read");
    d.out.imm = static_cast<int64_t>(d.number(0));
    return d.handler("cp.async.bulk.wait");
  }
  if (d.take("prefetch")) {
    d.ignore({"L2", "global", "L2::cache_hint"});
    return d.handler("nop");
  }
  const BulkDirection direction = take_direction(d);
  const bool counts = d.take("mbarrier::complete_tx::bytes");
  if (counts == (direction == kSharedToGlobal) || d.take("bulk_group") == counts) d.fail("completion");
  d.take("L2::cache_hint");
  d.out.variant = direction;
  d.out.category = Category::memory;
  pack_address(d, 0, kBulkDestination);
  pack_address(d, 1, kBulkSource);
  if (counts) pack_address(d, 3, kBulkBarrier);
  d.out.b = d.source(2, 4);
  d.handler("cp.async.bulk");
}

void add_mbarrier_decoders(DecoderTable& t) {
  t["mbarrier"] = mbarrier;
}

}  // namespace warpgrade::emu
