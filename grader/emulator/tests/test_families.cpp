// The answers of each family of instructions, at every level and with any number of threads.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

TEST(Levels, that_do_not_exist_are_named_and_the_best_one_is_used) {
  const Result r = run("integer_arithmetic", "", "WARPEMU_ISA=v9");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("WARPEMU_ISA=v9 ignored: no such level, want v2, v3 or v4; v"), std::string::npos)
      << r.output;
}

// The answers of each family of instructions, on every build of the handlers that this machine can run.
class Families : public testing::TestWithParam<const char*> {};

TEST_P(Families, agree_with_the_host) {
  expect_success(GetParam());
}
TEST_P(Families, agree_with_the_host_on_avx2) {
  expect_success(GetParam(), "", "WARPEMU_ISA=v3");
}
TEST_P(Families, agree_with_the_host_on_baseline_x86_64_v2) {
  expect_success(GetParam(), "", "WARPEMU_ISA=v2");
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, Families,
    testing::Values("integer_arithmetic", "float_arithmetic", "fast_math", "conversions", "half_arithmetic",
                    "comparisons", "control_flow", "control_flow_debug", "warp_operations", "barriers",
                    "memory_spaces", "atomics", "async_copy", "device_functions", "device_functions_debug",
                    "cooperative_groups", "spmm", "matrix_products", "sparse_products", "matrix_moves",
                    "async_barriers", "packed_values", "device_heap", "dynamic_calls", "dynamic_calls_debug"),
    [](const auto& test) { return test.param; });

TEST(Emulator, waits_at_barriers_in_shared_memory_without_a_report) {
  for (const char* environment : {"WARPEMU_CHECKS=all", "WARPEMU_CHECKS=all WARPEMU_ARCH=90"}) {
    const bool sm_90 = std::string(environment).find("ARCH") != std::string::npos;
    const Result r = run(sm_90 ? "async_barriers_sm90" : "async_barriers", sm_90 ? "sm_90" : "", environment);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "");
  }
}

TEST(Emulator, products_of_hot_kernels_equal_plain_ones_at_every_level) {
  for (const char* level : {"v2", "v3", "v4"}) {
    const Result r =
        run("benchmark_products", "", std::string("WARPEMU_CHECKS=memcheck WARPEMU_ISA=") + level);
    EXPECT_EQ(r.exit_code, 0) << r.output;
  }
}

TEST(Emulator, does_not_tear_vectors_between_workers) {
  expect_success("vectors_between_blocks", "", "WARPEMU_CHECKS=none WARPEMU_THREADS=2");
  expect_success("vectors_between_blocks", "", "WARPEMU_CHECKS=memcheck WARPEMU_THREADS=2");
}

TEST(Emulator, lets_spinning_threads_make_progress) {
  expect_success("spinning", "", "WARPEMU_THREADS=1 WARPEMU_LAUNCH_TIMEOUT_S=30");
  expect_success("spinning", "", "WARPEMU_THREADS=4 WARPEMU_LAUNCH_TIMEOUT_S=30");
}

TEST(Emulator, answers_do_not_depend_on_the_number_of_threads) {
  const std::string one = run("spmm", "", "WARPEMU_THREADS=1").output;
  EXPECT_NE(one.find("checksum"), std::string::npos) << one;
  EXPECT_EQ(one, run("spmm", "", "WARPEMU_THREADS=2").output);
  EXPECT_EQ(one, run("spmm", "", "WARPEMU_THREADS=5").output);
}

TEST(Emulator, all_checks_leave_the_answers_alone) {
  expect_success("spmm", "", "WARPEMU_CHECKS=all");
}

}  // namespace
