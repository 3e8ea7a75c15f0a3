// What an executor asks of the host process of a submission, and what that says: the numbers and arguments of
// host_commands.h, shared by the executor's judge_service and by grader/judge/runner/host_main.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

#include "judge/protocol/call_result.h"

namespace warpgrade::executor {

// Where the host process finds its end, told by WARPGRADE_EXECUTOR.
inline constexpr int kExecutorDescriptor = 3;
// Where it says, by one byte, that the machine has started it: told by WARPGRADE_BEGUN. The CUDA runtime
// writes it before constructors of the submission run, so a program that ends in one of these is known to
// be at fault.
inline constexpr int kBegunDescriptor = 9;

enum class HostCommand : std::uint32_t {
  kEnd = 0,
  kReady,   // nothing: the process is up and its device code is loaded
  kAttach,  // a buffer of the judge's: read_attach()
  kDetach,  // all buffers are gone
  kPlan,    // arguments: the lab's, as in protocol::Command
  kRun,     // the same
  kFree,
  kReportPlaces,  // arguments: addresses of allocations; where they were made is told through the runtime
};

inline constexpr std::size_t kMostPlaces = 5;  // as many leaks as are told

struct HostAttach {
  std::uint64_t address = 0, bytes = 0;
  std::string name;
};

inline constexpr std::size_t kMostBufferName = 32;  // as in protocol::Command

inline void write_attach(std::uint64_t* arguments, std::uint64_t address, std::uint64_t bytes,
                         const char* name) {
  arguments[0] = address;
  arguments[1] = bytes;
  std::memcpy(arguments + 2, name, strnlen(name, kMostBufferName));
}

inline HostAttach read_attach(const std::uint64_t* arguments) {
  const char* name = reinterpret_cast<const char*>(arguments + 2);
  return {arguments[0], arguments[1], std::string(name, strnlen(name, kMostBufferName))};
}

// What the submission's function did, as the number beside a command's end.
inline std::int64_t pack(const protocol::CallSummary& call) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(call.threw ? 1 : 0) |
                                   static_cast<std::uint64_t>(call.launched_on_default_stream ? 2 : 0) |
                                   static_cast<std::uint64_t>(call.leaves_errors_unread ? 4 : 0) |
                                   static_cast<std::uint64_t>(call.returned & 0xffff) << 8 |
                                   static_cast<std::uint64_t>(call.left & 0xffff) << 24);
}

inline protocol::CallSummary unpack(std::int64_t packed) {
  const auto bits = static_cast<std::uint64_t>(packed);
  protocol::CallSummary call;
  call.threw = (bits & 1) != 0;
  call.launched_on_default_stream = (bits & 2) != 0;
  call.leaves_errors_unread = (bits & 4) != 0;
  call.returned = static_cast<std::int32_t>(bits >> 8 & 0xffff);
  call.left = static_cast<std::int32_t>(bits >> 24 & 0xffff);
  return call;
}

}  // namespace warpgrade::executor
