#include "base/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace warpgrade {
namespace {

constexpr const char* kBad = "\xEF\xBF\xBD";

TEST(ValidUtf8, LeavesValidTextAlone) {
  for (const char* text : {"", "plain", "Grüße, 世界, 😀", "\x7F", "\xF4\x8F\xBF\xBF"})
    EXPECT_EQ(valid_utf8(text), text);
}

TEST(ValidUtf8, ReplacesEachByteOfWhatIsNotWellFormed) {
  EXPECT_EQ(valid_utf8("a\xFFz"), std::string("a") + kBad + "z");
  EXPECT_EQ(valid_utf8("\xC3"), kBad);                           // cut short
  EXPECT_EQ(valid_utf8("\xC0\xAF"), std::string(kBad) + kBad);   // over-long
  EXPECT_EQ(valid_utf8("\xED\xA0\x80").substr(0, 3), kBad);      // a surrogate
  EXPECT_EQ(valid_utf8("\xF5\x80\x80\x80").substr(0, 3), kBad);  // beyond U+10FFFF
  EXPECT_EQ(valid_utf8("\xE4\xB8z"), std::string(kBad) + kBad + "z");
}

TEST(ValidUtf8, MakesAnyBytesFitForJson) {
  const unsigned seed = 20261122;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string valid = valid_utf8(text);
    EXPECT_NO_THROW((void)nlohmann::json(valid).dump()) << "seed " << seed << ", round " << round;
    EXPECT_EQ(valid_utf8(valid), valid);
  }
}

TEST(PlainText, TakesControlCharactersAndKeepsLines) {
  EXPECT_EQ(plain_text("a\tb\nc\r\nd"), "a\tb\nc\nd");
  EXPECT_EQ(plain_text("\x1b[2J"), std::string(kBad) + "[2J");
  EXPECT_EQ(plain_text("\xC2\x9B"
                       "2J"),
            std::string(kBad) + "2J");  // CSI of 8-bit terminals
  EXPECT_EQ(plain_text("\xC2\xA0Zoë"), "\xC2\xA0Zoë");
  EXPECT_EQ(plain_text(std::string("\0\x7f\xff", 3)), std::string(kBad) + kBad + kBad);
}

TEST(PlainText, LinesAreCutBetweenCharacters) {
  EXPECT_EQ(plain_line("a\nb\n"), "a b");
  EXPECT_EQ(plain_line("12345", 5), "12345");
  EXPECT_EQ(plain_line("123456", 5), "12...");
  const unsigned seed = 20261122;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string line = plain_line(text, 20);
    EXPECT_LE(line.size(), 20u) << "seed " << seed << ", round " << round;
    EXPECT_EQ(valid_utf8(line), line) << "seed " << seed << ", round " << round;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const std::string valid = valid_utf8(text);
    const std::string_view tail = tail_of(valid, 20);
    EXPECT_LE(tail.size(), 20u);
    EXPECT_EQ(valid_utf8(tail), tail) << "seed " << seed << ", round " << round;
    EXPECT_TRUE(valid.ends_with(tail));
  }
}

}  // namespace
}  // namespace warpgrade
