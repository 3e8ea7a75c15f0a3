#include "check/global_races.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "check/race_report.h"
#include "check/shared_races.h"
#include "check/vector_checks.h"
#include "memory/device_heap.h"
#include "program/block_meetings.h"
#include "program/program.h"
#include "state/launch.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kWord = 4;
constexpr uint32_t kGroupsOfACacheLine = 64 / sizeof(GlobalStamp);
constexpr uint32_t kLaunchMask = ~0u >> 4;  // launches are told apart within 2^28

// Which bytes of `word` an access of [offset, offset + bytes) touches.
uint32_t bytes_of_word(uint64_t word, uint64_t offset, uint32_t bytes) {
  if (bytes % kWord == 0) return 15;
  const uint64_t begin = std::max(offset, word * kWord), end = std::min(offset + bytes, (word + 1) * kWord);
  return ((1u << (end - begin)) - 1) << (begin - word * kWord);
}

// Shadows outlive launches, so that their pages are not cleared for each; a stamp of an earlier launch
// is stale.
class ShadowTable {
 public:
  static ShadowTable& instance() {
    static auto* table = new ShadowTable;
    return *table;
  }

  const GlobalShadow* of(const Allocation& a) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<GlobalShadow>& shadow = shadows_[a.begin];
    if (!shadow) shadow = std::make_unique<GlobalShadow>(a.bytes());
    return shadow.get();
  }

  // Device addresses are not used again, but freed memory is not worth its shadow.
  void forget_freed(const std::vector<Allocation>& allocations) {
    const std::lock_guard lock(mutex_);
    for (const Allocation& a : allocations) {
      if (a.freed) shadows_.erase(a.begin);
    }
  }

  uint32_t next_launch() {
    const std::lock_guard lock(mutex_);
    return ++launches_ & kLaunchMask;
  }

 private:
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<GlobalShadow>> shadows_;
  uint32_t launches_ = 0;
};

bool may_write(const Launch& launch, const Allocation& a) {
  const WriteSet& set = launch.program->writes;
  if (a.freed || a.read_only || a.kind == MemoryKind::parameters) return false;
  if (set.anything) return true;
  return std::any_of(set.param_offsets.begin(), set.param_offsets.end(), [&](uint32_t offset) {
    uint64_t pointer = 0;
    if (offset + sizeof pointer > launch.program->param_bytes) return false;
    __builtin_memcpy(&pointer, launch.params + offset, sizeof pointer);
    return pointer >= a.begin && pointer <= a.end;
  });
}

}  // namespace

GlobalRaces::GlobalRaces(Launch& launch)
    : launch_(ShadowTable::instance().next_launch()),
      between_blocks_(!launch.cooperative && !launch.program->orders_blocks && launch.blocks() > 1) {
  const bool meet = launch.program->blocks_meet_at != Program::kNeverMeets;
  if (meet && !launch.cooperative && launch.blocks() > 1 && launch.blocks() <= BlockReleases::kMostBlocks)
    releases_ = std::make_unique<BlockReleases>(launch.blocks());
  const std::vector<Allocation>& allocations = *launch.allocations;
  ShadowTable::instance().forget_freed(allocations);
  for (const Allocation& a : allocations) {
    const bool written = may_write(launch, a), followed = written && a.bytes() <= GlobalShadow::kMostBytes;
    followed_.push_back(followed ? ShadowTable::instance().of(a) : nullptr);
    follows_all_writes_ &= followed == written;
  }
}

const GlobalShadow* GlobalRaces::shadow_of(const Warp& w, const Inst& i, uint64_t host,
                                           const Allocation** allocation) const {
  const Worker& worker = *w.worker;
  const auto holds = [&](const Allocation& a) { return host >= a.begin + a.alias && host < a.end + a.alias; };
  uint32_t k = worker.allocation_hint[i.index];
  if (k >= worker.allocation_count || !holds(worker.allocations[k])) {
    for (k = 0; k < worker.allocation_count && !holds(worker.allocations[k]); ++k) {
    }
  }
  if (k == worker.allocation_count) return nullptr;
  *allocation = &worker.allocations[k];
  return followed_[k];
}

// Where a lane of an access is, and since when other lanes are ordered before it.
struct GlobalRaces::LanePlace {
  const Allocation& allocation;
  const GlobalShadow& shadow;
  uint32_t since, all_since, lane;
  uint64_t offset;  // in the allocation
};

// One lane's access of one word, and the test against an earlier one.
struct GlobalRaces::LaneAccess {
  Warp& w;
  const Inst& i;
  uint32_t lane, bytes;
  AccessKind kind;
  const Allocation& allocation;
  uint64_t host, offset;  // offset: in the allocation
  GlobalStamp mine;
};

// Remembers what a word holds before the launch's first write of it. True when this access is that write.
// Workers may come at once: the stamp's half with the launch decides.
bool GlobalRaces::remember_first_write(const LaneAccess& a, uint64_t word, GlobalStamp& stamp) const {
  static_assert(offsetof(GlobalStamp, block) % sizeof(uint64_t) == 0);
  auto* half = reinterpret_cast<uint64_t*>(&stamp.block);
  uint64_t seen = __atomic_load_n(half, __ATOMIC_ACQUIRE), claimed;
  if ((seen >> 36) == launch_) return false;
  UndoLog& log = *a.w.worker->undo;
  const uint64_t begin = word * kWord, bytes = std::min(kWord, a.allocation.bytes() - begin);
  log.remember(a.allocation, begin, static_cast<uint32_t>(bytes));
  std::memcpy(&claimed, &a.mine.block, sizeof claimed);
  if (__atomic_compare_exchange_n(half, &seen, claimed, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return true;
  log.forget_last();
  return false;
}

void GlobalRaces::fence(const Warp& w) const {
  if (releases_) releases_->fence(w.block->linear, w.block->races->order());
}

// What other blocks may see of an access, and learn by it, before it is done.
void GlobalRaces::note_meeting(const Warp& w, const Inst& i, AccessKind kind) const {
  const Program& program = *w.block->program;
  const uint8_t role = program.block_roles[i.index];
  const bool writes = kind != AccessKind::load;
  if (writes) releases_->write(w.block->linear);
  if (kind != AccessKind::atomic && !program.synchronizes[i.index] && !(role & kGivesLockBack)) return;
  const auto learns = role & kLearnsByWaiting    ? BlockReleases::Learns::by_waiting
                      : role & kLearnsByCounting ? BlockReleases::Learns::by_counting
                                                 : BlockReleases::Learns::nothing;
  releases_->meet(w.block->linear, w.block->races->order(), writes, learns);
}

// A plain load of what another block has stored plainly, behind the place where the two meet; or a store of
// both within a lock.
GlobalRaces::Telling GlobalRaces::telling(const LaneAccess& a, const GlobalStamp& theirs) const {
  const Program& program = *a.w.block->program;
  const uint32_t instruction = instruction_of(theirs.whom);
  if (!releases_ || a.kind == AccessKind::atomic || a.i.index <= program.blocks_meet_at)
    return Telling::ordered;
  if (instruction >= program.code.size() || !program.texts[instruction].starts_with("st"))
    return Telling::ordered;
  if (program.synchronizes[a.i.index] || program.synchronizes[instruction]) return Telling::ordered;
  const auto role = program.block_roles[a.i.index];
  const bool in_lock = (role & program.block_roles[instruction] & kWithinLock) != 0;
  if (a.kind == AccessKind::store && (!in_lock || is_silent_store(a.w, a.i, a.lane, a.host)))
    return Telling::ordered;
  if (!(role & kWithinLock) && may_poll(program, a.i.index)) return Telling::ordered;
  if (releases_->told_without_fence(theirs.block, theirs.when)) return Telling::told_without_fence;
  const bool learned = releases_->learned_without_fence(theirs.block, theirs.when, a.w.block->linear,
                                                        a.w.block->races->order());
  return learned ? Telling::learned_without_fence : Telling::ordered;
}

bool GlobalRaces::is_race(const LaneAccess& a, const GlobalStamp& theirs) const {
  if (theirs.launch() != launch_ || (theirs.bytes() & a.mine.bytes()) == 0) return false;
  const BlockOrder& order = a.w.block->races->order();
  if (theirs.block != a.mine.block) {
    if (!between_blocks_) return telling(a, theirs) != Telling::ordered;
  } else if (!is_unordered(theirs.when, theirs.whom, a.mine.whom, order.all_since(),
                           order.lanes_since(a.w.index)[a.lane])) {
    return false;
  }
  const Program& program = *a.w.block->program;
  const uint32_t instruction = instruction_of(theirs.whom);
  if (instruction >= program.code.size()) return true;  // torn, in a trial: one worker will tell
  const bool their_atomic = program.code[instruction].category == Category::atomic;
  if (a.kind == AccessKind::atomic && their_atomic) return false;
  // The usual compare-and-swap loop begins with a plain load.
  if (program.compares_and_swaps && (a.kind == AccessKind::atomic || their_atomic)) return false;
  if (a.kind != AccessKind::store) return true;
  const bool same_instruction = instruction == a.i.index && theirs.block == a.mine.block &&
                                thread_of(theirs.whom) / kLanes == a.w.index;
  if (same_instruction && stores_same(a.w, a.i, a.lane, theirs.whom % kLanes)) return false;
  // Who reads in the block meanwhile misses a barrier whatever is written.
  const bool misses_barrier = theirs.block == a.mine.block && program.texts[instruction].starts_with("ld");
  return misses_barrier || !is_silent_store(a.w, a.i, a.lane, a.host);
}

bool GlobalRaces::report_if_race(const LaneAccess& a, const GlobalStamp& theirs) const {
  if (!is_race(a, theirs)) return false;
  if (a.w.block->launch->spoil_trial()) return true;
  const uint64_t address = a.allocation.begin + a.offset;
  const Allocation named = DeviceHeap::instance().named(a.allocation, address);
  const bool learned = !between_blocks_ && theirs.block != a.mine.block &&
                       telling(a, theirs) == Telling::learned_without_fence;
  report_race(
      a.w, a.i, a.lane, a.bytes, a.kind,
      {instruction_of(theirs.whom), thread_of(theirs.whom), theirs.block, learned},
      {Space::global, named.name, named.bytes(), static_cast<int64_t>(address - named.begin), address});
  return true;
}

void GlobalRaces::forget(uint32_t allocation, uint64_t offset, uint64_t bytes) const {
  const GlobalShadow* shadow = followed_[allocation];
  if (shadow == nullptr) return;
  const uint64_t first = offset / kWord, words = (offset + bytes + kWord - 1) / kWord - first;
  for (const Stamps* stamps : {&shadow->writes, &shadow->reads}) stamps->forget(first, words, launch_);
}

// Neighbouring lanes that touch whole groups of words, from the group `first` on: a row, or the lanes of one group.
struct GlobalRaces::GroupedRow {
  const GlobalShadow& shadow;
  uint64_t first;
  GlobalRow row;
  const uint32_t* since;  // of the first lane on
  bool stores;
  const Allocation& allocation;
  UndoLog* undo;  // where what the words held before the launch is to be remembered

  uint32_t lanes_a_group() const { return Stamps::kGroup / row.words_a_lane; }
  uint32_t groups() const { return kLanes / lanes_a_group(); }
  GlobalStamp stamp(uint32_t k) const {
    GlobalStamp of_group = row.mine;
    of_group.whom += k * lanes_a_group();
    return of_group;
  }
};

// Of the row's k-th group, as is_harmless() of each word.
bool GlobalRaces::is_harmless_group(const GroupedRow& g, const Stamps& stamps, uint32_t k) const {
  const uint64_t group = g.first + k;
  const GlobalStamp theirs = stamps.groups()[group], mine = g.stamp(k);
  if (theirs.launch() != launch_) return true;
  if (stamps.is_whole(group, launch_)) {
    if (theirs.block != mine.block) return !looks_between_blocks();
    const bool same_threads =
        ((theirs.whom ^ mine.whom) & kThreadMask) == 0 && theirs.launch_and_bytes == mine.launch_and_bytes;
    if (theirs.when < g.row.all_since || same_threads) return true;
  }
  for (uint32_t word = 0; word < Stamps::kGroup; ++word) {
    const uint32_t lane = word / g.row.words_a_lane;
    GlobalStamp of_lane = mine;
    of_lane.whom += lane;
    if (!is_harmless(stamps.at(group * Stamps::kGroup + word, launch_), of_lane, g.row.all_since,
                     g.since[k * g.lanes_a_group() + lane]))
      return false;
  }
  return true;
}

// Remembers what the row's k-th group held before the launch's first write of it, as remember_first_write() of a word.
// False: its words have stamps of their own.
bool GlobalRaces::remember_group(const GroupedRow& g, uint32_t k) const {
  const Stamps& writes = g.shadow.writes;
  const uint64_t group = g.first + k;
  if (writes.is_whole(group, launch_)) return true;
  if (writes.groups()[group].launch() == launch_) return false;
  for (uint64_t word = group * Stamps::kGroup; word < (group + 1) * Stamps::kGroup; ++word)
    g.undo->remember(g.allocation, word * kWord, kWord);
  if (writes.claim(group, launch_, g.stamp(k))) return true;
  g.undo->forget_last(Stamps::kGroup);
  return false;
}

// Remembers that groups were read: a row of them, or one.
void GlobalRaces::note_read_group(const GroupedRow& g, uint32_t k) const {
  const Stamps& reads = g.shadow.reads;
  const uint64_t group = g.first + k;
  const GlobalStamp first_read = reads.groups()[group], mine = g.stamp(k);
  if (first_read.launch() != launch_ || (reads.is_whole(group, launch_) && first_read.block == mine.block)) {
    reads.groups()[group] = mine;
    return;
  }
  for (uint32_t word = 0; word < Stamps::kGroup && !reads.is_whole(group, launch_); ++word) {
    GlobalStamp of_lane = mine;
    of_lane.whom += word / g.row.words_a_lane;
    of_lane.launch_and_bytes |= 15;
    note_read(reads, group * Stamps::kGroup + word, of_lane);
  }
}
void GlobalRaces::note_read_groups(const GroupedRow& g) const {
  if (vector_checks() && !stamp_global(g.shadow.reads.groups() + g.first, g.row, true)) return;
  for (uint32_t k = 0; k < g.groups(); ++k) note_read_group(g, k);
}

// Of one group that lanes of a larger access fill. False: its words are to be looked at.
bool GlobalRaces::pass_group(const GroupedRow& g) const {
  const Stamps &writes = g.shadow.writes, &reads = g.shadow.reads;
  if (!is_harmless_group(g, writes, 0) || (g.stores && !is_harmless_group(g, reads, 0))) return false;
  if (g.undo != nullptr && !remember_group(g, 0)) return false;
  if (g.stores) {
    writes.groups()[g.first] = g.stamp(0);
  } else {
    note_read_group(g, 0);
  }
  return true;
}

bool GlobalRaces::pass_groups(const GroupedRow& g) const {
  const Stamps &writes = g.shadow.writes, &reads = g.shadow.reads;
  // The next warp or block mostly goes on behind this row, and most of the time would go by in waiting for memory.
  for (uint32_t k = 0; k < g.groups(); k += kGroupsOfACacheLine) {
    const uint64_t ahead = g.first + g.groups() + k + kGroupsOfACacheLine - 1;
    __builtin_prefetch(writes.groups() + ahead, 1);
    __builtin_prefetch(reads.groups() + ahead, 1);
  }
  const bool no_doubts = vector_checks() && no_doubt(writes.groups() + g.first, g.row) &&
                         (!g.stores || no_doubt(reads.groups() + g.first, g.row));
  for (uint32_t k = 0; k < g.groups() && !no_doubts; ++k) {
    if (!is_harmless_group(g, writes, k) || (g.stores && !is_harmless_group(g, reads, k))) return false;
  }
  for (uint32_t k = 0; k < g.groups() && g.undo != nullptr; ++k) {
    if (!remember_group(g, k)) return false;
  }
  if (!g.stores) {
    note_read_groups(g);
  } else {
    for (uint32_t k = 0; k < g.groups(); ++k) writes.groups()[g.first + k] = g.stamp(k);
  }
  return true;
}

// The first block that read stands: it differs from any other that writes.
void GlobalRaces::note_read(const Stamps& reads, uint64_t word, const GlobalStamp& mine) const {
  const uint64_t group = word / Stamps::kGroup;
  if (reads.is_whole(group, launch_) && reads.groups()[group].block != mine.block) return;
  GlobalStamp& read = reads.open(word, launch_);
  if (read.launch() != launch_ || read.block == mine.block) read = mine;
}

namespace {

uint32_t lanes_within(const Allocation& a, uint32_t lanes, const Access& x) {
  const uint64_t begin = a.begin + static_cast<uint64_t>(a.alias), bytes = a.bytes();
  if (x.low >= begin && x.high - begin < bytes) return lanes;
  uint32_t within = 0;
  for (uint32_t l = 0; l < kLanes; ++l) within |= uint32_t(x.host[l] - begin < bytes) << l;
  return within & lanes;
}

}  // namespace

bool GlobalRaces::pass_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) const {
  BlockOrder& order = w.block->races->order();
  if (bytes % kWord != 0 || w.block->program->synchronizes[i.index]) return false;
  if (w.worker->undo != nullptr) w.block->launch->limit_undo(*w.worker);
  const bool stores = kind == AccessKind::store;
  if (releases_ && stores) note_meeting(w, i, kind);
  const Allocation* allocation = nullptr;
  const GlobalShadow* shadow = shadow_of(w, i, row.low, &allocation);
  if (shadow == nullptr) return true;
  const uint64_t offset = row.low - (allocation->begin + allocation->alias), first = offset / kWord;
  const uint32_t words_a_lane = bytes / kWord, lanes = row.stride == 0 ? 1 : kLanes;
  const auto lowest = row.stride == 0 ? static_cast<uint32_t>(__builtin_ctz(w.mask)) : 0;
  const Stamps &writes = shadow->writes, &reads = shadow->reads;
  const auto& since = order.lanes_since(w.index);
  const uint32_t all_since = order.all_since();
  const GlobalStamp mine = {order.now(), who(i.index, w.index, lowest),
                            static_cast<uint32_t>(w.block->linear), launch_ << 4 | 15};
  const bool remembers = stores && w.worker->undo != nullptr;
  const GlobalRow in_row = {mine, all_since, words_a_lane, false, looks_between_blocks()};
  if (row.stride != 0 && first % Stamps::kGroup == 0 && Stamps::kGroup % words_a_lane == 0) {
    const GlobalRow in_groups = {Stamps::whole(mine, words_a_lane), all_since, words_a_lane, true,
                                 in_row.between_blocks};
    if (pass_groups({*shadow, first / Stamps::kGroup, in_groups, since.data(), stores, *allocation,
                     remembers ? w.worker->undo : nullptr}))
      return true;
  }
  const uint32_t words = lanes * words_a_lane;
  if (row.stride != 0 && words_a_lane <= 4 && !remembers && vector_checks() &&
      !writes.any_whole(first, words, launch_) && !(stores && reads.any_whole(first, words, launch_))) {
    if (no_doubt(writes.words() + first, in_row) && (!stores || no_doubt(reads.words() + first, in_row))) {
      stamp_global((stores ? writes : reads).open(first, words, launch_), in_row, !stores);
      return true;
    }
  }
  bool harmless = true;
  for (uint32_t k = 0; k < words; ++k) {
    const uint32_t lane = k / words_a_lane;
    GlobalStamp of_lane = mine;
    of_lane.whom += lane;
    const GlobalStamp write = writes.at(first + k, launch_);
    harmless &= is_harmless(write, of_lane, all_since, since[lowest + lane]);
    if (stores)
      harmless &= is_harmless(reads.at(first + k, launch_), of_lane, all_since, since[lowest + lane]);
    // What a word held before the launch is still to be remembered.
    if (remembers) harmless &= write.launch() == launch_;
  }
  if (!harmless) return false;
  for (uint32_t k = 0; k < words; ++k) {
    GlobalStamp of_lane = mine;
    of_lane.whom += k / words_a_lane;
    if (stores) {
      writes.open(first + k, launch_) = of_lane;
    } else {
      note_read(reads, first + k, of_lane);
    }
  }
  return true;
}

void GlobalRaces::check(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) const {
  BlockOrder& order = w.block->races->order();
  if (w.worker->undo != nullptr) w.block->launch->limit_undo(*w.worker);
  if (w.block->program->synchronizes[i.index]) {
    if (AsyncCopies* copies = async_copies(w))
      copies->order().use_flag(number_in_cluster(*w.block, w.index), order.now());
    order.order_all();
  }
  if (releases_) note_meeting(w, i, kind);
  // Lanes that read one place read it once.
  uint32_t left = kind == AccessKind::load && x.low == x.high ? w.mask & -w.mask : w.mask;
  while (left != 0) {  // an allocation at a time: nearly always the only one
    const Allocation* allocation = nullptr;
    const GlobalShadow* shadow = shadow_of(w, i, x.host[__builtin_ctz(left)], &allocation);
    if (allocation == nullptr) return;
    const uint32_t here = lanes_within(*allocation, left, x);
    if (shadow != nullptr) check_lanes(w, i, bytes, kind, x, here, *allocation, *shadow);
    left &= ~here;
  }
}

// Reports a race of one access with what the word's stamps tell of; the first write of a word is remembered.
void GlobalRaces::look_closer(const LaneAccess& a, uint64_t word, const GlobalShadow& shadow,
                              const GlobalStamp& write, const GlobalStamp& read) const {
  const bool stores = a.kind != AccessKind::load;
  const bool first = a.w.worker->undo != nullptr && stores &&
                     remember_first_write(a, word, shadow.writes.open(word, launch_));
  if ((first || !report_if_race(a, write)) && stores) report_if_race(a, read);
}

namespace {

// How many lanes from l on fill the group of words that begins at lane l's place; 0: they do not.
uint32_t lanes_of_group(const Access& x, uint32_t lanes, uint32_t l, uint64_t offset, uint32_t bytes) {
  constexpr uint32_t kGroupBytes = Stamps::kGroup * kWord;
  if (bytes % kWord != 0 || kGroupBytes % bytes != 0 || offset % kGroupBytes != 0) return 0;
  const uint32_t count = kGroupBytes / bytes, all = (1u << count) - 1;
  if (l + count > kLanes || (lanes >> l & all) != all) return 0;
  for (uint32_t k = 1; k < count; ++k) {
    if (x.host[l + k] != x.host[l] + uint64_t{k} * bytes) return 0;
  }
  return count;
}

}  // namespace

// Lanes that all touch one allocation.
void GlobalRaces::check_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x,
                              uint32_t lanes, const Allocation& allocation,
                              const GlobalShadow& shadow) const {
  const BlockOrder& order = w.block->races->order();
  const auto& since = order.lanes_since(w.index);
  const uint32_t all_since = order.all_since(), words_a_lane = bytes / kWord;
  const uint64_t begin = allocation.begin + static_cast<uint64_t>(allocation.alias);
  const bool stores = kind != AccessKind::load, remembers = stores && w.worker->undo != nullptr;
  const bool is_plain = kind != AccessKind::atomic && !w.block->program->synchronizes[i.index];
  GlobalStamp mine = {order.now(), 0, static_cast<uint32_t>(w.block->linear), launch_ << 4 | 15};
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const auto l = static_cast<uint32_t>(__builtin_ctz(m));
    const uint64_t offset = x.host[l] - begin;
    mine.whom = who(i.index, w.index, l);
    if (const uint32_t count = is_plain ? lanes_of_group(x, m, l, offset, bytes) : 0; count != 0) {
      const GlobalRow row = {Stamps::whole(mine, words_a_lane), all_since, words_a_lane, true,
                             looks_between_blocks()};
      if (pass_group({shadow, offset / (Stamps::kGroup * kWord), row, &since[l], stores, allocation,
                      remembers ? w.worker->undo : nullptr})) {
        m &= ~(((1u << count) - 1) << l) | 1u << l;  // the loop takes lane l away
        continue;
      }
    }
    check_words(w, i, bytes, kind, x.host[l], {allocation, shadow, since[l], all_since, l, offset}, mine);
  }
}

// The words of one lane, each for itself.
void GlobalRaces::check_words(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, uint64_t host,
                              const LanePlace& place, GlobalStamp mine) const {
  const GlobalShadow& shadow = place.shadow;
  const bool stores = kind != AccessKind::load, remembers = stores && w.worker->undo != nullptr;
  for (uint64_t word = place.offset / kWord; word < (place.offset + bytes + kWord - 1) / kWord; ++word) {
    mine.launch_and_bytes = launch_ << 4 | bytes_of_word(word, place.offset, bytes);
    const GlobalStamp write = shadow.writes.at(word, launch_);
    const GlobalStamp read = stores ? shadow.reads.at(word, launch_) : GlobalStamp{};
    const bool harmless = is_harmless(write, mine, place.all_since, place.since) &&
                          is_harmless(read, mine, place.all_since, place.since) &&
                          (!remembers || write.launch() == launch_);
    if (!harmless) {
      look_closer({w, i, place.lane, bytes, kind, place.allocation, host, place.offset, mine}, word, shadow,
                  write, read);
    }
    if (stores) {
      shadow.writes.open(word, launch_) = mine;
    } else {
      note_read(shadow.reads, word, mine);
    }
  }
}

}  // namespace warpgrade::emu
