#include "base/process.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace warpgrade {
namespace {

ProcessResult shell(const std::string& script) {
  ProcessOptions options;
  options.command = {"/bin/sh", "-c", script};
  options.timeout = std::chrono::seconds(20);
  return run_process(options);
}

TEST(RunProcess, WaitsForAChildThatClosesItsOutputBeforeItEnds) {
  const ProcessResult result = shell("exec >&- 2>&-; sleep 0.2; exit 7");
  EXPECT_EQ(result.signal, 0);
  EXPECT_EQ(result.exit_code, 7);
}

TEST(RunProcess, DoesNotWaitForWhatTheChildLeavesBehind) {
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult result = shell("sleep 15 & echo done");
  EXPECT_EQ(result.standard_output, "done\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

// Asked between a look at the output and one at the child, as long as a busy machine may take there.
struct SlowFence : ProcessFence {
  bool join(bool) const noexcept override { return true; }
  bool kill() noexcept override { return true; }
  std::string met_limit() const override {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    return "";
  }
};

TEST(RunProcess, KeepsWhatTheChildWroteBehindTheLastLookAtItsOutput) {
  ProcessOptions options;
  options.command = {"/bin/sh", "-c", "sleep 0.2; echo said; echo told >&2"};
  options.fence = std::make_shared<SlowFence>();
  const ProcessResult result = run_process(options);
  EXPECT_EQ(result.standard_output, "said\n");
  EXPECT_EQ(result.standard_error, "told\n");
}

// Runs `script` with so much CPU time, without a fence and so much time on the clock.
ProcessResult limited(const std::string& script, std::chrono::milliseconds cpu, std::chrono::seconds wall) {
  ProcessOptions options;
  options.command = {"/bin/sh", "-c", script};
  options.timeout = wall;
  options.cpu_limit = cpu;
  return run_process(options);
}

constexpr const char* kSpin = "while :; do :; done";
// Ends by itself behind 0.5 s of CPU time, whatever else the machine does.
constexpr const char* kHalfASecond = "python3 -c 'import time\nwhile time.process_time() < 0.5: pass'";

TEST(RunProcess, CountsTheCpuTimeOfAllThatACommandStarts) {
  const std::string two = std::string("(") + kSpin + ") & (" + kSpin + ") & wait";
  const ProcessResult result = limited(two, std::chrono::milliseconds(700), std::chrono::seconds(120));
  EXPECT_TRUE(result.out_of_cpu) << result.describe();
  EXPECT_FALSE(result.timed_out);
  EXPECT_FALSE(result.ok());
  EXPECT_GE(result.cpu_time, std::chrono::milliseconds(700));
  EXPECT_GT(result.load, 0);
}

TEST(RunProcess, CountsTheCpuTimeOfProcessesThatHaveEnded) {
  const std::string one_by_one =
      std::string(kHalfASecond) + "; " + kHalfASecond + "; " + kHalfASecond + "; true";
  const ProcessResult most = limited(one_by_one, std::chrono::milliseconds(900), std::chrono::seconds(120));
  EXPECT_TRUE(most.out_of_cpu) << most.describe();
  const ProcessResult all = limited(one_by_one, std::chrono::seconds(20), std::chrono::seconds(120));
  EXPECT_TRUE(all.ok()) << all.describe();
  EXPECT_GE(all.cpu_time, std::chrono::milliseconds(1450));
}

TEST(RunProcess, WhoOnlySleepsEndsByTheClock) {
  const ProcessResult result = limited("sleep 60", std::chrono::seconds(1), std::chrono::seconds(2));
  EXPECT_TRUE(result.timed_out);
  EXPECT_FALSE(result.out_of_cpu);
  EXPECT_LT(result.cpu_time, std::chrono::milliseconds(500));
}

}  // namespace
}  // namespace warpgrade
