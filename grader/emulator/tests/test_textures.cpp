// Textures and surfaces.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

TEST(Emulator, reads_textures_and_surfaces) {
  for (const char* environment :
       {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_CHECKS=all WARPEMU_THREADS=4"}) {
    for (const char* program : {"textures", "surfaces"}) {
      const Result r = run(program, "", environment);
      EXPECT_EQ(r.exit_code, 0) << program << " " << environment << "\n" << r.output;
      EXPECT_EQ(r.output, "") << program << " " << environment;
    }
  }
}

class SurfaceMistakes : public testing::TestWithParam<MarkedMistake> {};

TEST_P(SurfaceMistakes, are_named_at_their_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"})
    expect_told_at_its_line("surfaces", GetParam(), native);
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, SurfaceMistakes,
    testing::Values(MarkedMistake{"trap", "out_of_bounds", "719\n", "at byte 64, row 0"},
                    MarkedMistake{"destroyed", "use_after_free", "700\n", "which was destroyed"},
                    MarkedMistake{"freed", "use_after_free", "700\n", "memory that was freed"},
                    MarkedMistake{"misaligned", "misaligned", "716\n", "at x = 1"},
                    MarkedMistake{"wrong_shape", "trap", "719\n", "a 2D image as if it were a 3D array"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
