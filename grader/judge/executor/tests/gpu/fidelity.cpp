// Solutions natively and through the executor, in turns, on one GPU: fidelity LIBRARY_FOLDER NAME=PROGRAM ...
// Prints a line a case: times of both, their ratio, whether it is within the bar (1 % or 0.5 us), whether
// the outputs have the same bytes ("varies natively": native runs differ among themselves, too), and what
// planning took. Exit code: how many cases are not within the bar.
//
// Where in the device's memory arrays come to lie decides up to 1.9 times of a kernel's time, natively
// as through the executor (reports/published/h200/benches/histogram-placement.md). So each solution has
// several rounds, each with processes of its own on both sides, and a side's time is the smallest of
// its rounds' medians. The same holds for the device's queue that a stream is given: each round takes more
// memory and more streams before, on both sides.
//
// A run behind another process's run is not as long as one behind its own: 13 us less for 96 launches, on
// both sides (reports/published/h100/benches/fidelity-order.txt). So each side follows the other as often as
// itself, and the two kinds of runs have a median each; both must hold the bar. In the judge, its own kernels
// lie before every run.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "judge/executor/driver/timed_run.h"
#include "judge/executor/host_process.h"
#include "judge/executor/tests/gpu/fidelity_commands.h"

namespace warpgrade::executor {
namespace {

using namespace fidelity;

constexpr int kMostRounds = 12, kCases = 2, kRunsOfOneSide = 8;
constexpr int kWarmBlocks = 2, kBlocks = 21;  // of four runs: one of each side behind each side
// FIDELITY_ROUNDS=2: exactly two rounds, printed; FIDELITY_CASE=1: this case alone (differences.sh).
int asked_for(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

constexpr double kMostRatio = 0.01, kMostUs = 0.5;  // the bar: either holds
constexpr double kBoundByLaunchesUs =
    6;  // a launch and the next: 4 us of an idle host, and what lies between
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
      // The executor asks for all device code at once, for its own process; this one has what it is given.
      const char* loading = std::getenv("FIDELITY_NATIVE_LOADING");
      if (loading != nullptr) setenv("CUDA_MODULE_LOADING", loading, 1);
      const char* connections = std::getenv("FIDELITY_NATIVE_CONNECTIONS");
      if (connections != nullptr) setenv("CUDA_DEVICE_MAX_CONNECTIONS", connections, 1);
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

// What used the device before a run.
enum Behind { kBehindOther, kBehindItself };
constexpr Behind kBehinds[] = {kBehindOther, kBehindItself};

struct Times {
  std::vector<double> graded, events;
};

// What a round tells of one side of one case.
struct Side {
  Times times[std::size(kBehinds)];
  double plan_ms = 0;
  uint64_t launches = 0;
  char hash[32] = "",
       opened_by[48] = "";  // what waited for the device in the last run, so that the gate opened early
  bool varies = false;      // the output's bytes differ from run to run, on this side alone
};

// Through a pipe, from the process of a round.
struct Measured {
  double graded_us[std::size(kBehinds)] = {}, event_us[std::size(kBehinds)] = {}, plan_ms = 0;
  bool is_timed = false;  // both kinds of runs had a sound one
  uint64_t launches = 0;
  char hash[32] = "", opened_by[48] = "";
  bool varies = false;
};
struct Round {
  Measured native, forwarded;
  char failure[200] = "";
};

Measured summary(const Side& side) {
  Measured m;
  m.is_timed = true;
  for (const Behind behind : kBehinds) {
    const Times& times = side.times[behind];
    m.graded_us[behind] = median(times.graded);
    m.event_us[behind] = median(times.events);
    m.is_timed = m.is_timed && !times.graded.empty();
  }
  m.plan_ms = side.plan_ms;
  m.launches = side.launches;
  m.varies = side.varies;
  std::memcpy(m.hash, side.hash, sizeof m.hash);
  std::memcpy(m.opened_by, side.opened_by, sizeof m.opened_by);
  return m;
}

void keep(char* to, size_t size, const std::string& text) {
  std::snprintf(to, size, "%s", text.c_str());
}

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
  void measure(int number, int pieces, Side& native, Side& forwarded) {
    native.plan_ms = 1e-3 * std::atof(good(native_.ask(kPlan, with_pieces(number, pieces))).c_str());
    forwarded.plan_ms = 1e-3 * std::atof(plain(kPlan, with_pieces(number, pieces)).c_str());
    constexpr bool kIsNative[] = {false, true, true, false};
    for (int k = 0; k < 4 * (kWarmBlocks + kBlocks); ++k) {
      const bool is_native = kIsNative[k % 4], is_warm = k >= 4 * kWarmBlocks;
      Side& side = is_native ? native : forwarded;
      Times ignored, &times = is_warm ? side.times[k % 2 == 1 ? kBehindOther : kBehindItself] : ignored;
      is_native ? run_natively(number, times) : run_forwarded(number, times, side);
    }
    keep(native.hash, sizeof native.hash, good(native_.ask(kCheck, number)));
    keep(forwarded.hash, sizeof forwarded.hash, plain(kCheck, number));
    if (std::strcmp(native.hash, forwarded.hash) != 0) native.varies = varies_natively(number, native.hash);
    good(native_.ask(kFree, number));
    plain(kFree, number);
  }

 private:
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
  // Whether more native runs give other bytes than the first: sums by atomics have an order of their own.
  bool varies_natively(int number, const std::string& hash) {
    Times ignored;
    for (int k = 0; k < kRunsOfOneSide; ++k) {
      run_natively(number, ignored);
      if (good(native_.ask(kCheck, number)) != hash) return true;
    }
    return false;
  }
  void run_natively(int number, Times& times) {
    good(native_.ask(kPrepare, number));
    int error = 0, is_void = 0;
    double graded = 0, event = 0;
    const std::string answer = native_.ask(kRun, number);
    if (std::sscanf(answer.c_str(), "%d %d %lf %lf", &error, &is_void, &graded, &event) != 4 || error != 0)
      throw std::runtime_error("natively: run: " + answer);
    if (is_void) return;
    times.graded.push_back(graded);
    times.events.push_back(event);
  }
  void run_forwarded(int number, Times& times, Side& side) {
    plain(kPrepare, number);
    wire::Command command{kRun, 0, {static_cast<uint64_t>(number)}};
    const TimedResult r = runs_.run(command, host_);
    if (r.status != 0 || r.error != cudaSuccess)
      throw std::runtime_error("through the executor: run: status " + std::to_string(r.status) + ", error " +
                               std::to_string(r.error) + " " + r.message);
    if (r.is_void) return;
    times.graded.push_back(r.stamps_us - constant_);
    times.events.push_back(r.event_us);
    side.launches = r.launches;
    keep(side.opened_by, sizeof side.opened_by, r.opened_by);
  }

  CallServer server_;
  TimedRuns runs_;
  HostProcess process_;
  Native native_;
  TimedRuns::Host host_;
  double constant_ = 0;
};

// One round of a case, in this process: a context of its own, a native and a host process.
Round one_round(const std::string& folder, const std::string& program, int number, int pieces) {
  Round round;
  try {
    SharedMemory memory = SharedMemory::create();  // first: the driver takes much of the address space
    if (const char* loading = std::getenv("FIDELITY_EXECUTOR_LOADING")) {
      setenv("CUDA_MODULE_LOADING", loading,
             1);  // read by the first cuInit: Driver comes too late to change it
      require(driver_api().cuInit_(0), "cuInit");
    }
    Driver driver;
    if (driver.register_host(memory.calls(), wire::kCallBytes) != cudaSuccess)
      throw std::runtime_error("the calls' memory cannot be registered with the driver");
    Comparison comparison(driver, memory, folder, program);
    Side native, forwarded;
    comparison.measure(number, pieces, native, forwarded);
    round.native = summary(native);
    round.forwarded = summary(forwarded);
  } catch (const std::exception& error) {
    keep(round.failure, sizeof round.failure, error.what());
  }
  return round;
}

Round in_own_process(const std::string& folder, const std::string& program, int number, int pieces) {
  static_assert(std::is_trivially_copyable_v<Round>);
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    const Round round = one_round(folder, program, number, pieces);
    const bool sent = write(ends[1], &round, sizeof round) == static_cast<ssize_t>(sizeof round);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  Round round;
  if (child < 0 || read(ends[0], &round, sizeof round) != static_cast<ssize_t>(sizeof round))
    keep(round.failure, sizeof round.failure, "the round's process has ended");
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return round;
}

// The round with the smallest time of one side; nullptr: it had no sound run.
const Measured* best(const std::vector<Round>& rounds, Measured Round::*side, Behind behind) {
  const Measured* found = nullptr;
  for (const Round& round : rounds) {
    const Measured& m = round.*side;
    if (m.is_timed && (found == nullptr || m.graded_us[behind] < found->graded_us[behind])) found = &m;
  }
  return found;
}

void print_rounds(const char* title, const std::vector<Round>& rounds, Measured Round::*side, Behind behind) {
  std::printf("  %s", title);
  for (const Round& round : rounds) std::printf(" %.2f", (round.*side).graded_us[behind]);
}

// The times of both sides, of one kind of runs.
struct Compared {
  const Measured *native, *forwarded;
  double native_us = 0, forwarded_us = 0;
  Compared(const std::vector<Round>& rounds, Behind behind)
      : native(best(rounds, &Round::native, behind)), forwarded(best(rounds, &Round::forwarded, behind)) {
    if (native != nullptr) native_us = native->graded_us[behind];
    if (forwarded != nullptr) forwarded_us = forwarded->graded_us[behind];
  }
  double ratio() const { return forwarded_us / native_us; }
  bool fits() const {
    return std::fabs(ratio() - 1) <= kMostRatio || std::fabs(forwarded_us - native_us) <= kMostUs;
  }
};

// Of all rounds: a plan copies arrays from the host, which takes longer at times.
double least_plan_ms(const std::vector<Round>& rounds, Measured Round::*side) {
  double least = (rounds.front().*side).plan_ms;
  for (const Round& round : rounds) least = std::min(least, (round.*side).plan_ms);
  return least;
}

// What all rounds together say of a case.
class Verdict {
 public:
  explicit Verdict(const std::vector<Round>& rounds)
      : rounds_(rounds),
        other_(rounds, kBehindOther),
        itself_(rounds, kBehindItself),
        native_(other_.native),
        forwarded_(other_.forwarded),
        native_plan_ms_(least_plan_ms(rounds, &Round::native)),
        forwarded_plan_ms_(least_plan_ms(rounds, &Round::forwarded)) {}

  bool fits() const { return is_timed() && (has_no_bar() || (other_.fits() && itself_.fits())); }
  bool has_no_bar() const { return is_bound_by_launches() || forwarded_->opened_by[0] != 0; }
  bool is_bound_by_launches() const {
    return other_.native_us < kBoundByLaunchesUs * static_cast<double>(forwarded_->launches) &&
           forwarded_->launches > 1;
  }
  // Native runs of some round differ among themselves.
  bool varies() const {
    return std::any_of(rounds_.begin(), rounds_.end(), [](const Round& r) { return r.native.varies; });
  }
  // The bytes of the output on both sides. A solution whose native runs differ among themselves has no bar.
  bool output_fits() const {
    return is_timed() && (varies() || std::strcmp(native_->hash, forwarded_->hash) == 0);
  }
  const char* output() const {
    if (std::strcmp(native_->hash, forwarded_->hash) == 0) return "same";
    return varies() ? "varies natively" : "DIFFERS";
  }
  bool plan_fits() const { return forwarded_plan_ms_ <= kPlanRatio * native_plan_ms_ + kPlanMs; }
  void print(const std::string& name, int number) const {
    if (!is_timed()) {
      std::printf("fidelity %-34s %d  FAILED: no run had a clock\n", name.c_str(), number);
      return;
    }
    std::printf(
        "fidelity %-34s %d  native %10.2f  executor %10.2f us  ratio %.4f  behind itself %10.2f %10.2f us  "
        "ratio %.4f  events %10.2f %10.2f  plan %8.2f %8.2f ms  output %s  %s%s",
        name.c_str(), number, other_.native_us, other_.forwarded_us, other_.ratio(), itself_.native_us,
        itself_.forwarded_us, itself_.ratio(), native_->event_us[kBehindOther],
        forwarded_->event_us[kBehindOther], native_plan_ms_, forwarded_plan_ms_, output(),
        has_no_bar() ? "no bar"
        : fits()     ? "ok"
                     : "NOT WITHIN 1 % OR 0.5 us",
        plan_fits() ? "" : ", PLAN TOO SLOW");
    if (rounds_.size() > 1) print_all_rounds();
    if (is_bound_by_launches())
      std::printf("  bound by %llu launches", static_cast<unsigned long long>(forwarded_->launches));
    if (forwarded_->opened_by[0] != 0) std::printf("  opened by %s", forwarded_->opened_by);
    std::printf("\n");
  }

 private:
  bool is_timed() const { return native_ != nullptr && forwarded_ != nullptr; }
  void print_all_rounds() const {
    print_rounds("rounds: native", rounds_, &Round::native, kBehindOther);
    print_rounds("executor", rounds_, &Round::forwarded, kBehindOther);
    print_rounds("behind itself: native", rounds_, &Round::native, kBehindItself);
    print_rounds("executor", rounds_, &Round::forwarded, kBehindItself);
  }

  const std::vector<Round>& rounds_;
  const Compared other_, itself_;
  const Measured *native_, *forwarded_;
  const double native_plan_ms_, forwarded_plan_ms_;
};

bool compare(const std::string& folder, const std::string& name, const std::string& program, int number) {
  std::vector<Round> rounds;
  const auto asked = static_cast<size_t>(asked_for("FIDELITY_ROUNDS"));
  while (rounds.size() < (asked == 0 ? kMostRounds : asked)) {
    rounds.push_back(in_own_process(folder, program, number, static_cast<int>(rounds.size())));
    if (rounds.back().failure[0] != 0) {
      std::printf("fidelity %-34s %d  FAILED: %s\n", name.c_str(), number, rounds.back().failure);
      std::fflush(stdout);
      return false;
    }
    if (const Verdict so_far(rounds); asked == 0 && so_far.fits() && so_far.plan_fits()) break;
  }
  const Verdict verdict(rounds);
  verdict.print(name, number);
  std::fflush(stdout);
  return verdict.fits() && verdict.plan_fits() && verdict.output_fits();
}

int run(int count, char** words) {
  if (count < 3) throw std::runtime_error("usage: fidelity LIBRARY_FOLDER NAME=PROGRAM ...");
  int bad = 0, all = 0;
  for (int k = 2; k < count; ++k) {
    const std::string word = words[k];
    const size_t equals = word.find('=');
    for (int number = 1; number <= kCases; ++number) {
      if (const int only = asked_for("FIDELITY_CASE"); only != 0 && only != number) continue;
      ++all;
      bad += !compare(words[1], word.substr(0, equals), word.substr(equals + 1), number);
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
