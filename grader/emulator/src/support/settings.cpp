#include "support/settings.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "cudart/current_device.h"

namespace warpgrade::emu {
namespace {

const char* text_of(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Ill-formed numbers are named and ignored: a typo must not silently change what runs.
double number_of(const char* name, double fallback, double low, double high) {
  const char* text = text_of(name);
  if (text == nullptr) return fallback;
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (*end == '\0' && value >= low && value <= high) return value;
  std::fprintf(stderr, "emulator: %s=%s ignored: want a number from %g to %g; using %g\n", name, text, low,
               high, fallback);
  return fallback;
}

unsigned cores_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void read_checks(Settings& s) {
  const char* list = text_of("WARPEMU_CHECKS");
  if (list == nullptr) return;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "all" || word == "initcheck") s.init_check = true;
    if (word == "all" || word == "racecheck") s.race_check = true;
    if (word == "all" || word == "synccheck") s.sync_check = true;
    if (word == "all" || word == "leakcheck") s.leak_check = true;
    if (word == "all" || word == "counters") s.counters = true;
    if (word == "levels") s.counters = s.levels = true;
    constexpr std::array kKnown = {"memcheck", "initcheck", "racecheck", "synccheck", "leakcheck",
                                   "counters", "levels",    "all",       "none"};
    if (std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end()) {
      std::fprintf(stderr,
                   "emulator: WARPEMU_CHECKS: unknown check '%s'; known: memcheck, initcheck, racecheck, "
                   "synccheck, leakcheck, counters, levels, all, none\n",
                   word.c_str());
    }
  }
}

// A device that cannot be read is named, and the default one used.
void read_device(Settings& s) {
  constexpr unsigned kDefaultArch = 80;
  constexpr uint64_t kDefaultMemoryMb = 16384;  // of a device that was not chosen by name
  const auto arch = static_cast<unsigned>(number_of("WARPEMU_ARCH", 0, 50, 129));
  s.device = device_of_arch(arch == 0 ? kDefaultArch : arch);
  s.device.memory_mb = kDefaultMemoryMb;
  if (const char* name = text_of("WARPEMU_DEVICE")) {
    try {
      s.device = find_device(name);
      if (arch != 0)
        s.device.major = static_cast<int>(arch / 10), s.device.minor = static_cast<int>(arch % 10);
    } catch (const DeviceError& error) {
      std::fprintf(stderr, "emulator: WARPEMU_DEVICE ignored: %s\n", error.what());
    }
  }
  const auto memory_mb = static_cast<double>(s.device.memory_mb);
  s.memory_bytes = static_cast<uint64_t>(number_of("WARPEMU_MEMORY_MB", memory_mb, 1, 1 << 20)) << 20;
}

void read_native(Settings& s) {
  const char* text = text_of("WARPEMU_NATIVE");
  if (text == nullptr) return;
  const std::string native = text;
  if (native == "0") {
    s.native = NativeUse::never;
  } else if (native == "always") {
    s.native = NativeUse::always;
  } else if (native != "1") {
    std::fprintf(stderr, "emulator: WARPEMU_NATIVE=%s ignored: want 0, 1 or always; using 1\n", text);
  }
}

void read_schedule(Settings& s) {
  const char* text = text_of("WARPEMU_SCHEDULE");
  if (text == nullptr) return;
  const std::string schedule = text;
  if (schedule == "reversed") {
    s.schedule = Schedule::reversed;
  } else if (schedule == "one_ahead") {
    s.schedule = Schedule::one_ahead;
  } else if (schedule != "in_order") {
    std::fprintf(
        stderr,
        "emulator: WARPEMU_SCHEDULE=%s ignored: want in_order, reversed or one_ahead; using in_order\n",
        text);
  }
}

Settings read() {
  Settings s;
  s.threads = static_cast<unsigned>(number_of("WARPEMU_THREADS", cores_of_process(), 1, 1024));
  s.devices = static_cast<int>(number_of("WARPEMU_DEVICES", 1, 1, cudart::kMostDevices));
  read_device(s);
  s.launch_timeout_s = number_of("WARPEMU_LAUNCH_TIMEOUT_S", 0, 0, 1e9);
  s.step_limit = static_cast<uint64_t>(number_of("WARPEMU_STEP_LIMIT", 0, 0, 1e18));
  read_checks(s);
  if (const char* report = text_of("WARPEMU_REPORT")) s.quiet = std::string(report) == "quiet";
  if (const char* dump = text_of("WARPEMU_DUMP")) {
    s.dump_ptx = std::string(dump).find("ptx") != std::string::npos;
    s.dump_native = std::string(dump).find("native") != std::string::npos;
    s.dump_code = std::string(dump).find("code") != std::string::npos;
  }
  read_native(s);
  read_schedule(s);
  if (const char* mutant = text_of("WARPEMU_MUTANT")) s.mutant = mutant;
  if (s.mutant == "reached") s.reached = s.counters = true;
  if (const char* isa = text_of("WARPEMU_ISA")) s.isa = isa;
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings s = read();
  return s;
}

namespace {
std::atomic<uint64_t>& steps() {
  static std::atomic<uint64_t> limit{settings().step_limit};
  return limit;
}
}  // namespace

uint64_t step_limit() {
  return steps();
}

void set_step_limit(uint64_t warp_instructions) {
  steps() = warp_instructions;
}

namespace {
std::atomic<NativeUse>& use() {
  static std::atomic<NativeUse> native{settings().native};
  return native;
}
}  // namespace

NativeUse native_use() {
  return use();
}

void set_native_use(NativeUse native) {
  use() = native;
}

}  // namespace warpgrade::emu
