// Writes records into the ring as a host process could: any. For tests.
#pragma once
#include <algorithm>
#include <cstring>
#include <span>

#include "judge/executor/shared_memory.h"

namespace warpgrade::executor {

// One shared memory for all tests of a process: its window has a fixed address.
inline SharedMemory& shared() {
  static SharedMemory* memory = new SharedMemory(SharedMemory::create());
  return *memory;
}

class Writer {
 public:
  explicit Writer(SharedMemory& memory) : memory_(memory) {}

  void write(const wire::Record& record, std::span<const uint8_t> data) {
    wire::Control& c = memory_.control();
    uint64_t head = c.head.load();
    const size_t left = wire::kRingBytes - head % wire::kRingBytes;
    const size_t bytes = wire::round_up(sizeof record + data.size(), wire::kAlign);
    if (left < bytes) {
      wire::Record pad;
      pad.bytes = static_cast<uint32_t>(left);
      std::memcpy(memory_.ring() + head % wire::kRingBytes, &pad, std::min(left, wire::kAlign));
      head += left;
    }
    uint8_t* at = memory_.ring() + head % wire::kRingBytes;
    std::memcpy(at, &record, sizeof record);
    if (!data.empty()) std::memcpy(at + sizeof record, data.data(), data.size());
    c.head.store(head + bytes);
  }

  // A whole record of our library's.
  void write(wire::Op op, std::initializer_list<uint64_t> arguments, uint16_t slot,
             std::span<const uint8_t> data = {}) {
    wire::Record r;
    r.op = static_cast<uint16_t>(op);
    r.slot = slot;
    r.sequence = ++sequence_;
    r.data_bytes = static_cast<uint32_t>(data.size());
    r.bytes = static_cast<uint32_t>(wire::round_up(sizeof r + data.size(), wire::kAlign));
    std::copy(arguments.begin(), arguments.end(), r.arguments);
    write(r, data);
  }
  uint32_t sequence() const { return sequence_; }

 private:
  SharedMemory& memory_;
  uint32_t sequence_ = 0;
};

}  // namespace warpgrade::executor
