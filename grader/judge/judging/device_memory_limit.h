// Holds a submission to its limit of device memory where no runtime of ours does it: on a GPU. The judge sees
// what is free on the device; what is missing since the submission's first call, it has taken. Of all that it
// says itself nothing is needed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "record/outcome.h"

namespace warpgrade {

// Free memory of the current device, in bytes; nothing on the emulator or where it cannot be asked.
std::optional<std::size_t> free_device_memory();

class DeviceMemoryLimit {
 public:
  // `own_bytes`: what the judge's own processes may take meanwhile.
  explicit DeviceMemoryLimit(std::size_t limit_bytes, std::size_t own_bytes = kOwnProcesses)
      : limit_(limit_bytes), own_(own_bytes) {}

  // Before the submission's first call, when all buffers are there. Later calls change nothing.
  void begin(std::optional<std::size_t> free) {
    if (!before_) before_ = free;
  }
  // After one of its calls. A memory_limit when more is gone than the limit and the judge's own processes.
  std::optional<Outcome> check(std::optional<std::size_t> free, const std::string& doing) const;

  // A baseline failed with `words` while the submission was up, and worked when that was gone. The verdict
  // when memory explains it; nothing when it does not, and then the judge is at fault.
  std::optional<Outcome> starved(const std::string& baseline, const std::string& words,
                                 std::optional<std::size_t> free_with,
                                 std::optional<std::size_t> free_without) const;

  // Contexts of the judge's own processes that come up meanwhile: up to three, of about half a GiB each.
  static constexpr std::size_t kOwnProcesses = std::size_t{2} << 30;
  // Where processes for timing are brought up before they are needed: up to twenty.
  static constexpr std::size_t kOwnTimedProcesses = std::size_t{10} << 30;
  // With less than this free a process cannot bring up a context and plan.
  static constexpr std::size_t kLeastFree = std::size_t{1} << 30;

 private:
  std::size_t limit_, own_;
  std::optional<std::size_t> before_;
};

}  // namespace warpgrade
