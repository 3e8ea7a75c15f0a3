// warpgrade-executor: runs a CUDA program whose process has no GPU. The program's calls come here and are
// carried out by the emulator or by NVIDIA's driver.
//
//   warpgrade-executor [--backend emulator|gpu] [--device-memory-mb N] [--library FOLDER] [--figures]
//                      -- PROGRAM [ARGUMENT...]
//   warpgrade-executor --calibrate                                  the timed run's figures of this GPU
//   warpgrade-executor --timed "1 2 5" -- PROGRAM                   timed runs of commands (host_commands.h)
//   warpgrade-executor --judge emulator|gpu [--device-memory-mb N]  serves a judge (judge_mode.h)
//
// Exit code: the program's; 128 + N when signal N ended it; 125 when the executor itself failed, with
// a message.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "judge/executor/driver/timed_run.h"
#include "judge/executor/host_process.h"
#include "judge/executor/judge_mode.h"
#include "judge/executor/server.h"
#include "judge/executor/server_watchdog.h"

namespace warpgrade::executor {
namespace {

constexpr int kFailed = 125;
constexpr unsigned kSleepMicroseconds = 2000;
constexpr uint32_t kEndCommand = 0;
constexpr unsigned kTimedRuns = 40;

struct Options {
  std::string backend = "emulator";
  std::string library;
  std::string judged;  // the backend that a judge asks for
  Limits limits;
  bool figures = false, calibrate = false;
  std::vector<uint32_t> timed;
  std::vector<std::string> command;
};

using Clock = std::chrono::steady_clock;

// The folder of this program.
std::string own_folder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  const std::string whole(path, n > 0 ? static_cast<size_t>(n) : 0);
  return whole.substr(0, whole.rfind('/'));
}

uint64_t number_of(const std::string& text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0') throw std::runtime_error("`" + text + "` is no number");
  return value;
}

void read_option(Options& options, const std::string& word, const std::function<std::string()>& value) {
  if (word == "--backend") {
    options.backend = value();
  } else if (word == "--judge") {
    options.judged = value();
  } else if (word == "--library") {
    options.library = value();
  } else if (word == "--device-memory-mb") {
    options.limits.device_bytes = number_of(value()) << 20;
  } else if (word == "--wait-seconds") {  // kernels that never end: exit code 124
    options.limits.wait_seconds = static_cast<double>(number_of(value()));
  } else if (word == "--figures") {
    options.figures = true;
  } else if (word == "--calibrate") {
    options.calibrate = true;
  } else if (word == "--timed") {
    std::istringstream words(value());
    for (std::string number; words >> number;)
      options.timed.push_back(static_cast<uint32_t>(number_of(number)));
  } else {
    throw std::runtime_error("unknown option " + word);
  }
}

Options parse(int count, char** words) {
  Options options;
  options.library = own_folder();
  int k = 1;
  const auto value = [&]() -> std::string {
    if (k + 1 >= count) throw std::runtime_error(std::string(words[k]) + " wants a value");
    return words[++k];
  };
  for (; k < count && std::strcmp(words[k], "--") != 0; ++k) read_option(options, words[k], value);
  for (++k; k < count; ++k) options.command.push_back(words[k]);
  if (options.command.empty() && !options.calibrate && options.judged.empty())
    throw std::runtime_error(
        "usage: warpgrade-executor [--backend emulator|gpu] [--device-memory-mb N] [--library FOLDER] "
        "[--figures] -- PROGRAM [ARGUMENT...]");
  return options;
}

cudart::Backend& make_backend(const std::string& name) {
  if (name == "emulator") return emulator_backend();
  if (name != "gpu") throw std::runtime_error("--backend is `emulator` or `gpu`, not `" + name + "`");
  static Driver* driver = new Driver;
  return *driver;
}

// Ends this process at once: a kernel that does not end would hold every orderly way of doing so.
[[noreturn]] void end_after(const GaveUp& why, HostProcess& process) {
  std::fprintf(stderr, "executor: gave up: %s\n", why.text().c_str());
  std::fflush(nullptr);
  kill(process.pid(), SIGKILL);
  _exit(kGaveUpExit);
}

// Serves until the program has ended; what it had sent by then is carried out.
int serve(CallServer& server, HostProcess& process, const Options& options) {
  const auto begin = Clock::now();
  double ready_ms = 0;
  const unsigned turns = turns_before_sleep();
  unsigned idle = 0;
  for (;;) {
    if (server.serve(64) != 0) {
      if (ready_ms == 0) ready_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
      idle = 0;
      continue;
    }
    if (++idle % turns != 0) continue;
    if (server.gave_up()) end_after(*server.gave_up(), process);
    if (const auto code = process.ended()) {
      while (server.serve(64) != 0) {
      }
      if (options.figures) {
        std::fprintf(stderr,
                     "executor: %.2f ms from the start to the first call, %llu calls, %llu launches\n",
                     ready_ms, static_cast<unsigned long long>(server.records()),
                     static_cast<unsigned long long>(server.launches()));
      }
      return *code;
    }
    if (server.has_waiting_calls()) continue;  // asked again at once
    server.sleep(kSleepMicroseconds);
  }
}

struct Spread {
  double low = 0, median = 0, high = 0;
};

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {values[values.size() / 4], values[values.size() / 2], values[values.size() * 3 / 4]};
}

void print_runs(const std::string& name, const std::vector<TimedResult>& runs, double constant) {
  std::vector<double> stamps, events, difference, clock, announce, host;
  size_t is_void = 0, errors = 0;
  for (const TimedResult& r : runs) {
    is_void += r.is_void;
    errors += r.error != cudaSuccess || r.status != 0;
    if (r.is_void || r.error != cudaSuccess) continue;
    stamps.push_back(r.stamps_us - constant);
    events.push_back(r.event_us);
    difference.push_back(r.stamps_us - r.event_us);
    clock.push_back(r.host_clock_us - r.stamps_us);
    announce.push_back(r.announce_us);
    host.push_back(r.host_us);
  }
  const auto text = [](const Spread& s) {
    char line[96];
    std::snprintf(line, sizeof line, "%9.2f [%.2f %.2f]", s.median, s.low, s.high);
    return std::string(line);
  };
  std::printf(
      "%-24s graded %s  event %s  stamps-event %s  host clock-stamps %s  announce %s  host %s  void %zu "
      "errors %zu launches %llu opened by '%s' %s\n",
      name.c_str(), text(spread_of(stamps)).c_str(), text(spread_of(events)).c_str(),
      text(spread_of(difference)).c_str(), text(spread_of(clock)).c_str(), text(spread_of(announce)).c_str(),
      text(spread_of(host)).c_str(), is_void, errors,
      static_cast<unsigned long long>(runs.empty() ? 0 : runs.back().launches),
      runs.empty() ? "" : runs.back().opened_by.c_str(), runs.empty() ? "" : runs.back().message.c_str());
  std::fflush(stdout);
}

int calibrate(Driver& driver, CallServer& server) {
  TimedRuns timed(driver, server);
  std::printf("clock step %.0f ns\n", timed.gate().clock_step_ns());
  const double constant = timed.gate().constant_us().value_or(0);
  std::printf("constant of an empty run %.3f us\n", constant);
  for (const uint64_t us : {0, 5, 10, 20, 50, 100}) {
    std::vector<TimedResult> runs;
    for (unsigned k = 0; k < 200; ++k)
      runs.push_back(timed.run_own([&](CUstream stream) {
        if (us != 0) timed.gate().spin(stream, us * 1000);
      }));
    print_runs("own spin " + std::to_string(us) + " us", runs, constant);
  }
  std::printf("constant again %.3f us\n", timed.gate().constant_us().value_or(0));
  return 0;
}

// Commands of the program, run in turn, each timed some times; then the end.
int time_commands(Driver& driver, CallServer& server, HostProcess& process, const Options& options) {
  TimedRuns timed(driver, server);
  TimedRuns::Host host;
  host.is_alive = [&] { return !process.ended(); };
  const double constant = timed.gate().constant_us().value_or(0);
  std::printf("constant of an empty run %.3f us\n", constant);
  for (const uint32_t number : options.timed) {
    wire::Command command;
    command.number = number;
    command.arguments[0] = 1;
    TimedResult last = timed.plain(command, host);
    std::vector<TimedResult> runs;
    for (unsigned k = 0; k < kTimedRuns && last.status == 0 && last.error == cudaSuccess; ++k) {
      last = timed.run(command, host);
      runs.push_back(last);
    }
    if (runs.empty()) runs.push_back(last);
    print_runs("command " + std::to_string(number), runs, constant);
  }
  server.send_command({kEndCommand, 0, {}});
  return serve(server, process, options);
}

int run(int count, char** words) {
  Options options = parse(count, words);
  if (!options.judged.empty()) return serve_judge(options.judged, options.limits);
  const bool is_timed = options.calibrate || !options.timed.empty();
  if (is_timed) options.backend = "gpu";
  SharedMemory memory = SharedMemory::create();  // first: the driver takes much of the address space
  cudart::Backend& backend = make_backend(options.backend);
  if (options.backend == "gpu" && backend.register_host(memory.calls(), wire::kCallBytes) != cudaSuccess)
    throw std::runtime_error("the calls' memory cannot be registered with the driver");
  CallServer server(backend, memory, options.limits);
  if (options.calibrate) return calibrate(static_cast<Driver&>(backend), server);
  HostProcess process(options.command, options.library, memory);
  const Watchdog watchdog(server, options.limits.wait_seconds,
                          [&](const GaveUp& why) { end_after(why, process); });
  try {
    const int code = options.timed.empty()
                         ? serve(server, process, options)
                         : time_commands(static_cast<Driver&>(backend), server, process, options);
    backend.report_leaks();
    std::fflush(nullptr);
    return code;
  } catch (const ProtocolError& error) {
    std::fprintf(stderr, "executor: %s was ended: it broke the protocol: %s\n", options.command[0].c_str(),
                 error.what());
    process.kill_it();
    return kFailed;
  }
}

}  // namespace
}  // namespace warpgrade::executor

int main(int count, char** words) {
  try {
    return warpgrade::executor::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "executor: %s\n", error.what());
    return warpgrade::executor::kFailed;
  }
}
