#include "judge/compile/hand_in_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "judge/compile/source_name.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBecomeUnderscores = " ()[],'=";
// What file managers write for a copy, in the languages of our courses: "x - Copy.cu", "Copy of x.cu".
constexpr std::array<std::string_view, 6> kCopyWords{"copy", "kopie", "copie", "copia", "cópia", "副本"};
constexpr std::array<std::string_view, 4> kOfWords{"of", "von", "de", "di"};
constexpr int kMostMarks = 4;  // "Copy of x - Copy (2) (1).cu"

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+' || c == '-';
}

// One part of a path in the safe alphabet; as it is where it holds what is not tidied.
std::string safe_part(const std::string& part, bool is_file) {
  if (valid_utf8(part) != part) return part;
  std::string name;
  bool any = false;
  for (const char c : part) {
    if (is_plain(c)) {
      if (c == '.' && name.ends_with('_') && name.size() > 1) name.pop_back();
      name += c;
      any |= std::isalnum(static_cast<unsigned char>(c)) != 0 && name.find('.') == std::string::npos;
    } else if (kBecomeUnderscores.find(c) != std::string_view::npos ||
               static_cast<unsigned char>(c) >= 0x80) {
      if (!name.ends_with('_')) name += '_';
    } else {
      return part;
    }
  }
  while (name.size() > 1 && name.ends_with('_') && !part.ends_with('_')) name.pop_back();
  if (any || name == part) return name;
  // Nothing of it is left: "重边处理.cu".
  return (is_file ? "source-" : "folder-") + sha256(part).substr(0, 6) +
         (is_file ? fs::path(part).extension().string() : "");
}

void strip_spaces(std::string& text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '_')) text.pop_back();
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
}

// "x (2)" is "x": a number in brackets at the end.
bool take_number(std::string& stem) {
  if (!stem.ends_with(')')) return false;
  const std::size_t open = stem.rfind('(');
  if (open == std::string::npos || open == 0 || open + 2 > stem.size() - 1 || stem.size() - open > 6)
    return false;
  const bool digits = std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(open) + 1, stem.end() - 1,
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!digits) return false;
  stem.resize(open);
  strip_spaces(stem);
  return true;
}

// "x - Copy", "x copy 2".
bool take_word_behind(std::string& stem) {
  std::string text = stem;
  const std::size_t space = text.rfind(' ');
  if (space != std::string::npos && space + 1 < text.size() &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(space) + 1, text.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; }))
    text.resize(space);
  const std::string small = lower(text);
  for (const std::string_view word : kCopyWords) {
    for (const char* before : {" - ", " "}) {
      const std::string mark = before + std::string(word);
      if (!small.ends_with(mark) || small.size() == mark.size()) continue;
      stem = text.substr(0, text.size() - mark.size());
      strip_spaces(stem);
      return true;
    }
  }
  return false;
}

// "Copy of x", "Copy (2) of x", "Kopie von x".
bool take_words_before(std::string& stem) {
  const std::string small = lower(stem);
  for (const std::string_view copy : kCopyWords) {
    if (!small.starts_with(std::string(copy) + " ")) continue;
    for (const std::string_view of : kOfWords) {
      const std::string word = fmt::format(" {} ", of);
      const std::size_t at = small.find(word, copy.size());
      std::string between = at == std::string::npos ? "x" : small.substr(copy.size(), at - copy.size());
      std::erase_if(between,
                    [](char c) { return c == ' ' || c == '(' || c == ')' || (c >= '0' && c <= '9'); });
      if (!between.empty() || at + word.size() >= stem.size()) continue;
      stem.erase(0, at + word.size());
      return true;
    }
  }
  return false;
}

bool names_code(const fs::path& name) {
  return is_source(name) || is_header(name);
}

// The stem and the extension that says what the file is: "spmm" and ".cu" of "spmm.CU.txt".
std::pair<std::string, std::string> split_name(const std::string& given) {
  fs::path name = given;
  if (lower(name.extension().string()) == ".txt" && names_code(lower(name.stem().string())))
    name = name.stem();
  std::string extension = name.extension().string();
  extension = extension == ".C" ? ".cpp" : lower(extension);
  return {name.stem().string(), extension};
}

}  // namespace

HandInName hand_in_name(const fs::path& given) {
  fs::path folder;
  for (const fs::path& part : given.parent_path()) folder /= safe_part(part.string(), false);
  const auto [stem, extension] = split_name(given.filename().string());
  std::string plain = stem;
  for (int i = 0; i < kMostMarks; ++i) {
    if (!take_number(plain) && !take_word_behind(plain) && !take_words_before(plain)) break;
  }
  return {folder / safe_part(stem + extension, true), folder / safe_part(plain + extension, true)};
}

std::map<fs::path, fs::path> names_of_hand_in(std::vector<fs::path> given) {
  std::sort(given.begin(), given.end());
  std::map<fs::path, std::size_t> claims;
  std::set<fs::path> taken;
  std::map<fs::path, fs::path> names;
  for (const fs::path& file : given) {
    const HandInName wanted = hand_in_name(file);
    ++claims[wanted.plain];
    if (wanted.name == file && taken.insert(file).second) names[file] = file;  // nothing to tidy
  }
  for (const fs::path& file : given) {
    if (names.contains(file)) continue;
    const HandInName wanted = hand_in_name(file);
    fs::path name = claims[wanted.plain] == 1 ? wanted.plain : wanted.name;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = wanted.name.parent_path() /
             fmt::format("{}-{}{}", wanted.name.stem().string(), number, wanted.name.extension().string());
    names[file] = name;
  }
  return names;
}

}  // namespace warpgrade
