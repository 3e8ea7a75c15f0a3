// The checks find nothing in correct programs, in any schedule, and tell the patterns of which suites of
// wrong programs are made.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

// What orders threads in correct programs is known to racecheck, and padding to initcheck.
TEST(Emulator, checks_find_nothing_in_correct_programs) {
  for (const char* program : {"ordered_in_block", "ordered_between_blocks", "libcudacxx_barriers",
                              "cub_thrust", "cub_algorithms", "thrust_algorithms", "device_heap"}) {
    const Result r = run(program, "", kEveryCheck);
    EXPECT_EQ(r.exit_code, 0) << program << "\n" << r.output;
    EXPECT_EQ(r.output.find("emulator: "), std::string::npos) << program << "\n" << r.output;
  }
}

// Not a schedule makes them wrong, or makes a report of what is in order.
TEST(Schedules, correct_programs_stay_correct_and_without_findings) {
  for (const char* schedule : {"reversed", "one_ahead"}) {
    for (const char* program : {"ordered_in_block", "ordered_between_blocks", "suite_patterns", "spinning"}) {
      const Result r = run(
          program, "",
          std::string("WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck WARPEMU_SCHEDULE=") + schedule);
      EXPECT_EQ(r.exit_code, 0) << program << " " << schedule << "\n" << r.output;
      EXPECT_EQ(r.output.find("emulator: "), std::string::npos) << program << " " << schedule << "\n"
                                                                << r.output;
    }
  }
}

TEST(Schedules, decide_which_warp_comes_first) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
    const auto order = [&](const char* schedule) {
      return run("schedules", "", std::string(native) + " WARPEMU_SCHEDULE=" + schedule).output;
    };
    EXPECT_EQ(order("in_order"), "0123\n");
    EXPECT_EQ(order("reversed"), "3210\n");
    EXPECT_EQ(order("one_ahead"), "2013\n");
  }
  EXPECT_NE(run("schedules", "", "WARPEMU_SCHEDULE=random").output.find("WARPEMU_SCHEDULE=random ignored"),
            std::string::npos);
}

TEST(SuitePatterns, right_ones_give_no_finding) {
  for (const char* workers : {"WARPEMU_THREADS=1", "WARPEMU_THREADS=4"}) {
    const Result r = run("suite_patterns", "", std::string(kEveryCheck) + " " + workers);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << workers;
  }
}

// Several workers remember what they write, by rows and word by word, and the launch runs again by one.
TEST(UndoneLaunch, leaves_what_one_worker_leaves) {
  const std::string place =
      "global_race at undone_launch.cu:" + std::to_string(marked_line("undone_launch.cu", "race", "// ")) +
      " ";
  for (const char* environment :
       {"WARPEMU_THREADS=1", "WARPEMU_THREADS=2", "WARPEMU_THREADS=4", "WARPEMU_THREADS=4 WARPEMU_NATIVE=0",
        "WARPEMU_THREADS=3 WARPEMU_NATIVE=always", "WARPEMU_THREADS=3 WARPEMU_ISA=v3"}) {
    const Result r = run("undone_launch", "", std::string(kEveryCheck) + " " + environment);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_NE(r.output.find("0 elements wrong, total right"), std::string::npos) << environment << r.output;
    EXPECT_NE(r.output.find(place), std::string::npos) << environment << r.output;
  }
}

struct Pattern {
  const char* name;
  const char* kind;
  const char* detail;
};

// Each is told at its marked line, in the same words on any number of workers.
class SuitePatterns : public testing::TestWithParam<Pattern> {};

TEST_P(SuitePatterns, wrong_ones_and_notes_are_told_at_their_line) {
  const Pattern& p = GetParam();
  const std::string place = std::string("emulator: ") + p.kind + " at suite_patterns.cu:" +
                            std::to_string(marked_line("suite_patterns.cu", p.name, "// "));
  std::string first;
  for (const char* workers : {"WARPEMU_THREADS=1", "WARPEMU_THREADS=2", "WARPEMU_THREADS=4"}) {
    const Result r = run("suite_patterns", p.name, std::string(kEveryCheck) + " " + workers);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(p.detail), std::string::npos) << "want " << p.detail << "\n" << r.output;
    if (first.empty()) first = r.output;
    EXPECT_EQ(r.output, first) << workers;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, SuitePatterns,
    testing::Values(Pattern{"place_of_the_lane", "shared_race", "The index names the lane alone"},
                    Pattern{"counts_of_the_lane", "shared_race", "The index names the lane alone"},
                    Pattern{"halo_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"same_values_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"two_steps_in_a_launch", "global_race", "two kernels"},
                    Pattern{"counts_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"queue_without_atomics", "global_race", "use atomicAdd"},
                    Pattern{"reduction_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"counts_of_a_warp_without_ranks", "shared_race", "use atomicAdd"},
                    Pattern{"warp_without_syncwarp", "shared_race", "__syncwarp()"},
                    Pattern{"places_of_matches", "global_race", "wrote at suite_patterns.cu"},
                    Pattern{"bfs_tests_and_sets", "global_race", "orders the two"},
                    Pattern{"return_before_barrier", "early_exit", "28 of the block's 128 threads"},
                    Pattern{"return_before_loading", "uninitialized_read", "no thread of this block"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
