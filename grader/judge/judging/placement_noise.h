// Where the driver puts a process's context on the device decides what a launch costs there: 1.69 or 1.88 us
// on an H100 (judge/measure/paired_timing.h). The driver takes the first pages that are free, so processes
// that start in the same situation lie in the same places: a class's submissions would all have the same
// luck, and five processes of one would be no five draws. Memory of random size that the judge holds
// meanwhile makes each start another situation.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <random>

namespace warpgrade {

// Device memory of the judge's own; null where there is none to be had. Defined in cuda_memory.cpp; programs
// without CUDA have none.
std::shared_ptr<void> hold_device_memory(std::size_t bytes);

class PlacementNoise {
 public:
  // Before a process starts.
  void stir() {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    constexpr int kMostPages = 24;
    constexpr std::size_t kMostHeld = 12;
    std::uniform_int_distribution<int> pages(1, kMostPages);
    held_.push_back(hold_device_memory(pages(random_) * kPage));
    // Which of them goes is chosen at random as well.
    while (held_.size() > kMostHeld) {
      std::uniform_int_distribution<std::size_t> which(0, held_.size() - 1);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(which(random_)));
    }
  }

 private:
  std::mt19937 random_{std::random_device{}()};
  std::deque<std::shared_ptr<void>> held_;
};

}  // namespace warpgrade
