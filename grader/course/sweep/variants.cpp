#include "course/sweep/variants.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "judge/compile/submission.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool is_identifier(const std::string& text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(), is_word);
}

// A number or a name: what stands after -DNAME= without quoting.
bool is_value(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '.' || c == '-'; });
}

bool holds_word(const std::string& text, const std::string& word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) return true;
  }
  return false;
}

void require_use(const Submission& submission, const std::vector<SubmittedFile>& files,
                 const SweepVariant& variant) {
  for (const auto& [name, value] : variant.settings) {
    const bool used = std::any_of(files.begin(), files.end(),
                                  [&](const SubmittedFile& file) { return holds_word(file.text, name); });
    if (!used) {
      throw UsageError(
          "{} appears in none of the sources of {}: the sweep would change nothing. Use it as a macro, with "
          "a default: #ifndef {} / #define {} {} / #endif",
          name, submission.directory.string(), name, name, value);
    }
  }
}

std::string manifest(const Submission& submission, const SweepVariant& variant) {
  YAML::Node node;
  node["title"] = variant.title();
  for (const std::string& flag : submission.flags) node["flags"].push_back(flag);
  for (const auto& [name, value] : variant.settings) node["flags"].push_back("-D" + name + "=" + value);
  std::ostringstream text;
  text << node << '\n';
  return text.str();
}

}  // namespace

std::string SweepVariant::title() const {
  std::string text;
  for (const auto& [name, value] : settings) text += (text.empty() ? "" : " ") + name + "=" + value;
  return text;
}

std::string SweepVariant::id() const {
  std::string text;
  for (const auto& [name, value] : settings) text += (text.empty() ? "" : ".") + name + "-" + value;
  return text;
}

SweepParameter parse_parameter(const std::string& text) {
  const size_t equals = text.find('=');
  SweepParameter parameter{text.substr(0, equals), {}};
  if (equals == std::string::npos || !is_identifier(parameter.name)) {
    throw UsageError("--param {}: expected NAME=value,value,... with a macro's name, as in SPLIT_SIZE=32,64",
                     text);
  }
  std::istringstream values(text.substr(equals + 1));
  for (std::string value; std::getline(values, value, ',');) {
    if (!is_value(value)) {
      throw UsageError("--param {}: '{}' is not a value; expected numbers or names between commas", text,
                       value);
    }
    if (std::find(parameter.values.begin(), parameter.values.end(), value) == parameter.values.end())
      parameter.values.push_back(value);
  }
  if (parameter.values.empty()) throw UsageError("--param {}: expected a value after the =", text);
  return parameter;
}

std::vector<SweepVariant> combine(const std::vector<SweepParameter>& parameters, size_t most) {
  std::set<std::string> names;
  size_t count = 1;
  for (const SweepParameter& parameter : parameters) {
    if (!names.insert(parameter.name).second)
      throw UsageError("--param {} is given twice; put all its values into one", parameter.name);
    count = count > most ? count : count * parameter.values.size();
  }
  if (parameters.empty()) throw UsageError("nothing to sweep: give --param NAME=value,value");
  if (count > most) {
    throw UsageError("more than {} variants; try fewer values, or allow more with --max-variants", most);
  }
  std::vector<SweepVariant> variants{{}};
  for (const SweepParameter& parameter : parameters) {
    std::vector<SweepVariant> longer;
    for (const SweepVariant& variant : variants) {
      for (const std::string& value : parameter.values) {
        longer.push_back(variant);
        longer.back().settings.emplace_back(parameter.name, value);
      }
    }
    variants = std::move(longer);
  }
  return variants;
}

void write_variants(const fs::path& folder, const std::string& lab, const std::vector<SweepVariant>& variants,
                    const fs::path& destination) {
  const Submission submission = read_submission(folder, lab, Role::kStudent);
  if (submission.problem) throw UsageError("{}: {}", folder.string(), *submission.problem);
  const auto read = read_files(submission);
  if (const auto* why = std::get_if<std::string>(&read)) throw UsageError("{}: {}", folder.string(), *why);
  const auto& files = std::get<std::vector<SubmittedFile>>(read);
  if (!variants.empty()) require_use(submission, files, variants.front());
  for (const SweepVariant& variant : variants) {
    const fs::path copy = destination / variant.id();
    for (const SubmittedFile& file : files) {
      make_directories((copy / file.name).parent_path());
      write_scratch(copy / file.name, file.text);
    }
    write_text(copy / "submission.yaml", manifest(submission, variant));
  }
}

}  // namespace warpgrade
