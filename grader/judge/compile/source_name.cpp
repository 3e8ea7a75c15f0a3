#include "judge/compile/source_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestPart = 100, kLongestName = 240;

bool is_safe(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '+' || c == '-';
}

// The first character that is not allowed, in words.
std::optional<std::string> bad_character(const std::string& part) {
  const auto at = std::find_if_not(part.begin(), part.end(), is_safe);
  if (at == part.end()) return std::nullopt;
  const auto byte = static_cast<unsigned char>(*at);
  if (byte == ' ') return "a space";
  if (byte == '\n') return "a line break";
  if (byte < 0x20 || byte == 0x7f) return fmt::format("the control character 0x{:02x}", byte);
  if (byte < 0x80) return fmt::format("the character {}", *at);
  // The whole character of several bytes, where it is one.
  std::size_t length = 1;
  const auto begin = static_cast<std::size_t>(at - part.begin());
  while (begin + length < part.size() && (static_cast<unsigned char>(part[begin + length]) & 0xC0) == 0x80)
    ++length;
  return "the character " + plain_line(std::string_view(part).substr(begin, length));
}

// The same name with _ for what is not allowed: "spmm (1).cu" is "spmm_1.cu".
std::string suggestion(const std::string& part) {
  std::string name;
  for (char c : part) {
    if (is_safe(c)) {
      if (c == '.' && name.ends_with('_') && name.size() > 1) name.pop_back();
      name += c;
    } else if (!name.ends_with('_')) {
      name += '_';
    }
  }
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  if (name.size() > kLongestPart)
    name = name.substr(0, 40) + fs::path(part).extension().string().substr(0, 10);
  return name.empty() ? "spmm.cu" : name;
}

}  // namespace

bool is_source(const fs::path& file) {
  static const std::set<std::string> kSources{".cu", ".cpp", ".cc", ".cxx", ".c"};
  return kSources.contains(file.extension().string());
}

bool is_header(const fs::path& file) {
  static const std::set<std::string> kHeaders{".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc"};
  return kHeaders.contains(file.extension().string());
}

std::optional<NameProblem> source_name_problem(const fs::path& file) {
  const std::string of = is_header(file) ? "a header" : "a source";
  if (file.native().size() > kLongestName) {
    return NameProblem{fmt::format("a name of more than {} bytes with its folders", kLongestName),
                       "use shorter names and fewer folders"};
  }
  for (const fs::path& piece : file) {
    const std::string part = piece.string();
    const bool last = piece == file.filename();
    const std::string where = last ? "in the name of " + of : "in the name of a folder of " + of;
    const std::string rename = fmt::format("rename {} to {}", last ? "it" : "the folder", suggestion(part));
    if (const auto bad = bad_character(part)) return NameProblem{*bad + " " + where, rename};
    if (part.starts_with('-') || part.starts_with('.'))
      return NameProblem{fmt::format("a {} at the beginning, {}", part[0] == '-' ? "minus" : "dot", where),
                         rename};
    if (part.size() > kLongestPart)
      return NameProblem{fmt::format("more than {} bytes {}", kLongestPart, where), "use a shorter name"};
  }
  return std::nullopt;
}

}  // namespace warpgrade
