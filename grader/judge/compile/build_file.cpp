#include "judge/compile/build_file.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "judge/compile/source_name.h"
#include "judge/compile/vendor_libraries.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostBuildWords = 5000, kLongestWord = 300;
constexpr std::string_view kEndWords = " \t\r\n();:=,\"'\\";

bool is_object(const fs::path& word) {
  return word.extension() == ".o" || word.extension() == ".obj";
}

std::size_t depth(const fs::path& path) {
  return static_cast<std::size_t>(std::distance(path.begin(), path.end()));
}

bool is_pattern(const std::string& word) {
  return word.find_first_of("*?[") != std::string::npos;
}

// What is left of "${CMAKE_SOURCE_DIR}/src/spmm.cu" behind its last variable: "src/spmm.cu".
std::string behind_variables(const std::string& word) {
  const std::size_t end = word.find_last_of("})$");
  if (end == std::string::npos) return word;
  std::string rest = word.substr(end + 1);
  rest.erase(0, std::min(rest.find_first_not_of('/'), rest.size()));
  return rest;
}

}  // namespace

bool is_build_file(const fs::path& file) {
  static const std::set<std::string> kNames{"CMakeLists.txt", "Makefile", "makefile", "GNUmakefile"};
  return kNames.contains(file.filename().string());
}

BuildFile::BuildFile(fs::path file, std::string_view text) : path_(std::move(file)) {
  std::set<std::string> words;
  while (!text.empty() && words.size() < kMostBuildWords) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      // Brackets end a word, except those of a variable.
      std::size_t size = 0;
      for (int open = 0; size < line.size(); ++size) {
        const char c = line[size];
        if (c == '(' && size > 0 && line[size - 1] == '$')
          ++open;
        else if (c == ')' && open > 0)
          --open;
        else if (kEndWords.find(c) != std::string_view::npos)
          break;
      }
      const std::string word(line.substr(0, std::min(size, kLongestWord)));
      // fnmatch() tries every way in which stars can fit.
      const bool cheap = std::count(word.begin(), word.end(), '*') <= 3;
      if (auto library = linked_library(word)) libraries_.insert(std::move(*library));
      if (cheap && (is_source(word) || is_object(word))) words.insert(word);
      line.remove_prefix(std::min(size + 1, line.size()));
    }
  }
  words_.assign(words.begin(), words.end());
}

bool BuildFile::fits(const std::string& word, const fs::path& source) const {
  const std::string tail = behind_variables(word);
  const bool anywhere = tail.size() != word.size();
  const fs::path wanted = fs::path(tail).lexically_normal();
  if (is_object(wanted)) return !is_pattern(tail) && source.stem() == wanted.stem();
  const fs::path relative =
      source.lexically_relative(path_.parent_path().empty() ? "." : path_.parent_path());
  if (is_pattern(tail)) {
    const std::string name = anywhere ? source.filename().string() : relative.string();
    const std::string pattern = anywhere ? wanted.filename().string() : wanted.string();
    return fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  }
  if (!anywhere) return relative == wanted;
  return source.native() == wanted.native() || source.native().ends_with("/" + wanted.native());
}

std::vector<fs::path> BuildFile::named(const std::vector<fs::path>& sources) const {
  std::set<fs::path> all;
  for (const std::string& word : words_) {
    std::vector<fs::path> fitting;
    for (const fs::path& source : sources)
      if (fits(word, source)) fitting.push_back(source);
    std::size_t least = ~std::size_t{0};
    const bool nearest = !is_pattern(word);
    for (const fs::path& source : fitting) least = std::min(least, depth(source));
    for (const fs::path& source : fitting)
      if (!nearest || depth(source) == least) all.insert(source);
  }
  return {all.begin(), all.end()};
}

}  // namespace warpgrade
