#include "judge/compile/vendor_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <set>

#include "base/text.h"

namespace warpgrade {
namespace {

constexpr std::array<std::string_view, 7> kPrefixes{"cusparse", "cublas", "cudnn", "cusolver",
                                                    "cutensor", "nvrtc",  "cufft"};
constexpr std::string_view kHeaderLibrary = "cutlass";
constexpr std::size_t kMostLibraries = 3;

bool is_name_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<std::string_view> all_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The text with blanks for comments, strings and characters; lines keep their numbers. It need not be as
// exact as a compiler: it only finds a line to show.
class Blanked {
 public:
  explicit Blanked(std::string_view text) : text_(text) {}

  std::string run() && {
    for (std::size_t at = 0; at < text_.size();) at = step(at);
    return std::move(text_);
  }

 private:
  std::size_t step(std::size_t at) {
    const std::string_view rest = std::string_view(text_).substr(at);
    if (rest.starts_with("//")) return blank(at, text_.find('\n', at));
    if (rest.starts_with("/*")) return blank(at, behind(text_.find("*/", at + 2), 2));
    if (rest.starts_with("R\"") && (at == 0 || !is_name_part(text_[at - 1]))) return raw_string(at);
    if (text_[at] != '"' && text_[at] != '\'') return at + 1;
    if (text_[at] == '\'' && at > 0 && is_name_part(text_[at - 1])) return at + 1;  // 1'000
    std::size_t end = at + 1;
    while (end < text_.size() && text_[end] != text_[at] && text_[end] != '\n')
      end += text_[end] == '\\' ? 2U : 1U;
    return blank(at, end + 1);
  }

  std::size_t raw_string(std::size_t at) {
    const std::size_t open = text_.find('(', at);
    if (open == std::string::npos || open - at > 18) return at + 2;
    const std::string end = ")" + text_.substr(at + 2, open - at - 2) + "\"";
    return blank(at, behind(text_.find(end, open), end.size()));
  }

  std::size_t behind(std::size_t at, std::size_t length) const {
    return at == std::string::npos ? at : at + length;
  }

  std::size_t blank(std::size_t from, std::size_t to) {
    to = std::min(to, text_.size());
    for (std::size_t i = from; i < to; ++i)
      if (text_[i] != '\n') text_[i] = ' ';
    return to;
  }

  std::string text_;
};

bool has_name(std::string_view line, std::string_view word) {
  for (std::size_t at = 0; (at = line.find(word, at)) != std::string_view::npos; at += word.size()) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_name_part(line[at - 1])) && (end == line.size() || !is_name_part(line[end])))
      return true;
  }
  return false;
}

std::string place_at(const SubmittedFile& file, std::size_t line) {
  return fmt::format("{}:{}", plain_line(file.name.string(), 100), line + 1);
}

// Where a text names it: best outside of a declaration or a macro.
std::string place_in_text(std::string_view name, const std::vector<SubmittedFile>& files) {
  std::string declared;
  for (const SubmittedFile& file : files) {
    const std::string code = Blanked(file.text).run();
    const std::vector<std::string_view> lines = all_lines(code);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!has_name(lines[i], name)) continue;
      if (!has_name(lines[i], "extern") && lines[i].find('#') == std::string_view::npos)
        return place_at(file, i);
      if (declared.empty()) declared = place_at(file, i);
    }
  }
  return declared;
}

// The line that names it, where one stands near: an optimizer gives some instructions to a neighbour's line.
std::size_t nearest_line(const SubmittedFile& file, std::string_view name, std::size_t told) {
  constexpr std::size_t kNear = 3;
  const std::string code = Blanked(file.text).run();
  const std::vector<std::string_view> lines = all_lines(code);
  for (std::size_t away = 0; away <= kNear; ++away)
    for (const std::size_t line : {told - std::min(away, told), told + away})
      if (line >= 1 && line <= lines.size() && has_name(lines[line - 1], name)) return line;
  return told;
}

// "cublasCreate" of "cublasCreate_v2": a header's macro gives the name that the linker knows.
std::string_view without_version(std::string_view symbol) {
  for (const std::string_view version : {"_v2_64", "_v2", "_64"})
    if (symbol.ends_with(version)) return symbol.substr(0, symbol.size() - version.size());
  return symbol;
}

// "spmm.cu:9" of a line "spmm.cu:9: undefined reference to `dlopen'", with the linker's name before it
// or not.
std::string place_in_words(std::string_view symbol, std::string_view words,
                           const std::vector<SubmittedFile>& files) {
  const std::string told = fmt::format(": undefined reference to `{}'", symbol);
  for (const std::string_view line : all_lines(words)) {
    const std::size_t end = line.find(told);
    if (end == std::string_view::npos) continue;
    for (const SubmittedFile& file : files) {
      const std::string name = file.name.string() + ":";
      const std::size_t at = line.substr(0, end).rfind(name);
      if (at == std::string_view::npos || (at > 0 && line[at - 1] != ' ')) continue;
      const std::string_view number = line.substr(at + name.size(), end - at - name.size());
      std::size_t line_number = 0;
      const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), line_number);
      if (error != std::errc() || stop != number.data() + number.size() || line_number == 0) continue;
      const std::size_t exact = nearest_line(file, symbol, line_number);
      return place_at(
          file,
          (exact != line_number ? exact : nearest_line(file, without_version(symbol), line_number)) - 1);
    }
  }
  return "";
}

// The header of "  #include <cublas_v2.h>"; empty for any other line.
std::string_view included_header(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include")) return {};
  line.remove_prefix(7);
  skip_blanks();
  if (!line.starts_with('<') && !line.starts_with('"')) return {};
  const std::size_t end = line.find(line[0] == '<' ? '>' : '"', 1);
  return end == std::string_view::npos ? std::string_view() : line.substr(1, end - 1);
}

// Calls `see` with each header that the files include outside of comments, and its place.
template <typename See>
void each_include(const std::vector<SubmittedFile>& files, See see) {
  for (const SubmittedFile& file : files) {
    const std::string code = Blanked(file.text).run();
    const std::vector<std::string_view> blanked = all_lines(code), lines = all_lines(file.text);
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (blanked[i].find('#') != std::string_view::npos)
        if (const std::string_view header = included_header(lines[i]); !header.empty())
          see(header, place_at(file, i));
  }
}

bool is_own(std::string_view header, const std::vector<SubmittedFile>& files) {
  const std::filesystem::path name = std::filesystem::path(header).filename();
  return std::any_of(files.begin(), files.end(),
                     [&](const SubmittedFile& file) { return file.name.filename() == name; });
}

}  // namespace

bool is_vendor_name(std::string_view name) {
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool is_header_library(std::string_view name) {
  return name.starts_with(kHeaderLibrary);
}

std::optional<std::string> linked_library(std::string_view word) {
  for (const std::string_view before : {"-l", "CUDA::"})
    if (word.starts_with(before)) word.remove_prefix(before.size());
  if (word.ends_with("_static")) word.remove_suffix(7);
  static const std::set<std::string_view> kLibraries{"cublas",     "cublasLt", "cusparse", "cusparseLt",
                                                     "cudnn",      "cusolver", "cutensor", "cufft",
                                                     "cusolverMg", "nvrtc",    "curand"};
  return kLibraries.contains(word) ? std::optional(std::string(word)) : std::nullopt;
}

std::vector<std::string> notes_on_includes(const std::vector<SubmittedFile>& files) {
  std::vector<std::string> notes;
  std::set<std::string, std::less<>> told;
  each_include(files, [&](std::string_view header, const std::string& where) {
    const std::string name = std::filesystem::path(header).filename().string();
    if (!is_vendor_name(name) || is_own(header, files) || notes.size() == kMostLibraries ||
        !told.insert(name).second)
      return;
    notes.push_back(
        fmt::format("{} includes {}, a library that is not linked here. The line costs nothing; a call of "
                    "the library would be refused.",
                    where, plain_line(name, 60)));
  });
  return notes;
}

std::string place_of_call(std::string_view symbol, std::string_view words,
                          const std::vector<SubmittedFile>& files) {
  std::string found = place_in_words(symbol, words, files);
  if (found.empty()) found = place_in_text(symbol, files);
  return found.empty() ? place_in_text(without_version(symbol), files) : found;
}

std::string place_of_include(std::string_view header, const std::vector<SubmittedFile>& files) {
  std::string found;
  each_include(files, [&](std::string_view included, const std::string& where) {
    if (found.empty() && included.find(header) != std::string_view::npos) found = where;
  });
  return found;
}

}  // namespace warpgrade
