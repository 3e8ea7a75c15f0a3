#include "base/own_command.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>

#include "base/process.h"

namespace warpgrade {
namespace {

constexpr std::string_view kName = "warpgrade ";

std::set<std::string>& commands() {
  static std::set<std::string> names{"--help", "--version"};
  return names;
}

// A word of its own before a command's: "warpgrade was built without SQLite" is a sentence.
bool is_named_at(const std::string& text, std::size_t at) {
  if (at > 0 && std::string_view(" \n`(\"'").find(text[at - 1]) == std::string_view::npos) return false;
  if (text.compare(at, kName.size(), kName) != 0) return false;
  const std::size_t word = at + kName.size();
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", word);
  return commands().contains(text.substr(word, end - word));
}

}  // namespace

std::string own_command() {
  const char* said = std::getenv("WARPGRADE_COMMAND");
  return said != nullptr && *said != '\0' ? said : "warpgrade";
}

void started_as(const std::string& first_word) {
  if (first_word.find('/') == std::string::npos) return;
  setenv("WARPGRADE_COMMAND", shell_word(first_word).c_str(), 0);
}

void know_command(const std::string& name) {
  commands().insert(name);
}

std::string with_own_command(const std::string& text) {
  std::string told;
  for (std::size_t at = 0; at < text.size();) {
    const bool named = is_named_at(text, at);
    told += named ? own_command() + " " : std::string(1, text[at]);
    at += named ? kName.size() : 1;
  }
  return told;
}

std::string shell_word(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("/._-+@:%,=", c) != nullptr;
  });
  return plain && !word.empty() ? word : shell_quoted(word);
}

}  // namespace warpgrade
