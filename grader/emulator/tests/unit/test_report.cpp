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

// What NumPy says of x[3] where x is of three halves: "index 3 is out of bounds for axis 0 with size 3".
TEST(Diagnostics, of_python_name_the_element_as_numpy_counts) {
  const auto told = [](const char* path, DiagnosedAllocation array) {
    Diagnostics diagnostics;
    Diagnostic d;
    d.kind = Finding::out_of_bounds;
    d.path = path;
    d.line = 7;
    d.kernel = "add";
    d.allocation = std::move(array);
    diagnostics.add(d);
    char text[1024];
    diagnostics.drain(text, sizeof text);
    return std::string(text);
  };
  const auto names = [&](DiagnosedAllocation array, const char* words) {
    return told("add.py", std::move(array)).find(words) != std::string::npos;
  };
  EXPECT_TRUE(names({"x", 6, 6, 2}, "; element 3 of x, which has 3"));
  EXPECT_TRUE(names({"x", 6, 4, 2}, "; element 3 of x, which has 3")) << "begins inside";
  EXPECT_TRUE(names({"A.columns", 400, 480, 4}, "; element 120 of A.columns, which has 100"));
  EXPECT_TRUE(names({"A.columns", 400, -3, 4}, "; element -1 of A.columns, which has 100"));
  EXPECT_TRUE(names({"A.columns", 400, -8, 4}, "; element -2 of A.columns, which has 100"));
  EXPECT_FALSE(names({"x", 6, 6, 0}, "element")) << "nobody knows how large it is";
  EXPECT_EQ(told("add.cu", {"x", 6, 6, 2}).find("element"), std::string::npos) << "C++ has types of its own";
}

}  // namespace
}  // namespace warpgrade::emu
