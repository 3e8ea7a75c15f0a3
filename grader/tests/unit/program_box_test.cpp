#include "judge/judging/program_box.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"

namespace warpgrade {
namespace {

// A box starts with an empty environment: what a message tells to set must come through.
TEST(ProgramBox, AnExecutorOnAGpuFindsThatPageableAccessIsAllowed) {
  RunnerSpec spec;
  spec.environment = {{"CUDA_VISIBLE_DEVICES", "1"}};
  spec.gpu = true;
  unsetenv("WARPGRADE_PAGEABLE_ACCESS");
  EXPECT_FALSE(executor_environment(spec).contains("WARPGRADE_PAGEABLE_ACCESS"));
  setenv("WARPGRADE_PAGEABLE_ACCESS", "allow", 1);
  EXPECT_EQ(executor_environment(spec).at("WARPGRADE_PAGEABLE_ACCESS"), "allow");
  EXPECT_EQ(executor_environment(spec).at("CUDA_VISIBLE_DEVICES"), "1");
  spec.gpu = false;
  EXPECT_FALSE(executor_environment(spec).contains("WARPGRADE_PAGEABLE_ACCESS"));
  unsetenv("WARPGRADE_PAGEABLE_ACCESS");
}

// A mutant is the executor's business: a submission's own process must not find out that it is one.
TEST(ProgramBox, ASubmissionsProcessHasNothingOfTheExecutorsEnvironment) {
  const TemporaryDirectory folder("warpgrade-box");
  write_text(folder.path() / "libcudart.so.13", "");
  RunnerSpec spec;
  spec.executable = spec.executor = folder.path();
  spec.environment = {{"WARPEMU_MUTANT", "no_barrier:kernel:3"}};
  EXPECT_EQ(executor_environment(spec).at("WARPEMU_MUTANT"), "no_barrier:kernel:3");
  for (const SandboxMode mode : {SandboxMode::kBubblewrap, SandboxMode::kUnsandboxed}) {
    spec.sandbox = mode;
    const WrappedCommand program = program_command(spec);
    EXPECT_FALSE(program.environment.contains("WARPEMU_MUTANT"));
    for (const std::string& word : program.command) EXPECT_NE(word, "WARPEMU_MUTANT");
  }
}

// Whoever judges may have the variable set: it does not come into a box by itself.
TEST(ProgramBox, AnExecutorHasNoMutantOfTheJudgesEnvironment) {
  RunnerSpec spec;
  setenv("WARPEMU_MUTANT", "no_barrier:kernel:3", 1);
  EXPECT_FALSE(executor_environment(spec).contains("WARPEMU_MUTANT"));
  unsetenv("WARPEMU_MUTANT");
}

}  // namespace
}  // namespace warpgrade
