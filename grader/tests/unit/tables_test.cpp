#include "base/tables.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

TEST(FormatTable, CountsTheColumnsThatLettersTakeOnATerminal) {
  const std::string text = format_table({{"Ada", "1"}, {"李小龍", "22"}, {"Jose\u0301", "3"}, {"🙂", "4"}});
  EXPECT_EQ(text, "Ada      1\n----------\n李小龍  22\nJose\u0301     3\n🙂       4\n");
}

TEST(FormatTable, TakesWhatIsNoUtf8AsAColumnAByte) {
  EXPECT_EQ(format_table({{"a\xff\xfe", "x"}, {"abcd", "y"}}), "a\xff\xfe   x\n-------\nabcd  y\n");
}

nlohmann::json score(const char* title) {
  return {{"id", title},        {"title", title},   {"role", "student"},
          {"points", 1},        {"max_points", 1},  {"verdict", "accepted"},
          {"correct_cases", 1}, {"total_cases", 1}, {"speed_measured", false}};
}

TEST(ClassTable, NamesLanguagesWhereOneIsNotInCuda) {
  nlohmann::json scores{{"submissions", {score("ada"), score("bob")}}};
  EXPECT_EQ(class_table(scores).find("language"), std::string::npos);
  scores["submissions"][1]["language"] = "Python";
  const std::string text = class_table(scores);
  EXPECT_NE(text.find("submission  language  points"), std::string::npos) << text;
  EXPECT_NE(text.find("ada         CUDA "), std::string::npos) << text;
  EXPECT_NE(text.find("bob         Python "), std::string::npos) << text;
}

}  // namespace
}  // namespace warpgrade
