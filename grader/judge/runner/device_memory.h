// Maps the judge's buffers into this process as device memory: VMM handles on a GPU, memfd on the emulator.
#pragma once

#include <string>

#include "judge/protocol/protocol.h"

namespace warpgrade::runner {

bool on_emulator();

// Returns the device pointer of the payload. Throws std::runtime_error with the reason. Takes over `fd`.
void* import_device_memory(const protocol::Command& attach, int fd);

// Unmaps what import_device_memory() returned; on the emulator the mapping stays until the process ends.
void release_device_memory(void* payload, std::uint64_t offset, std::uint64_t mapped_bytes);

// Emulator only: diagnostics (0) or counters (1) as JSON lines into text; bytes written.
std::size_t drain_report(int kind, char* text, std::size_t capacity);

// Emulator only: launches from now on fail when they execute more warp instructions; 0: no limit.
void limit_steps(std::uint64_t warp_instructions);

// Emulator only: what is allocated between the two and not freed is a finding of the report.
void watch_for_leaks();
void report_leaks();

}  // namespace warpgrade::runner
