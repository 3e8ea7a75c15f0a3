// Random kernels, interpreted and compiled: memory, the fault, findings and counters must be the same.
//   WARPEMU_FUZZ_SEED=n     the first seed (default: from the clock; printed); a failure prints its own
//   WARPEMU_FUZZ_KERNELS=n  how many (default 150; 50000 take minutes)
//   WARPEMU_CHECKS=all      with counters and every check as well (levels: with what estimates need)
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "findings/diagnostics.h"
#include "memory/device_memory.h"
#include "native/run.h"
#include "program/build.h"
#include "ptx/parser.h"
#include "random_kernel.h"
#include "report/counters.h"
#include "simt/run_launch.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kMostThreads = 512;

uint64_t number_from(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

struct Parameters {
  uint64_t in, out, pool;
  uint32_t number;
};

// Device memory that every kernel works on.
struct Bench {
  uint64_t in, out, pool, params;

  static uint64_t take(uint64_t bytes, const char* name) {
    return DeviceMemory::instance().allocate(bytes, MemoryKind::device, name).value();
  }
  Bench()
      : in(take(4 * kInputWords, "in")),
        out(take(4 * kOutputWordsAThread * kMostThreads, "out")),
        pool(take(4 * kInputWords, "pool")),
        params(take(4096, "params")) {}

  static uint8_t* host(uint64_t address) { return DeviceMemory::instance().find(address)->host(address); }

  void fill(uint64_t seed) const {
    std::mt19937_64 draw(seed);
    for (const uint64_t at : {in, pool}) {
      auto* words = reinterpret_cast<uint32_t*>(host(at));
      // Small numbers, any bits, floats of a usual size.
      for (uint32_t k = 0; k < kInputWords; ++k) {
        const uint64_t x = draw();
        const float value = static_cast<float>(static_cast<int64_t>(x >> 40) - (1 << 23)) / 4096.0f;
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        words[k] = x % 3 == 0 ? uint32_t(x >> 33) & 63 : x % 3 == 1 ? uint32_t(x >> 32) : bits;
      }
      DeviceMemory::instance().mark_initialized(at, 4 * kInputWords);
    }
    std::memset(host(out), 0, 4 * kOutputWordsAThread * kMostThreads);
  }

  std::string contents() const {
    std::string all;
    all.append(reinterpret_cast<const char*>(host(in)), 4 * kInputWords);
    all.append(reinterpret_cast<const char*>(host(pool)), 4 * kInputWords);
    all.append(reinterpret_cast<const char*>(host(out)), 4 * kOutputWordsAThread * kMostThreads);
    return all;
  }
};

template <class Source>
std::string drained(Source& source) {
  static std::vector<char> buffer(8 << 20);
  return {buffer.data(), source.drain(buffer.data(), buffer.size())};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string named(const std::string& text, const std::string& name) {
  return replaced(text, "NAME", name);
}

// What cannot be the same: the time, and the name that the kernel has here.
std::string comparable(std::string text, const std::string& name) {
  text = replaced(text, name, "NAME");
  for (size_t at = text.find("\"wall_ms\":"); at != text.npos; at = text.find("\"wall_ms\":", at + 1))
    text.erase(at, text.find_first_of(",}", at) - at);
  return text;
}

struct Shape {
  uint32_t grid, block;
};

struct Outcome {
  Fault fault = Fault::none;
  std::string memory, findings, counters;
  bool operator==(const Outcome&) const = default;
};

class NativeFuzz : public testing::Test {
 protected:
  // The kernel has another name each time: what was found in one is not told again.
  Outcome run(const std::string& text, uint64_t seed, Shape shape, NativeUse use) {
    const std::string name = "kernel" + std::to_string(++kernels_) + "_";
    auto module = parse_module(named(text, name));
    std::unique_ptr<Program> program = build_program(*module, name, {});
    bench_.fill(seed);
    const Parameters parameters{bench_.in, bench_.out, bench_.pool, static_cast<uint32_t>(seed % 50)};
    std::memcpy(Bench::host(bench_.params), &parameters, sizeof parameters);
    Launch launch;
    launch.program = program.get();
    launch.grid[0] = shape.grid;
    launch.block[0] = shape.block;
    launch.params = Bench::host(bench_.params);
    launch.params_address = bench_.params;
    launch.sequence = 1;
    set_native_use(use);
    KernelCounters::instance().begin_call(true);  // from a cold second level
    Outcome outcome;
    outcome.fault = run_launch(launch);
    EXPECT_EQ(launch.native != nullptr, use != NativeUse::never) << "not compiled";
    outcome.memory = bench_.contents();
    outcome.findings = comparable(drained(Diagnostics::instance()), name);
    outcome.counters = comparable(drained(KernelCounters::instance()), name);
    program->native.reset();
    // Counters and races know programs by their addresses.
    if (settings().counters || settings().race_check)
      kept_.emplace_back(std::move(module), std::move(program));
    return outcome;
  }

  bool differs(const std::string& text, uint64_t seed, Shape shape) {
    return run(text, seed, shape, NativeUse::never) != run(text, seed, shape, NativeUse::always);
  }

  // The kernel without the instructions that a difference does not need.
  std::string reduced(const std::string& text, uint64_t seed, Shape shape) {
    std::vector<std::string> lines;
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
    for (size_t k = lines.size(); k-- > 0;) {
      if (lines[k].find(';') == std::string::npos || lines[k][0] == '.') continue;
      const std::string line = std::exchange(lines[k], "");
      std::string rest;
      for (const std::string& l : lines) rest += l;
      try {
        if (differs(rest, seed, shape)) continue;
      } catch (const std::exception&) {
      }
      lines[k] = line;
    }
    std::string rest;
    for (const std::string& l : lines) rest += l.compare(0, 4, ".loc") == 0 ? "" : l;
    return rest;
  }

  Bench bench_;
  uint64_t kernels_ = 0;
  std::vector<std::pair<std::unique_ptr<Module>, std::unique_ptr<Program>>> kept_;
};

TEST_F(NativeFuzz, random_kernels_do_the_same_interpreted_and_compiled) {
  if (!can_compile())
    GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, or the assembler was not there";
  const auto clock = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  const uint64_t first = number_from("WARPEMU_FUZZ_SEED", clock % 1'000'000'000);
  const uint64_t kernels = number_from("WARPEMU_FUZZ_KERNELS", 150);
  std::printf("WARPEMU_FUZZ_SEED=%llu\n", static_cast<unsigned long long>(first));
  for (uint64_t seed = first; seed < first + kernels; ++seed) {
    const Shape shapes[] = {{2, 64}, {1, 128}, {3, 45}, {1, 7}, {2, 33}};
    const Shape shape = shapes[seed % std::size(shapes)];
    const std::string text = RandomKernel(seed).text("NAME");
    const Outcome interpreted = run(text, seed, shape, NativeUse::never),
                  compiled = run(text, seed, shape, NativeUse::always);
    EXPECT_EQ(interpreted.fault, compiled.fault) << "WARPEMU_FUZZ_SEED=" << seed;
    EXPECT_TRUE(interpreted.memory == compiled.memory) << "WARPEMU_FUZZ_SEED=" << seed;
    EXPECT_EQ(interpreted.findings, compiled.findings) << "WARPEMU_FUZZ_SEED=" << seed;
    EXPECT_EQ(interpreted.counters, compiled.counters) << "WARPEMU_FUZZ_SEED=" << seed;
    if (HasFailure()) {
      std::printf("<<<%u, %u>>>\n%s", shape.grid, shape.block, reduced(text, seed, shape).c_str());
      return;
    }
  }
}

}  // namespace
}  // namespace warpgrade::emu

int main(int argc, char** argv) {
  // One worker: atomics of several have no order. Diagnostics are compared, not printed.
  setenv("WARPEMU_THREADS", "1", 1);
  setenv("WARPEMU_REPORT", "quiet", 1);
  setenv("WARPEMU_MEMORY_MB", "64", 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
