// What native code asks of counters and checks: accesses of memory by rows and by lanes anywhere, and
// updates by atomics.
#include "check/vector_checks.h"
#include "native/count_lanes.h"
#include "native/lanes.h"
#include "native/run.h"
#include "observe/counts.h"
#include "program/handlers.h"
#include "program/program.h"
#include "state/observe_row.h"

namespace warpgrade::emu {
namespace {

void write_out_reads(const Warp& w, const NativeContext& context, const NativeSite& site) {
  lane_operations().write_out(w, context, site.reads, w.active);
}

// An access of global memory by lanes anywhere, where the site's last one tells all that is to be known.
bool count_lanes(NativeContext& context, uint32_t number, uint32_t mask) {
  if (context.rows == nullptr) return false;
  if (__builtin_popcount(mask) <= kFewLanes) {
    context.row_site = number;
    context.lanes_mask = mask;
    const auto count = context.rows[number].sampled != nullptr ? native_count_few_lines : native_count_few;
    return count(&context) != 0;
  }
  if (context.block >= context.stop_from->load(std::memory_order_relaxed)) return false;
  static const bool wide = native_level() == NativeLevel::avx512;
  return wide && count_lanes_avx512(context.rows[number], *context.warp, context.access, mask);
}

// Atomic updates of sectors, where they are followed; neighbours' at once.
void note_updates(const Warp& w, const CountedRow& known, const Access& x) {
  if (known.sampled == nullptr) return;
  const uint64_t place = known.first_line * kLineSectors - known.first_sector;
  uint64_t sector = 0;
  uint32_t updates = 0;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const uint64_t next = x.host[__builtin_ctz(m)] / kSectorBytes;
    if (updates != 0 && next != sector) {
      w.worker->hierarchy->update(place + sector, updates);
      updates = 0;
    }
    sector = next;
    ++updates;
  }
  w.worker->hierarchy->update(place + sector, updates);
}

// The same of an update of words: of global memory its sectors, of shared memory its passes, of both how
// many lanes take turns at one word.
bool count_update(const Warp& w, NativeContext& context, uint32_t number, const Inst& i) {
  static const bool wide = native_level() == NativeLevel::avx512;
  constexpr uint64_t kMostExtent = uint64_t{1} << 32;
  const Access& x = context.access;
  const bool shared = x.space == Space::shared;
  const auto base = shared ? reinterpret_cast<uint64_t>(w.block->shared) : x.low;
  if (!wide || context.rows == nullptr || x.high - base >= kMostExtent) return false;
  if (context.block >= context.stop_from->load(std::memory_order_relaxed)) return false;
  if (!shared) {
    if (!count_lanes(context, number, w.mask)) return false;
    note_updates(w, context.rows[number], x);
  }
  const Turns turns = turns_avx512(x, w.mask, base);
  AccessCounts& c = w.worker->counts->accesses[i.index];
  ++c.atomic_requests;
  c.atomic_lanes += static_cast<uint32_t>(__builtin_popcount(w.mask));
  c.atomic_turns += turns.at_word;
  if (!shared) return true;
  SharedCounts& passes = c.shared[static_cast<size_t>(AccessKind::atomic)];
  ++passes.requests;
  ++passes.ideal_passes;
  passes.passes += turns.in_bank;
  return true;
}

// Counters and checks of an update, as the handler has them before it; false: not all of it lies in `own`.
bool observe_update(Warp& w, NativeContext& context, uint32_t number, const Inst& i, const OwnMemory& own) {
  Access& x = context.access;
  if (!lane_operations().locate(w, i, own, x)) return false;
  x.space = i.space == Space::shared ? Space::shared : Space::global;
  lane_operations().complete(x, w.mask);
  const bool counted = w.worker->counts == nullptr || count_update(w, context, number, i);
  observe_lanes(w, i, sizeof(uint32_t), AccessKind::atomic, x, counted);
  if (context.rows != nullptr && !counted && x.space == Space::global)
    context.rows[number] =
        describe_row(w, i, sizeof(uint32_t), AccessKind::atomic, {x.low, 0, Space::global});
  return true;
}

OwnMemory own_memory(const Warp& w, const Inst& i) {
  const Worker& worker = *w.worker;
  if (i.space == Space::shared) {  // a block runs on one worker
    const SharedVariable& v = w.block->launch_shared[worker.shared_hint[i.index]];
    return {v.begin, v.end - v.begin, w.block->shared + v.begin};
  }
  const uint32_t hint = worker.allocation_hint[i.index];
  if (worker.launch->undo_logs.size() != 1 || hint >= worker.allocation_count) return {};
  const Allocation& a = worker.allocations[hint];
  const bool own = a.kind == MemoryKind::device || a.kind == MemoryKind::variable;
  if (!own || a.freed || a.read_only) return {};
  return {a.begin, a.bytes(), a.host(a.begin)};
}

// The flags of initcheck for a row, which are looked at after all else.
void prefetch_flags(const Warp& w, const Inst& i, uint64_t host) {
  const Worker& worker = *w.worker;
  const uint32_t hint = worker.allocation_hint[i.index];
  if (i.space == Space::shared || hint >= worker.allocation_count) return;
  const Allocation& a = worker.allocations[hint];
  const uint8_t* flags = a.initialized.get() + (host - a.begin - static_cast<uint64_t>(a.alias));
  __builtin_prefetch(flags);
  __builtin_prefetch(flags + 64);
}

// Of loads by all lanes, anywhere in global memory: nothing can race with them, and all was written.
bool is_in_order(const NativeContext& context, const Inst& i, const NativeSite& site) {
  const NativeHint& hint = context.hints[i.index];
  if (site.kind != AccessKind::load || hint.unraced == 0 || context.warp->mask != kAllLanes) return false;
  if (hint.flags == 0) return true;
  return site.bytes == sizeof(uint32_t) && vector_checks() &&
         all_words_set(reinterpret_cast<const uint8_t*>(hint.flags), context.access.host, 0);
}

}  // namespace

bool native_update(Warp& w, NativeContext& context, uint32_t number) {
  const NativeSite& site = context.code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  const OwnMemory own = own_memory(w, i);
  if (own.bytes < sizeof(uint32_t)) return false;
  if (w.worker->observe && !observe_update(w, context, number, i, own)) return false;
  return lane_operations().update(w, i, site.atomic, own);
}

void native_observe(Warp* warp, NativeContext* context, uint32_t number, uint64_t host) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  const bool checks = w.worker->race_check || w.worker->init_check;
  w.mask = w.active;
  if (checks) prefetch_flags(w, i, host);
  bool counted = w.worker->counts == nullptr;
  if (checks && context->rows != nullptr) {
    context->row_site = number;
    context->row_lanes = static_cast<uint32_t>(__builtin_popcount(w.mask));
    const auto count = context->rows[number].sampled != nullptr ? native_count_lines : native_count;
    counted = count(context) != 0;
  }
  // The checks look at the values that lanes store.
  if (checks && site.kind == AccessKind::store) write_out_reads(w, *context, site);
  const AccessKind kind = site.kind;
  const Row row = {host, site.row ? site.bytes : 0, i.space == Space::shared ? Space::shared : Space::global};
  observe_row(w, i, site.bytes, kind, row, counted);
  if (context->rows != nullptr && !counted) context->rows[number] = describe_row(w, i, site.bytes, kind, row);
}

void native_observe_lanes(Warp* warp, NativeContext* context, uint32_t number) {
  Warp& w = *warp;
  const NativeSite& site = context->code->sites[number];
  const Inst& i = w.block->program->code[site.instruction];
  const bool checks = w.worker->race_check || w.worker->init_check;
  w.mask = w.active;
  const bool counted = w.worker->counts == nullptr || count_lanes(*context, number, w.mask);
  if (counted && (!checks || is_in_order(*context, i, site))) return;
  if (checks && site.kind == AccessKind::store) write_out_reads(w, *context, site);
  Access& x = context->access;
  x.space = i.space == Space::shared ? Space::shared : Space::global;
  lane_operations().complete(x, w.mask);
  const AccessKind kind = site.kind;
  observe_lanes(w, i, site.bytes, kind, x, counted);
  if (context->rows == nullptr || counted || x.space != Space::global) return;
  CountedRow& known = context->rows[number];
  known = describe_row(w, i, site.bytes, kind, {x.low, 0, Space::global});
  if (site.row) known.last_byte += uint64_t(site.bytes) * (kLanes - 1);  // the next one may be a row
}

// What generated code calls where vector registers and scalars are alive: it uses no vectors, calls nothing
// and restores what it uses.
#if defined(__x86_64__)
#define WARPEMU_SCALAR_ALONE gnu::target("general-regs-only"),
#else  // where no code is generated
#define WARPEMU_SCALAR_ALONE
#endif

namespace {

[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline bool is_over(const NativeContext* context) {
  return context->block >=
         __atomic_load_n(reinterpret_cast<const uint64_t*>(context->stop_from), __ATOMIC_RELAXED);
}

[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline bool has_room(const CountedRow& known) {
  return known.sampled->count <= SampledTouches::kMost - SampledTouches::kOfRequest;
}

// A line of known.first_line on, with its bits of sectors; `clock`: with it.
[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline void follow_line(const NativeContext* context,
                                                                    const CountedRow& known, uint64_t line,
                                                                    uint32_t sectors, uint64_t clock) {
  if ((known.first_line + line) * kSampleMix >= kSampledBelow) [[likely]]
    return;
  SampledTouch& touch = known.sampled->of[known.sampled->count++];
  touch.line = known.first_line + line;
  touch.block = context->block;
  touch.now = static_cast<uint32_t>(clock);
  touch.sectors = static_cast<uint8_t>(sectors);
  touch.kind = known.kind;
}

// Hierarchy::touch_row().
[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline void follow_row(const NativeContext* context,
                                                                   const CountedRow& known, uint64_t first,
                                                                   uint64_t last) {
  Warp& w = *context->warp;
  w.loads += known.kind == AccessKind::load ? 1 : 0;
  uint64_t clock = w.lines_touched, from = first % kLineSectors;
  uint64_t line = first / kLineSectors;
  const uint64_t last_line = last / kLineSectors;
  for (; line < last_line; ++line, from = 0)
    follow_line(context, known, line, (1u << kLineSectors) - (1u << from), ++clock);
  follow_line(context, known, line, (2u << last % kLineSectors) - (1u << from), ++clock);
  w.lines_touched = clock;
}

template <bool follows_lines>
[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline uint64_t count_known_row(NativeContext* context) {
  const CountedRow& row = context->rows[context->row_site];
  if (row.counts == nullptr || is_over(context)) return 0;
  uint64_t* const counts = row.counts;
  BufferTraffic::Plane* const plane = row.plane;
  if (plane == nullptr) {
    ++counts[0];
    counts[1] += row.ideal;
    counts[2] += row.ideal;
    return 1;
  }
  const uint64_t first = context->host / kSectorBytes - row.first_sector,
                 last = (context->host + row.last_byte) / kSectorBytes - row.first_sector;
  if (first >= row.sectors || last >= row.sectors || last / 64 >= plane->words) return 0;
  if (follows_lines && !has_room(row)) return 0;
  const uint64_t sectors = last - first + 1;
  ++counts[0];
  counts[1] += context->row_lanes;
  counts[2] += sectors;
  counts[3] += sectors == 1 ? 1 : row.ideal;
  plane->moved += sectors;
  const uint64_t from = ~uint64_t{0} << first % 64, to = ~uint64_t{0} >> (63 - last % 64);
  uint64_t* const bits = plane->bits + first / 64;
  if (first / 64 == last / 64) {
    *bits |= from & to;
  } else {  // a row is shorter than 64 sectors
    bits[0] |= from;
    bits[1] |= to;
  }
  if (follows_lines) follow_row(context, row, first, last);
  return 1;
}

// Lanes behind each other that have one line touch it once.
[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline void follow_few(const NativeContext* context,
                                                                   const CountedRow& known,
                                                                   const uint64_t* sectors, uint64_t lanes) {
  Warp& w = *context->warp;
  w.loads += known.kind == AccessKind::load ? 1 : 0;
  uint64_t clock = w.lines_touched, line = sectors[0] / kLineSectors;
  uint32_t touched = 0;
  for (uint64_t k = 0; k < lanes; ++k) {
    if (sectors[k] / kLineSectors != line) {
      follow_line(context, known, line, touched, ++clock);
      touched = 0;
    }
    line = sectors[k] / kLineSectors;
    touched |= 1u << sectors[k] % kLineSectors;
  }
  follow_line(context, known, line, touched, ++clock);
  w.lines_touched = clock;
}

template <bool follows_lines>
[[WARPEMU_SCALAR_ALONE gnu::always_inline]] inline uint64_t count_known_few(NativeContext* context) {
  const CountedRow& known = context->rows[context->row_site];
  BufferTraffic::Plane* const plane = known.plane;
  if (known.counts == nullptr || plane == nullptr || is_over(context)) return 0;
  if (follows_lines && !has_room(known)) return 0;
  uint64_t sectors[kFewLanes], places[kFewLanes];
  uint64_t lanes = 0, new_places = 0, new_sectors = 0;
  for (uint32_t m = context->lanes_mask; m != 0; m &= m - 1) {
    const uint64_t place = context->access.host[__builtin_ctz(m)],
                   sector = place / kSectorBytes - known.first_sector;
    if (sector >= known.sectors || sector / 64 >= plane->words) return 0;
    uint64_t place_is_new = 1, sector_is_new = 1;
    for (uint64_t k = 0; k < lanes; ++k) {
      place_is_new &= places[k] != place ? 1 : 0;
      sector_is_new &= sectors[k] != sector ? 1 : 0;
    }
    new_places += place_is_new;
    new_sectors += sector_is_new;
    places[lanes] = place;
    sectors[lanes++] = sector;
  }
  uint64_t* const counts = known.counts;
  ++counts[0];
  counts[1] += lanes;
  counts[2] += new_sectors;
  counts[3] += new_sectors == 1 ? 1 : (new_places * known.bytes + kSectorBytes - 1) / kSectorBytes;
  plane->moved += new_sectors;
  for (uint64_t k = 0; k < lanes; ++k) plane->bits[sectors[k] / 64] |= uint64_t(1) << sectors[k] % 64;
  if (follows_lines) follow_few(context, known, sectors, lanes);
  return 1;
}

}  // namespace

WARPEMU_KEEPS_REGISTERS uint64_t native_count(NativeContext* context) {
  return count_known_row<false>(context);
}

WARPEMU_KEEPS_REGISTERS uint64_t native_count_lines(NativeContext* context) {
  return count_known_row<true>(context);
}

WARPEMU_KEEPS_REGISTERS uint64_t native_count_few(NativeContext* context) {
  return count_known_few<false>(context);
}

WARPEMU_KEEPS_REGISTERS uint64_t native_count_few_lines(NativeContext* context) {
  return count_known_few<true>(context);
}

#undef WARPEMU_SCALAR_ALONE

}  // namespace warpgrade::emu
