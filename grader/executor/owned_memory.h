// The memory that a submission owns: what its calls may name. Kernels are bound by the device's own
// protection.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cudart/backend.h"
#include "executor/limits.h"

namespace warpgrade::executor {

class OwnedMemory {
 public:
  explicit OwnedMemory(const Limits& limits) : limits_(limits) {}

  // Whether an allocation of this kind and size stays within the limits.
  bool has_room_for(cudart::MemoryKind kind, uint64_t bytes) const;
  void add(const cudart::MemoryRange& range);
  void remove(uint64_t begin);
  // The range that begins there.
  std::optional<cudart::MemoryRange> at(uint64_t begin) const;
  // The range that holds the address.
  std::optional<cudart::MemoryRange> around(uint64_t address) const;
  bool holds(uint64_t address, uint64_t bytes) const;

  // Pages of the window that are free, taken; nothing when there are none.
  std::optional<uint64_t> take_window(uint64_t bytes);
  void give_window(uint64_t address);

  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t managed_bytes() const { return managed_bytes_; }
  std::vector<cudart::MemoryRange> all() const;

 private:
  const Limits limits_;
  std::map<uint64_t, cudart::MemoryRange> ranges_;  // by first address
  std::map<uint64_t, uint64_t> window_;             // offsets and bytes that are taken
  uint64_t device_bytes_ = 0, managed_bytes_ = 0;   // managed memory counts in both
};

}  // namespace warpgrade::executor
