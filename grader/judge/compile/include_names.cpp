#include "judge/compile/include_names.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

using Names = std::map<fs::path, fs::path>;

// Where the file's name stands in "  #include "x.h"": from behind the first quote to the second.
std::optional<std::pair<std::size_t, std::size_t>> quoted_name(std::string_view line) {
  const auto behind = [&](std::size_t at) {
    return std::min(line.find_first_not_of(" \t", at), line.size());
  };
  std::size_t at = behind(0);
  if (at == line.size() || line[at] != '#') return std::nullopt;
  at = behind(at + 1);
  if (line.substr(at, 7) != "include") return std::nullopt;
  at = behind(at + 7);
  if (at == line.size() || line[at] != '"') return std::nullopt;
  const std::size_t end = line.find('"', at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return std::pair(at + 1, end);
}

// The last parts of a path, as many as `count`.
fs::path tail(const fs::path& path, std::ptrdiff_t count) {
  fs::path result;
  auto part = path.begin();
  std::advance(part, std::max<std::ptrdiff_t>(0, std::distance(path.begin(), path.end()) - count));
  for (; part != path.end(); ++part) result /= *part;
  return result;
}

std::optional<std::string> new_name(const std::string& included, const fs::path& given, const Names& names,
                                    const Names& renamed) {
  const fs::path wanted = fs::path(included).lexically_normal();
  const fs::path beside = (given.parent_path() / wanted).lexically_normal();
  if (const auto found = names.find(beside); found != names.end()) {
    const fs::path from = names.at(given).parent_path();
    if (found->second == beside && from == given.parent_path()) return std::nullopt;
    return found->second.lexically_relative(from.empty() ? "." : from).string();
  }
  const std::ptrdiff_t parts = std::distance(wanted.begin(), wanted.end());
  for (const auto& [old_name, name] : renamed)
    if (tail(old_name, parts) == wanted) return tail(name, parts).string();
  return std::nullopt;
}

}  // namespace

std::string with_tidied_includes(const std::string& text, const fs::path& given, const Names& names) {
  Names renamed;
  for (const auto& [old_name, name] : names)
    if (old_name != name) renamed.emplace(old_name, name);
  if (renamed.empty()) return text;
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (const auto place = quoted_name(line)) {
      const auto [begin, stop] = *place;
      if (const auto name = new_name(line.substr(begin, stop - begin), given, names, renamed))
        line.replace(begin, stop - begin, *name);
    }
    result += line;
    if (end < text.size()) result += '\n';
    at = end + 1;
  }
  return result;
}

}  // namespace warpgrade
