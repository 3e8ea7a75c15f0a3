#include "judge/judging/program_box.h"

#include <gtest/gtest.h>

#include <cstdlib>

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

}  // namespace
}  // namespace warpgrade
