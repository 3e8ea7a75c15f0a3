// What people read in their own language. English is the source: programs and records hold English sentences,
// and who prints one looks it up in a table of sentences (grader/cli/words, PO files as translators know them). A
// sentence of the table has named places: `{n} bytes past the end of {words}`. A sentence that the table does
// not have stays English.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpgrade {

// A sentence of a table, cut at its places.
class Sentence {
 public:
  // The place's name says what fits it: `n` a number, `place` file:line, `thread` three numbers in brackets,
  // `word` letters without a space, `verb` a word and `words` several that are looked up in turn, any other
  // name anything in the line. A digit may follow. Throws std::invalid_argument with what is wrong.
  explicit Sentence(std::string_view text);

  using Values = std::map<std::string, std::string_view>;
  struct Found {
    std::size_t end = 0;
    Values values;
  };
  // Whether the sentence stands in `line` at `begin`; `whole`: up to the line's end.
  bool stands_at(std::string_view line, std::size_t begin, bool whole, Found& found) const;

  std::vector<std::string> places() const;  // sorted, each once
  // How much a line that fits says that it is this sentence: whether it begins with the same letters, how many
  // are the same.
  std::pair<bool, std::size_t> weight() const {
    return {!pieces_.empty() && pieces_.front().kind == Kind::kFixed, fixed_letters_};
  }

  enum class Kind { kFixed, kNumber, kPlace, kThread, kWord, kVerb, kWords, kAny };
  struct Piece {
    Kind kind = Kind::kFixed;
    std::string text;  // the letters, or the place's name
  };
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  struct Search;

  std::vector<Piece> pieces_;
  std::size_t fixed_letters_ = 0;
};

class Words {
 public:
  // Adds a PO file's sentences; one that is known gets the new words. Throws UsageError with file and line.
  void add(const std::filesystem::path& po_file);

  // The text with each known sentence in its place.
  std::string of(std::string_view text) const;
  std::size_t size() const { return entries_.size(); }
  std::size_t untranslated() const;

 private:
  struct Entry {
    Sentence english, other;
    bool is_translated = false;
    bool is_part = false;  // stands inside of sentences alone
  };

  std::string of_line(std::string_view line, int depth) const;
  std::string of_part(std::string_view part, int depth) const;
  std::string said(const Entry& entry, std::string_view english, const Sentence::Values& values,
                   int depth) const;
  const Entry* best_at(std::string_view line, std::size_t begin, bool whole, Sentence::Found& found) const;

  std::vector<Entry> entries_;
  std::map<std::string, std::size_t, std::less<>> known_;  // by the English sentence
};

// The languages that a person asks for, the first one first: WARPGRADE_LANG, or as gettext has it LC_ALL,
// LC_MESSAGES, LANG and, where that is no C locale, LANGUAGE. Empty for English as it is: a C locale, English,
// or a locale of another encoding than UTF-8.
std::vector<std::string> wanted_languages();

// The table of the first wanted language that there is: of grader/cli/words in the tree, and over it of the folder
// WARPGRADE_WORDS, in which a course has its own. Read once. Throws UsageError.
const Words& reader_words();

}  // namespace warpgrade
