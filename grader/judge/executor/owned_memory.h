// The memory that a submission owns: what its calls may name. Kernels are bound by the device's
// own protection.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cudart/backend.h"
#include "judge/executor/limits.h"

namespace warpgrade::executor {

class OwnedMemory {
 public:
  explicit OwnedMemory(const Limits& limits) : limits_(limits) {}

  // Whether an allocation of this kind and size stays within the limits.
  // `other`: what else of the device's memory is the submission's.
  bool has_room_for(cudart::MemoryKind kind, uint64_t bytes, uint64_t other) const;
  // `is_async`: it came from the pool of stream-ordered memory.
  void add(const cudart::MemoryRange& range, bool is_async = false);
  void remove(uint64_t begin);
  // The range that begins there.
  std::optional<cudart::MemoryRange> at(uint64_t begin) const;
  // The range that holds the address.
  std::optional<cudart::MemoryRange> around(uint64_t address) const;
  bool holds(uint64_t address, uint64_t bytes) const;
  // No range has a byte of it.
  bool is_free(uint64_t begin, uint64_t bytes) const;

  // Pages of the window that are free, taken; nothing when there are none.
  std::optional<uint64_t> take_window(uint64_t bytes);
  void give_window(uint64_t address);

  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t managed_bytes() const { return managed_bytes_; }
  bool is_async(uint64_t begin) const { return async_.contains(begin); }
  uint64_t async_bytes() const { return async_bytes_; }
  // Changes whenever a range goes: what was checked before has to be checked again.
  uint64_t removals() const { return removals_; }
  std::vector<cudart::MemoryRange> all() const;

 private:
  static uint64_t counted(const cudart::MemoryRange& range);
  void count(const cudart::MemoryRange& range, bool is_async, bool comes);

  const Limits limits_;
  std::map<uint64_t, cudart::MemoryRange> ranges_;  // by first address
  std::map<uint64_t, uint64_t> window_;             // offsets and bytes that are taken
  std::set<uint64_t> async_;                        // first addresses
  uint64_t device_bytes_ = 0, managed_bytes_ = 0;   // managed memory counts in both
  uint64_t async_bytes_ = 0, removals_ = 0;
};

}  // namespace warpgrade::executor
