// Kernels that launch kernels.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

TEST(NestedLaunches, run_in_the_order_of_streams_and_tails) {
  for (const char* environment :
       {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_THREADS=1 WARPEMU_CHECKS=all",
        "WARPEMU_CHECKS=initcheck,racecheck,synccheck,leakcheck,counters WARPEMU_THREADS=4",
        "WARPEMU_CHECKS=racecheck WARPEMU_SCHEDULE=reversed", "WARPEMU_STEP_LIMIT=100000000"}) {
    const Result r = run("nested_launches", "", environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    EXPECT_EQ(r.output.find("emulator:"), std::string::npos) << environment << "\n" << r.output;
  }
}

TEST(NestedLaunches, fill_memory_in_the_order_of_their_stream) {
  for (const char* environment : {"", "WARPEMU_CHECKS=all"}) {
    const Result r = run("nested_launches", "fills", environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
  }
}

TEST(NestedLaunches, that_are_wrong_are_refused_with_an_error_of_the_thread) {
  const Result r = run("nested_launches", "errors");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("the number of threads in a block is 512, and must be at most 256"),
            std::string::npos)
      << r.output;
}

class NestedMistakes : public testing::TestWithParam<MarkedMistake> {};

TEST_P(NestedMistakes, are_named_at_their_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"})
    expect_told_at_its_line("nested_launches", GetParam(),
                            std::string(native) + " WARPEMU_CHECKS=initcheck,racecheck");
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, NestedMistakes,
    testing::Values(MarkedMistake{"child_out_of_bounds", "out_of_bounds", "700\n",
                                  "this grid was launched at"},
                    MarkedMistake{"parents_local", "foreign_stack", "700\n", "of another block"},
                    MarkedMistake{"copy_too_long", "out_of_bounds", "700\n", "reads 512 bytes from byte 256"},
                    MarkedMistake{"clear_local", "out_of_bounds", "700\n", "which other grids cannot reach"},
                    MarkedMistake{"nests_forever", "invalid_launch", "0\n", "at most 24 deep"},
                    MarkedMistake{"cannot_run", "unsupported", "801\n", "vadd.s32.s32.s32.sat"},
                    MarkedMistake{"too_many_threads", "invalid_launch", "0\n", "the block's x is 2048"},
                    MarkedMistake{"unset_in_child", "uninitialized_read", "0\n", "nobody has written"}),
    [](const auto& test) { return test.param.name; });

TEST(NestedLaunches, are_told_with_the_line_of_the_launch) {
  const Result r = run("nested_launches", "child_out_of_bounds");
  const int line = marked_line("nested_launches.cu", "child_out_of_bounds", "LAUNCH");
  EXPECT_NE(r.output.find("this grid was launched at nested_launches.cu:" + std::to_string(line)),
            std::string::npos)
      << r.output;
}

TEST(NestedLaunches, share_one_limit_of_time_and_steps) {
  for (const char* limit : {"WARPEMU_LAUNCH_TIMEOUT_S=1", "WARPEMU_STEP_LIMIT=20000"}) {
    const Result r = run("nested_launches", "follows_itself", limit);
    EXPECT_NE(r.output.find("702\n"), std::string::npos) << limit << "\n" << r.output;
    EXPECT_NE(r.output.find("launch_timeout"), std::string::npos) << limit << "\n" << r.output;
  }
}

}  // namespace
