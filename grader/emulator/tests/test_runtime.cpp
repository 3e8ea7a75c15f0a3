// The runtime API: graphs, errors, what kernels print, memory that another process has made, and programs
// that cannot run.
#include <gtest/gtest.h>

#include <string>

#include "run_and_expect.h"

namespace {

TEST(Emulator, keeps_the_semantics_of_the_runtime_api) {
  expect_success("runtime_api");
}

TEST(Emulator, links_relocatable_device_code) {
  expect_success("separate");
  expect_success("separate", "", "WARPEMU_CHECKS=memcheck,initcheck,racecheck,synccheck");
  const Result r = run("separate", "past_end");
  EXPECT_EQ(r.output.substr(r.output.find("700")), "700\n");
  const std::string line = std::to_string(marked_line("separate_part.cu", "past_end"));
  EXPECT_NE(r.output.find("out_of_bounds at separate_part.cu:" + line), std::string::npos) << r.output;
}

TEST(Emulator, runs_host_functions_beside_the_thread_that_enqueues_them) {
  expect_success("host_functions");
  expect_success("host_functions", "own");
  expect_success("host_functions", "exit");
  const Result r = run("host_functions", "fault", "WARPEMU_REPORT=quiet");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.output, "700\n");
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
