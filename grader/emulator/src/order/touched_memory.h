// Which bytes of global memory a launch reads, writes and updates atomically, and at which of its
// instructions: what the order of streams is checked with (command_order.h).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "memory/device_memory.h"
#include "order/byte_ranges.h"
#include "program/program.h"
#include "state/access.h"
#include "state/observe_row.h"

namespace warpgrade::emu {

enum class Touch : uint8_t {
  load,
  store,
  same_store,  // of the value that was there
  atomic,
  flag  // by an access that orders threads (compare-and-swap, volatile, acquire, ...)
};
inline constexpr size_t kTouchKinds = 5;

// What one instruction touched, roughly: from the first byte to the end of the last.
struct TouchedBy {
  const Program* program = nullptr;
  uint32_t instruction = 0;
  Touch kind = Touch::load;
  uint64_t begin = ~uint64_t{0}, end = 0;
};

struct Touched {
  std::array<ByteRanges, kTouchKinds> bytes;  // device addresses, by Touch
  std::vector<TouchedBy> by;
};

// Bits for the bytes of one allocation. Several workers set them at once.
class TouchedBits {
 public:
  explicit TouchedBits(uint64_t bytes);
  ~TouchedBits();
  TouchedBits(const TouchedBits&) = delete;
  TouchedBits& operator=(const TouchedBits&) = delete;

  // Nearly always the bits lie in one word and are set already.
  void note(Touch kind, uint64_t offset, uint64_t bytes) const {
    const uint64_t word = offset / kWordBits, first = offset % kWordBits;
    if (bytes >= kWordBits || first + bytes > kWordBits) return note_words(kind, offset, bytes);
    const uint64_t mask = ((uint64_t{1} << bytes) - 1) << first;
    if ((__atomic_load_n(words_of(kind) + word, __ATOMIC_RELAXED) & mask) != mask) set(kind, word, mask);
  }
  // Whether all of a few bytes are noted already.
  bool has_all(Touch kind, uint64_t offset, uint64_t bytes) const;
  // All that was noted goes into the ranges, `begin` being the address of the first byte, and is forgotten.
  void take(uint64_t begin, std::array<ByteRanges, kTouchKinds>& ranges) const;

 private:
  static constexpr uint64_t kWordBits = 64;

  uint64_t* words_of(Touch kind) const { return bits_ + static_cast<size_t>(kind) * words_; }
  void note_words(Touch kind, uint64_t offset, uint64_t bytes) const;
  void set(Touch kind, uint64_t word, uint64_t mask) const;

  uint64_t words_, chunks_;                                // of one kind
  uint64_t* bits_;                                         // zero pages until they are touched
  uint8_t* chunk_flags_;                                   // whether a word of the chunk is not 0
  mutable std::array<uint8_t, kTouchKinds> kind_flags_{};  // whether a chunk's flag is set
};

// Of the launches of one command, one after another.
class TouchedMemory {
 public:
  // A launch begins, or begins again: what its first try noted is forgotten.
  void begin(const Program& program, const std::vector<Allocation>& allocations, size_t workers);
  void note(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  void note(Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Row& row);
  // The launch has ended.
  void end();
  // All of the command's launches.
  Touched take();

 private:
  // By instruction: host addresses of the first byte and of the end of what a worker touched with it.
  struct Extent {
    uint64_t begin = ~uint64_t{0}, end = 0;
    int64_t alias = 0;
    Touch kind = Touch::load;
  };

  // The allocation that a host address lies in, when it is followed.
  struct Place {
    const Allocation* allocation = nullptr;
    const TouchedBits* bits = nullptr;
    uint64_t begin = 0, bytes = 0;  // host address
  };
  Place place_of(const Warp& w, const Inst& i, uint64_t host) const;
  bool is_noted(const Warp& w, const Inst& i, uint32_t bytes, AccessKind kind, const Access& x);
  void note_extent(const Warp& w, const Inst& i, Touch kind, const Place& place, uint64_t low, uint64_t end);

  const Program* program_ = nullptr;
  std::map<uint64_t, std::unique_ptr<TouchedBits>> known_;         // by address of the allocation
  std::vector<std::pair<uint64_t, const TouchedBits*>> followed_;  // by allocation; nullptr: not followed
  std::vector<std::vector<Extent>> extents_;                       // by worker
  Touched touched_;
};

}  // namespace warpgrade::emu
