#include "cli/readers_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "base/toolchain.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;  // sentences in sentences
// A submission prints what it likes into a message, and such a line may fit in very many ways.
constexpr std::size_t kSteps = 2000;     // of one search
constexpr std::size_t kFarthest = 2000;  // letters of a line in which sentences begin

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

Sentence::Kind kind_of(std::string name) {
  using enum Sentence::Kind;
  while (!name.empty() && is_digit(name.back())) name.pop_back();
  if (name == "n") return kNumber;
  if (name == "place") return kPlace;
  if (name == "thread") return kThread;
  if (name == "word") return kWord;
  if (name == "verb") return kVerb;
  return name == "words" ? kWords : kAny;
}

// Where the number that begins there ends: `-1.5e-07`, `nan`; `begin` where there is none.
std::size_t end_of_number(std::string_view line, std::size_t begin) {
  std::size_t at = begin;
  if (at < line.size() && (line[at] == '-' || line[at] == '+')) ++at;
  for (const std::string_view word : {"nan", "inf"})
    if (line.substr(at).starts_with(word)) return at + word.size();
  const std::size_t digits = at;
  while (at < line.size()) {
    const bool next_is_digit = at + 1 < line.size() && is_digit(line[at + 1]);
    const bool is_exponent = line[at] == 'e' && at > digits && at + 2 < line.size() &&
                             (line[at + 1] == '-' || line[at + 1] == '+') && is_digit(line[at + 2]);
    if (is_exponent)
      at += 3;
    else if (is_digit(line[at]) || (at > digits && line[at] == '.' && next_is_digit) ||
             (at > digits && line[at] == ',' && next_is_digit))
      ++at;
    else
      break;
  }
  return at > digits ? at : begin;
}

// `spmm.cu:31`; `begin` where there is none.
std::size_t end_of_place(std::string_view line, std::size_t begin) {
  const std::size_t colon = line.find_first_of(": ", begin);
  if (colon == std::string_view::npos || colon == begin || line[colon] == ' ') return begin;
  std::size_t at = colon + 1;
  while (at < line.size() && is_digit(line[at])) ++at;
  return at > colon + 1 ? at : begin;
}

// `(1,0,0)`; `begin` where there is none.
std::size_t end_of_thread(std::string_view line, std::size_t begin) {
  if (begin >= line.size() || line[begin] != '(') return begin;
  const std::size_t at = line.find_first_not_of("0123456789,", begin + 1);
  return at != std::string_view::npos && line[at] == ')' && at > begin + 1 ? at + 1 : begin;
}

// Whether what follows belongs to the name of an array before it: ` (4096 bytes)`, ` (allocation #1)`.
bool is_size_of_memory(std::string_view rest) {
  if (!rest.starts_with(" (")) return false;
  const std::string_view inside = rest.substr(2, rest.find(')') - 2);
  return inside.ends_with(" bytes") || inside.ends_with(" byte") || inside.starts_with("allocation #");
}

// East Asian marks bring their own space.
bool ends_in_wide_mark(std::string_view text) {
  return text.ends_with("。") || text.ends_with("：") || text.ends_with("）") || text.ends_with("？");
}

// What a place for words may hold: nothing that ends within brackets or before what it is about.
bool is_phrase(std::string_view text) {
  return !text.ends_with(':') && std::ranges::count(text, '(') == std::ranges::count(text, ')');
}

// Whether a sentence may end there; `by_letters`: its last letters are its own, not those of a place.
bool ends_a_sentence(std::string_view line, std::size_t end, bool by_letters) {
  if (end == line.size()) return true;
  const std::string_view rest = line.substr(end);
  const bool is_mark = std::string_view(".;:?!").find(rest.front()) != std::string_view::npos;
  if (is_mark && (rest.size() == 1 || rest[1] == ' ')) return true;
  if (rest.front() == ')' || rest.starts_with(" --") || rest.starts_with("  ")) return true;
  if (rest.starts_with(" (")) return by_letters || !is_size_of_memory(rest);
  const char last = line[end - 1];
  return by_letters &&
         (last == ' ' || last == '(' ||
          (rest.front() == ' ' && std::string_view(".):?;").find(last) != std::string_view::npos));
}

bool begins_a_sentence(std::string_view line, std::size_t at) {
  if (line.find_first_not_of(' ') >= at) return line[at] != ' ';
  if (line[at - 1] == '(') return true;
  constexpr std::string_view kMarks = ".;:?!)],-";
  return at >= 2 && line[at - 1] == ' ' && kMarks.find(line[at - 2]) != std::string_view::npos;
}

}  // namespace

Sentence::Sentence(std::string_view text) {
  std::string letters;
  const auto end_letters = [&] {
    if (!letters.empty()) pieces_.push_back({Kind::kFixed, letters});
    fixed_letters_ += letters.size();
    letters.clear();
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if ((c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c) {
      letters += c;
      ++at;
    } else if (c == '{') {
      const std::size_t end = text.find('}', at);
      const std::string name(text.substr(at + 1, end == std::string_view::npos ? 0 : end - at - 1));
      const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char letter) {
        return std::islower(static_cast<unsigned char>(letter)) != 0 || is_digit(letter) || letter == '_';
      });
      if (!is_name)
        throw std::invalid_argument(
            "'{' begins a place with a name of small letters, as {n}; write {{ for the letter itself");
      end_letters();
      pieces_.push_back({kind_of(name), name});
      at = end;
    } else if (c == '}') {
      throw std::invalid_argument("'}' ends no place; write }} for the letter itself");
    } else {
      letters += c;
    }
  }
  end_letters();
}

std::vector<std::string> Sentence::places() const {
  std::set<std::string> names;
  for (const Piece& piece : pieces_)
    if (piece.kind != Kind::kFixed) names.insert(piece.text);
  return {names.begin(), names.end()};
}

struct Sentence::Search {
  std::string_view line;
  const std::vector<Piece>& pieces;
  bool whole;
  Found& found;
  std::size_t steps = 0;

  bool from(std::size_t piece, std::size_t at) {
    if (++steps > kSteps) return false;
    if (piece == pieces.size()) {
      found.end = at;
      return whole ? at == line.size() : ends_a_sentence(line, at, pieces.back().kind == Kind::kFixed);
    }
    const Piece& next = pieces[piece];
    switch (next.kind) {
      case Kind::kFixed:
        return line.substr(at).starts_with(next.text) && from(piece + 1, at + next.text.size());
      case Kind::kNumber:
        return take(piece, at, end_of_number(line, at));
      case Kind::kPlace:
        return take(piece, at, end_of_place(line, at));
      case Kind::kThread:
        return take(piece, at, end_of_thread(line, at));
      case Kind::kWord:
      case Kind::kVerb:
      case Kind::kWords:
      case Kind::kAny:
        break;
    }
    // The last one takes all that is left of the line.
    if (piece + 1 == pieces.size() && next.kind == Kind::kAny) return take(piece, at, line.size());
    for (std::size_t end = at + 1; end <= line.size() && steps <= kSteps; ++end) {
      const char last = line[end - 1];
      const bool is_behind_mark = end - at >= 2 && last == ' ' &&
                                  std::string_view(";.:").find(line[end - 2]) != std::string_view::npos;
      if (((next.kind == Kind::kWord || next.kind == Kind::kVerb) && last == ' ') ||
          (next.kind == Kind::kWords && is_behind_mark))
        return false;
      if (take(piece, at, end)) return true;
    }
    return false;
  }

  bool take(std::size_t piece, std::size_t begin, std::size_t end) {
    if (begin == end || ++steps > kSteps) return false;
    const std::string_view value = line.substr(begin, end - begin);
    if (pieces[piece].kind == Kind::kWords && !is_phrase(value)) return false;
    const auto [known, is_new] = found.values.try_emplace(pieces[piece].text, value);
    if (!is_new) return known->second == value && from(piece + 1, end);
    if (from(piece + 1, end)) return true;
    found.values.erase(pieces[piece].text);
    return false;
  }
};

bool Sentence::stands_at(std::string_view line, std::size_t begin, bool whole, Found& found) const {
  const std::string_view rest = line.substr(begin);
  for (const Piece& piece : pieces_)
    if (piece.kind == Kind::kFixed && rest.find(piece.text) == std::string_view::npos) return false;
  found = {};
  return Search{line, pieces_, whole, found}.from(0, begin);
}

namespace {

// A PO file's entry, with the line of its msgid.
struct PoEntry {
  std::string context, id, text;
  std::size_t line = 0;
  bool is_fuzzy = false;
};

// The subset of PO that has no plural forms.
class PoReader {
 public:
  explicit PoReader(const fs::path& file) : file_(file), text_(read_text(file)) {}

  std::vector<PoEntry> read() {
    std::size_t begin = 0;
    while (begin < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      take(std::string_view(text_).substr(begin, end - begin));
      begin = end + 1;
    }
    finish();
    return std::move(entries_);
  }

  [[noreturn]] void refuse(std::size_t line, const std::string& why) const {
    throw UsageError("{}:{}: {}", file_.string(), line, why);
  }

 private:
  void take(std::string_view line) {
    if (valid_utf8(line) != line) refuse(line_, "letters that are no UTF-8; save the file as UTF-8");
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) return;
    if (line.starts_with('#')) {
      if (line.starts_with("#~")) return;
      if (part_ == &entry_.text) finish();
      if (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos) entry_.is_fuzzy = true;
      return;
    }
    if (line.starts_with('"')) {
      if (part_ == nullptr) refuse(line_, "a text without the word msgid or msgstr before it");
      *part_ += unquoted(line);
      return;
    }
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, space);
    if (word == "msgctxt" || word == "msgid") {
      const bool is_behind_context = word == "msgid" && part_ == &entry_.context;
      if (part_ != nullptr && !is_behind_context) finish();
    }
    if (word == "msgctxt") {
      part_ = &entry_.context;
    } else if (word == "msgid") {
      part_ = &entry_.id;
      entry_.line = line_;
    } else if (word == "msgstr" && part_ == &entry_.id) {
      part_ = &entry_.text;
    } else {
      refuse(line_,
             fmt::format(
                 "expected msgctxt, msgid, msgstr or a text in quotes, got '{}' (plural forms are not used)",
                 word));
    }
    *part_ += unquoted(line.substr(std::min(space + 1, line.size())));
  }

  std::string unquoted(std::string_view text) const {
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
      refuse(line_, "expected a text in double quotes");
    std::string plain;
    for (std::size_t at = 1; at + 1 < text.size(); ++at) {
      char c = text[at];
      if (c == '"') refuse(line_, "a quote inside of a text is written \\\"");
      if (c == '\\') {
        c = at + 2 < text.size() ? text[++at] : '\0';
        if (c == 'n')
          c = '\n';
        else if (c == 't')
          c = '\t';
        else if (c != '"' && c != '\\')
          refuse(line_, "behind \\ stands n, t, \" or another \\");
      }
      plain += c;
    }
    return plain;
  }

  void finish() {
    if (part_ != nullptr && part_ != &entry_.text) refuse(line_, "expected msgstr");
    if (!entry_.id.empty()) entries_.push_back(std::move(entry_));  // the first one is the header
    entry_ = {};
    part_ = nullptr;
  }

  fs::path file_;
  std::string text_;
  std::vector<PoEntry> entries_;
  PoEntry entry_;
  std::string* part_ = nullptr;
  std::size_t line_ = 0;
};

}  // namespace

void Words::add(const fs::path& po_file) {
  PoReader reader(po_file);
  std::map<std::string, std::size_t> lines;  // of this file's sentences
  for (const PoEntry& read : reader.read()) {
    if (const auto [first, is_new] = lines.try_emplace(read.id, read.line); !is_new)
      reader.refuse(read.line, fmt::format("this sentence has words at line {} already; keep one of the two",
                                           first->second));
    const bool is_translated = !read.text.empty() && !read.is_fuzzy;
    const auto sentence_of = [&](const std::string& text) {
      try {
        return Sentence(text);
      } catch (const std::invalid_argument& error) {
        reader.refuse(read.line, error.what());
      }
    };
    Entry entry{sentence_of(read.id), sentence_of(is_translated ? read.text : read.id), is_translated,
                read.context.starts_with("part/")};
    const std::vector<std::string> wanted = entry.english.places(), got = entry.other.places();
    for (const std::string& name : got)
      if (std::find(wanted.begin(), wanted.end(), name) == wanted.end())
        reader.refuse(read.line,
                      fmt::format("the words have a place {{{}}}, which the English sentence has not", name));
    for (const std::string& name : wanted)
      if (std::find(got.begin(), got.end(), name) == got.end())
        reader.refuse(read.line,
                      fmt::format("the words lack the place {{{}}} of the English sentence", name));
    const auto [known, is_new] = known_.try_emplace(read.id, entries_.size());
    if (is_new)
      entries_.push_back(std::move(entry));
    else if (is_translated)
      entries_[known->second] = std::move(entry);
  }
}

std::size_t Words::untranslated() const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(),
                                                [](const Entry& entry) { return !entry.is_translated; }));
}

std::string Words::of(std::string_view text) const {
  if (entries_.empty()) return std::string(text);
  std::string words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    words += of_line(text.substr(begin, end - begin), 0);
    if (end < text.size()) words += '\n';
    begin = end + 1;
  }
  return words;
}

// Of the sentences that fit, one that begins with letters of its own, and of those the one with most.
const Words::Entry* Words::best_at(std::string_view line, std::size_t begin, bool whole,
                                   Sentence::Found& found) const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.is_part && !whole) continue;
    if (best != nullptr && entry.english.weight() <= best->english.weight()) continue;
    Sentence::Found now;
    if (!entry.english.stands_at(line, begin, whole, now)) continue;
    best = &entry;
    found = std::move(now);
  }
  return best;
}

std::string Words::said(const Entry& entry, std::string_view english, const Sentence::Values& values,
                        int depth) const {
  if (!entry.is_translated) return std::string(english);
  std::string text;
  for (const Sentence::Piece& piece : entry.other.pieces()) {
    if (piece.kind == Sentence::Kind::kFixed)
      text += piece.text;
    else if (piece.kind == Sentence::Kind::kWords || piece.kind == Sentence::Kind::kVerb)
      text += of_part(values.at(piece.text), depth + 1);
    else
      text += values.at(piece.text);
  }
  return text;
}

std::string Words::of_line(std::string_view line, int depth) const {
  if (depth > kDeepest) return std::string(line);
  std::string words;
  for (std::size_t at = 0; at < line.size();) {
    Sentence::Found found;
    const bool is_begin = at < kFarthest && begins_a_sentence(line, at);
    const Entry* entry = is_begin ? best_at(line, at, false, found) : nullptr;
    if (entry == nullptr) {
      words += line[at++];
      continue;
    }
    words += said(*entry, line.substr(at, found.end - at), found.values, depth);
    at = found.end;
    if (at < line.size() && line[at] == ' ' && ends_in_wide_mark(words)) ++at;
  }
  return words;
}

std::string Words::of_part(std::string_view part, int depth) const {
  Sentence::Found found;
  if (const Entry* entry = depth > kDeepest ? nullptr : best_at(part, 0, true, found))
    return said(*entry, part, found.values, depth);
  return of_line(part, depth);
}

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "de_AT.UTF-8@euro": "de_AT" and "de"; nothing where it says English or another encoding.
void add_languages(std::string_view locale, std::vector<std::string>& languages) {
  std::string_view name = locale.substr(0, locale.find_first_of(".@"));
  if (const std::size_t dot = locale.find('.'); dot != std::string_view::npos) {
    std::string encoding;
    for (const char c : locale.substr(dot + 1, locale.find('@', dot) - dot - 1))
      if (c != '-') encoding += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (encoding != "utf8") return;
  }
  languages.emplace_back(name);
  if (const std::size_t territory = name.find('_'); territory != std::string_view::npos)
    languages.emplace_back(name.substr(0, territory));
}

bool is_c_locale(std::string_view locale) {
  return locale.empty() || locale == "C" || locale == "POSIX" || locale.starts_with("C.");
}

// The file of a language; zh stands for zh_CN where there is no zh.
std::optional<fs::path> file_of(const fs::path& folder, const std::string& language) {
  const bool is_name = !language.empty() && std::all_of(language.begin(), language.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
  if (!is_name || folder.empty()) return std::nullopt;
  if (const fs::path file = folder / (language + ".po"); fs::is_regular_file(file)) return file;
  if (language.find('_') != std::string::npos || !fs::is_directory(folder)) return std::nullopt;
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(language + "_") && name.ends_with(".po")) files.insert(entry.path());
  }
  return files.empty() ? std::nullopt : std::optional(*files.begin());
}

Words read_words() {
  Words words;
  const fs::path own = variable("WARPGRADE_WORDS");
  if (!own.empty() && !fs::is_directory(own))
    throw UsageError("WARPGRADE_WORDS={}: expected a folder with files as de.po", own.string());
  for (const std::string& language : wanted_languages()) {
    for (const fs::path& folder : {project_root() / "grader/cli/words", own})
      if (const auto file = file_of(folder, language)) words.add(*file);
    if (words.size() > 0 || language == "en") break;
  }
  return words;
}

}  // namespace

std::vector<std::string> wanted_languages() {
  std::vector<std::string> languages;
  if (const std::string asked = variable("WARPGRADE_LANG"); !asked.empty()) {
    if (!is_c_locale(asked)) add_languages(asked, languages);
    return languages;
  }
  std::string locale;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"})
    if (locale.empty()) locale = variable(name);
  if (is_c_locale(locale)) return languages;
  std::vector<std::string> of_locale;
  add_languages(locale, of_locale);
  if (of_locale.empty()) return languages;
  const std::string list = variable("LANGUAGE");
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) add_languages(std::string_view(list).substr(begin, end - begin), languages);
    begin = end + 1;
  }
  languages.insert(languages.end(), of_locale.begin(), of_locale.end());
  return languages;
}

const Words& reader_words() {
  static const Words words = read_words();
  return words;
}

}  // namespace warpgrade
