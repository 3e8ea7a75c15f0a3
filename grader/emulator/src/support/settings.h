// The environment variables of the emulator (include/warpemu/warpemu.h lists them), read once.
#pragma once
#include <cstdint>
#include <string>

#include "support/device_model.h"

namespace warpgrade::emu {

// Which kernels are compiled to machine code (native/).
enum class NativeUse : uint8_t { never, hot, always };

// In which order the warps of a block run; a program without races gives the same answer in each.
enum class Schedule : uint8_t {
  in_order,
  reversed,   // the last warp first
  one_ahead,  // the warp in the middle runs until it waits for others, then these
};

struct Settings {
  unsigned threads = 1;
  int devices = 1;
  bool init_check = false;
  bool race_check = false;
  bool sync_check = false;
  bool leak_check = false;
  bool counters = false;
  bool levels = false;  // counters tell as well what an estimate of time needs
  DeviceModel device;
  uint64_t memory_bytes = 0;
  double launch_timeout_s = 0;  // 0: none
  uint64_t step_limit = 0;      // warp instructions a launch; 0: none
  bool quiet = false;
  bool dump_ptx = false;
  bool dump_code = false;
  bool dump_native = false;
  NativeUse native = NativeUse::hot;
  Schedule schedule = Schedule::in_order;
  std::string mutant;    // `list`, or the key of a mutant (program/mutants.h)
  bool reached = false;  // counters tell which instructions ran, and nothing else (report/reached.h)
  std::string isa;       // v2, v3 or v4 forces a build of the instruction handlers
};

const Settings& settings();

// Of launches from now on: what settings() say until it is set.
uint64_t step_limit();
void set_step_limit(uint64_t warp_instructions);

// Which kernels are compiled from now on: what settings() say until it is set.
NativeUse native_use();
void set_native_use(NativeUse use);

}  // namespace warpgrade::emu
