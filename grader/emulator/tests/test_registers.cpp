// Registers of programs as nvcc builds them: the numbers are those of `ptxas -v`, launches that take too many
// are refused with the arithmetic, and occupancy agrees.
#include <map>
#include <sstream>

#include "run_and_expect.h"

namespace {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}

// By a part of the mangled name, as ptxas prints them.
std::map<std::string, int> registers_by_ptxas() {
  const std::string log =
      output_of(WARPEMU_NVCC
                " -std=c++17 -O3 -fmad=false -arch=sm_80 -cubin -Xptxas -v -o /dev/null " WARPEMU_SOURCE_DIR
                "/programs/launch_limits.cu 2>&1");
  std::map<std::string, int> all;
  std::istringstream lines(log);
  std::string kernel;
  for (std::string line; std::getline(lines, line);) {
    for (const char* name : {"many", "some", "few", "bounded"}) {
      if (line.find("Compiling entry function") != std::string::npos && line.find(name) != std::string::npos)
        kernel = name;
    }
    const size_t used = line.find("Used ");
    if (used != std::string::npos) all[kernel] = std::atoi(line.c_str() + used + 5);
  }
  EXPECT_EQ(all.size(), 4u) << log;
  return all;
}

TEST(RegistersOfPrograms, are_those_of_ptxas_and_decide_on_launches_and_occupancy) {
  const std::map<std::string, int> by_ptxas = registers_by_ptxas();
  const Result r = run("launch_limits", "", "WARPEMU_REPORT=quiet");
  std::istringstream lines(r.output);
  int told = 0;
  for (std::string name; lines >> name; ++told) {
    int registers = 0, most = 0, largest = 0, error = 0, small = 0, large = 0;
    lines >> registers >> most >> largest >> error >> small >> large;
    ASSERT_TRUE(by_ptxas.contains(name)) << r.output;
    EXPECT_EQ(registers, by_ptxas.at(name)) << r.output;
    EXPECT_EQ(most, largest) << name;
    const bool fits = name == "few" || name == "bounded";
    EXPECT_EQ(largest == 1024, fits) << r.output;
    EXPECT_EQ(error, fits ? 0 : 701) << name << ": want cudaErrorLaunchOutOfResources";
    EXPECT_GE(large, 1) << name;
    EXPECT_LE(small, 65536 / 32 / registers) << name;
  }
  EXPECT_EQ(told, 4) << r.output;
}

TEST(RegistersOfPrograms, that_are_too_many_are_told_with_the_arithmetic) {
  const int registers = registers_by_ptxas()["many"];
  const int taken = (registers + 7) / 8 * 8;
  const std::string sum = " x 1024 threads = " + std::to_string(taken * 1024) + "; a block may have 65536";
  expect_told_at_its_line("launch_limits", {"plain", "invalid_launch", "701\n", sum.c_str()}, "");
  expect_told_at_its_line(
      "launch_limits",
      {"plain", "invalid_launch", "701\n",
       "Use at most 256 threads a block, or declare the kernel with __launch_bounds__(1024): then the "
       "compiler takes at most 64 registers"},
      "");
  // An H100 gave these two the same error, 720.
  expect_told_at_its_line("launch_limits", {"one_block", "invalid_launch", "720\n", sum.c_str()}, "");
  expect_told_at_its_line("launch_limits",
                          {"many_blocks", "invalid_launch", "720\n", "Launch at most 216 blocks"}, "");
}

}  // namespace
