// Writes what is made from the tables of this floor: the reports' schema and the tables of the record's page.
//   record_files ROOT           writes them below ROOT, the tree
//   record_files ROOT --check   names the files that are not as they would be written; exit code 1
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPage = "grader/course/record/README.md";

json schema_of_verdicts() {
  json words = json::array();
  for (const VerdictFacts& each : kVerdicts)
    words.push_back({{"const", each.word},
                     {"title", each.label},
                     {"description", each.meaning},
                     {"x-severity", each.severity},
                     {"x-of-case", each.of_case},
                     {"x-undecided", is_undecided(each.verdict)},
                     {"x-letter", each.letter},
                     {"x-colour", each.colour}});
  return {{"description", "What a case or a hand-in came to."}, {"oneOf", words}};
}

json schema_of_reasons() {
  json words = json::array();
  for (const ReasonFacts& each : kReasons)
    if (each.reason != Reason::kNone && each.reason != Reason::kUnknown)
      words.push_back({{"const", each.word}, {"description", each.help}, {"x-verdicts", each.verdicts}});
  return {{"description", "Why, as a stable word."}, {"oneOf", words}};
}

json schema() {
  record::SchemaWriter writer;
  json root{{"type", "object"}, {"properties", {{"outcome", writer.schema_of<Outcome>()}}}};
  writer.definitions["Verdict"] = schema_of_verdicts();
  writer.definitions["Reason"] = schema_of_reasons();
  root.update(
      {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
       {"$id", "warpgrade.case.v1"},
       {"$comment", "made by `ninja record-files` from grader/record; nothing is changed here by hand"},
       {"$defs", writer.definitions}});
  return root;
}

std::string tables() {
  std::string text = "| verdict | severity | meaning |\n| -- | -- | -- |\n";
  for (const VerdictFacts& each : kVerdicts)
    if (each.of_case) text += fmt::format("| `{}` | {} | {} |\n", each.word, each.severity, each.meaning);
  text += "\n| verdict | reason | meaning |\n| -- | -- | -- |\n";
  for (const ReasonFacts& each : kReasons) {
    if (each.verdicts.empty()) continue;
    std::string verdicts = fmt::format("`{}`", each.verdicts);
    for (std::size_t at = 0; (at = verdicts.find(", ", at)) != std::string::npos; at += 4)
      verdicts.replace(at, 2, "`, `");
    text += fmt::format("| {} | `{}` | {} |\n", verdicts, each.word, each.help);
  }
  return text;
}

// The page with these lines between its marks.
std::string page(const fs::path& file) {
  constexpr std::string_view kBegin = "<!-- made by `ninja record-files`: begin -->\n", kEnd = "<!-- end -->";
  std::string text = read_text(file);
  const std::size_t begin = text.find(kBegin), end = text.find(kEnd, begin);
  if (begin == std::string::npos || end == std::string::npos)
    throw UsageError("{}: expected a place between the lines '{}' and '{}'", file.string(),
                     kBegin.substr(0, kBegin.size() - 1), kEnd);
  return text.replace(begin + kBegin.size(), end - begin - kBegin.size(), "\n" + tables() + "\n");
}

int write_or_check(const fs::path& root, bool check) {
  const std::map<fs::path, std::string> files{
      {"reports/warpgrade_reports/record_schema.json", schema().dump(1) + "\n"}, {kPage, page(root / kPage)}};
  int stale = 0;
  for (const auto& [name, text] : files) {
    if (fs::exists(root / name) && read_text(root / name) == text) continue;
    ++stale;
    if (check)
      fmt::print("{} is not as grader/record says: run `ninja -C build record-files`\n", name.string());
    else
      write_text(root / name, text);
  }
  return check && stale > 0 ? 1 : 0;
}

}  // namespace
}  // namespace warpgrade

int main(int count, char** words) {
  try {
    if (count == 2 || (count == 3 && std::string_view(words[2]) == "--check"))
      return warpgrade::write_or_check(words[1], count == 3);
    fmt::print(stderr, "usage: record_files ROOT [--check]\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 2;
}
