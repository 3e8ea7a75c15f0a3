// WARPEMU_MUTANT in programs that nvcc built.
#include <gtest/gtest.h>

#include <set>
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

// The number that stands behind this sign in the line.
int number_after(const std::string& line, const std::string& sign) {
  return std::stoi(line.substr(line.find(sign) + sign.size()));
}

// The ordinals that {"kernel":FUNCTION,"kind":"reached","message":"0-12,15"} names.
std::set<int> reached_ordinals(const std::string& output, const std::string& function) {
  const std::string sign = "{\"kernel\":\"" + function + "\",\"kind\":\"reached\",\"message\":\"";
  std::set<int> ordinals;
  const size_t at = output.find(sign);
  if (at == std::string::npos) return ordinals;
  std::istringstream ranges(
      output.substr(at + sign.size(), output.find('"', at + sign.size()) - at - sign.size()));
  for (std::string range; std::getline(ranges, range, ',');) {
    const size_t dash = range.find('-');
    const int first = std::stoi(range),
              last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
    for (int ordinal = first; ordinal <= last; ++ordinal) ordinals.insert(ordinal);
  }
  return ordinals;
}

// A trap in an instruction's place stops the program where it runs, and nowhere else.
TEST(MutantsOfPrograms, that_are_reached_are_those_where_a_trap_stops_the_program) {
  const std::string function = "_Z10serial_endPfPKfi";
  std::set<int> listed;
  std::istringstream lines(run("counted", "copy", "WARPEMU_MUTANT=list").output);
  for (std::string line; std::getline(lines, line);)
    if (line.find("\"kernel\":\"" + function + "\"") != std::string::npos)
      listed.insert(number_after(line, "\"ordinal\":"));
  ASSERT_GT(listed.size(), 8u);
  for (const std::string native : {"WARPEMU_NATIVE=0 ", "WARPEMU_NATIVE=always "}) {
    // No thread is the 500th: nobody adds up.
    for (const std::string adder : {"5", "500"}) {
      const std::string arguments = "serial_end " + adder;
      const auto reached =
          reached_ordinals(run("counted", arguments, native + "WARPEMU_MUTANT=reached").output, function);
      ASSERT_FALSE(reached.empty());
      for (const int ordinal : listed) {
        const std::string trap = "WARPEMU_MUTANT=trap:" + function + ":" + std::to_string(ordinal);
        EXPECT_EQ(run("counted", arguments, native + trap).exit_code != 0, reached.contains(ordinal))
            << arguments << " " << ordinal;
      }
      EXPECT_EQ(reached.contains(*listed.rbegin()), adder == "5");
    }
  }
}

}  // namespace
