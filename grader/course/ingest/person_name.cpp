#include "course/ingest/person_name.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#ifdef WARPGRADE_HAS_UTF8PROC
#include <utf8proc.h>
#endif

#include "base/text.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMostWords = 12;  // of a name; more are not rotated
constexpr std::size_t kLongestFolded = 4000;

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : name + " ") {
    if (c != ' ' && c != ',' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(name_key(word));
      word.clear();
    }
  }
  std::erase(words, "");
  return words;
}

}  // namespace

std::string folded(const std::string& given) {
  std::string text = plain_line(given, kLongestFolded);
  replace_all(text, "\xEF\xBF\xBD", "");  // stands for a character that nobody sees
#ifdef WARPGRADE_HAS_UTF8PROC
  if (utf8proc_uint8_t* form =
          utf8proc_NFKC_Casefold(reinterpret_cast<const utf8proc_uint8_t*>(text.c_str()))) {
    std::string result = reinterpret_cast<const char*>(form);
    std::free(form);
    return result;
  }  // no UTF-8: taken as it is
#endif
  std::string result = text;
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string name_key(const std::string& name) {
  std::string key;
  for (const unsigned char c : folded(name))
    if (c >= 0x80 || std::isalnum(c)) key += static_cast<char>(c);
  return key;
}

std::vector<std::string> name_keys(const std::string& name) {
  std::vector<std::string> words = words_of(name), keys;
  if (words.empty()) return keys;
  for (std::size_t turn = 0; turn < std::min(words.size(), kMostWords); ++turn) {
    std::string key;
    for (const std::string& word : words) key += word;
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    std::rotate(words.begin(), words.begin() + 1, words.end());
  }
  return keys;
}

}  // namespace warpgrade
