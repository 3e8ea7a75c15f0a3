// What happens at the ends of memory, address space, launches and grids.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "run_program.h"

namespace {

TEST(Limits, allocations_beyond_the_host_are_refused_with_an_error) {
  const Result r = run("limits", "whole_memory", "WARPEMU_MEMORY_MB=1000000");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.output, "total 1000000\n2\n");
}

TEST(Limits, limited_address_space_gets_a_smaller_range_and_a_word_about_it) {
  const Result r = run("limits", "", "", "ulimit -v 4000000; ");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(
      r.output.find("the address space is limited (ulimit -v): all allocations of this process together "
                    "have 512 MiB"),
      std::string::npos)
      << r.output;
  EXPECT_EQ(run("limits").output, "");
}

TEST(Limits, a_hundred_thousand_launches_pass) {
  EXPECT_EQ(run("limits", "many_launches 100000").exit_code, 0);
}

TEST(Limits, the_largest_grid_starts_and_stops) {
  const Result r = run("limits", "largest_grid", "WARPEMU_LAUNCH_TIMEOUT_S=1");
  EXPECT_EQ(r.output.substr(r.output.rfind('\n', r.output.size() - 2) + 1), "702\n") << r.output;
}

TEST(Limits, a_launch_ends_after_its_steps_and_names_the_loop) {
  const Result r = run("limits", "spin", "WARPEMU_STEP_LIMIT=100000 WARPEMU_LAUNCH_TIMEOUT_S=30");
  const std::string line = std::to_string(marked_line("limits.cu", "loop", "SPIN"));
  EXPECT_NE(
      r.output.find("the kernel has executed more than 100000 warp instructions; this thread is here, in "
                    "the loop of line " +
                    line),
      std::string::npos)
      << r.output;
  EXPECT_NE(r.output.find("702\n"), std::string::npos) << r.output;
  EXPECT_EQ(run("limits", "many_launches 9", "WARPEMU_STEP_LIMIT=100000").output, "");
}

TEST(Limits, a_stray_read_is_told_of_the_array_whose_length_fits_the_distance) {
  const Result r = run("limits", "stray");
  EXPECT_NE(r.output.find("90000 bytes past the end of allocation #1 (100000 bytes)"), std::string::npos)
      << r.output;
}

TEST(Limits, newer_ptx_is_named_once_and_tried) {
  // The program with another version in its PTX.
  const std::string patched = WARPEMU_PROGRAM_DIR "/limits_newer_ptx";
  ASSERT_EQ(std::system(("sed 's/^\\.version [0-9.]*$/.version 9.9/' " WARPEMU_PROGRAM_DIR "/limits > " +
                         patched + " && chmod +x " + patched)
                            .c_str()),
            0);
  const Result r = run("limits_newer_ptx");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("has version 9.9, newer than 9.0"), std::string::npos) << r.output;
}

}  // namespace
