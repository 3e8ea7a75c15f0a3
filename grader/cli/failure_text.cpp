#include "cli/failure_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "course/score/score.h"
#include "judge/judging/figures.h"
#include "judge/labs/registry.h"
#include "record/view.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr int kCellsShown = 5;
constexpr size_t kOutputShown = 300;

// Doubles to so many digits, integers in full; "nan" and the like are words in a record.
std::string number(const json& value, int digits) {
  if (value.is_number_float()) return fmt::format("{:.{}g}", value.get<double>(), digits);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string output_name(const std::string& lab_name) {
  for (const Lab* lab : labs()) {
    if (lab->name() == lab_name) return lab->terms().output;
  }
  return "output";
}

// "c[3,0] want 1 got nan (row of 5 entries)"
std::string cell_text(const std::string& output, const json& cell) {
  std::string place;
  for (const char* key : {"row", "col"}) {
    if (cell.contains(key)) place += (place.empty() ? "" : ",") + cell[key].dump();
  }
  if (const json index = cell.value("index", json()); index.is_array()) {  // of more than two dimensions
    place.clear();
    for (const json& number : index) place += (place.empty() ? "" : ",") + number.dump();
  }
  const json want = cell.value("want", json()), got = cell.value("got", json());
  const int digits = number(want, 7) == number(got, 7) ? 17 : 7;  // what differs is to be seen
  std::string text = fmt::format("    {}[{}] want {} got {}", cell.value("output", output), place,
                                 number(want, digits), number(got, digits));
  if (cell.contains("row_nnz")) text += fmt::format("   (row of {} entries)", cell["row_nnz"].dump());
  return text + "\n";
}

// "spmm.cu:31: ", or nothing.
std::string place_of(const Diagnostic& finding) {
  const std::string& file = finding.file;
  if (file.empty() || !finding.line) return "";
  return fmt::format("{}:{}: ", file.substr(file.rfind('/') + 1), *finding.line);
}

// What the program printed.
std::string output_of(const Record& record) {
  return record.outcome.details.is_object() ? word(record.outcome.details, "output") : "";
}

}  // namespace

std::string findings_text(const std::vector<Record>& records) {
  std::string text;
  std::set<std::pair<std::string, std::string>> reported;  // kind, place
  for (const Record& record : records) {
    if (!record.outcome.accepted()) continue;
    for (const Diagnostic finding : record.diagnostics) {
      const std::string place = place_of(finding);
      if (!reported.insert({finding.kind, place}).second) continue;
      if (text.empty()) text = "accepted, but something should be corrected:\n";
      text += fmt::format("    {}{} (case {})\n", place, finding.message, record.test_case.id);
      if (!finding.advice.empty()) text += "    advice: " + finding.advice + "\n";
    }
  }
  return text;
}

std::string failure_text(const Record& record, const std::string& repeat) {
  std::string text = fmt::format("{} {}/{}: {}\n", word_of(record.outcome.verdict), record.lab,
                                 record.test_case.id, record.outcome.message);
  if (!record.pattern.empty() && text.find(record.pattern) == std::string::npos)
    text += "    pattern: " + record.pattern + "\n";
  for (const Diagnostic finding : record.diagnostics) {
    if (!finding.message.empty() && text.find(finding.message) == std::string::npos)
      text += "    " + place_of(finding) + finding.message + "\n";
    if (!finding.advice.empty()) text += "    advice: " + finding.advice + "\n";
    break;  // what follows the first mistake is often its consequence
  }
  if (const json& search = record.cause_search; search.is_object()) {
    text += fmt::format(
        "    the judge ran the case {} more, with its warps in other orders, to find the cause: {:.1f} s, "
        "{}\n",
        search.at("schedules").size() == 1 ? "once" : fmt::format("{} times", search.at("schedules").size()),
        search.at("wall_s").get<double>(), search.at("found") ? "found" : "no race or misuse was found");
  }
  int shown = 0;
  for (const json& cell : record.mismatches) {
    if (++shown > kCellsShown) break;
    text += cell_text(output_name(record.lab), cell);
  }
  if (const std::string output = output_of(record); !output.empty())
    text += fmt::format("    the program printed: {}{}", output.substr(0, kOutputShown),
                        output.size() <= kOutputShown && output.ends_with('\n') ? "" : "\n");
  return text + "    again: " + repeat + "\n";
}

std::string printed_text(const std::vector<Record>& records) {
  std::string text, first_case;
  int others = 0;
  for (const Record& record : records) {
    const std::string output = output_of(record);
    if (output.empty() || !record.outcome.accepted()) continue;
    if (!text.empty()) {
      ++others;
      continue;
    }
    first_case = record.test_case.id;
    text = output.substr(0, kOutputShown);
  }
  if (text.empty()) return "";
  if (!text.ends_with('\n')) text += '\n';
  const std::string more =
      others == 0 ? "" : fmt::format(" (and in {} other case{})", others, others == 1 ? "" : "s");
  return fmt::format("  the program printed in {}{}:\n{}", first_case, more, text);
}

std::string writers_text(const std::vector<Record>& records) {
  std::map<std::string, std::vector<std::string>> cases;
  for (const Record& record : records)
    if (const std::string note = writers_note(record); !note.empty())
      cases[note].push_back(record.test_case.id);
  std::string text;
  for (const auto& [note, ids] : cases)
    text += fmt::format("{} (in {} case{}: {})\n", note, ids.size(), ids.size() == 1 ? "" : "s",
                        fmt::join(ids, ", "));
  return text;
}

const Fields& trouble_fields() {
  static const Fields fields{"submission/id", "case/id", "outcome/verdict", "outcome/message",
                             "judge_faults"};
  return fields;
}

std::string trouble_text(const std::vector<Record>& records) {
  constexpr size_t kMostLines = 20;
  std::vector<std::string> faults, for_staff;
  for (const Record& record : records) {
    const bool fault = record.outcome.verdict == Verdict::kJudgeFault;
    const std::vector<std::string>& causes = record.judge_faults;
    if (!fault && causes.empty()) continue;
    (fault ? faults : for_staff)
        .push_back(fmt::format("  {} {}: {}\n", record.submission.id, record.test_case.id,
                               causes.empty() ? record.outcome.message : causes.back()));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& lines, const std::string& title) {
    if (lines.empty()) return;
    text += title;
    for (size_t i = 0; i < std::min(lines.size(), kMostLines); ++i) text += lines[i];
    if (lines.size() > kMostLines) text += fmt::format("  and {} more\n", lines.size() - kMostLines);
  };
  add(faults, fmt::format("{} cases met a fault of the judge; run the same command again to redo them\n",
                          faults.size()));
  add(for_staff, fmt::format("{} cases made the judge fail twice and count as runtime errors; a person "
                             "should look at them (`warpgrade regrade` judges them again)\n",
                             for_staff.size()));
  return text;
}

}  // namespace warpgrade
