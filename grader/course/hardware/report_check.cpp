#include "course/hardware/report_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>
#include <sstream>

extern char** environ;

namespace warpgrade::hardware {
namespace fs = std::filesystem;

namespace {

// A value that is shorter may stand in any file by chance; with its name before it it is found all the same.
constexpr std::size_t kShortestValue = 8, kShortestName = 3, kShortestAlone = 5;
const std::string kBoxFolder = "/run/warpgrade/";

// What a box shows of the host, and what it has of its own.
const std::set<std::string>& shown_folders() {
  static const std::set<std::string> shown{"bin",    "dev",  "etc",  "lib", "lib32", "lib64",
                                           "libx32", "proc", "sbin", "sys", "tmp",   "usr"};
  return shown;
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

// Whether `size` bytes from `at` on are a text whose length stands before it, as in the messages of which a
// report consists. The length may look like a letter.
bool has_length_before(const std::string& bytes, std::size_t at, std::size_t size) {
  if (at == 0 || at + size > bytes.size() || static_cast<unsigned char>(bytes[at - 1]) != size) return false;
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
}

// As a word of its own: "gpu" is not told by "gpu_time". Three letters stand in any program by chance: a
// short word counts with its length alone.
bool holds_word(const std::string& bytes, const std::string& word) {
  for (std::size_t at = bytes.find(word); at != std::string::npos; at = bytes.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool alone = (at == 0 || !is_word(bytes[at - 1])) && (end == bytes.size() || !is_word(bytes[end]));
    if (has_length_before(bytes, at, word.size()) || (alone && word.size() >= kShortestAlone)) return true;
  }
  return false;
}

// "/home/" that begins a path: not the end of "source/home/". Of /run, the box has a folder of its own.
bool holds_path(const std::string& bytes, const std::string& folder) {
  const std::string path = folder + "/";
  for (std::size_t at = bytes.find(path); at != std::string::npos; at = bytes.find(path, at + 1)) {
    if (bytes.compare(at, kBoxFolder.size(), kBoxFolder) == 0) continue;
    if (at == 0 || !(is_word(bytes[at - 1]) || bytes[at - 1] == '/')) return true;
    if (has_length_before(bytes, at, static_cast<unsigned char>(bytes[at - 1]))) return true;
  }
  return false;
}

// The letters of UTF-16 text, either order: every second byte. What is no such text becomes noise.
std::string every_second(const std::string& bytes, std::size_t first) {
  std::string half;
  half.reserve(bytes.size() / 2);
  for (std::size_t i = first; i < bytes.size(); i += 2) half += bytes[i];
  return half;
}

std::string told_as_bytes(const std::string& bytes, const HostFacts& facts) {
  for (const std::string& name : facts.names)
    if (holds_word(bytes, name)) return "the host's name";
  for (const std::string& folder : facts.folders)
    if (holds_path(bytes, folder)) return fmt::format("a path in the host's {}", folder);
  for (const auto& [name, value] : facts.environment) {
    if (value.empty()) continue;
    if (bytes.find(fmt::format("{}={}", name, value)) != std::string::npos ||
        (value.size() >= kShortestValue && kBoxFolder.find(value) == std::string::npos &&
         bytes.find(value) != std::string::npos))
      return fmt::format("the value of the variable {}", name);
  }
  return "";
}

bool is_shown(const std::string& path) {
  return path.starts_with('/') && shown_folders().contains(path.substr(1, path.find('/', 1) - 1));
}

// Numbers, what everybody's environment has, and paths in folders that a box shows: a toolkit in /usr.
bool tells_nothing(const std::string& value) {
  static const std::set<std::string> common{"C.UTF-8", "POSIX", "en_US.UTF-8", "xterm-256color"};
  if (common.contains(value)) return true;
  if (std::all_of(value.begin(), value.end(), [](unsigned char c) { return std::isdigit(c) != 0; }))
    return true;
  std::istringstream parts(value);
  for (std::string part; std::getline(parts, part, ':');)
    if (!is_shown(part)) return false;
  return true;
}

}  // namespace

HostFacts host_facts() {
  HostFacts facts;
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0 && std::strlen(name) >= kShortestName) {
    facts.names.push_back(name);
    const std::string whole = name, first = whole.substr(0, whole.find('.'));
    if (first != whole && first.size() >= kShortestName) facts.names.push_back(first);
  }
  // The box is called runner and has a folder of the second name; the others are no machine's name.
  for (const char* nobodys : {"runner", "warpgrade", "localhost", "(none)"}) std::erase(facts.names, nobodys);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/", none)) {
    const std::string folder = entry.path().filename().string();
    if (!shown_folders().contains(folder)) facts.folders.push_back("/" + folder);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t at = text.find('=');
    if (at != std::string::npos && !tells_nothing(text.substr(at + 1)))
      facts.environment[text.substr(0, at)] = text.substr(at + 1);
  }
  return facts;
}

std::string what_it_tells(const std::string& bytes, const HostFacts& facts) {
  for (const std::string& text : {bytes, every_second(bytes, 0), every_second(bytes, 1)})
    if (std::string told = told_as_bytes(text, facts); !told.empty()) return told;
  return "";
}

}  // namespace warpgrade::hardware
