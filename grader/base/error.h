// The two kinds of error that are not a submission's verdict. main() turns them into exit codes.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace warpgrade {

// The person at the keyboard can mend it: a missing file, a bad option, a malformed policy. Exit code 1.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <typename... Args>
  explicit UsageError(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// The disk or the quota is full: what was not written can be written later. As a UsageError it says what
// to do.
class DiskFull : public UsageError {
 public:
  using UsageError::UsageError;
};

// The judge itself failed: never a submission's fault, never a zero. Exit code 2.
class JudgeFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  template <typename... Args>
  explicit JudgeFault(fmt::format_string<Args...> format, Args&&... args)
      : std::runtime_error(fmt::format(format, std::forward<Args>(args)...)) {}
};

// The task, the container or the machine has no memory left, and the submission was within its own limits.
class MemoryShort : public JudgeFault {
 public:
  using JudgeFault::JudgeFault;
};

// The GPU answers nothing any more: whatever is judged on it from now on says nothing.
class GpuWedged : public JudgeFault {
 public:
  using JudgeFault::JudgeFault;
};

inline constexpr int kExitGraded = 0;
inline constexpr int kExitUsage = 1;
inline constexpr int kExitJudgeFault = 2;
inline constexpr int kExitInterrupted = 130;

}  // namespace warpgrade
