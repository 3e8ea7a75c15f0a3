// Solutions natively and through the executor, in turns, on one GPU: fidelity LIBRARY_FOLDER NAME=PROGRAM ...
// Prints a line a case: medians of both, their ratio, whether it is within the bar (1 % or 0.5 us), whether
// the outputs have the same bytes, and what planning took. Exit code: how many cases are not within the bar.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "executor/driver/timed_run.h"
#include "executor/host_process.h"
#include "executor/tests/gpu/fidelity_commands.h"

namespace warpgrade::executor {
namespace {

using namespace fidelity;

constexpr int kPairs = 41, kCases = 2;
constexpr double kMostRatio = 0.01, kMostUs = 0.5;  // the bar: either holds
constexpr double kPlanRatio = 1.3, kPlanMs = 5;

// A program of which one line is asked and one is answered.
class Native {
 public:
  explicit Native(const std::string& program) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) throw std::runtime_error("no pipes");
    pid_ = fork();
    if (pid_ == 0) {
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (int fd = 3; fd < 64; ++fd) close(fd);
      execl(program.c_str(), program.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = fdopen(to[1], "w");
    from_ = fdopen(from[0], "r");
    line();
  }
  ~Native() {
    std::fclose(to_);
    std::fclose(from_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::string ask(uint32_t kind, int number) {
    std::fprintf(to_, "%s %d\n", kNames[kind], number);
    std::fflush(to_);
    return line();
  }

 private:
  std::string line() {
    char text[512] = {};
    if (std::fgets(text, sizeof text, from_) == nullptr)
      throw std::runtime_error("the native program has ended");
    text[std::strcspn(text, "\n")] = 0;
    return text;
  }
  pid_t pid_ = 0;
  FILE *to_ = nullptr, *from_ = nullptr;
};

double median(std::vector<double> all) {
  if (all.empty()) return 0;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

struct Side {
  std::vector<double> graded, events;
  double plan_ms = 0;
  std::string hash;
};

class Comparison {
 public:
  Comparison(Driver& driver, SharedMemory& memory, const std::string& folder, const std::string& program)
      : server_(driver, memory, {}),
        runs_(driver, server_),
        process_({program}, folder, memory),
        native_(program) {
    host_.is_alive = [this] { return !process_.ended(); };
    constant_ = runs_.gate().constant_us().value_or(0);
  }
  ~Comparison() { server_.send_command({0, 0, {}}); }

  // Throws what went wrong.
  void measure(int number, Side& native, Side& forwarded) {
    native.plan_ms = 1e-3 * std::atof(good(native_.ask(kPlan, number)).c_str());
    forwarded.plan_ms = 1e-3 * std::atof(plain(kPlan, number).c_str());
    for (int k = 0; k < kPairs + 3; ++k) {
      const bool executor_first = k % 2 == 0;
      if (executor_first) run_forwarded(number, k, forwarded);
      run_natively(number, k, native);
      if (!executor_first) run_forwarded(number, k, forwarded);
    }
    native.hash = good(native_.ask(kCheck, number));
    forwarded.hash = plain(kCheck, number);
    good(native_.ask(kFree, number));
    plain(kFree, number);
  }

 private:
  static constexpr int kWarm = 3;

  static std::string good(const std::string& answer) {
    const size_t space = answer.find(' ');
    if (std::atoi(answer.c_str()) != 0) throw std::runtime_error("natively: error " + answer);
    return space == std::string::npos ? "" : answer.substr(space + 1);
  }
  std::string plain(uint32_t kind, int number) {
    wire::Command command{kind, 0, {static_cast<uint64_t>(number)}};
    const TimedResult r = runs_.plain(command, host_);
    if (r.status != 0 || r.error != cudaSuccess)
      throw std::runtime_error(std::string("through the executor: ") + kNames[kind] + ": status " +
                               std::to_string(r.status) + ", error " + std::to_string(r.error) + " " +
                               r.message);
    return r.message;
  }
  void run_natively(int number, int turn, Side& side) {
    good(native_.ask(kPrepare, number));
    int error = 0, is_void = 0;
    double graded = 0, event = 0;
    const std::string answer = native_.ask(kRun, number);
    if (std::sscanf(answer.c_str(), "%d %d %lf %lf", &error, &is_void, &graded, &event) != 4 || error != 0)
      throw std::runtime_error("natively: run: " + answer);
    if (is_void || turn < kWarm) return;
    side.graded.push_back(graded);
    side.events.push_back(event);
  }
  void run_forwarded(int number, int turn, Side& side) {
    plain(kPrepare, number);
    wire::Command command{kRun, 0, {static_cast<uint64_t>(number)}};
    const TimedResult r = runs_.run(command, host_);
    if (r.status != 0 || r.error != cudaSuccess)
      throw std::runtime_error("through the executor: run: status " + std::to_string(r.status) + ", error " +
                               std::to_string(r.error) + " " + r.message);
    if (r.is_void || turn < kWarm) return;
    side.graded.push_back(r.stamps_us - constant_);
    side.events.push_back(r.event_us);
  }

  Server server_;
  TimedRuns runs_;
  HostProcess process_;
  Native native_;
  TimedRuns::Host host_;
  double constant_ = 0;
};

// Whether the case is within the bars.
bool print_case(const std::string& name, int number, const Side& native, const Side& forwarded) {
  const double a = median(native.graded), b = median(forwarded.graded);
  const double ratio = a > 0 ? b / a : 0;
  const bool fits = std::fabs(ratio - 1) <= kMostRatio || std::fabs(b - a) <= kMostUs;
  const bool plan_fits = forwarded.plan_ms <= kPlanRatio * native.plan_ms + kPlanMs;
  std::printf(
      "fidelity %-34s %d  native %10.2f  executor %10.2f us  ratio %.4f  events %10.2f %10.2f  n %zu %zu  "
      "plan %8.2f %8.2f ms  output %s  %s%s\n",
      name.c_str(), number, a, b, ratio, median(native.events), median(forwarded.events),
      native.graded.size(), forwarded.graded.size(), native.plan_ms, forwarded.plan_ms,
      native.hash == forwarded.hash ? "same" : "differs", fits ? "ok" : "NOT WITHIN 1 % OR 0.5 us",
      plan_fits ? "" : ", PLAN TOO SLOW");
  std::fflush(stdout);
  return fits && plan_fits && !native.graded.empty() && !forwarded.graded.empty();
}

int run(int count, char** words) {
  if (count < 3) throw std::runtime_error("usage: fidelity LIBRARY_FOLDER NAME=PROGRAM ...");
  SharedMemory memory = SharedMemory::create();  // first: the driver takes much of the address space
  Driver driver;
  if (driver.register_host(memory.calls(), wire::kCallBytes) != cudaSuccess)
    throw std::runtime_error("the calls' memory cannot be registered with the driver");
  int bad = 0, all = 0;
  for (int k = 2; k < count; ++k) {
    const std::string word = words[k];
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals), program = word.substr(equals + 1);
    for (int number = 1; number <= kCases; ++number) {
      ++all;
      try {
        Comparison comparison(driver, memory, words[1], program);
        Side native, forwarded;
        comparison.measure(number, native, forwarded);
        bad += !print_case(name, number, native, forwarded);
      } catch (const std::exception& error) {
        std::printf("fidelity %-34s %d  FAILED: %s\n", name.c_str(), number, error.what());
        std::fflush(stdout);
        ++bad;
        if (driver.sticky() != cudaSuccess) throw std::runtime_error("the executor's context is lost");
      }
    }
  }
  std::printf("fidelity: %d of %d cases within the bar\n", all - bad, all);
  return std::min(bad, 100);
}

}  // namespace
}  // namespace warpgrade::executor

int main(int count, char** words) {
  signal(SIGPIPE, SIG_IGN);
  try {
    return warpgrade::executor::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fidelity: %s\n", error.what());
    return 125;
  }
}
