// NCCL among the emulator's devices: programs/nccl_host.cu and nccl_jacobi.cu, which say where NVIDIA documents what
// they expect.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "run_and_expect.h"

namespace {

std::string devices(int count, const std::string& checks = "WARPEMU_CHECKS=memcheck") {
  return "WARPEMU_DEVICES=" + std::to_string(count) + " " + checks;
}

TEST(Nccl, collectives_of_every_type_are_plain_sums) {
  for (const int count : {1, 2, 3, 4}) {
    const std::string seed = "seed=" + std::to_string(std::random_device{}());
    const Result r = run("nccl_host", seed, devices(count, kEveryCheck));
    EXPECT_EQ(r.exit_code, 0) << seed << "\n" << r.output;
    EXPECT_EQ(r.output, "") << seed;
  }
}

struct Mistake {
  const char *name, *kind, *result, *message;
};

class NcclMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(NcclMistakes, is_named_with_ranks_and_line) {
  const Mistake& m = GetParam();
  const std::string place = "emulator: " + std::string(m.kind) +
                            " at nccl_host.cu:" + std::to_string(marked_line("nccl_host.cu", m.name)) + "\n";
  const Result r = run("nccl_host", m.name, devices(3, kEveryCheck));
  for (const std::string& part : {place, std::string(m.result), std::string(m.message)})
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
}

INSTANTIATE_TEST_SUITE_P(
    Nccl, NcclMistakes,
    testing::Values(
        Mistake{"missing_rank", "barrier_deadlock", "result 5",
                "communicator #1 (3 ranks) hangs: rank 2 never called it; ranks 0 and 1 did"},
        Mistake{"no_thread", "barrier_deadlock", "result 5", "rank 2 never called it; ranks 0 and 1 did"},
        Mistake{"no_group", "barrier_deadlock", "result 5", "put their calls between ncclGroupStart"},
        Mistake{"counts", "invalid_launch", "result 5",
                "rank 1 of communicator #1 (3 ranks) calls ncclAllReduce of 99 float32 with ncclSum, rank 0 "
                "calls "
                "ncclAllReduce of 100 float32 with ncclSum at nccl_host.cu:"},
        Mistake{"roots", "invalid_launch", "result 5", "ncclBroadcast of 100 float32 with root 0"},
        Mistake{"no_receive", "barrier_deadlock", "result 5", "rank 1 has no ncclRecv from rank 0"},
        Mistake{"sizes", "invalid_launch", "result 5",
                "ncclRecv of 50 float32 from rank 0, rank 0 calls ncclSend of 100"},
        Mistake{"overrun", "host_copy_overrun", "result 1", "ncclAllReduce of rank 0 of 408 bytes"},
        Mistake{"wrong_device", "other_device", "result 1",
                "memory of device 0, and the communicator's rank is on device 1"},
        Mistake{"no_order", "unordered", "result 0",
                "Nothing orders it behind a memset in stream #1 of device 0"},
        Mistake{"overlap", "invalid_launch", "result 4", "sendbuff has to be recvbuff + rank * count"},
        Mistake{"missing_init", "barrier_deadlock", "result 5",
                "ncclCommInitRank of a communicator of 2 ranks hangs: rank 1 never called it"}),
    [](const testing::TestParamInfo<Mistake>& one) { return one.param.name; });

TEST(Nccl, what_is_left_out_is_refused_by_name) {
  const Result r = run("nccl_host", "left_out", devices(2));
  EXPECT_NE(r.output.find("unsupported call of ncclCommShrink (NCCL)"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("result 5"), std::string::npos) << r.output;
}

// NVIDIA's user guide, "Example 2: One Device per Process or Thread".
TEST(NcclProcesses, collectives_and_messages_are_plain_sums) {
  for (const std::string count : {"1", "2", "3", "4"}) {
    const Result r = run("nccl_processes", count, devices(4, kEveryCheck));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << count;
  }
}

TEST(NcclProcesses, a_late_rank_is_waited_for) {
  const Result r = run("nccl_processes", "3 late", devices(3));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("has waited 10 s for rank 1, and goes on waiting"), std::string::npos) << r.output;
}

class NcclProcessMistakes : public testing::TestWithParam<Mistake> {};

// Nothing of the communicator is left in the system, which the program looks for itself.
TEST_P(NcclProcessMistakes, are_named_with_ranks_and_line) {
  const Mistake& m = GetParam();
  const bool joins = std::string(m.message).find("ncclCommInitRank") != std::string::npos;
  // A rank that comes when the others have failed to join would wait for them.
  const bool fails_to_join = joins && std::string(m.kind) == "invalid_launch";
  const Result r = run("nccl_processes", (fails_to_join ? "2 " : "3 ") + std::string(m.name), devices(3));
  const std::string mark = joins ? "init" : std::string(m.name) == "crossed" ? "crossed" : "call";
  const std::string place = "emulator: " + std::string(m.kind) +
                            " at nccl_processes.cu:" + std::to_string(marked_line("nccl_processes.cu", mark));
  EXPECT_EQ(r.exit_code, 0) << r.output;
  for (const std::string& part : {place + "\n", std::string(m.result), std::string(m.message)})
    EXPECT_NE(r.output.find(part), std::string::npos) << "want " << part << "\n" << r.output;
}

INSTANTIATE_TEST_SUITE_P(
    Nccl, NcclProcessMistakes,
    testing::Values(
        Mistake{"missing", "barrier_deadlock", "rank 0: result 5",
                "ncclCommInitRank of a communicator of 3 ranks hangs: rank 1 never called it; ranks 0 and 2 "
                "did"},
        Mistake{"killed", "barrier_deadlock", "rank 2: result 5",
                "(3 ranks) hangs: rank 1 never called it (its process has ended)"},
        Mistake{"destroyed", "barrier_deadlock", "rank 2: result 5",
                "(3 ranks) hangs: rank 1 never called it (it has destroyed its communicator)"},
        // Beside which of the other two depends on who came first.
        Mistake{"counts", "invalid_launch", "rank 2: result 5",
                "rank 1 of communicator #1 (3 ranks) calls ncclAllReduce of 99 float32 with ncclSum, rank "},
        Mistake{"crossed", "barrier_deadlock", "rank 0: result 5",
                "(it waits in ncclSend of 100 float32 to rank "},
        Mistake{"other_count", "invalid_launch", "rank 0: result 5",
                "ncclCommInitRank of rank 1 says 3 ranks, that of rank 0 at nccl_processes.cu:"},
        Mistake{"twice", "invalid_launch", "rank 0: result 5",
                "two calls of ncclCommInitRank are for rank 0, the other one at nccl_processes.cu:"}),
    [](const testing::TestParamInfo<Mistake>& one) { return one.param.name; });

// NVIDIA's user guide, "Using NCCL with CUDA Graphs".
TEST(Nccl, graphs_with_collectives_and_messages_are_plain_loops) {
  for (const int count : {1, 2, 3, 4}) {
    const Result r = run("nccl_graphs", "", devices(count, kEveryCheck));
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << count;
  }
}

TEST(Nccl, mistakes_in_graphs_are_named) {
  const auto line = [](const char* name) {
    return "nccl_graphs.cu:" + std::to_string(marked_line("nccl_graphs.cu", name));
  };
  const std::pair<const char*, std::vector<std::string>> told[] = {
      {"missing",
       {"barrier_deadlock at " + line("missing") + "\n", "hangs: ranks 1 and 2 never called it; rank 0 did",
        "\ncudaErrorLaunchFailure\n"}},
      // The graph runs beside the host's thread: either of the two may be the later one.
      {"no_order", {"emulator: unordered at ", line("no_order"), line("missing"), "ncclAllReduce of rank 0"}},
      {"one_graph",
       {"unsupported call of a group of several streams that one capture makes a graph of (NCCL)",
        "result 1\n"}}};
  for (const auto& [mistake, parts] : told) {
    const Result r = run("nccl_graphs", mistake, devices(3, kEveryCheck));
    for (const std::string& part : parts)
      EXPECT_NE(r.output.find(part), std::string::npos) << mistake << ": want " << part << "\n" << r.output;
  }
}

TEST(Nccl, a_plate_over_several_devices_is_that_of_one) {
  for (const int count : {1, 2, 3, 4}) {
    for (const char* way : {"nccl", "peer"}) {
      const Result r = run("nccl_jacobi", way, devices(count, kEveryCheck));
      EXPECT_EQ(r.exit_code, 0) << r.output;
      EXPECT_EQ(r.output, "") << count << " " << way;
    }
  }
}

TEST(Nccl, a_missing_event_between_step_and_exchange_is_named_at_both_lines) {
  const auto line = [](const char* name, const char* word) {
    return "nccl_jacobi.cu:" + std::to_string(marked_line("nccl_jacobi.cu", name, word));
  };
  for (const std::string way : {"nccl", "peer"}) {
    for (const int count : {2, 4}) {
      const Result r = run("nccl_jacobi", way + " wrong", devices(count, kEveryCheck));
      EXPECT_NE(r.output.find("emulator: unordered at " + line(way.c_str(), "EXCHANGE")), std::string::npos)
          << r.output;
      EXPECT_NE(r.output.find("emulator: unordered at " + line("step", "LAUNCH")), std::string::npos)
          << r.output;
      EXPECT_NE(r.output.find("(called at " + line("step", "LAUNCH") + "), which writes it at " +
                              line("step", "STEP")),
                std::string::npos)
          << r.output;
    }
  }
}

}  // namespace
