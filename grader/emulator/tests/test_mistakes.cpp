// Mistakes of programs and features that are left out: each is named at its line.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

struct Mistake {
  const char* argument;
  const char* kind;
  int error;  // cudaError_t that the program sees
  bool has_line = true;
  const char* detail = "";  // must appear in the JSON line
  const char* checks = "memcheck";
};

class Mistakes : public testing::TestWithParam<Mistake> {};

void expect_named_at_its_line(const Mistake& m, const std::string& environment) {
  const Result r =
      run("mistakes", m.argument,
          environment + " WARPEMU_REPORT=quiet WARPEMU_LAUNCH_TIMEOUT_S=1 WARPEMU_CHECKS=" + m.checks);
  EXPECT_EQ(r.output.substr(0, r.output.find('\n')), std::to_string(m.error)) << r.output;
  EXPECT_NE(r.output.find(std::string("{\"kind\":\"") + m.kind + "\""), std::string::npos) << r.output;
  if (m.has_line) {
    const std::string place =
        "\"file\":\"mistakes.cu\",\"line\":" + std::to_string(marked_line("mistakes.cu", m.argument)) + ",";
    EXPECT_NE(r.output.find(place), std::string::npos) << "want " << place << "\n" << r.output;
  }
  EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
}

TEST_P(Mistakes, are_named_at_their_line) {
  expect_named_at_its_line(GetParam(), "WARPEMU_NATIVE=0");
}

TEST_P(Mistakes, are_named_at_their_line_by_compiled_code) {
  expect_named_at_its_line(GetParam(), "WARPEMU_NATIVE=always");
}

// What a faulty lane's access leaves for the checks is no address of theirs: the emulator itself must stand.
TEST_P(Mistakes, end_the_launch_and_not_the_program_with_every_check_and_several_workers) {
  const Mistake& m = GetParam();
  const Result r = run("mistakes", std::string(m.argument) + " 8",
                       "WARPEMU_THREADS=4 WARPEMU_REPORT=quiet WARPEMU_LAUNCH_TIMEOUT_S=1 "
                       "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck,leakcheck,counters");
  EXPECT_LT(r.exit_code, 126) << r.output;
  EXPECT_NE(r.output.find("{\"kind\":\""), std::string::npos) << r.output;
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, Mistakes,
    testing::Values(
        Mistake{"out_of_bounds", "out_of_bounds", 700, true,
                "\"kernel\":\"out_of_bounds\",\"block\":[3,0,0],\"thread\":[232,0,0]"},
        Mistake{"inlined", "out_of_bounds", 700, true, "inlined from mistakes.cu"},
        Mistake{"before_begin", "out_of_bounds", 700, true, "\"offset\":-4"},
        Mistake{"misaligned", "misaligned", 716, true, "float4"},
        Mistake{"misaligned_step", "misaligned", 716, true, "\"bytes\":16"},
        Mistake{"null_pointer", "null_pointer", 700, true, "cudaMalloc succeeded"},
        Mistake{"host_pointer", "out_of_bounds", 700, true, "A host pointer was passed"},
        Mistake{"use_after_free", "use_after_free", 700, true, "\"name\":\"allocation #1\",\"bytes\":4000"},
        Mistake{"uninitialized_read", "uninitialized_read", 0, true, "allocation #1", "initcheck"},
        Mistake{"shared_overrun", "out_of_bounds", 700, true,
                "\"name\":\"tile\",\"bytes\":256,\"offset\":256"},
        Mistake{"before_shared", "out_of_bounds", 700, true, "\"name\":\"tile\",\"bytes\":256,\"offset\":-4"},
        Mistake{"before_shared_by_one", "out_of_bounds", 700, true, "4 bytes before the beginning of tile"},
        Mistake{"shared_uninitialized", "uninitialized_read", 0, true, "shared memory", "initcheck"},
        Mistake{"barrier_deadlock", "barrier_deadlock", 719},
        Mistake{"count_beyond_block", "barrier_count", 719, true,
                "expects 128 threads at barrier 1, and its block has 64"},
        Mistake{"count_of_no_warps", "barrier_count", 719, true, "not a whole number of warps"},
        Mistake{"counts_differ", "barrier_count", 719, true, "where others wait for 64"},
        Mistake{"count_unmet", "barrier_count", 719, true,
                "to which 32 have come and no other thread will come"},
        Mistake{"foreign_stack", "foreign_stack", 700, true, "a local variable of thread (5,0,0); on a GPU"},
        Mistake{"foreign_stack_by_shuffle", "foreign_stack", 700, true, "thread (1,0,0)"},
        Mistake{"before_local_array", "out_of_bounds", 700, true, "outside the thread's stack"},
        Mistake{"warp_deadlock", "barrier_deadlock", 719},
        Mistake{"divergent_barrier", "divergent_barrier", 0},
        Mistake{"partial_warp", "partial_warp", 0, true, "got 24"},
        Mistake{"launch_timeout", "launch_timeout", 702},
        Mistake{"endless_barriers", "launch_timeout", 702, false, "endless_barriers"},
        Mistake{"endless_grid", "launch_timeout", 702, false, "\"kernel\":\"short_block\""},
        Mistake{"unsupported", "unsupported", 801, true, "emulator: unsupported vmad.u32.u32.u32"},
        Mistake{"cluster", "unsupported", 801, false,
                "thread block clusters on a device of compute capability 8.0"},
        Mistake{"endless_recursion", "stack_overflow", 719, true, "cudaLimitStackSize"},
        Mistake{"null_function", "bad_call", 718, true, "through a null pointer"},
        Mistake{"heap_overrun", "out_of_bounds", 700, true, "\"name\":\"device malloc #1\",\"bytes\":40,"},
        Mistake{"heap_use_after_free", "use_after_free", 700, true, "device malloc #1"},
        Mistake{"heap_double_free", "invalid_free", 719, true, "a second time"},
        Mistake{"heap_bad_free", "invalid_free", 719, true, "no malloc of a kernel begins"},
        Mistake{"local_never_set", "uninitialized_read", 0, true,
                "was never given a value; the result is stored at line", "initcheck"},
        Mistake{"local_uninitialized", "uninitialized_read", 0, true, "reads a local array where",
                "initcheck"},
        Mistake{"heap_uninitialized", "uninitialized_read", 0, true,
                "reads byte 12 of device malloc #1, which nobody has written", "initcheck"},
        Mistake{"heap_race", "global_race", 0, true, "device malloc #1 (256 bytes)", "racecheck"},
        Mistake{"invalid_free", "invalid_free", 1, false, "inside allocation #2"},
        Mistake{"double_free", "invalid_free", 1, false, "freed before"},
        Mistake{"free_of_pinned", "invalid_free", 1, false, "which is pinned host memory"},
        Mistake{"missing_argument", "invalid_launch", 1, false,
                "it has 2 parameters, and no argument is given for number 1"},
        Mistake{"leak", "device_memory_leak", 0, false, "allocation #2 (4000 bytes) was never freed",
                "leakcheck"},
        Mistake{"host_copy_overrun", "host_copy_overrun", 1, false, "leaves allocation #2"}),
    [](const auto& test) { return test.param.argument; });

// What the table of left-out features in README.md promises: an error by name, at its line; nothing
// is started.
struct LeftOut {
  const char* argument;
  const char* message;
  const char* program = "left_out";
};

class LeftOutFeatures : public testing::TestWithParam<LeftOut> {};

TEST_P(LeftOutFeatures, are_refused_by_name_at_their_line) {
  const LeftOut& f = GetParam();
  const std::string program = f.program;
  const Result r = run(program, f.argument, "WARPEMU_ARCH=90");
  EXPECT_NE(r.output.find("801\n"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find(f.message), std::string::npos) << "want " << f.message << "\n" << r.output;
  const int line = marked_line(program + ".cu", f.argument, "LEFT OUT");
  const std::string place = "emulator: unsupported at " + program + ".cu:" + std::to_string(line);
  EXPECT_NE(r.output.find(place), std::string::npos) << "want " << place << "\n" << r.output;
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, LeftOutFeatures,
    testing::Values(LeftOut{"surface_reduction", "(reductions on surfaces)"},
                    LeftOut{"formatted_surface", "(formatted surfaces)"},
                    LeftOut{"mipmapped_array", "unsupported call of cudaMallocMipmappedArray"},
                    LeftOut{"async_store", "unsupported st.async"},
                    LeftOut{"image_to_columns", "(modifier .im2col)"},
                    LeftOut{"narrow_box", "unsupported call of cuTensorMapEncodeTiled"},
                    LeftOut{"sparse_product", "(sparse products of this shape and type)"},
                    LeftOut{"video", "(scalar video instructions)"},
                    LeftOut{"packing_conversion", "unsupported cvt.pack.sat.s16.s32"},
                    LeftOut{"vector_maximum", "unsupported red.global.max.noftz.v2.f16x2"},
                    LeftOut{"memset_3d", "(the device's runtime)", "nested_launches"},
                    LeftOut{"semaphore", "unsupported call of cudaGraphAddExternalSemaphoresSignalNode"}),
    [](const auto& test) { return test.param.argument; });

TEST(Emulator, names_leaks_at_exit_when_asked) {
  const std::string text = "allocation #1 (4000 bytes) was never freed";
  EXPECT_NE(run("mistakes", "none", "WARPEMU_CHECKS=leakcheck").output.find(text), std::string::npos);
  EXPECT_EQ(run("mistakes", "none").output.find(text), std::string::npos);
  EXPECT_EQ(run("runtime_errors", "", "WARPEMU_CHECKS=leakcheck").output.find("never freed"),
            std::string::npos);
}

}  // namespace
