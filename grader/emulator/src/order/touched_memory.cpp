#include "order/touched_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "check/race_report.h"
#include "state/launch.h"
#include "support/host_process.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kChunkWords = 512;
constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of an allocation that is followed

// Kernels write neither parameters nor what is read-only. The heap of device code belongs to no stream. Of
// managed variables a host process elsewhere has its own copy.
bool is_followed(const Allocation& a) {
  if (g_host_is_elsewhere && a.kind == MemoryKind::managed) return false;
  return !a.freed && !a.read_only && a.kind != MemoryKind::parameters && a.kind != MemoryKind::constant &&
         a.kind != MemoryKind::heap && a.bytes() <= kMostBytes;
}

template <class T>
T* zero_pages(uint64_t count) {
  void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<T*>(memory);
}

constexpr uint64_t kBitsOfWord = 64;

// The ranges of set bits in a word whose first bit stands for `begin`.
void add_word(uint64_t word, uint64_t begin, ByteRanges& ranges) {
  if (word == ~uint64_t{0}) return ranges.add(begin, begin + kBitsOfWord);
  while (word != 0) {
    const auto first = static_cast<unsigned>(__builtin_ctzll(word));
    const uint64_t from_first = word >> first;
    const auto count = static_cast<unsigned>(__builtin_ctzll(~from_first));  // not all: seen above
    ranges.add(begin + first, begin + first + count);
    word &= ~(((uint64_t{1} << count) - 1) << first);
  }
}

Touch touch_of(const Warp& w, const Inst& i, AccessKind kind, uint32_t lane, uint64_t host) {
  if (w.block->program->synchronizes[i.index] != 0) return Touch::flag;
  if (kind == AccessKind::atomic) return Touch::atomic;
  if (kind == AccessKind::load) return Touch::load;
  return is_silent_store(w, i, lane, host) ? Touch::same_store : Touch::store;
}

}  // namespace

TouchedBits::TouchedBits(uint64_t bytes)
    : words_((bytes + kWordBits - 1) / kWordBits),
      chunks_((words_ + kChunkWords - 1) / kChunkWords),
      bits_(zero_pages<uint64_t>(kTouchKinds * words_)),
      chunk_flags_(zero_pages<uint8_t>(kTouchKinds * chunks_)) {}

TouchedBits::~TouchedBits() {
  munmap(bits_, kTouchKinds * words_ * sizeof *bits_);
  munmap(chunk_flags_, kTouchKinds * chunks_);
}

void TouchedBits::note_words(Touch kind, uint64_t offset, uint64_t bytes) const {
  const uint64_t last = (offset + bytes - 1) / kWordBits;
  for (uint64_t word = offset / kWordBits; word <= last; ++word) {
    const uint64_t begin = std::max(offset, word * kWordBits) % kWordBits;
    const uint64_t end = std::min(offset + bytes, (word + 1) * kWordBits) - word * kWordBits;
    const uint64_t mask = (~uint64_t{0} >> (kWordBits - (end - begin))) << begin;
    if ((__atomic_load_n(words_of(kind) + word, __ATOMIC_RELAXED) & mask) != mask) set(kind, word, mask);
  }
}

bool TouchedBits::has_all(Touch kind, uint64_t offset, uint64_t bytes) const {
  constexpr uint64_t kFew = 4 * kWordBits;
  if (bytes > kFew) return false;
  const uint64_t first = offset / kWordBits, last = (offset + bytes - 1) / kWordBits;
  for (uint64_t word = first; word <= last; ++word) {
    uint64_t mask = ~uint64_t{0};
    if (word == first) mask <<= offset % kWordBits;
    if (word == last) mask &= ~uint64_t{0} >> (kWordBits - 1 - (offset + bytes - 1) % kWordBits);
    if ((__atomic_load_n(words_of(kind) + word, __ATOMIC_RELAXED) & mask) != mask) return false;
  }
  return true;
}

void TouchedBits::set(Touch kind, uint64_t word, uint64_t mask) const {
  const auto k = static_cast<size_t>(kind);
  __atomic_fetch_or(words_of(kind) + word, mask, __ATOMIC_RELAXED);
  __atomic_store_n(chunk_flags_ + k * chunks_ + word / kChunkWords, uint8_t{1}, __ATOMIC_RELAXED);
  __atomic_store_n(&kind_flags_[k], uint8_t{1}, __ATOMIC_RELAXED);
}

void TouchedBits::take(uint64_t begin, std::array<ByteRanges, kTouchKinds>& ranges) const {
  for (size_t kind = 0; kind < kTouchKinds; ++kind) {
    if (std::exchange(kind_flags_[kind], uint8_t{0}) == 0) continue;
    for (uint64_t chunk = 0; chunk < chunks_; ++chunk) {
      uint8_t& flag = chunk_flags_[kind * chunks_ + chunk];
      if (flag == 0) continue;
      flag = 0;
      for (uint64_t k = chunk * kChunkWords; k < std::min((chunk + 1) * kChunkWords, words_); ++k) {
        uint64_t& word = bits_[kind * words_ + k];
        add_word(word, begin + k * kWordBits, ranges[kind]);
        word = 0;
      }
    }
  }
}

void TouchedMemory::begin(const Program& program, const std::vector<Allocation>& allocations,
                          size_t workers) {
  program_ = &program;
  followed_.clear();
  for (const Allocation& a : allocations) {
    if (a.freed) known_.erase(a.begin);
    std::unique_ptr<TouchedBits>* bits = is_followed(a) ? &known_[a.begin] : nullptr;
    if (bits != nullptr && !*bits) *bits = std::make_unique<TouchedBits>(a.bytes());
    followed_.emplace_back(a.begin, bits != nullptr ? bits->get() : nullptr);
    std::array<ByteRanges, kTouchKinds> forgotten;
    if (bits != nullptr) (*bits)->take(a.begin, forgotten);
  }
  extents_.assign(workers, std::vector<Extent>(program.code.size()));
}

TouchedMemory::Place TouchedMemory::place_of(const Warp& w, const Inst& i, uint64_t host) const {
  const Worker& worker = *w.worker;
  const auto holds = [&](const Allocation& a) { return host >= a.begin + a.alias && host < a.end + a.alias; };
  uint32_t k = worker.allocation_hint[i.index];
  if (k >= worker.allocation_count || !holds(worker.allocations[k])) {
    for (k = 0; k < worker.allocation_count && !holds(worker.allocations[k]); ++k) {
    }
  }
  if (k == worker.allocation_count) return {};
  const Allocation& a = worker.allocations[k];
  return {&a, followed_[k].second, a.begin + static_cast<uint64_t>(a.alias), a.bytes()};
}

void TouchedMemory::note_extent(const Warp& w, const Inst& i, Touch kind, const Place& place, uint64_t low,
                                uint64_t end) {
  Extent& extent = extents_[w.worker->index][i.index];
  extent.begin = std::min(extent.begin, low);
  extent.end = std::max(extent.end, end);
  extent.alias = place.allocation->alias;
  extent.kind = kind;
}

void TouchedMemory::note(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row) {
  if (kind == AccessKind::store && row.stride != 0) return note(w, i, bytes, kind, row.access());
  const Place place = place_of(w, i, row.low);
  if (place.bits == nullptr) return;
  const uint64_t offset = row.low - place.begin, all = row.stride == 0 ? bytes : uint64_t{bytes} * kLanes;
  const uint64_t within = std::min(all, place.bytes - offset);
  const Touch touch = touch_of(w, i, kind, static_cast<uint32_t>(__builtin_ctz(w.mask)), row.low);
  place.bits->note(touch, offset, within);
  note_extent(w, i, touch, place, row.low, row.low + within);
}

// What a loop reads again and again: lanes that stand close together, on bytes that are all noted.
bool TouchedMemory::is_noted(const Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (kind == AccessKind::store) return false;
  const Place place = place_of(w, i, x.low);
  const uint64_t offset = x.low - place.begin, all = x.high + bytes - x.low;
  if (place.bits == nullptr || all > place.bytes - offset) return false;
  const Touch touch = touch_of(w, i, kind, 0, x.low);
  if (!place.bits->has_all(touch, offset, all)) return false;
  note_extent(w, i, touch, place, x.low, x.low + all);
  return true;
}

// Lanes side by side, or at one place, are noted at once.
void TouchedMemory::note(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x) {
  if (is_noted(w, i, bytes, kind, x)) return;
  uint32_t left = kind == AccessKind::load && x.low == x.high ? w.mask & -w.mask : w.mask;
  while (left != 0) {  // an allocation at a time: nearly always the only one
    const auto first = static_cast<uint32_t>(__builtin_ctz(left));
    const Place place = place_of(w, i, x.host[first]);
    Touch touch = touch_of(w, i, kind, first, x.host[first]);
    uint64_t low = x.host[first], end = low, run = low, run_end = low;
    uint32_t elsewhere = 0;
    const auto note_run = [&] {
      if (place.bits == nullptr || run == run_end) return;
      place.bits->note(touch, run - place.begin, std::min(run_end - run, place.bytes - (run - place.begin)));
    };
    for (uint32_t m = left; m != 0; m &= m - 1) {
      const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
      const uint64_t host = x.host[lane];
      const Touch own = kind == AccessKind::store ? touch_of(w, i, kind, lane, host) : touch;
      if (host == run_end && own == touch) {
        run_end += bytes;
      } else if (host < run || host + bytes > run_end || own != touch) {
        if (host - place.begin >= place.bytes && lane != first) {
          elsewhere |= 1u << lane;
          continue;
        }
        note_run();
        touch = own;
        run = host;
        run_end = host + bytes;
      }
      low = std::min(low, host);
      end = std::max(end, host + bytes);
    }
    note_run();
    if (place.bits != nullptr) note_extent(w, i, touch, place, low, end);
    left = elsewhere;
  }
}

void TouchedMemory::end() {
  for (const auto& [begin, bits] : followed_) {
    if (bits != nullptr) bits->take(begin, touched_.bytes);
  }
  for (uint32_t k = 0; k < program_->code.size(); ++k) {
    TouchedBy by{program_, k, Touch::load, ~uint64_t{0}, 0};
    for (const std::vector<Extent>& of_worker : extents_) {
      const Extent& e = of_worker[k];
      if (e.end == 0) continue;
      by.kind = e.kind;
      by.begin = std::min(by.begin, e.begin - static_cast<uint64_t>(e.alias));
      by.end = std::max(by.end, e.end - static_cast<uint64_t>(e.alias));
    }
    if (by.end != 0) touched_.by.push_back(by);
  }
  extents_.clear();
  followed_.clear();
}

Touched TouchedMemory::take() {
  Touched all = std::move(touched_);
  touched_ = {};
  return all;
}

}  // namespace warpgrade::emu
