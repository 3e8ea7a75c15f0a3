// Sentences in a reader's language: what is found, what stays English, which files are refused.
#include "cli/readers_words.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/scoped_variable.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

class ReadersWords : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& text) {
    std::ofstream(folder_ / "de.po") << text;
    return folder_ / "de.po";
  }
  Words words(const std::string& text) {
    Words words;
    words.add(write(text));
    return words;
  }
  std::string refusal(const std::string& text) {
    try {
      words(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / "readers_words";
};

constexpr const char* kTable = R"po(msgid ""
msgstr "Language: de\n"

msgctxt "part/reads"
msgid "reads"
msgstr "liest"

msgctxt "part/size"
msgid "{name} ({n} bytes)"
msgstr "{name} ({n} Byte)"
#, python - brace - format
msgctxt "end"
msgid "{words} {n} bytes past the end of {words2}"
msgstr "hinter dem Ende von {words2}: {words} {n} Byte"

msgctxt "race"
msgid "{verb} byte {n}, which thread {thread} wrote at {place}"
msgstr "{place}: {verb} {n} von {thread}"

msgctxt "shorter"
msgid "put a barrier between the two"
msgstr "eine Barriere dazwischen"

msgctxt "longer"
msgid "put a barrier between the two, and one behind"
msgstr ""

msgctxt "braces"
msgid "clear it (int bins[8] = {{}};)"
msgstr "löschen (int bins[8] = {{}};)"
)po";

TEST_F(ReadersWords, FindsASentenceBehindItsPlaceAndKeepsWhatStandsAroundIt) {
  EXPECT_EQ(words(kTable).of("a.cu:3: reads 4 bytes past the end of c (8 bytes) (run: failed); also: x"),
            "a.cu:3: hinter dem Ende von c (8 Byte): liest 4 Byte (run: failed); also: x");
}

TEST_F(ReadersWords, PutsPlacesWhereTheLanguageWantsThem) {
  EXPECT_EQ(words(kTable).of("reads byte 7, which thread (1,0,0) wrote at a.cu:9"),
            "a.cu:9: liest 7 von (1,0,0)");
}

TEST_F(ReadersWords, ASentenceWithoutWordsStaysEnglishWholly) {
  const Words table = words(kTable);
  EXPECT_EQ(table.of("put a barrier between the two"), "eine Barriere dazwischen");
  EXPECT_EQ(table.of("put a barrier between the two, and one behind"),
            "put a barrier between the two, and one behind");
  EXPECT_EQ(table.of("put a barrier between the two or do not"), "put a barrier between the two or do not");
  EXPECT_EQ(table.of("the program printed: reads"), "the program printed: reads");
  EXPECT_EQ(table.untranslated(), 1u);
}

TEST_F(ReadersWords, KeepsLinesAndIndentationAndBracesOfCode) {
  EXPECT_EQ(words(kTable).of("  clear it (int bins[8] = {};)\n\nput a barrier between the two\n"),
            "  löschen (int bins[8] = {};)\n\neine Barriere dazwischen\n");
}

// A submission prints what it likes into a message.
TEST_F(ReadersWords, ALineThatFitsInManyWaysEnds) {
  std::string line = "reads";
  for (int i = 0; i < 20000; ++i) line += " 4 bytes past the end of (";
  EXPECT_EQ(words(kTable).of(line).substr(0, 5), "reads");
}

TEST_F(ReadersWords, LaterFilesChangeSingleSentences) {
  Words table = words(kTable);
  table.add(write("msgid \"put a barrier between the two\"\nmsgstr \"__syncthreads() dazwischen\"\n"));
  EXPECT_EQ(table.of("put a barrier between the two"), "__syncthreads() dazwischen");
  EXPECT_EQ(table.of("clear it (int bins[8] = {};)"), "löschen (int bins[8] = {};)");
}

TEST_F(ReadersWords, AFuzzySentenceStaysEnglish) {
  EXPECT_EQ(words("#, fuzzy\nmsgid \"a\"\nmsgstr \"b\"\n").of("a"), "a");
}

TEST_F(ReadersWords, RefusesAFileWithItsLine) {
  const std::string file = (folder_ / "de.po").string();
  EXPECT_EQ(refusal("msgid \"{n} cases\"\nmsgstr \"{m} Fälle\"\n"),
            file + ":1: the words have a place {m}, which the English sentence has not");
  EXPECT_EQ(refusal("\nmsgid \"{n} cases\"\nmsgstr \"Fälle\"\n"),
            file + ":2: the words lack the place {n} of the English sentence");
  EXPECT_EQ(refusal("msgid \"{n cases\"\nmsgstr \"\"\n").substr(0, file.size() + 4), file + ":1: ");
  EXPECT_EQ(refusal("msgid \"a\"\nmsgid \"b\"\n"), file + ":2: expected msgstr");
  EXPECT_EQ(refusal("msgid \"a\"\nmsgstr b\n"), file + ":2: expected a text in double quotes");
  EXPECT_NE(refusal("msgid \"a\"\nmsgid_plural \"b\"\n").find(":2: expected msgctxt, msgid, msgstr"),
            std::string::npos);
}

std::vector<std::string> languages(const char* lang, const char* language = "", const char* asked = "") {
  const ScopedVariable all("LC_ALL", ""), messages("LC_MESSAGES", ""), plain("LANG", lang),
      list("LANGUAGE", language), own("WARPGRADE_LANG", asked);
  return wanted_languages();
}

// The order is gettext's (its manual: "Setting the POSIX locale", "Specifying a priority list of languages").
TEST(WantedLanguages, AreThoseOfTheLocaleAsGettextHasThem) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(languages("de_AT.UTF-8@euro"), (Names{"de_AT", "de"}));
  EXPECT_EQ(languages("zh"), Names{"zh"});
  EXPECT_EQ(languages("C"), Names{});
  EXPECT_EQ(languages("C.UTF-8", "de"), Names{});
  EXPECT_EQ(languages("zh_CN.GB18030"), Names{});  // the words are UTF-8
  EXPECT_EQ(languages("de_DE.UTF-8", "en:de"), (Names{"en", "de", "de_DE", "de"}));
  EXPECT_EQ(languages("en_US.UTF-8", "", "de"), Names{"de"});
  EXPECT_EQ(languages("de_DE.UTF-8", "", "C"), Names{});
}

}  // namespace
}  // namespace warpgrade
