// WARPEMU_MUTANT in programs that nvcc built.
#include <gtest/gtest.h>

#include <sstream>

#include "run_and_expect.h"

namespace {

// The key of the first listed mutant whose line has all of these.
std::string find_mutant(const std::string& list, std::initializer_list<const char*> signs) {
  std::istringstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    bool has_all = line.starts_with("{\"mutant\":\"");
    for (const char* sign : signs) has_all = has_all && line.find(sign) != std::string::npos;
    if (has_all) return line.substr(11, line.find('"', 11) - 11);
  }
  return "";
}

TEST(MutantsOfPrograms, are_listed_with_their_lines) {
  const Result r = run("spmm", "", "WARPEMU_MUTANT=list");
  EXPECT_EQ(r.exit_code, 0);
  const std::string key = find_mutant(r.output, {"\"operator\":\"boundary\"", "spmm_naive_kernel"});
  EXPECT_EQ(key.rfind("boundary:_Z17spmm_naive_kernel", 0), 0u) << key;
  EXPECT_NE(r.output.find("programs/spmm.cu\",\"line\":"), std::string::npos);
}

// The program compares its result with the host's.
TEST(MutantsOfPrograms, are_the_same_interpreted_and_compiled) {
  const std::string list = run("spmm", "", "WARPEMU_MUTANT=list").output;
  const std::string mutant = find_mutant(list, {"\"operator\":\"no_store_lane\"", "spmm_naive_kernel"});
  ASSERT_NE(mutant, "");
  for (const std::string native : {"WARPEMU_NATIVE=0 ", "WARPEMU_NATIVE=always "}) {
    EXPECT_EQ(run("spmm", "", native).output.find("FAILED"), std::string::npos);
    EXPECT_NE(run("spmm", "", native + "WARPEMU_MUTANT=" + mutant).output.find("FAILED: a thread a row"),
              std::string::npos);
  }
}

TEST(MutantsOfPrograms, that_do_not_exist_stop_the_program) {
  for (const char* key : {"boundary", "boundary:_Z17spmm_naive_kernelPKiS0_PKfS2_Pfii:0"}) {
    const Result r = run("spmm", "", std::string("WARPEMU_MUTANT=") + key);
    EXPECT_NE(r.exit_code, 0) << key;
    EXPECT_NE(r.output.find("WARPEMU_MUTANT"), std::string::npos) << r.output;
  }
}

TEST(MutantsOfPrograms, that_trap_tell_what_is_reached) {
  const std::string list = run("spmm", "", "WARPEMU_MUTANT=list").output;
  std::string key = find_mutant(list, {"\"operator\":\"no_store\"", "spmm_naive_kernel"});
  ASSERT_NE(key, "");
  key.replace(0, key.find(':'), "trap");
  EXPECT_NE(run("spmm", "", "WARPEMU_MUTANT=" + key).exit_code, 0);
}

}  // namespace
