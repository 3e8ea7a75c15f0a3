// The order between streams and the host: programs/stream_order.cu has each mistake and its mended form, and
// says where NVIDIA documents what orders commands.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "run_and_expect.h"

namespace {

struct Program {
  std::string name, forms;
};

std::vector<Program> programs() {
  std::istringstream lines(run("stream_order").output);
  std::vector<Program> all;
  for (Program p; lines >> p.name >> p.forms;) all.push_back(p);
  return all;
}

std::string place(const std::string& name, const std::string& word) {
  return "stream_order.cu:" + std::to_string(marked_line("stream_order.cu", name, word));
}

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

constexpr const char* kModes[] = {"WARPEMU_NATIVE=0 ", "WARPEMU_NATIVE=always ", "WARPEMU_THREADS=4 "};

TEST(StreamOrder, two_commands_that_nothing_orders_are_named_at_both_lines) {
  size_t wrong = 0;
  for (const Program& p : programs()) {
    if (p.forms != "both") continue;
    ++wrong;
    for (const std::string mode : kModes) {
      const Result r = run("stream_order", p.name + " wrong", mode + kEveryCheck);
      EXPECT_EQ(r.exit_code, 0) << r.output;
      EXPECT_EQ(count_of(r.output, "emulator: "), 1u) << p.name << "\n" << r.output;
      EXPECT_NE(r.output.find("emulator: unordered at " + place(p.name, "LATER")), std::string::npos)
          << p.name << " " << place(p.name, "LATER") << "\n"
          << r.output;
      if (marked_line("stream_order.cu", p.name, "EARLIER") < 0) continue;
      EXPECT_NE(r.output.find("(called at " + place(p.name, "EARLIER") + ")"), std::string::npos)
          << p.name << " " << place(p.name, "EARLIER") << "\n"
          << r.output;
    }
  }
  EXPECT_GE(wrong, 20u);
}

TEST(StreamOrder, commands_that_are_ordered_are_not_named) {
  size_t right = 0;
  for (const Program& p : programs()) {
    ++right;
    for (const std::string mode : kModes) {
      const Result r = run("stream_order", p.name + " right", mode + kEveryCheck);
      EXPECT_EQ(r.exit_code, 0) << r.output;
      EXPECT_EQ(r.output, "") << p.name;
    }
  }
  EXPECT_GE(right, 40u);
}

TEST(StreamOrder, is_looked_at_by_racecheck_alone) {
  EXPECT_EQ(run("stream_order", "read_behind_write wrong", "WARPEMU_CHECKS=memcheck,initcheck").output, "");
  EXPECT_NE(run("stream_order", "read_behind_write wrong", "WARPEMU_CHECKS=racecheck").output, "");
}

}  // namespace
