// What the executor's own code costs a launch: a ring full of launches, served for a device that does
// nothing. A benchmark, not a test: prints ns of the serving thread for each launch, and for each call with a
// reply. The last lines are of launches that another core has written, each of which takes a driver's time:
// what the other core's cache adds is what remains beyond that time.
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "judge/executor/server.h"
#include "judge/executor/tests/null_backend.h"
#include "judge/executor/tests/ring_writer.h"

namespace warpgrade::executor {
namespace {

double cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

template <class Write>
void measure(const char* name, CallServer& server, const Write& write) {
  constexpr int kRecords = 40'000, kTurns = 15;
  std::vector<double> each;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int k = 0; k < kRecords; ++k) write();
    const double begin = cpu_ns();
    while (server.serve(64) != 0) {
    }
    each.push_back((cpu_ns() - begin) / kRecords);
  }
  std::sort(each.begin(), each.end());
  std::printf("%-28s %7.1f ns (least %.1f)\n", name, each[each.size() / 2], each[0]);
}

// As long as a launch takes in NVIDIA's driver, about.
class SlowBackend : public NullBackend {
 public:
  cudaError_t launch(const cudart::LaunchCall& call, std::span<const uint8_t> parameters) override {
    if (is_slow) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(kLaunchNs);
      while (std::chrono::steady_clock::now() < end) {
      }
    }
    return NullBackend::launch(call, parameters);
  }
  static constexpr int kLaunchNs = 1500;
  bool is_slow = false;
};

void stay_on(unsigned core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// The whole cost of a launch less the same with records that this core has written itself.
template <class Write>
void measure_other_core(CallServer& server, const Write& write) {
  constexpr int kRecords = 8'000, kTurns = 25;
  if (std::thread::hardware_concurrency() < 2) return;
  stay_on(0);
  std::vector<double> own, other;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    std::thread([&] {
      stay_on(turn % 2 == 0 ? 0 : 1);
      for (int k = 0; k < kRecords; ++k) write();
    }).join();
    const double begin = cpu_ns();
    while (server.serve(64) != 0) {
    }
    (turn % 2 == 0 ? own : other).push_back((cpu_ns() - begin) / kRecords - SlowBackend::kLaunchNs);
  }
  for (auto* each : {&own, &other}) {
    std::sort(each->begin(), each->end());
    std::printf("%-28s %7.1f ns beyond the launch's own %d (least %.1f)\n",
                each == &own ? "written by this core" : "written by another core", (*each)[kTurns / 2],
                SlowBackend::kLaunchNs, each->front());
  }
}

int run() {
  SharedMemory memory = SharedMemory::create();
  SlowBackend backend;
  CallServer server(backend, memory, {});
  Writer writer(memory);
  const std::vector<uint8_t> name{'k'}, image(64, 1), parameters(16, 7);
  writer.write(wire::Op::stage, {}, wire::kNoSlot, image);
  writer.write(wire::Op::add_module, {image.size()}, 0);
  writer.write(wire::Op::find_kernel, {0}, 0, name);
  server.serve(3);
  if (memory.slot(0).error != cudaSuccess) return 1;
  const auto launch = [&] {
    writer.write(wire::Op::launch,
                 {0, uint64_t{1} << 32 | 1, uint64_t{32} << 32 | 1, uint64_t{1} << 32 | 1, 0, 16},
                 wire::kNoSlot, parameters);
  };
  measure("a launch", server, launch);
  measure("a call that does nothing", server, [&] { writer.write(wire::Op::ping, {}, 0); });
  backend.is_slow = true;
  measure_other_core(server, launch);
  std::printf("%llu launches, late error %d\n", static_cast<unsigned long long>(backend.launches),
              server.take_late_error());
  return backend.launches > 0 ? 0 : 1;
}

}  // namespace
}  // namespace warpgrade::executor

int main() {
  return warpgrade::executor::run();
}
