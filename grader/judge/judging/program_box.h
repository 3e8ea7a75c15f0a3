// The boxes of the judge's programs: what a submission's process, a baseline's and an executor are
// started with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "base/files.h"
#include "judge/judging/runner_spec.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/sandbox.h"

namespace warpgrade {

// The judge and everybody else have twice the share where the CPU is short.
inline constexpr unsigned kRunnerCpuWeight = 50, kExecutorCpuWeight = 100;

// Where the emulator finds the memory of its device: a file of the judge, so that the judge knows how much of
// what the group holds is the device's.
inline constexpr int kDeviceMemoryDescriptor = 5;
inline constexpr const char* kDeviceMemoryVariable = "WARPEMU_MEMORY_FD";

// Of the host's memory; a GPU has its own.
std::size_t emulated_device_bytes(const RunnerSpec& spec);

// The submission's or the baseline's process: without a GPU beside an executor, else with it.
WrappedCommand program_command(const RunnerSpec& spec);
WrappedCommand executor_command(const RunnerSpec& spec);
// What the executor finds in its environment: the spec's, and what the judge's caller allows it by
// a variable.
std::map<std::string, std::string> executor_environment(const RunnerSpec& spec);

GroupLimits group_limits(const RunnerSpec& spec, std::size_t device_bytes, unsigned cpu_weight);

// Of a command. Numbers that nobody foretells: who answers ahead of a command cannot say its number.
std::uint64_t fresh_number();

struct SocketPair {
  FileDescriptor ours, theirs;
};
// Throws JudgeFault.
SocketPair socket_pair();

}  // namespace warpgrade
