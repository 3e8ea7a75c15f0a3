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
#include "record/record.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kPageFolder = "grader/course/record/";

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
  typed::SchemaWriter writer;
  json root = writer.schema_of<Record>();
  writer.definitions["Verdict"] = schema_of_verdicts();
  writer.definitions["Reason"] = schema_of_reasons();
  root.update(
      {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
       {"$id", "warpgrade.case.v1"},
       {"$comment", "made by `ninja record-files` from grader/record; nothing is changed here by hand"},
       {"$defs", writer.definitions}});
  return root;
}

// A row a field, in the table's own order.
template <class Struct>
std::string rows_of() {
  std::string text = "| field | meaning |\n| -- | -- |\n";
  std::apply(
      [&](const auto&... each) {
        ((text += fmt::format("| `{}` | {}{} |\n", each.name, each.help,
                              each.older.empty() ? "" : fmt::format("; `{}` in older records", each.older))),
         ...);
      },
      Struct::fields());
  return text;
}

template <class... Structs>
std::string parts() {
  std::string text;
  ((text += fmt::format("\n`{}`: {}\n\n{}", Structs::kName, Structs::kHelp, rows_of<Structs>())), ...);
  return text;
}

std::string fields() {
  return rows_of<Record>() + parts<SubmissionName, Case, Verification, OutputsBy, Timing, Ratio, Floor>();
}

std::string verdicts() {
  std::string text = "| verdict | severity | meaning |\n| -- | -- | -- |\n";
  for (const VerdictFacts& each : kVerdicts)
    if (each.of_case) text += fmt::format("| `{}` | {} | {} |\n", each.word, each.severity, each.meaning);
  return text;
}

std::string reasons() {
  std::string text = "| verdict | reason | meaning |\n| -- | -- | -- |\n";
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
  std::string text = read_text(file);
  const auto put = [&](std::string_view name, const std::string& lines) {
    const std::string begin = fmt::format("<!-- {}, made by `ninja record-files` -->\n", name);
    constexpr std::string_view kEnd = "<!-- end -->";
    const std::size_t at = text.find(begin), end = text.find(kEnd, at);
    if (at == std::string::npos || end == std::string::npos)
      throw UsageError("{}: expected the line '{}' and '{}' behind it", file.string(),
                       begin.substr(0, begin.size() - 1), kEnd);
    text.replace(at + begin.size(), end - at - begin.size(), "\n" + lines + "\n");
  };
  put("fields", fields());
  put("verdicts", verdicts());
  put("reasons", reasons());
  return text;
}

int write_or_check(const fs::path& root, bool check) {
  const std::map<fs::path, std::string> files{
      {"reports/warpgrade_reports/record_schema.json", schema().dump(1) + "\n"},
      {std::string(kPageFolder) + "README.md", page(root / kPageFolder / "README.md")}};
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
