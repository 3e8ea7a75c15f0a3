#include "judge/judging/device_memory_limit.h"

#include <fmt/format.h>

#include "judge/judging/placement_noise.h"

namespace warpgrade {
namespace {

Outcome over(std::string message) {
  Outcome outcome;
  outcome.verdict = Verdict::kMemoryLimit;
  outcome.reason = Reason::kDeviceMemory;
  outcome.message = std::move(message);
  return outcome;
}

}  // namespace

std::optional<Outcome> DeviceMemoryLimit::check(std::optional<std::size_t> free,
                                                const std::string& doing) const {
  if (!before_ || !free || *free >= *before_) return std::nullopt;
  const std::size_t taken = *before_ - *free;
  if (taken <= limit_ + own_) return std::nullopt;
  return over(fmt::format("{} MiB of device memory are in use after {}, and the limit is {} MiB", taken >> 20,
                          doing, limit_ >> 20));
}

std::optional<Outcome> DeviceMemoryLimit::starved(const std::string& baseline, const std::string& words,
                                                  std::optional<std::size_t> free_with,
                                                  std::optional<std::size_t> free_without) const {
  if (!free_with || !free_without || *free_without <= *free_with) return std::nullopt;
  const std::size_t held = *free_without - *free_with;
  const bool left_too_little = *free_with < kLeastFree && held > kLeastFree;
  if (held <= limit_ + own_ && !left_too_little) return std::nullopt;
  return over(
      fmt::format("the program held {} MiB of device memory (the limit is {} MiB) and left {} MiB. {} failed "
                  "while the program was there ({}), and worked after the program had ended",
                  held >> 20, limit_ >> 20, *free_with >> 20, baseline, words));
}

// Programs without CUDA in them have these; the judge's own stand in cuda_memory.cpp.
[[gnu::weak]] std::shared_ptr<void> hold_device_memory(std::size_t) {
  return nullptr;
}
[[gnu::weak]] std::optional<std::size_t> free_device_memory() {
  return std::nullopt;
}

}  // namespace warpgrade
