// Runs the CUDA programs of programs/ on the emulator, each in a process of its own, and checks exit codes,
// output and diagnostics with their lines.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <string>

#include "run_program.h"

namespace {

void expect_success(const std::string& program, const std::string& arguments = "",
                    const std::string& environment = "") {
  const Result r = run(program, arguments, environment);
  EXPECT_EQ(r.exit_code, 0) << program << " " << arguments << " " << environment << "\n" << r.output;
}

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
                    LeftOut{"sparse_group_product", "wgmma.mma_async.sp"},
                    LeftOut{"async_store", "unsupported st.async"},
                    LeftOut{"image_to_columns", "(modifier .im2col)"},
                    LeftOut{"narrow_box", "unsupported call of cuTensorMapEncodeTiled"},
                    LeftOut{"sparse_product", "mma.sp"}, LeftOut{"video", "(scalar video instructions)"},
                    LeftOut{"packing_conversion", "unsupported cvt.pack.sat.s16.s32"},
                    LeftOut{"vector_maximum", "unsupported red.global.max.noftz.v2.f16x2"},
                    LeftOut{"memset_3d", "(the device's runtime)", "nested_launches"},
                    LeftOut{"ipc", "unsupported call of cudaIpcGetMemHandle"},
                    LeftOut{"semaphore", "unsupported call of cudaGraphAddExternalSemaphoresSignalNode"}),
    [](const auto& test) { return test.param.argument; });

TEST(SeveralDevices, have_memory_variables_and_streams_of_their_own) {
  for (const char* environment : {"WARPEMU_DEVICES=2", "WARPEMU_DEVICES=3 WARPEMU_NATIVE=always",
                                  "WARPEMU_DEVICES=16 WARPEMU_CHECKS=all"}) {
    const Result r = run("several_devices", "", environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    // CUDA 12's runtime refuses a launch into another device's stream, that of 13 starts it there.
    const bool is_refused =
        r.output.find("its stream belongs to device 0, and the current device is 1") != std::string::npos;
    EXPECT_EQ(is_refused, CUDART_VERSION < 13000);
    EXPECT_EQ(r.output.find("other_device"), std::string::npos) << r.output;
  }
  const Result one = run("several_devices");
  EXPECT_EQ(one.exit_code, 0) << one.output;
  EXPECT_EQ(one.output, "one device: what takes two was not tried\n");
}

TEST(SeveralDevices, access_without_peer_access_is_named_at_its_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_CHECKS=all"}) {
    for (const char* name : {"reads_peer", "writes_peer"}) {
      const Result r = run("several_devices", name, std::string(native) + " WARPEMU_DEVICES=2");
      const std::string place = "emulator: other_device at several_devices.cu:" +
                                std::to_string(marked_line("several_devices.cu", name));
      EXPECT_NE(r.output.find("700\n"), std::string::npos) << r.output;
      EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
      EXPECT_NE(r.output.find("memory of device 1, from device 0"), std::string::npos) << r.output;
    }
  }
}

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

struct NestedMistake {
  const char* name;
  const char* kind;
  const char* error;
  const char* detail;
};

class NestedMistakes : public testing::TestWithParam<NestedMistake> {};

TEST_P(NestedMistakes, are_named_at_their_line) {
  const NestedMistake& m = GetParam();
  const std::string place = std::string("emulator: ") + m.kind + " at nested_launches.cu:" +
                            std::to_string(marked_line("nested_launches.cu", m.name));
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
    const Result r =
        run("nested_launches", m.name, std::string(native) + " WARPEMU_CHECKS=initcheck,racecheck");
    EXPECT_NE(r.output.find(m.error), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, NestedMistakes,
    testing::Values(NestedMistake{"child_out_of_bounds", "out_of_bounds", "700\n",
                                  "this grid was launched at"},
                    NestedMistake{"parents_local", "foreign_stack", "700\n", "of another block"},
                    NestedMistake{"copy_too_long", "out_of_bounds", "700\n", "reads 512 bytes from byte 256"},
                    NestedMistake{"clear_local", "out_of_bounds", "700\n", "which other grids cannot reach"},
                    NestedMistake{"nests_forever", "invalid_launch", "0\n", "at most 24 deep"},
                    NestedMistake{"cannot_run", "unsupported", "801\n", "vadd.s32.s32.s32.sat"},
                    NestedMistake{"too_many_threads", "invalid_launch", "0\n", "the block's x is 2048"},
                    NestedMistake{"unset_in_child", "uninitialized_read", "0\n", "nobody has written"}),
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

TEST(Clusters, share_memory_and_barriers) {
  for (const char* environment : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_THREADS=1",
                                  "WARPEMU_CHECKS=initcheck,racecheck,synccheck,leakcheck WARPEMU_THREADS=4",
                                  "WARPEMU_CHECKS=all WARPEMU_SCHEDULE=reversed"}) {
    const Result r = run("clusters", "", std::string("WARPEMU_ARCH=90 ") + environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    for (const char* finding : {"race", "uninitialized", "out_of_bounds", "unsupported", "deadlock"})
      EXPECT_EQ(r.output.find(finding), std::string::npos) << environment << "\n" << r.output;
    EXPECT_NE(r.output.find("the grid's x is 3, and must be a multiple of the cluster's, which is 2"),
              std::string::npos)
        << r.output;
  }
}

TEST(WarpGroupProducts, agree_with_the_host_in_every_width_type_and_layout) {
  for (const char* environment : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_ISA=v2",
                                  "WARPEMU_CHECKS=all WARPEMU_SCHEDULE=reversed"}) {
    const Result r = run("warp_group_products", "", std::string("WARPEMU_ARCH=90 ") + environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    EXPECT_EQ(r.output, "0 failures\n") << environment;
  }
}

TEST(WarpGroupProducts, that_are_misused_are_named_at_their_line) {
  struct Tile {
    const char *name, *kind, *error, *detail;
  };
  for (const Tile& t :
       {Tile{"tile_overrun", "out_of_bounds", "700\n", "just past the end of tile (2048 bytes)"},
        Tile{"tile_unset", "uninitialized_read", "0\n", "no thread of this block has written"},
        Tile{"read_too_early", "unawaited_product", "0\n", "while the product is still under way"}}) {
    const Result r = run("warp_group_products", t.name, "WARPEMU_ARCH=90 WARPEMU_CHECKS=initcheck,synccheck");
    const std::string place = std::string("emulator: ") + t.kind + " at warp_group_products.cu:" +
                              std::to_string(marked_line("warp_group_products.cu", t.name));
    EXPECT_NE(r.output.find(t.error), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(t.detail), std::string::npos) << r.output;
  }
}

TEST(TensorCopies, agree_with_loops_on_the_host) {
  for (const char* environment :
       {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_CHECKS=all WARPEMU_THREADS=1",
        "WARPEMU_CHECKS=initcheck,racecheck,synccheck,leakcheck WARPEMU_THREADS=4",
        "WARPEMU_CHECKS=racecheck WARPEMU_SCHEDULE=one_ahead"}) {
    const Result r = run("tensor_copies", "", std::string("WARPEMU_ARCH=90 ") + environment);
    EXPECT_EQ(r.exit_code, 0) << environment << "\n" << r.output;
    EXPECT_EQ(r.output, "0 failures\n") << environment;
  }
}

TEST(TensorCopies, refuse_maps_against_the_rules_of_the_documentation) {
  const Result r = run("tensor_copies", "refused", "WARPEMU_ARCH=90");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("emulator: invalid_copy at tensor_copies.cu"), std::string::npos) << r.output;
}

struct TensorMistake {
  const char* name;
  const char* kind;
  const char* error;
  const char* detail;
};

class TensorMistakes : public testing::TestWithParam<TensorMistake> {};

TEST_P(TensorMistakes, are_named_at_their_line) {
  const TensorMistake& m = GetParam();
  const std::string place = std::string("emulator: ") + m.kind +
                            " at tensor_copies.cu:" + std::to_string(marked_line("tensor_copies.cu", m.name));
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
    const Result r =
        run("tensor_copies", m.name, std::string(native) + " WARPEMU_ARCH=90 WARPEMU_CHECKS=racecheck");
    EXPECT_NE(r.output.find(m.error), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, TensorMistakes,
    testing::Values(
        TensorMistake{"misaligned_tile", "misaligned", "716\n", "no multiple of 128 bytes"},
        TensorMistake{"unaligned_start", "misaligned", "715\n",
                      "which is byte 4 of a row: no multiple of 16"},
        TensorMistake{"tile_overrun", "out_of_bounds", "700\n", "partly past the end of tile (256 bytes)"},
        TensorMistake{"store_before_tensor", "out_of_bounds", "715\n",
                      "begins at element -1 of axis 1, before the tensor"},
        TensorMistake{"no_map", "trap", "719\n", "there is none at this address"},
        TensorMistake{"tensor_overrun", "out_of_bounds", "700\n", "the last 24 bytes lie past the end"},
        TensorMistake{"no_wait", "shared_race", "0\n", "with nothing between that orders the two"}),
    [](const auto& test) { return test.param.name; });

struct ClusterMistake {
  const char* name;
  const char* kind;
  const char* error;
  const char* detail;
};

class ClusterMistakes : public testing::TestWithParam<ClusterMistake> {};

TEST_P(ClusterMistakes, are_named_at_their_line) {
  const ClusterMistake& m = GetParam();
  const std::string place = std::string("emulator: ") + m.kind +
                            " at clusters.cu:" + std::to_string(marked_line("clusters.cu", m.name));
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
    const Result r =
        run("clusters", m.name, std::string(native) + " WARPEMU_ARCH=90 WARPEMU_CHECKS=initcheck");
    EXPECT_NE(r.output.find(m.error), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, ClusterMistakes,
    testing::Values(
        ClusterMistake{"no_such_block", "out_of_bounds", "700\n", "block 2 of a cluster of 2 blocks"},
        ClusterMistake{"past_the_end", "out_of_bounds", "700\n", "just past the end of cells"},
        ClusterMistake{"returned", "use_after_free", "719\n", "block (0,0,0), which has returned"},
        ClusterMistake{"unset", "uninitialized_read", "0\n", "another block of the cluster"},
        ClusterMistake{"unmet", "barrier_deadlock", "719\n", "the barrier of their cluster"}),
    [](const auto& test) { return test.param.name; });

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

INSTANTIATE_TEST_SUITE_P(Emulator, Families,
                         testing::Values("integer_arithmetic", "float_arithmetic", "fast_math", "conversions",
                                         "half_arithmetic", "comparisons", "control_flow",
                                         "control_flow_debug", "warp_operations", "barriers", "memory_spaces",
                                         "atomics", "async_copy", "device_functions",
                                         "device_functions_debug", "cooperative_groups", "spmm",
                                         "matrix_products", "matrix_moves", "async_barriers", "packed_values",
                                         "device_heap", "dynamic_calls", "dynamic_calls_debug"),
                         [](const auto& test) { return test.param; });

TEST(Emulator, runs_vector_reductions_of_sm_90) {
  expect_success("atomics_sm90", "vectors", "WARPEMU_ARCH=90");
}

TEST(Emulator, multiplies_matrices_of_sm_90) {
  expect_success("matrix_products_sm90", "sm_90", "WARPEMU_ARCH=90");
  expect_success("matrix_moves_sm90", "sm_90", "WARPEMU_ARCH=90");
}

TEST(Emulator, computes_with_packed_values_of_sm_90) {
  expect_success("packed_values_sm90", "", "WARPEMU_ARCH=90");
}

TEST(Emulator, waits_at_barriers_in_shared_memory_without_a_report) {
  for (const char* environment : {"WARPEMU_CHECKS=all", "WARPEMU_CHECKS=all WARPEMU_ARCH=90"}) {
    const bool sm_90 = std::string(environment).find("ARCH") != std::string::npos;
    const Result r = run(sm_90 ? "async_barriers_sm90" : "async_barriers", sm_90 ? "sm_90" : "", environment);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "");
  }
}

// What orders threads in correct programs is known to racecheck, and padding to initcheck.
TEST(Emulator, checks_find_nothing_in_correct_programs) {
  for (const char* program : {"ordered_in_block", "ordered_between_blocks", "libcudacxx_barriers",
                              "cub_thrust", "cub_algorithms", "thrust_algorithms", "device_heap"}) {
    const Result r = run(program, "", "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck,leakcheck");
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

constexpr const char* kEveryCheck = "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck,leakcheck";

TEST(SuitePatterns, right_ones_give_no_finding) {
  for (const char* workers : {"WARPEMU_THREADS=1", "WARPEMU_THREADS=4"}) {
    const Result r = run("suite_patterns", "", std::string(kEveryCheck) + " " + workers);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << workers;
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
    testing::Values(Pattern{"halo_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"two_steps_in_a_launch", "global_race", "two kernels"},
                    Pattern{"counts_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"queue_without_atomics", "global_race", "use atomicAdd"},
                    Pattern{"reduction_without_barrier", "shared_race", "__syncthreads()"},
                    Pattern{"counts_of_a_warp_without_ranks", "shared_race", "use atomicAdd"},
                    Pattern{"warp_without_syncwarp", "shared_race", "__syncwarp()"},
                    Pattern{"bfs_tests_and_sets", "global_race", "orders the two"},
                    Pattern{"return_before_barrier", "early_exit", "28 of the block's 128 threads"},
                    Pattern{"return_before_loading", "uninitialized_read", "no thread of this block"}),
    [](const auto& test) { return test.param.name; });

TEST(Emulator, keeps_the_semantics_of_the_runtime_api) {
  expect_success("runtime_api");
}

TEST(Emulator, names_leaks_at_exit_when_asked) {
  const std::string text = "allocation #1 (4000 bytes) was never freed";
  EXPECT_NE(run("mistakes", "none", "WARPEMU_CHECKS=leakcheck").output.find(text), std::string::npos);
  EXPECT_EQ(run("mistakes", "none").output.find(text), std::string::npos);
  EXPECT_EQ(run("runtime_errors", "", "WARPEMU_CHECKS=leakcheck").output.find("never freed"),
            std::string::npos);
}

TEST(Emulator, links_relocatable_device_code) {
  expect_success("separate");
  expect_success("separate", "", "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck");
  const Result r = run("separate", "past_end");
  EXPECT_EQ(r.output.substr(r.output.find("700")), "700\n");
  const std::string line = std::to_string(marked_line("separate_part.cu", "past_end"));
  EXPECT_NE(r.output.find("out_of_bounds at separate_part.cu:" + line), std::string::npos) << r.output;
}

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

struct SurfaceMistake {
  const char* name;
  const char* kind;
  const char* error;
  const char* detail;
};

class SurfaceMistakes : public testing::TestWithParam<SurfaceMistake> {};

TEST_P(SurfaceMistakes, are_named_at_their_line) {
  const SurfaceMistake& m = GetParam();
  const std::string place = std::string("emulator: ") + m.kind +
                            " at surfaces.cu:" + std::to_string(marked_line("surfaces.cu", m.name));
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"}) {
    const Result r = run("surfaces", m.name, native);
    EXPECT_NE(r.output.find(m.error), std::string::npos) << r.output;
    EXPECT_NE(r.output.find(place + " "), std::string::npos) << "want " << place << "\n" << r.output;
    EXPECT_NE(r.output.find(m.detail), std::string::npos) << "want " << m.detail << "\n" << r.output;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, SurfaceMistakes,
    testing::Values(SurfaceMistake{"trap", "out_of_bounds", "719\n", "at byte 64, row 0"},
                    SurfaceMistake{"destroyed", "use_after_free", "700\n", "which was destroyed"},
                    SurfaceMistake{"freed", "use_after_free", "700\n", "memory that was freed"},
                    SurfaceMistake{"misaligned", "misaligned", "716\n", "at x = 1"},
                    SurfaceMistake{"wrong_shape", "trap", "719\n", "a 2D image as if it were a 3D array"}),
    [](const auto& test) { return test.param.name; });

// Programs of libraries that this machine's toolkit has not are not built.
bool is_built(const std::string& program) {
  return std::ifstream(std::string(WARPEMU_PROGRAM_DIR "/") + program).good();
}

TEST(Libraries, multiply_and_solve_like_cublas) {
  if (!is_built("cublas_host")) GTEST_SKIP() << "the toolkit has no cuBLAS";
  expect_success("cublas_host");
  expect_success("cublas_host", "", "WARPEMU_CHECKS=all");
}

TEST(Libraries, name_what_they_leave_out) {
  if (!is_built("cublas_host") || !is_built("missing_host"))
    GTEST_SKIP() << "the toolkit has no cuBLAS, cuFFT or cuSPARSE";
  const Result r = run("cublas_host", "left_out");
  EXPECT_NE(r.output.find("15\n"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("unsupported call of cublasCdotu_v2 (cuBLAS)"), std::string::npos) << r.output;
  const Result missing = run("missing_host");
  for (const char* part : {"unsupported call of cufftPlan1d (cuFFT)", "16\n",
                           "unsupported call of cusparseCreate (cuSPARSE)", "CUSPARSE_STATUS_NOT_SUPPORTED"})
    EXPECT_NE(missing.output.find(part), std::string::npos) << "want " << part << "\n" << missing.output;
}

TEST(Libraries, draw_the_random_numbers_of_curand) {
  expect_success("curand_host");
  expect_success("curand_host", "host");
}

TEST(Emulator, runs_graphs) {
  expect_success("graphs");
}

TEST(Emulator, chooses_and_repeats_in_graphs) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always WARPEMU_CHECKS=all"}) {
    const Result r = run("graph_conditions", "", native);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "");
  }
}

TEST(Emulator, allocates_in_graphs) {
  expect_success("graph_memory");
  const Result r = run("graph_memory", "", kEveryCheck);
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.output, "");
}

TEST(Emulator, returns_the_errors_of_the_runtime) {
  expect_success("runtime_errors");
}

TEST(Emulator, keeps_a_fault_for_every_later_call) {
  const std::pair<const char*, const char*> faults[] = {{"illegal_address", "700\n"},
                                                        {"timeout", "702\n"},
                                                        {"assert", "710\n"},
                                                        {"misaligned", "716\n"},
                                                        {"trap", "719\n"}};
  for (const auto& [name, code] : faults) {
    const Result r = run("runtime_errors", name, "WARPEMU_REPORT=quiet WARPEMU_LAUNCH_TIMEOUT_S=1");
    EXPECT_EQ(r.exit_code, 0) << name << "\n" << r.output;
    EXPECT_EQ(r.output, code) << name;
  }
}

TEST(Emulator, runs_libraries_of_device_code) {
  expect_success("thrust_algorithms");
  expect_success("cub_algorithms");
  expect_success("curand_device");
  expect_success("libcudacxx");
  expect_success("libcudacxx_barriers");
}

TEST(Emulator, does_not_tear_vectors_between_workers) {
  expect_success("vectors_between_blocks", "", "WARPEMU_CHECKS=none WARPEMU_THREADS=2");
  expect_success("vectors_between_blocks", "", "WARPEMU_CHECKS=memcheck WARPEMU_THREADS=2");
}

TEST(Emulator, runs_cub_and_thrust) {
  expect_success("cub_thrust");
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

TEST(Emulator, prints_what_kernels_print) {
  const Result r = run("printf_and_assert");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("block 1 thread 1: text 1.50    -7|42  |z %\n"), std::string::npos) << r.output;
}

TEST(Emulator, names_failed_assertions_and_traps) {
  const Result failed = run("printf_and_assert", "assert");
  EXPECT_NE(failed.output.find("assertion `int(threadIdx.x) < limit` failed"), std::string::npos)
      << failed.output;
  EXPECT_NE(
      failed.output.find(":" + std::to_string(marked_line("printf_and_assert.cu", "assert")) + " in fails"),
      std::string::npos)
      << failed.output;
  EXPECT_NE(failed.output.find("710\n"), std::string::npos) << failed.output;
  const Result trapped = run("printf_and_assert", "trap");
  EXPECT_NE(trapped.output.find("trap at printf_and_assert.cu:" +
                                std::to_string(marked_line("printf_and_assert.cu", "trap"))),
            std::string::npos)
      << trapped.output;
  EXPECT_NE(trapped.output.find("thread (3,0,0)"), std::string::npos) << trapped.output;
  EXPECT_NE(trapped.output.find("719\n"), std::string::npos) << trapped.output;
}

TEST(Emulator, shares_memory_with_exact_bounds) {
  const Result r = run("import_memory");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("\"allocation\":{\"name\":\"input\",\"bytes\":400,\"offset\":400}"),
            std::string::npos)
      << r.output;
}

TEST(Emulator, refuses_writes_to_read_only_memory) {
  const Result r = run("import_memory", "read_only");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("{\"kind\":\"read_only_write\",\"access\":\"store\""), std::string::npos)
      << r.output;
}

TEST(Emulator, counts_sectors_and_lanes) {
  const Result r = run("import_memory", "counters", "WARPEMU_CHECKS=counters");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  // 32 floats with a stride of 12 bytes lie in 12 sectors of 32 bytes, their results in 4.
  for (const char* part :
       {"\"kernel\":\"strided\",\"launches\":1,\"blocks\":1", "\"active_lanes\":32.00",
        "\"global_requests\":2,\"global_sectors\":16,\"global_sectors_ideal\":8", "\"memory\":2"}) {
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
  }
}

TEST(Emulator, limits_device_memory) {
  EXPECT_NE(run("spmm", "", "WARPEMU_MEMORY_MB=1").exit_code, 0);
  expect_success("spmm", "", "WARPEMU_MEMORY_MB=8");
}

TEST(Emulator, says_what_is_wrong_with_a_binary) {
  EXPECT_NE(run("compressed").output.find("PTX is compressed; build it with `nvcc -no-compress`"),
            std::string::npos);
  EXPECT_NE(run("without_ptx").output.find("holds no PTX"), std::string::npos);
}

}  // namespace
