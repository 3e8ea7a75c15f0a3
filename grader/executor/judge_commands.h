// What an executor asks of the host process of a submission, and what that says: the numbers and arguments of
// host_commands.h, shared by the executor's judge_service and by grader/runner/host_main.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>

namespace warpgrade::executor {

// Where an executor that is started with --judge finds the socket to its host process; the judge's is
// protocol::kSocketFd.
inline constexpr int kHostSocketDescriptor = 6;
// Where the host process finds its end, told by WARPGRADE_EXECUTOR.
inline constexpr int kExecutorDescriptor = 3;

enum class HostCommand : std::uint32_t {
  kEnd = 0,
  kReady,   // nothing: the process is up and its device code is loaded
  kAttach,  // a buffer of the judge's: read_attach()
  kDetach,  // all buffers are gone
  kPlan,    // arguments: the lab's, as in protocol::Command
  kRun,     // the same
  kFree,
  kTellPlaces,  // arguments: addresses of allocations; where they were made is told through the runtime
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

// What the submission's function did. Untrusted: it can only make a verdict worse, or explain one.
struct HostResult {
  bool threw = false;         // the text beside it says what
  std::int32_t returned = 0;  // CUDA error codes
  std::int32_t left = 0;
  std::uint32_t notes = 0;
};

inline std::int64_t pack(const HostResult& result) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(result.threw ? 1 : 0) |
                                   static_cast<std::uint64_t>(result.returned & 0xffff) << 8 |
                                   static_cast<std::uint64_t>(result.left & 0xffff) << 24 |
                                   static_cast<std::uint64_t>(result.notes & 0xff) << 40);
}

inline HostResult unpack(std::int64_t packed) {
  const auto bits = static_cast<std::uint64_t>(packed);
  return {(bits & 1) != 0, static_cast<std::int32_t>(bits >> 8 & 0xffff),
          static_cast<std::int32_t>(bits >> 24 & 0xffff), static_cast<std::uint32_t>(bits >> 40 & 0xff)};
}

}  // namespace warpgrade::executor
