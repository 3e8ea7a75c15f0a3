// What devices of compute capability 9.0 have: clusters, products of warp groups, copies of tensors.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

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
    for (const char* program : {"warp_group_products", "sparse_group_products"}) {
      const Result r = run(program, "", std::string("WARPEMU_ARCH=90 ") + environment);
      EXPECT_EQ(r.exit_code, 0) << program << " " << environment << "\n" << r.output;
      EXPECT_EQ(r.output, "0 failures\n") << program << " " << environment;
    }
  }
}

TEST(WarpGroupProducts, refuse_a_layout_of_which_nothing_is_documented) {
  expect_told_at_its_line("sparse_group_products",
                          {"short_lines", "unsupported", "715\n", "with B along k in lines of 32 bytes"},
                          "WARPEMU_ARCH=90");
}

TEST(WarpGroupProducts, that_are_misused_are_named_at_their_line) {
  for (const MarkedMistake& m :
       {MarkedMistake{"tile_overrun", "out_of_bounds", "700\n", "just past the end of tile (2048 bytes)"},
        MarkedMistake{"tile_unset", "uninitialized_read", "0\n", "no thread of this block has written"},
        MarkedMistake{"read_too_early", "unawaited_product", "0\n", "while the product is still under way"}})
    expect_told_at_its_line("warp_group_products", m, "WARPEMU_ARCH=90 WARPEMU_CHECKS=initcheck,synccheck");
}

TEST(TensorCopies, agree_with_loops_on_the_host) {
  for (const char* program : {"tensor_copies", "tensor_reductions", "tensor_pipelines"}) {
    for (const char* environment :
         {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_CHECKS=all WARPEMU_THREADS=1",
          "WARPEMU_CHECKS=initcheck,racecheck,synccheck,leakcheck WARPEMU_THREADS=4",
          "WARPEMU_CHECKS=racecheck WARPEMU_SCHEDULE=one_ahead"}) {
      const Result r = run(program, "", std::string("WARPEMU_ARCH=90 ") + environment);
      EXPECT_EQ(r.exit_code, 0) << program << " " << environment << "\n" << r.output;
      EXPECT_EQ(r.output, "0 failures\n") << program << " " << environment;
    }
  }
}

TEST(TensorCopies, refuse_maps_against_the_rules_of_the_documentation) {
  const Result r = run("tensor_copies", "refused", "WARPEMU_ARCH=90");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("emulator: invalid_copy at tensor_copies.cu"), std::string::npos) << r.output;
}

class TensorMistakes : public testing::TestWithParam<MarkedMistake> {};

TEST_P(TensorMistakes, are_named_at_their_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"})
    expect_told_at_its_line("tensor_copies", GetParam(),
                            std::string(native) + " WARPEMU_ARCH=90 WARPEMU_CHECKS=racecheck");
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, TensorMistakes,
    testing::Values(
        MarkedMistake{"misaligned_tile", "misaligned", "716\n", "no multiple of 128 bytes"},
        MarkedMistake{"unaligned_start", "misaligned", "715\n",
                      "which is byte 4 of a row: no multiple of 16"},
        MarkedMistake{"tile_overrun", "out_of_bounds", "700\n", "partly past the end of tile (256 bytes)"},
        MarkedMistake{"store_before_tensor", "out_of_bounds", "715\n",
                      "begins at element -1 of axis 1, before the tensor"},
        MarkedMistake{"no_map", "trap", "719\n", "there is none at this address"},
        MarkedMistake{"tensor_overrun", "out_of_bounds", "700\n", "the last 24 bytes lie past the end"},
        MarkedMistake{"no_wait", "shared_race", "0\n", "nothing orders the copy and that access"}),
    [](const auto& test) { return test.param.name; });

// Of tiles that are loaded, used and loaded again; the corrected twin of each is silent. Whichever warp
// comes first.
class AsyncRaces : public testing::TestWithParam<const char*> {};

TEST_P(AsyncRaces, are_told_at_the_copy_with_the_other_access) {
  const std::string name = GetParam();
  const auto line = [&](const char* word) {
    return std::to_string(marked_line("async_races.cu", name, word));
  };
  for (const char* environment : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always", "WARPEMU_SCHEDULE=reversed",
                                  "WARPEMU_SCHEDULE=one_ahead WARPEMU_CHECKS=all"}) {
    const std::string all = std::string("WARPEMU_ARCH=90 WARPEMU_CHECKS=racecheck ") + environment;
    const Result wrong = run("async_races", name + " wrong", all);
    EXPECT_NE(wrong.output.find("shared_race at async_races.cu:" + line("MISTAKE") + " "), std::string::npos)
        << environment << "\n"
        << wrong.output;
    EXPECT_NE(wrong.output.find("may still be at async_races.cu:" + line("ACCESS") + ","), std::string::npos)
        << environment << "\n"
        << wrong.output;
    const Result right = run("async_races", name, all);
    EXPECT_EQ(right.exit_code, 0) << environment << "\n" << right.output;
    EXPECT_EQ(right.output, "") << environment;
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, AsyncRaces,
                         testing::Values("tile_reuse", "unawaited", "ring", "store_reuse", "lanes_unawaited",
                                         "lanes_reuse", "multicast", "multicast_ring", "between_blocks",
                                         "sent_tile"),
                         [](const auto& test) { return std::string(test.param); });

class ClusterMistakes : public testing::TestWithParam<MarkedMistake> {};

TEST_P(ClusterMistakes, are_named_at_their_line) {
  for (const char* native : {"WARPEMU_NATIVE=0", "WARPEMU_NATIVE=always"})
    expect_told_at_its_line("clusters", GetParam(),
                            std::string(native) + " WARPEMU_ARCH=90 WARPEMU_CHECKS=initcheck");
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, ClusterMistakes,
    testing::Values(MarkedMistake{"no_such_block", "out_of_bounds", "700\n",
                                  "block 2 of a cluster of 2 blocks"},
                    MarkedMistake{"past_the_end", "out_of_bounds", "700\n", "just past the end of cells"},
                    MarkedMistake{"returned", "use_after_free", "719\n", "block (0,0,0), which has returned"},
                    MarkedMistake{"unset", "uninitialized_read", "0\n", "another block of the cluster"},
                    MarkedMistake{"unmet", "barrier_deadlock", "719\n", "the barrier of their cluster"}),
    [](const auto& test) { return test.param.name; });

TEST(Emulator, runs_vector_reductions_of_sm_90) {
  expect_success("atomics_sm90", "vectors", "WARPEMU_ARCH=90");
}

TEST(Emulator, multiplies_matrices_of_sm_90) {
  expect_success("matrix_products_sm90", "sm_90", "WARPEMU_ARCH=90");
  expect_success("sparse_products_sm90", "", "WARPEMU_ARCH=90");
  expect_success("matrix_moves_sm90", "sm_90", "WARPEMU_ARCH=90");
}

TEST(Emulator, computes_with_packed_values_of_sm_90) {
  expect_success("packed_values_sm90", "", "WARPEMU_ARCH=90");
}

}  // namespace
