// Rows shared out among threads, a few hundred at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace warpgrade::datasets {

// As many as the machine has where `threads` is 0.
inline int thread_count(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

// Calls work(begin, end) for parts of [0, rows). `work` must not throw.
template <typename Work>
void parallel_rows(int rows, int threads, Work work) {
  constexpr int kChunk = 512;
  std::atomic<int> next{0};
  const auto loop = [&] {
    for (int begin; (begin = next.fetch_add(kChunk)) < rows;) work(begin, std::min(begin + kChunk, rows));
  };
  std::vector<std::jthread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(loop);
  loop();
}

}  // namespace warpgrade::datasets
