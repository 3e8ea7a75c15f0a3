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

}  // namespace
}  // namespace warpgrade
