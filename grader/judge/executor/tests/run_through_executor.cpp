// The emulator's test programs, their host code in a process without a device: every call goes through the
// ring to the executor, which interprets. They must answer as they do on the emulator directly.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Result {
  int exit_code = -1;
  std::string output;  // stdout and stderr
};

Result run_command(const std::string& command) {
  Result result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) result.output.append(buffer, n);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

const std::string kPrograms = WARPEMU_PROGRAM_DIR "/";

Result run_directly(const std::string& program, const std::string& environment = "") {
  return run_command("env LD_LIBRARY_PATH=" WARPEMU_LIBRARY_DIR " WARPEMU_THREADS=2 " + environment + " " +
                     kPrograms + program);
}

Result run_through_executor(const std::string& program, const std::string& environment = "",
                            const std::string& options = "") {
  return run_command("env WARPEMU_THREADS=2 " + environment + " " EXECUTOR " " + options + " -- " +
                     kPrograms + program);
}

// The kernels' output comes from another process than the host's: lines may change places.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Programs : public testing::TestWithParam<const char*> {};

TEST_P(Programs, answer_through_the_executor_as_they_do_directly) {
  const Result r = run_through_executor(GetParam());
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.output.find("FAILED"), std::string::npos) << r.output;
}

INSTANTIATE_TEST_SUITE_P(Executor, Programs,
                         testing::Values("integer_arithmetic", "float_arithmetic", "conversions",
                                         "half_arithmetic", "comparisons", "control_flow", "warp_operations",
                                         "barriers", "atomics", "async_copy", "device_functions",
                                         "cooperative_groups", "spmm", "matrix_products", "matrix_moves",
                                         "async_barriers", "packed_values", "device_heap", "dynamic_calls",
                                         "graphs", "thrust_algorithms", "cub_algorithms", "curand_device",
                                         "libcudacxx", "libcudacxx_barriers", "cub_thrust", "separate",
                                         "vectors_between_blocks", "textures", "surfaces", "graph_memory",
                                         "device_queries", "limits", "runtime_api", "memory_spaces",
                                         "host_functions"),
                         [](const auto& test) { return test.param; });

TEST(Executor, lets_host_functions_wait_for_one_another_and_for_the_end_of_the_program) {
  for (const char* what : {"host_functions own", "host_functions exit"}) {
    const Result r = run_through_executor(what);
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output.find("FAILED"), std::string::npos) << r.output;
  }
}

TEST(Executor, tells_the_fault_of_a_kernel_behind_a_host_function) {
  const Result fault = run_through_executor("host_functions fault", "WARPEMU_REPORT=quiet");
  EXPECT_EQ(fault.exit_code, 0) << fault.output;
  EXPECT_NE(fault.output.find("700\n"), std::string::npos) << fault.output;
}

// Both calls of a finding are the program's, in the other process.
TEST(Executor, names_commands_without_an_order_as_the_emulator_does) {
  const std::string checks = "WARPEMU_CHECKS=racecheck";
  std::istringstream lines(run_directly("stream_order").output);
  for (std::string name, forms; lines >> name >> forms;) {
    const std::string wrong = "stream_order " + name + (forms == "both" ? " wrong" : " right");
    // Here the judge, who has the sources, names allocations.
    const std::string named = run_directly(wrong, checks).output;
    const std::string direct =
        std::regex_replace(named, std::regex("`[^`]*` \\((allocation #\\d+), "), "$1 (");
    EXPECT_EQ(sorted_lines(run_through_executor(wrong, checks).output), sorted_lines(direct)) << name;
  }
}

// Of a file of programs that carries the name behind the word.
int marked_line(const std::string& file, const std::string& mark) {
  std::ifstream text(WARPEMU_PROGRAM_SOURCES "/" + file);
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.ends_with("// " + mark)) return number;
  }
  return -1;
}

// Of the host's own code, which no call shows: by page protection.
TEST(Executor, names_memory_that_the_host_touches_too_early) {
  std::istringstream lines(run_directly("host_touches").output);
  size_t wrong = 0, right = 0;
  for (std::string name, forms; lines >> name >> forms;) {
    const Result r = run_through_executor("host_touches " + name + " right", "WARPEMU_CHECKS=racecheck");
    EXPECT_EQ(r.exit_code, 0) << r.output;
    EXPECT_EQ(r.output, "") << name;
    ++right;
    if (forms != "both") continue;
    ++wrong;
    const Result found = run_through_executor("host_touches " + name + " wrong", "WARPEMU_CHECKS=racecheck");
    EXPECT_EQ(found.exit_code, 0) << found.output;
    const std::string place =
        "host_touches.cu:" + std::to_string(marked_line("host_touches.cu", "TOUCH " + name));
    EXPECT_EQ(found.output.find("emulator: unordered at " + place + "\n"), 0u)
        << name << place << found.output;
    EXPECT_EQ(found.output.find("emulator: ", 1), std::string::npos) << found.output;
    const Result unwatched =
        run_through_executor("host_touches " + name + " wrong", "WARPEMU_CHECKS=memcheck");
    EXPECT_EQ(unwatched.output, "") << name;
  }
  EXPECT_GE(wrong, 6u);
  EXPECT_GE(right, 11u);
}

TEST(Executor, launches_clusters_and_tells_their_occupancy) {
  const Result r = run_through_executor("clusters", "WARPEMU_ARCH=90");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(r.output.find("FAILED"), std::string::npos) << r.output;
}

TEST(Executor, prints_what_kernels_print) {
  const Result direct = run_directly("printf_and_assert"),
               forwarded = run_through_executor("printf_and_assert");
  EXPECT_EQ(forwarded.exit_code, direct.exit_code);
  EXPECT_EQ(sorted_lines(forwarded.output), sorted_lines(direct.output));
}

TEST(Executor, gives_the_same_sums_as_the_emulator) {
  EXPECT_EQ(run_through_executor("spmm").output, run_directly("spmm").output);
}

TEST(Executor, keeps_a_fault_for_every_later_call) {
  const std::pair<const char*, const char*> faults[] = {{"illegal_address", "700\n"},
                                                        {"timeout", "702\n"},
                                                        {"assert", "710\n"},
                                                        {"misaligned", "716\n"},
                                                        {"trap", "719\n"}};
  for (const auto& [name, code] : faults) {
    const Result r = run_through_executor(std::string("runtime_errors ") + name,
                                          "WARPEMU_REPORT=quiet WARPEMU_LAUNCH_TIMEOUT_S=1");
    EXPECT_EQ(r.exit_code, 0) << name << "\n" << r.output;
    EXPECT_NE(r.output.find(code), std::string::npos) << name << "\n" << r.output;
  }
}

TEST(Executor, limits_device_memory) {
  EXPECT_NE(run_through_executor("spmm", "", "--device-memory-mb 1").exit_code, 0);
  EXPECT_EQ(run_through_executor("spmm", "", "--device-memory-mb 8").exit_code, 0);
}

// Every way to device memory: an allocation of 16 MiB is refused, one of 4 MiB is not.
TEST(Executor, counts_every_way_to_device_memory) {
  const Result r = run_command(EXECUTOR " --device-memory-mb 8 -- " MEMORY_LIMIT);
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(run_command(EXECUTOR " --device-memory-mb 0 -- " MEMORY_LIMIT).exit_code != 0, true);
}

TEST(Executor, gives_up_when_a_kernel_does_not_end) {
  const auto begin = std::chrono::steady_clock::now();
  const Result r =
      run_command("env WARPEMU_LAUNCH_TIMEOUT_S=50 " EXECUTOR " --wait-seconds 1 -- " HOST_SIDE " endless");
  EXPECT_EQ(r.exit_code, 124) << r.output;
  EXPECT_NE(r.output.find("executor: gave up: driver_did_not_return: launch"), std::string::npos) << r.output;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// What README.md lists as refused.
TEST(Executor, names_what_it_refuses) {
  const Result stack = run_command(EXECUTOR " -- " HOST_SIDE " registered_stack");
  EXPECT_NE(stack.output.find("unsupported call of cudaHostRegister for a stack"), std::string::npos)
      << stack.output;
  EXPECT_EQ(stack.exit_code, 0) << stack.output;
  const Result condition = run_through_executor("graph_conditions");
  EXPECT_NE(condition.output.find("unsupported call of cudaGraphConditionalHandleCreate"), std::string::npos)
      << condition.output;
  const Result ipc = run_through_executor("left_out ipc", "WARPEMU_ARCH=90");
  EXPECT_NE(ipc.output.find("unsupported call of cudaIpcGetMemHandle"), std::string::npos) << ipc.output;
}

TEST(Executor, serves_more_threads_than_it_has_slots) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " threads");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST(Executor, shares_pinned_and_managed_pages_with_the_host) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " shared_pages");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST(Executor, copies_boxes_of_pitched_memory) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " boxes");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

// The records that a program's calls became.
long calls_of(const std::string& output) {
  const size_t at = output.find("first call, ");
  return at == std::string::npos ? -1 : std::atol(output.c_str() + at + 12);
}

TEST(Executor, runs_graphs_with_host_functions_and_pageable_copies_in_their_order) {
  const Result direct = run_command("env LD_LIBRARY_PATH=" WARPEMU_LIBRARY_DIR " " HOST_SIDE " graphs");
  EXPECT_EQ(direct.exit_code, 0) << direct.output;
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " graphs");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST(Executor, launches_a_graph_with_one_call) {
  const Result r = run_command(EXECUTOR " --figures -- " HOST_SIDE " graph_launches");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_LT(calls_of(r.output), 230) << r.output;  // 200 launches, each of 50 kernels
  EXPECT_NE(r.output.find("10000 launches"), std::string::npos) << r.output;
}

TEST(Executor, does_not_run_a_graph_whose_memory_is_gone) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " graph_of_freed_memory");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("a graph's memset"), std::string::npos) << r.output;
}

TEST(Executor, shares_memory_that_the_program_registers) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " registered");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST(Executor, carries_managed_variables_to_and_fro) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " managed_variables");
  EXPECT_EQ(r.exit_code, 0) << r.output;
}

TEST(Executor, refuses_ranges_beyond_an_allocation) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " late_errors");
  EXPECT_EQ(r.exit_code, 0) << r.output;
  EXPECT_NE(r.output.find("a copy of 65 bytes at offset 0 leaves"), std::string::npos) << r.output;
}

TEST(Executor, names_host_code_that_dereferences_a_device_pointer) {
  const Result r = run_command(EXECUTOR " -- " HOST_SIDE " dereference");
  EXPECT_EQ(r.exit_code, 139) << r.output;
  EXPECT_NE(r.output.find("host code dereferenced a device pointer"), std::string::npos) << r.output;
}

TEST(Executor, returns_the_exit_code_of_the_program) {
  EXPECT_EQ(run_command(EXECUTOR " -- /bin/sh -c 'exit 7'").exit_code, 7);
  EXPECT_EQ(run_command(EXECUTOR " -- /bin/sh -c 'kill -9 $$'").exit_code, 137);
  EXPECT_EQ(run_command(EXECUTOR " -- /nowhere/program").exit_code, 125);
}

TEST(Executor, says_that_there_is_none) {
  const Result r = run_command("env LD_LIBRARY_PATH=$(dirname " EXECUTOR ") " + kPrograms + "spmm");
  EXPECT_NE(r.exit_code, 0);
  EXPECT_NE(r.output.find("start the program with `warpgrade-executor -- PROGRAM`"), std::string::npos)
      << r.output;
}

}  // namespace
