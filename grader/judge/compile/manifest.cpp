#include "judge/compile/manifest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

#include "base/text.h"

namespace warpgrade {
namespace {

constexpr std::size_t kMostFlags = 64, kLongestFlag = 200, kLongestTitle = 200, kMostSources = 200;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// NAME or NAME=value behind -D; the value a number or a name, also one with namespaces.
bool is_definition(std::string_view text) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  if (name.empty() || is_digit(name[0]) || !std::all_of(name.begin(), name.end(), is_word)) return false;
  const std::string_view value = text.substr(std::min(equals + 1, text.size()));
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return is_word(c) || c == '.' || c == '+' || c == '-' || c == ':'; });
}

constexpr const char* kRegisters = "-maxrregcount=N";
constexpr const char* kDefinition = "-DNAME=word";

void take_flags(const YAML::Node& flags, Manifest& manifest) {
  if (!flags.IsSequence() && !flags.IsNull()) {
    manifest.problem = "submission.yaml: `flags` is to be a list, as in: flags: [-std=c++20]";
    return;
  }
  if (flags.size() > kMostFlags) {
    manifest.problem = fmt::format("submission.yaml asks for more than {} compiler flags", kMostFlags);
    return;
  }
  for (const YAML::Node& flag : flags) {
    const std::string text = flag.IsScalar() ? flag.Scalar() : "";
    if (!is_allowed_flag(text)) {
      const std::string instead = instead_of_flag(text);
      manifest.problem =
          fmt::format("submission.yaml asks for the compiler flag {}, which is not allowed{}",
                      plain_line(flag.IsScalar() ? text : "that is no text", 100),
                      instead.empty() ? fmt::format("; allowed are {}", fmt::join(allowed_flags(), ", "))
                                      : ": " + instead);
      return;
    }
    manifest.flags.push_back(text);
  }
}

void take_sources(const YAML::Node& sources, Manifest& manifest) {
  if (!sources.IsSequence() || sources.size() == 0 || sources.size() > kMostSources) {
    manifest.problem =
        "submission.yaml: `sources` is to be a list of your source files, as in: sources: [spmm.cu]";
    return;
  }
  for (const YAML::Node& source : sources) {
    if (source.IsScalar()) manifest.sources.push_back(source.Scalar());
  }
}

// A text, or a list of them.
void take_notes(const YAML::Node& note, Manifest& manifest) {
  const auto take = [&](const YAML::Node& line) {
    const std::string text = line.IsScalar() ? plain_line(line.Scalar(), kLongestNote) : "";
    if (!text.empty()) manifest.notes.push_back(text);
  };
  if (!note.IsSequence()) return take(note);
  for (const YAML::Node& line : note) take(line);
}

}  // namespace

const std::vector<std::string>& allowed_flags() {
  static const std::vector<std::string> kFlags{"-O0",
                                               "-O1",
                                               "-O2",
                                               "-O3",
                                               "-G",
                                               "-std=c++17",
                                               "-std=c++20",
                                               "--extended-lambda",
                                               "--expt-relaxed-constexpr",
                                               "--use_fast_math",
                                               "--extra-device-vectorization",
                                               kRelocatable,
                                               kRegisters,
                                               kDefinition};
  return kFlags;
}

std::string instead_of_flag(const std::string& flag) {
  static const std::set<std::string> kStepsOfTheJudge{"-dc", "--device-c", "-dlink", "--device-link",
                                                      "-lcudadevrt"};
  if (!kStepsOfTheJudge.contains(flag)) return {};
  return fmt::format("ask for {} alone; the judge links the device code, with the device's runtime",
                     kRelocatable);
}

std::string kind_of_flag(const std::string& flag) {
  static const std::map<std::string, std::string> kOtherSpellings{
      {"-use_fast_math", "--use_fast_math"},
      {"-extended-lambda", "--extended-lambda"},
      {"--expt-extended-lambda", "--extended-lambda"},
      {"-expt-relaxed-constexpr", "--expt-relaxed-constexpr"},
      {"--relocatable-device-code=true", kRelocatable}};
  if (flag.size() > kLongestFlag) return {};
  for (const std::string_view prefix : {"-maxrregcount=", "--maxrregcount="}) {
    const std::string_view number = std::string_view(flag).substr(std::min(prefix.size(), flag.size()));
    if (flag.starts_with(prefix) && !number.empty() && number.size() <= 3 &&
        std::all_of(number.begin(), number.end(), is_digit))
      return kRegisters;
  }
  if (flag.starts_with("-D")) return is_definition(std::string_view(flag).substr(2)) ? kDefinition : "";
  const auto other = kOtherSpellings.find(flag);
  const std::string usual = other == kOtherSpellings.end() ? flag : other->second;
  const bool listed =
      usual != kRegisters && std::ranges::find(allowed_flags(), usual) != allowed_flags().end();
  return listed ? usual : "";
}

bool is_allowed_flag(const std::string& flag) {
  return !kind_of_flag(flag).empty();
}

Manifest read_manifest(const UntrustedFolder& folder) {
  Manifest manifest;
  const UntrustedFile file = folder.read("submission.yaml", kMostManifestBytes);
  if (file.state == UntrustedState::kMissing) return manifest;
  if (!file.ok()) {
    manifest.problem = describe(file.state, "submission.yaml", kMostManifestBytes);
    return manifest;
  }
  // yaml-cpp refuses more than 500 levels; aliases stay references, so that nothing grows beyond the
  // file's size.
  try {
    const YAML::Node node = YAML::Load(file.bytes);
    if (!node.IsMap() && !node.IsNull()) {
      manifest.problem = "submission.yaml: expected keys with values, such as `sources: [spmm.cu]`";
      return manifest;
    }
    if (const YAML::Node title = node["title"]; title && title.IsScalar())
      manifest.title = plain_line(title.Scalar(), kLongestTitle);
    if (const YAML::Node flags = node["flags"]) take_flags(flags, manifest);
    if (const YAML::Node sources = node["sources"]) take_sources(sources, manifest);
    if (const YAML::Node note = node["note"]) take_notes(note, manifest);
  } catch (const std::exception& error) {
    manifest.problem = fmt::format("submission.yaml cannot be read: {}", plain_line(error.what()));
  }
  return manifest;
}

}  // namespace warpgrade
