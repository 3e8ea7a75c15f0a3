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

TEST(OneLine, TakesControlCharactersAndEndsInTime) {
  EXPECT_EQ(one_line("a\nb\x1b[2Jc", 100), "a b [2Jc");
  EXPECT_EQ(one_line("0123456789abcdefXYZ", 16), "0123456789abc...");
  EXPECT_EQ(one_line("ends in a newline\n", 100), "ends in a newline");
}

TEST(OneLine, IsShortAndValidWhateverTheBytes) {
  const unsigned seed = 20261123;
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 80, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::size_t most = 16 + random() % 40;
    const std::string line = one_line(text, most);
    EXPECT_LE(line.size(), most) << "seed " << seed << ", round " << round;
    EXPECT_EQ(valid_utf8(line), line) << "seed " << seed << ", round " << round;
    const std::string valid = valid_utf8(text);
    const std::string_view tail = tail_of(valid, most);
    EXPECT_LE(tail.size(), most);
    EXPECT_EQ(valid_utf8(tail), tail) << "seed " << seed << ", round " << round;
    EXPECT_TRUE(valid.ends_with(tail));
  }
}

}  // namespace
}  // namespace warpgrade
