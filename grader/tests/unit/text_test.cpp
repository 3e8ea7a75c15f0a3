#include "base/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#ifdef WARPGRADE_HAS_UTF8PROC
#include <utf8proc.h>
#endif

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

std::string utf8(char32_t point) {
  std::string text;
  if (point < 0x80) return {static_cast<char>(point)};
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  constexpr unsigned char kLead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(kLead[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
  return text;
}

#ifdef WARPGRADE_HAS_UTF8PROC
// Held against Unicode's own tables, as utf8proc has them.
TEST(PlainText, EveryCodePointIsTreatedAsUnicodesTablesSay) {
  const std::set<int> kDirecting{UTF8PROC_BIDI_CLASS_LRE, UTF8PROC_BIDI_CLASS_RLE, UTF8PROC_BIDI_CLASS_LRO,
                                 UTF8PROC_BIDI_CLASS_RLO, UTF8PROC_BIDI_CLASS_PDF, UTF8PROC_BIDI_CLASS_LRI,
                                 UTF8PROC_BIDI_CLASS_RLI, UTF8PROC_BIDI_CLASS_FSI, UTF8PROC_BIDI_CLASS_PDI};
  for (char32_t point = 0; point <= 0x10FFFF; ++point) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;  // no UTF-8
    const auto* facts = utf8proc_get_property(static_cast<utf8proc_int32_t>(point));
    const bool control = facts->category == UTF8PROC_CATEGORY_CC;
    const bool separator = facts->category == UTF8PROC_CATEGORY_ZL || facts->category == UTF8PROC_CATEGORY_ZP;
    const bool directs =
        kDirecting.contains(facts->bidi_class) || point == 0x200E || point == 0x200F || point == 0x061C;
    const bool noncharacter = (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
    const bool unfit = (control && point != '\n' && point != '\t') || separator || directs || noncharacter;
    ASSERT_EQ(plain_text(utf8(point)), unfit ? kBad : utf8(point))
        << "U+" << std::hex << static_cast<unsigned>(point);
  }
}
#endif

TEST(PlainText, TextOfAnyScriptIsLeftAlone) {
  for (const char* text : {"שלום עולם", "مرحبا", "نمی\u200cخواهم", "世界", "👩\u200d👩\u200d👧", "e\u0301",
                           "\ufeffx", "🏴\U000e0067\U000e007f"})
    EXPECT_EQ(plain_text(text), text);
}

TEST(PlainText, EveryTextInAValueIsMadePlain) {
  nlohmann::json value{{"a", {"x\u202ey", {{"b", "\u2028"}, {"n", 1}}}}, {"c", "ok"}};
  make_plain(value);
  EXPECT_EQ(value.dump(), "{\"a\":[\"x\ufffdy\",{\"b\":\"\ufffd\",\"n\":1}],\"c\":\"ok\"}");
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
