#include "base/display_width.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

struct Shown {
  const char* name;
  const char* text;
  std::size_t columns;
};

void PrintTo(const Shown& shown, std::ostream* out) {
  *out << shown.name << " \"" << shown.text << '"';
}

class DisplayWidth : public testing::TestWithParam<Shown> {};

TEST_P(DisplayWidth, IsThatOfATerminal) {
  EXPECT_EQ(display_width(GetParam().text), GetParam().columns);
}

INSTANTIATE_TEST_SUITE_P(
    Letters, DisplayWidth,
    testing::Values(Shown{"Nothing", "", 0}, Shown{"Ascii", "Ada Lovelace", 12},
                    Shown{"EastAsia", "李小龍", 6}, Shown{"AccentInTheLetter", "José", 4},
                    Shown{"AccentOfItsOwn", "Jose\u0301", 4}, Shown{"ManyAccents", "a\u0301\u0323\u0308b", 2},
                    Shown{"ThaiVowelWithAColumn", "กำ", 2}, Shown{"DevanagariSign", "नि", 1},
                    Shown{"KoreanSyllables", "한글", 4},
                    Shown{"KoreanSyllablesAsMacOsStoresThem", "\u1112\u1161\u11ab\u1100\u1173\u11af", 4}),
    [](const auto& shown) { return shown.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Emoji, DisplayWidth,
    testing::Values(Shown{"One", "\U0001F642", 2},
                    Shown{"Family", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466", 2},
                    Shown{"FamilyAmongLetters", "a\U0001F468\u200D\U0001F469\u200D\U0001F467z", 4},
                    Shown{"SkinTone", "\U0001F44D\U0001F3FD", 2},
                    Shown{"SkinToneInASequence", "\U0001F469\U0001F3FD\u200D\U0001F4BB", 2},
                    Shown{"SkinToneAlone", "\U0001F3FD", 2}, Shown{"Flag", "\U0001F1E9\U0001F1EA", 2},
                    Shown{"TwoFlags", "\U0001F1E9\U0001F1EA\U0001F1EB\U0001F1F7", 4},
                    Shown{"FlagOfScotland",
                          "\U0001F3F4\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F", 2},
                    Shown{"RainbowFlag", "\U0001F3F3\uFE0F\u200D\U0001F308", 2},
                    Shown{"HeartAsText", "\u2764", 1}, Shown{"HeartAsEmoji", "\u2764\uFE0F", 2},
                    Shown{"HeartOnFire", "\u2764\uFE0F\u200D\U0001F525", 2},
                    Shown{"Keycap", "1\uFE0F\u20E3", 2}, Shown{"SelectorWithoutAnEmoji", "a\uFE0F", 1},
                    Shown{"TwoThatAreNotJoined", "\U0001F468\U0001F469", 4}),
    [](const auto& shown) { return shown.param.name; });

INSTANTIATE_TEST_SUITE_P(Damage, DisplayWidth,
                         testing::Values(Shown{"BytesThatAreNoUtf8", "a\xff\xfe", 3},
                                         Shown{"BetweenJoinedLetters", "\U0001F468\xff\u200D\U0001F469", 5},
                                         Shown{"CutOff", "e\xcc", 2}),
                         [](const auto& shown) { return shown.param.name; });

}  // namespace
}  // namespace warpgrade
