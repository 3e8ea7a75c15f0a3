#include "judge/compile/older_interface.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "base/toolchain.h"
#include "judge/compile/source_name.h"
#include "judge/compile/source_scan.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// The text with one space for each run of white space: std::regex recurses once for each character that \s+
// takes, and a source of a million spaces would end the program.
std::string with_single_spaces(const std::string& text) {
  std::string result;
  for (char c : text) {
    const bool space = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!space || !result.ends_with(' ')) result += space ? ' ' : c;
  }
  return result;
}

bool matches(const std::string& text, const YAML::Node& pattern) {
  return std::regex_search(text, std::regex(pattern.as<std::string>()));
}

bool any_text_matches(const std::vector<SourceText>& files, const YAML::Node& pattern) {
  return std::any_of(files.begin(), files.end(),
                     [&](const SourceText& file) { return matches(file.text, pattern); });
}

bool has_file(const std::vector<SourceText>& files, const std::string& name) {
  return std::any_of(files.begin(), files.end(),
                     [&](const SourceText& file) { return file.name.filename() == name; });
}

bool is_older(const std::vector<SourceText>& files, const YAML::Node& older) {
  for (const YAML::Node& name : older["files"]) {
    if (!has_file(files, name.as<std::string>())) return false;
  }
  if (older["defines"] && !any_text_matches(files, older["defines"])) return false;
  return !older["lacks"] || !any_text_matches(files, older["lacks"]);
}

std::set<std::string> words(const YAML::Node& list) {
  std::set<std::string> result;
  for (const YAML::Node& word : list) result.insert(word.as<std::string>());
  return result;
}

// A main that was left in beside the interface's functions makes no harness of a student's file.
bool is_harness(const SourceText& file, const std::string& text, const YAML::Node& older,
                const std::set<std::string>& functions) {
  const YAML::Node rules = older["harness"];
  return std::any_of(rules.begin(), rules.end(), [&](const YAML::Node& rule) {
    if (!matches(file.name.generic_string(), rule["path"])) return false;
    if (!rule["text"]) return true;
    if (!matches(file.text, rule["text"])) return false;
    const std::set<std::string> defined = scan_source(text).functions;
    return std::none_of(functions.begin(), functions.end(),
                        [&](const std::string& name) { return defined.contains(name); });
  });
}

}  // namespace

InterfaceChoice choose_interface(const std::vector<SourceText>& given, const std::string& lab) {
  InterfaceChoice choice{lab + ".h", {}, {}, {}};
  for (const char* what : {"_plan", "_run", "_free"}) choice.functions.insert(lab + what);
  const fs::path description = project_root() / "reference/include/legacy" / lab / "interface.yaml";
  if (!fs::exists(description)) return choice;
  const YAML::Node older = YAML::LoadFile(description.string());
  std::vector<SourceText> files;
  for (const SourceText& file : given) files.push_back({file.name, with_single_spaces(file.text)});
  if (!is_older(files, older)) return choice;
  choice.interface = older["name"].as<std::string>();
  choice.functions = words(older["functions"]);
  choice.built = words(older["built"]);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (is_harness(files[i], given[i].text, older, choice.functions))
      choice.left_out.push_back(files[i].name);
  }
  return choice;
}

std::vector<fs::path> header_folders(const std::vector<fs::path>& files) {
  std::set<fs::path> folders;
  for (const fs::path& file : files) {
    if (is_header(file) && file.has_parent_path()) folders.insert(file.parent_path());
  }
  return {folders.begin(), folders.end()};
}

}  // namespace warpgrade
