#include "course/ingest/entry_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>

#include "base/text.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestName = 200, kDeepest = 32;

// Names of an older code page keep their ASCII and lose nothing: every other byte is written as %XX.
std::string as_utf8(const std::string& name) {
  if (valid_utf8(name) == name) return name;
  std::string text;
  for (unsigned char c : name)
    text += c < 0x80 ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  return text;
}

bool ends_with_one_of(const fs::path& file, std::initializer_list<const char*> endings) {
  std::string name = file.filename().string();
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(endings.begin(), endings.end(), [&](const char* ending) {
    return name.size() > std::strlen(ending) && name.ends_with(ending);
  });
}

}  // namespace

Refusal refuse_entry(const char* reason, const std::string& entry, const std::string& what,
                     const char* next_step) {
  return {reason, fmt::format("{}: {}", plain_line(entry), what), next_step, plain_line(entry)};
}

bool looks_like_archive(const fs::path& file) {
  return ends_with_one_of(file, {".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst"});
}

bool looks_like_foreign_archive(const fs::path& file) {
  return !looks_like_archive(file) &&
         ends_with_one_of(file, {".rar", ".7z", ".gz", ".bz2", ".xz", ".zst", ".lz"});
}

EntryName safe_entry_name(const std::string& given) {
  std::string name = as_utf8(given);
  for (char& c : name)
    if (c == '\\') c = '/';  // some Windows programs
  if (name.empty()) return {{}, refuse_entry("bad_name", given, "an entry without a name", "pack it again")};
  const bool drive = name.size() >= 2 && std::isalpha(static_cast<unsigned char>(name[0])) && name[1] == ':';
  if (name[0] == '/' || drive) {
    return {{},
            refuse_entry("absolute_path", given, "an absolute path",
                         "pack with relative names: tar -czf x.tar.gz folder")};
  }
  EntryName result;
  std::size_t depth = 0;
  for (std::size_t begin = 0; begin <= name.size();) {
    std::size_t end = name.find('/', begin);
    if (end == std::string::npos) end = name.size();
    const std::string part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..")
      return {{},
              refuse_entry("path_traversal", given, "leads out of the archive's folder",
                           "pack with names below one folder, without ..")};
    bool control = false;
    for (unsigned char c : part) control |= c < 0x20 || c == 0x7f;
    if (control || part.size() > kLongestName || ++depth > kDeepest)
      return {{},
              refuse_entry("bad_name", given, "a name with control characters, or too long, or too deep",
                           "rename it and pack again")};
    result.path /= part;
  }
  return result;
}

}  // namespace warpgrade
