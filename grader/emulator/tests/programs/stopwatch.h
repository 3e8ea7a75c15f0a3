// Times a kernel and the same work on the host, and prints both as a line of JSON, with the warp instructions
// when the emulator counts them. For the benchmark's programs.
#pragma once
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace stopwatch {

struct Time {
  double wall_ms = 1e30;
  double cpu_ms = 1e30;  // of all threads: steadier where others use the machine too
};

inline double cpu_ms() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

// The best of several runs.
template <class Work>
Time time_of(int runs, Work work) {
  Time best;
  for (int run = 0; run < runs; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_begin = cpu_ms();
    work();
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
    best.wall_ms = std::min(best.wall_ms, ms.count());
    best.cpu_ms = std::min(best.cpu_ms, cpu_ms() - cpu_begin);
  }
  return best;
}

// BENCH_SIZE of the environment: by how much inputs are larger than usual, for runs with many workers.
inline int size_factor() {
  const char* text = std::getenv("BENCH_SIZE");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

// Of all kernels since the last call; 0 when nothing counts them.
inline double drained_warp_instructions() {
  using Drain = size_t (*)(char*, size_t);
  static const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  static char text[1 << 20];
  if (drain == nullptr || drain(text, sizeof text) == 0) return 0;
  double sum = 0;
  for (const char* line = std::strtok(text, "\n"); line != nullptr; line = std::strtok(nullptr, "\n")) {
    const char* found = std::strstr(line, "\"warp_instructions\":");
    // Lines and buffers of a kernel repeat what its own object says.
    if (found != nullptr && std::strstr(line, "\"launches\":") != nullptr)
      sum += std::strtod(found + std::strlen("\"warp_instructions\":"), nullptr);
  }
  return sum;
}

// `launch` ends when the device is done; `native` does the same on one core of the host.
template <class Launch, class Native>
void compare(const char* name, Launch launch, Native native) {
  constexpr int kRuns = 3;
  const char* only = std::getenv("BENCH_ONLY");  // a part of the names that are wanted
  if (only != nullptr && std::strstr(name, only) == nullptr) return;
  drained_warp_instructions();
  launch();
  const double instructions = drained_warp_instructions();
  const Time device = time_of(kRuns, launch), host = time_of(kRuns, native);
  std::printf("{\"name\":\"%s\",\"ms\":%.4f,\"cpu_ms\":%.4f,\"native_ms\":%.4f,\"warp_instructions\":%.0f}\n",
              name, device.wall_ms, device.cpu_ms, host.cpu_ms, instructions);
}

}  // namespace stopwatch
