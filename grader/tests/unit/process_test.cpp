#include "base/process.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace warpgrade
