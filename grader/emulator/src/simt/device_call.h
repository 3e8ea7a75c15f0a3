// What the calls of the device's runtime share: arguments, results, the thread's last error, and memory of
// the program that they write.
#pragma once
#include <cstring>

#include "state/machine.h"
#include "state/nested.h"
#include "state/stack.h"

namespace warpgrade::emu {

// One lane's call.
struct DeviceCall {
  Warp& w;
  const Inst& i;
  uint32_t lane;

  uint64_t wide(size_t argument) const { return stack_word(w, i, lane, i.vec[argument], sizeof(uint64_t)); }
  uint32_t word(size_t argument) const {
    return static_cast<uint32_t>(stack_word(w, i, lane, i.vec[argument], sizeof(uint32_t)));
  }
  // A dim3.
  void triple(size_t argument, uint32_t* three) const {
    std::memcpy(three, frame(w, i.a, lane) + i.vec[argument], 3 * sizeof(uint32_t));
  }
  template <class T>
  void give(T value) const {
    std::memcpy(frame(w, i.a, lane) + i.imm, &value, sizeof value);
  }
  // A failure is the thread's last error as well.
  void end(CallError error) const {
    if (error != CallError::none) w.last_error[lane] = static_cast<uint32_t>(error);
    give(static_cast<uint32_t>(error));
  }
  const DeviceRuntime& runtime() const;
  NestedPlace place() const;
  // Writes to an address of the program's; a mistake is reported. False when the block has to stop.
  bool store(uint64_t address, const void* bytes, uint32_t count) const;
};

// Each active lane in turn, until one ends the launch. The handlers of a call's name.
template <void (*call)(const DeviceCall&)>
void each_lane_calls(Warp& w, const Inst& i) {
  const uint32_t all = w.mask;
  for (uint32_t m = all; m != 0 && w.stop == Stop::none; m &= m - 1) {
    const auto lane = static_cast<uint32_t>(__builtin_ctz(m));
    w.mask = 1u << lane;
    call({w, i, lane});
  }
  w.mask = all;
}

// Handles of streams and events name their block, so that another block's is refused.
inline constexpr uint64_t kDeviceStreamTag = 0x5d00000000000000ull, kDeviceEventTag = 0x5e00000000000000ull;
bool is_stream(const DeviceCall& c, uint64_t handle);

}  // namespace warpgrade::emu
