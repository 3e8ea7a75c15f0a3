#include <gtest/gtest.h>

#include "findings/diagnostics.h"
#include "support/json_line.h"
#include "support/line_queue.h"

namespace warpgrade::emu {
namespace {

TEST(JsonLine, escapes_text) {
  JsonLine json;
  json.text("message", "a \"b\" \\ \n").number("n", 3).real("x", 1.25, 2);
  EXPECT_EQ(json.str(), R"({"message":"a \"b\" \\ \u000a","n":3,"x":1.25})");
}

TEST(LineQueue, hands_out_whole_lines_that_fit_and_keeps_the_rest) {
  LineQueue queue;
  queue.push("12345");
  queue.push("678");
  char buffer[8];
  EXPECT_EQ(queue.drain(buffer, sizeof buffer), 6u);
  EXPECT_STREQ(buffer, "12345\n");
  EXPECT_EQ(queue.drain(buffer, 4), 0u);
  EXPECT_EQ(queue.drain(buffer, sizeof buffer), 4u);
  EXPECT_STREQ(buffer, "678\n");
}

TEST(Diagnostics, counts_repeats_at_one_place) {
  Diagnostics diagnostics;
  Diagnostic d;
  d.kind = Finding::out_of_bounds;
  d.path = "/home/student/spmm.cu";
  d.line = 31;
  diagnostics.add(d);
  diagnostics.add(d);
  d.line = 32;
  diagnostics.add(d);
  char text[1024];
  diagnostics.drain(text, sizeof text);
  const std::string lines = text;
  EXPECT_NE(lines.find("\"file\":\"spmm.cu\",\"line\":31,\"path\":\"/home/student/spmm.cu\",\"count\":2"),
            std::string::npos)
      << lines;
  EXPECT_NE(lines.find("\"line\":32"), std::string::npos) << lines;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
}

}  // namespace
}  // namespace warpgrade::emu
