// How many registers a block takes of its multiprocessor. A warp takes its registers from one of the
// multiprocessor's parts, in units of 256; whether a block may start at all is decided as if it had as many
// warps in each part. NVIDIA's cuda_occupancy.h says so; tests hold this against that file.
#pragma once
#include <cstdint>
#include <string>

namespace warpgrade::cudart {

inline constexpr uint32_t kRegistersUnit = 256, kThreadsOfWarp = 32, kPartsOfMultiprocessor = 4;

// What one thread takes: its registers, rounded up.
inline uint32_t registers_taken(uint32_t registers) {
  constexpr uint32_t unit = kRegistersUnit / kThreadsOfWarp;
  return (registers + unit - 1) / unit * unit;
}

// What may be launched in one block, `registers_per_block` being the device's limit; 0 registers: not known.
inline uint32_t most_threads_by_registers(uint32_t registers, uint32_t registers_per_block) {
  if (registers == 0) return ~0u;
  const uint32_t warps = registers_per_block / (registers_taken(registers) * kThreadsOfWarp);
  return warps / kPartsOfMultiprocessor * kPartsOfMultiprocessor * kThreadsOfWarp;
}

// The threads for which a block of `threads` takes registers.
inline uint32_t threads_that_take_registers(uint32_t threads) {
  constexpr uint32_t unit = kPartsOfMultiprocessor * kThreadsOfWarp;
  return (threads + unit - 1) / unit * unit;
}

// Blocks that a multiprocessor with this many registers holds at a time, given that one may be launched.
// `parts`: of the multiprocessor; 2 on compute capability 6.0, else 4.
inline uint32_t blocks_by_registers(uint32_t registers, uint32_t threads, uint32_t per_multiprocessor,
                                    uint32_t parts = kPartsOfMultiprocessor) {
  if (registers == 0) return ~0u;
  if (threads > most_threads_by_registers(registers, per_multiprocessor)) return 0;
  const uint32_t warps_of_part = per_multiprocessor / parts / (registers_taken(registers) * kThreadsOfWarp);
  return warps_of_part * parts / ((threads + kThreadsOfWarp - 1) / kThreadsOfWarp);
}

// The largest number of registers a thread with which a block of `threads` may be launched.
inline uint32_t most_registers_for(uint32_t threads, uint32_t registers_per_block) {
  constexpr uint32_t unit = kRegistersUnit / kThreadsOfWarp, most = 255;
  const uint32_t fit = registers_per_block / threads_that_take_registers(threads) / unit * unit;
  return fit < most ? fit : most;
}

// "186 registers a thread, rounded up to 192, x 1024 threads = 196608; a block may have 65536".
inline std::string register_sum(uint32_t registers, uint32_t threads, uint32_t registers_per_block) {
  const uint32_t taken = registers_taken(registers), counted = threads_that_take_registers(threads);
  std::string text = std::to_string(registers) + " registers a thread";
  if (taken != registers) text += ", rounded up to " + std::to_string(taken) + ",";
  text += " x " + std::to_string(threads) + " threads";
  if (counted != threads) text += ", rounded up to " + std::to_string(counted) + ",";
  return text + " = " + std::to_string(taken * counted) + "; a block may have " +
         std::to_string(registers_per_block);
}

// What to do about it.
inline std::string register_cure(uint32_t registers, uint32_t threads, uint32_t registers_per_block) {
  return "Use at most " + std::to_string(most_threads_by_registers(registers, registers_per_block)) +
         " threads a block, or declare the kernel with __launch_bounds__(" + std::to_string(threads) +
         "): then the compiler takes at most " +
         std::to_string(most_registers_for(threads, registers_per_block)) +
         " registers a thread and keeps the rest in memory.";
}

}  // namespace warpgrade::cudart
