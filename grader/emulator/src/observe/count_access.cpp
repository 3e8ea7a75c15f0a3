// What accesses cost on a GPU: sectors of global memory, passes through the banks of shared memory, turns of
// atomics at one address.
#include "observe/count_access.h"

#include <algorithm>

#include "memory/device_memory.h"
#include "observe/counts.h"
#include "observe/hierarchy.h"
#include "state/observe_row.h"
#include "support/for_each_level.h"

namespace warpgrade::emu {
namespace {

bool is_contiguous(uint32_t mask, uint32_t bytes, const Access& x) {
  if (mask != kAllLanes || x.high - x.low != (kLanes - 1) * uint64_t(bytes)) return false;
  uint64_t difference = 0;
  for (uint32_t l = 0; l < kLanes; ++l) difference |= x.host[l] ^ (x.low + l * uint64_t(bytes));
  return difference == 0;
}

// The allocation that holds a host address, as its index; the count of allocations when none does (the
// scratch area of a faulty lane).
uint32_t allocation_of(const Worker& worker, const Inst& i, uint64_t low, uint64_t high) {
  const auto holds = [&](const Allocation& a) {
    const auto alias = static_cast<uint64_t>(a.alias);
    return low >= a.begin + alias && high < a.end + alias && !a.freed;
  };
  const uint32_t hint = worker.allocation_hint[i.index];
  if (hint < worker.allocation_count && holds(worker.allocations[hint])) return hint;
  const Allocation* end = worker.allocations + worker.allocation_count;
  return static_cast<uint32_t>(std::find_if(worker.allocations, end, holds) - worker.allocations);
}

constexpr uint64_t sectors_for(uint64_t bytes) {
  return (bytes + kSectorBytes - 1) / kSectorBytes;
}

struct Touched {
  uint32_t sectors, bytes;  // distinct ones
};

// Of lanes in order of address, as most accesses have them: neighbours tell what is new. False for others.
bool count_ordered(uint32_t mask, uint32_t bytes, const Access& x, Touched& touched) {
  uint64_t previous = x.host[__builtin_ctz(mask)];
  uint32_t sectors = 1, places = 1;
  for (uint32_t m = mask & (mask - 1); m != 0; m &= m - 1) {
    const uint64_t host = x.host[__builtin_ctz(m)];
    if (host < previous) return false;
    places += host != previous;
    sectors += host / kSectorBytes != previous / kSectorBytes;
    previous = host;
  }
  touched = {sectors, places * bytes};
  return true;
}

// Of lanes in any order: a hash table of sectors, with the bytes that are wanted of each. Accesses are
// aligned to their size, which is at most a sector's, so a lane touches one sector.
Touched count_scattered(uint32_t mask, uint32_t bytes, const Access& x) {
  constexpr uint32_t kBits = 6, kEntries = 1u << kBits;
  uint64_t sectors[kEntries];
  uint32_t wanted[kEntries] = {};  // 0: free
  const auto ones = static_cast<uint32_t>((uint64_t(1) << bytes) - 1);
  Touched touched = {0, 0};
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t host = x.host[__builtin_ctz(m)], sector = host / kSectorBytes;
    uint32_t at = static_cast<uint32_t>(sector * 0x9e3779b97f4a7c15ull >> (64 - kBits));
    while (wanted[at] != 0 && sectors[at] != sector) at = (at + 1) % kEntries;
    const uint32_t here = ones << host % kSectorBytes;
    touched.sectors += wanted[at] == 0;
    touched.bytes += (wanted[at] & here) == 0 ? bytes : 0;
    sectors[at] = sector;
    wanted[at] |= here;
  }
  return touched;
}

// Where the sectors of an allocation stand among those of all: what is sampled is the same in each run.
uint64_t first_sector_of(uint32_t allocation) {
  return uint64_t(allocation) << 36;
}

// Lines of neighbouring sectors, as they come.
class LineRun {
 public:
  LineRun(Warp& w, uint32_t allocation, AccessKind kind)
      : w_(w), first_(first_sector_of(allocation)), kind_(kind) {
    w.worker->hierarchy->begin(w, kind);
  }
  ~LineRun() { flush(); }
  LineRun(const LineRun&) = delete;
  void add(uint64_t sector) {
    if (sector / kLineSectors != line_) flush();
    line_ = sector / kLineSectors;
    sectors_ |= 1u << sector % kLineSectors;
  }

 private:
  void flush() {
    if (sectors_ != 0) w_.worker->hierarchy->touch(w_, first_ / kLineSectors + line_, sectors_, kind_);
    sectors_ = 0;
  }
  Warp& w_;
  const uint64_t first_;
  const AccessKind kind_;
  uint64_t line_ = 0;
  uint32_t sectors_ = 0;
};

// Marks the sectors in their allocation's traffic; lanes that stand in several (generic addresses may) go
// by themselves.
void note_traffic(Warp& w, const Inst& i, uint32_t mask, AccessKind kind, uint32_t sectors, const Access& x) {
  Worker& worker = *w.worker;
  const auto touch = [&](uint32_t lanes, uint32_t allocation, uint64_t last, uint64_t n) {
    if (allocation >= worker.allocation_count) return;
    const Allocation& a = worker.allocations[allocation];
    const uint64_t begin = (a.begin + static_cast<uint64_t>(a.alias)) / kSectorBytes;
    uint64_t* plane = worker.counts->traffic.of(allocation).move(kind, n, last / kSectorBytes - begin);
    for (uint32_t m = lanes; m != 0; m &= m - 1)
      BufferTraffic::touch(plane, x.host[__builtin_ctz(m)] / kSectorBytes - begin);
    if (worker.hierarchy == nullptr) return;
    LineRun lines(w, allocation, kind);
    for (uint32_t m = lanes; m != 0; m &= m - 1) lines.add(x.host[__builtin_ctz(m)] / kSectorBytes - begin);
    if (kind != AccessKind::atomic) return;
    for (uint32_t m = lanes == mask ? w.mask : lanes; m != 0; m &= m - 1)
      worker.hierarchy->update(first_sector_of(allocation) + x.host[__builtin_ctz(m)] / kSectorBytes - begin,
                               1);
  };
  const uint32_t common = allocation_of(worker, i, x.low, x.high);
  if (common < worker.allocation_count) return touch(mask, common, x.high, sectors);
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t host = x.host[__builtin_ctz(m)];
    touch(m & -m, allocation_of(worker, i, host, host), host, 1);
  }
}

void count_global(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  GlobalCounts& c = w.worker->counts->accesses[i.index].global[static_cast<size_t>(kind)];
  ++c.requests;
  c.lanes += static_cast<uint32_t>(__builtin_popcount(w.mask));
  const uint64_t first = x.low / kSectorBytes, last = (x.high + bytes - 1) / kSectorBytes;
  uint32_t mask = w.mask;
  Touched touched = {1, bytes};
  if (first == last) {
    mask &= -mask;
  } else if (is_contiguous(mask, bytes, x)) {
    touched = {static_cast<uint32_t>(last - first + 1), kLanes * bytes};
    // Lanes that begin a sector, or each, when one spans it.
    if (bytes == 4) mask = 0x80000001u | 0x01010101u << (first * kSectorBytes + kSectorBytes - x.low) / 4 % 8;
  } else if (!count_ordered(mask, bytes, x, touched)) {
    touched = count_scattered(mask, bytes, x);
  }
  c.sectors += touched.sectors;
  c.ideal_sectors += first == last ? 1 : sectors_for(touched.bytes);
  note_traffic(w, i, mask, kind, touched.sectors, x);
}

// Whether each active lane wants what the lane beside it (or the one two further) wants: then an access of 8
// or 16 bytes needs half as many passes.
bool pairs_agree(uint32_t mask, const Access& x) {
  for (const uint32_t step : {1u, 2u}) {
    bool agree = true;
    for (uint32_t m = mask; m != 0 && agree; m &= m - 1) {
      const auto l = static_cast<uint32_t>(__builtin_ctz(m)), other = l ^ step;
      agree = !(mask >> other & 1) || x.host[l] == x.host[other];
    }
    if (agree) return true;
  }
  return false;
}

// The lanes that are served together: all of them for up to 4 bytes, halves for 8, quarters for 16,
// unless neighbours agree.
uint32_t lane_groups(uint32_t mask, uint32_t bytes, const Access& x, uint32_t groups[4]) {
  uint32_t n = 0;
  const auto add = [&](uint32_t lanes) {
    if ((mask & lanes) != 0) groups[n++] = mask & lanes;
  };
  if (bytes <= 4 || (bytes == 8 && pairs_agree(mask, x))) {
    add(kAllLanes);
  } else {
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t lanes = 0xffffu << 16 * half;
      if (bytes == 8 || pairs_agree(mask & lanes, x)) {
        add(lanes);
      } else {
        add(lanes & 0x00ff00ffu);
        add(lanes & 0xff00ff00u);
      }
    }
  }
  return n;
}

constexpr uint32_t kBanks = 32;

// Passes of one group through the 32 banks of 4 bytes: lanes that want different words of one bank
// take turns.
uint32_t passes_of(uint32_t lanes, uint32_t bytes, uint64_t base, const Access& x) {
  const uint32_t words_per_lane = std::max(1u, bytes / 4);
  uint64_t in_bank[kBanks][kLanes];
  uint32_t held[kBanks] = {};
  uint32_t worst = 1;
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const uint64_t first = (x.host[__builtin_ctz(m)] - base) / 4;
    for (uint64_t word = first; word < first + words_per_lane; ++word) {
      uint64_t* bank = in_bank[word % kBanks];
      uint32_t& n = held[word % kBanks];
      if (std::find(bank, bank + n, word) != bank + n) continue;
      bank[n++] = word;
      worst = std::max(worst, n);
    }
  }
  return worst;
}

// The same of atomics, where lanes that update one word take turns as well.
uint32_t atomic_passes_of(uint32_t lanes, uint32_t bytes, uint64_t base, const Access& x) {
  const uint32_t words_per_lane = std::max(1u, bytes / 4);
  uint8_t held[kBanks] = {};
  if (words_per_lane == 1) {
    uint32_t worst = 0;
    for (uint32_t m = lanes; m != 0; m &= m - 1)
      worst = std::max<uint32_t>(worst, ++held[(x.host[__builtin_ctz(m)] - base) / 4 % kBanks]);
    return worst;
  }
  for (uint32_t m = lanes; m != 0; m &= m - 1) {
    const uint64_t first = (x.host[__builtin_ctz(m)] - base) / 4;
    for (uint64_t word = first; word < first + words_per_lane; ++word) ++held[word % kBanks];
  }
  return *std::max_element(held, held + kBanks);
}

void count_shared(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  SharedCounts& c = w.worker->counts->accesses[i.index].shared[static_cast<size_t>(kind)];
  ++c.requests;
  const bool neighbours = bytes <= 4 && x.high / 4 - x.low / 4 < 32;  // each word in a bank of its own
  if (kind != AccessKind::atomic && (neighbours || x.low == x.high)) {
    const uint32_t halves = bytes == 16 ? ((w.mask & 0xffffu) != 0) + ((w.mask >> 16) != 0) : 1;
    c.passes += halves;
    c.ideal_passes += halves;
    return;
  }
  uint32_t groups[4];
  const uint32_t n = lane_groups(w.mask, bytes, x, groups);
  const auto base = reinterpret_cast<uint64_t>(w.block->shared);
  c.ideal_passes += n;
  const auto passes = kind == AccessKind::atomic ? atomic_passes_of : passes_of;
  for (uint32_t g = 0; g < n; ++g) c.passes += passes(groups[g], bytes, base, x);
}

// Of all lanes, those at the address that most of them have: each is compared with the 31 others. Addresses
// that lie within 4 GiB of each other.
WARPEMU_FOR_EACH_LEVEL uint32_t most_equal(const uint64_t* host) {
  using Half [[gnu::vector_size(4 * kLanes / 2)]] = uint32_t;
  uint32_t twice[2 * kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) twice[l] = twice[l + kLanes] = static_cast<uint32_t>(host[l]);
  Half mine[2], others[2], equal[2] = {};
  __builtin_memcpy(mine, twice, sizeof mine);
  for (uint32_t turn = 1; turn < kLanes; ++turn) {
    __builtin_memcpy(others, twice + turn, sizeof others);
    equal[0] -= Half(mine[0] == others[0]);
    equal[1] -= Half(mine[1] == others[1]);
  }
  const Half larger = equal[0] > equal[1] ? equal[0] : equal[1];
  uint32_t most = 0;
  for (uint32_t l = 0; l < kLanes / 2; ++l) most = std::max(most, larger[l]);
  return most + 1;
}

// Lanes that update the address that most lanes update: they take turns. A hash table of addresses.
uint32_t most_at_one_address(uint32_t mask, const Access& x) {
  if (x.low == x.high) return static_cast<uint32_t>(__builtin_popcount(mask));
  if (mask == kAllLanes && x.high - x.low < uint64_t{1} << 32) return most_equal(x.host);
  constexpr uint32_t kBits = 6, kEntries = 1u << kBits;
  uint64_t addresses[kEntries];
  uint8_t lanes_at[kEntries] = {};  // 0: free
  uint8_t most = 0;
  for (uint32_t m = mask; m != 0; m &= m - 1) {
    const uint64_t address = x.host[__builtin_ctz(m)];
    uint32_t at = static_cast<uint32_t>(address * 0x9e3779b97f4a7c15ull >> (64 - kBits));
    while (lanes_at[at] != 0 && addresses[at] != address) at = (at + 1) % kEntries;
    addresses[at] = address;
    most = std::max(most, ++lanes_at[at]);
  }
  return most;
}

void count_contention(Warp& w, const Inst& i, const Access& x) {
  AccessCounts& c = w.worker->counts->accesses[i.index];
  ++c.atomic_requests;
  c.atomic_lanes += static_cast<uint32_t>(__builtin_popcount(w.mask));
  c.atomic_turns += most_at_one_address(w.mask, x);
}

}  // namespace

namespace {

void count_global_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  GlobalCounts& c = w.worker->counts->accesses[i.index].global[static_cast<size_t>(kind)];
  ++c.requests;
  c.lanes += static_cast<uint32_t>(__builtin_popcount(w.mask));
  const uint64_t first = row.low / kSectorBytes, last = (row.high() + bytes - 1) / kSectorBytes;
  c.sectors += last - first + 1;
  c.ideal_sectors += first == last ? 1 : sectors_for(uint64_t(kLanes) * bytes);
  Worker& worker = *w.worker;
  const uint32_t allocation = allocation_of(worker, i, row.low, row.high());
  if (allocation >= worker.allocation_count) return;
  const Allocation& a = worker.allocations[allocation];
  const uint64_t begin = (a.begin + static_cast<uint64_t>(a.alias)) / kSectorBytes;
  uint64_t* plane = worker.counts->traffic.of(allocation).move(kind, last - first + 1, last - begin);
  for (uint64_t sector = first - begin; sector <= last - begin; ++sector) BufferTraffic::touch(plane, sector);
  if (worker.hierarchy == nullptr) return;
  const uint64_t place = first_sector_of(allocation) - begin;
  worker.hierarchy->touch_row(w, place + first, place + last, kind);
}

}  // namespace

void count_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  if (row.space == Space::global) return count_global_row(w, i, bytes, kind, row);
  // Consecutive words lie in banks of their own, so that only the width asks for turns.
  SharedCounts& c = w.worker->counts->accesses[i.index].shared[static_cast<size_t>(kind)];
  ++c.requests;
  uint32_t turns = bytes <= 4 ? 1 : bytes / 4;
  if (row.stride == 0) turns = bytes == 16 ? ((w.mask & 0xffffu) != 0) + ((w.mask >> 16) != 0) : 1;
  c.passes += turns;
  c.ideal_passes += turns;
}

namespace {

// Lanes that begin another place than the lane before, and another sector; false when one is before
// its predecessor.
WARPEMU_FOR_EACH_LEVEL bool compare_neighbours(const uint64_t* host, uint32_t n, uint32_t* places,
                                               uint32_t* sectors) {
  uint64_t backwards = 0;
  uint32_t p = 1, s = 1;
  for (uint32_t k = 1; k < n; ++k) {
    backwards |= host[k] < host[k - 1] ? 1 : 0;
    p += host[k] != host[k - 1] ? 1 : 0;
    s += (host[k] ^ host[k - 1]) >= kSectorBytes ? 1 : 0;
  }
  *places = p;
  *sectors = s;
  return backwards == 0;
}

}  // namespace

CountedRow describe_row(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  CountedRow known;
  AccessCounts& counts = w.worker->counts->accesses[i.index];
  known.last_byte = row.high() - row.low + bytes - 1;
  known.bytes = bytes;
  if (row.space == Space::shared) {
    if (row.stride == 0 && bytes == 16) return known;  // depends on the lanes
    known.counts = &counts.shared[static_cast<size_t>(kind)].requests;
    known.ideal = row.stride == 0 || bytes <= 4 ? 1 : bytes / 4;
    return known;
  }
  Worker& worker = *w.worker;
  const uint32_t allocation = allocation_of(worker, i, row.low, row.high());
  if (allocation >= worker.allocation_count) return known;
  const Allocation& a = worker.allocations[allocation];
  const uint64_t begin = a.begin + static_cast<uint64_t>(a.alias),
                 end = a.end + static_cast<uint64_t>(a.alias);
  known.counts = &counts.global[static_cast<size_t>(kind)].requests;
  known.plane = &worker.counts->traffic.of(allocation).plane(kind);
  known.first_sector = begin / kSectorBytes;
  known.sectors = (end - 1) / kSectorBytes + 1 - known.first_sector;
  known.ideal = sectors_for(uint64_t(kLanes) * bytes);
  if (worker.hierarchy == nullptr) return known;
  known.sampled = &worker.hierarchy->sampled;
  known.first_line = first_sector_of(allocation) / kLineSectors;
  known.kind = kind;
  return known;
}

bool count_ordered_lanes(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (x.space != Space::global || kind == AccessKind::atomic) return false;
  uint64_t packed[kLanes];
  const uint64_t* host = x.host;
  auto n = static_cast<uint32_t>(__builtin_popcount(w.mask));
  if (n != kLanes) {
    uint32_t k = 0;
    for (uint32_t m = w.mask; m != 0; m &= m - 1) packed[k++] = x.host[__builtin_ctz(m)];
    host = packed;
  }
  uint32_t places = 0, sectors = 0;
  if (!compare_neighbours(host, n, &places, &sectors)) return false;
  Worker& worker = *w.worker;
  const uint32_t allocation = allocation_of(worker, i, x.low, x.high);
  if (allocation >= worker.allocation_count) return false;
  GlobalCounts& c = worker.counts->accesses[i.index].global[static_cast<size_t>(kind)];
  ++c.requests;
  c.lanes += n;
  c.sectors += sectors;
  const bool one = x.low / kSectorBytes == (x.high + bytes - 1) / kSectorBytes;
  c.ideal_sectors += one ? 1 : sectors_for(uint64_t(places) * bytes);
  const Allocation& a = worker.allocations[allocation];
  const uint64_t begin = (a.begin + static_cast<uint64_t>(a.alias)) / kSectorBytes;
  uint64_t* plane = worker.counts->traffic.of(allocation).move(kind, sectors, x.high / kSectorBytes - begin);
  uint64_t before = ~uint64_t{0};
  for (uint32_t k = 0; k < n; ++k) {
    const uint64_t sector = host[k] / kSectorBytes;
    if (sector != before) BufferTraffic::touch(plane, sector - begin);
    before = sector;
  }
  if (worker.hierarchy == nullptr) return true;
  LineRun lines(w, allocation, kind);
  for (uint32_t k = 0; k < n; ++k) lines.add(host[k] / kSectorBytes - begin);
  return true;
}

void count_access(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (kind == AccessKind::atomic) count_contention(w, i, x);
  if (x.space == Space::shared) count_shared(w, i, bytes, kind, x);
  if (x.space == Space::global) count_global(w, i, bytes, kind, x);
  if (x.space == Space::local) ++w.worker->counts->accesses[i.index].local_requests;
}

}  // namespace warpgrade::emu
