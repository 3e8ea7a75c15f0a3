// Independent pieces of a check on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace warpgrade::sampling {

// Calls work(0) to work(tasks - 1), each once, on at most this many threads, the caller's among them. What a
// task throws is thrown here, when all have ended.
template <typename Work>
void for_each_task(std::size_t tasks, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex mutex;
  const auto take = [&] {
    try {
      for (std::size_t task; (task = next++) < tasks;) work(task);
    } catch (...) {
      const std::lock_guard lock(mutex);
      thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t most = std::min(tasks, static_cast<std::size_t>(std::max(threads, 1)));
    for (std::size_t i = 1; i < most; ++i) others.emplace_back(take);
    take();
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace warpgrade::sampling
