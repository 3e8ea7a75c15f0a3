#include "cli/failure_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "course/score/score.h"
#include "judge/labs/registry.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr int kCellsShown = 5;
constexpr size_t kOutputShown = 300;

std::string text_at(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

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
std::string place_of(const json& finding) {
  const std::string file = text_at(finding, "file");
  if (file.empty() || !finding.value("line", json()).is_number_integer()) return "";
  return fmt::format("{}:{}: ", file.substr(file.rfind('/') + 1), finding["line"].dump());
}

}  // namespace

std::string findings_text(const std::vector<json>& records) {
  std::string text;
  std::set<std::pair<std::string, std::string>> reported;  // kind, place
  for (const json& record : records) {
    if (!outcome_of(record).accepted()) continue;
    for (const json& finding : record.value("diagnostics", json::array())) {
      const std::string place = place_of(finding), advice = text_at(finding, "advice");
      if (!reported.insert({text_at(finding, "kind"), place}).second) continue;
      if (text.empty()) text = "accepted, but something should be corrected:\n";
      text += fmt::format("    {}{} (case {})\n", place, text_at(finding, "message"),
                          text_at(record.at("case"), "id"));
      if (!advice.empty()) text += "    advice: " + advice + "\n";
    }
  }
  return text;
}

std::string failure_text(const json& record, const std::string& repeat) {
  const json& outcome = record.at("outcome");
  const std::string lab = text_at(record, "lab");
  std::string text = fmt::format("{} {}/{}: {}\n", text_at(outcome, "verdict"), lab,
                                 text_at(record.at("case"), "id"), text_at(outcome, "message"));
  if (const std::string pattern = text_at(record, "pattern");
      !pattern.empty() && text.find(pattern) == std::string::npos)
    text += "    pattern: " + pattern + "\n";
  for (const json& finding : record.value("diagnostics", json::array())) {
    const std::string message = text_at(finding, "message"), advice = text_at(finding, "advice");
    if (!message.empty() && text.find(message) == std::string::npos)
      text += "    " + place_of(finding) + message + "\n";
    if (!advice.empty()) text += "    advice: " + advice + "\n";
    break;  // what follows the first mistake is often its consequence
  }
  if (const json search = record.value("cause_search", json()); search.is_object()) {
    text += fmt::format(
        "    the judge ran the case {} more, with its warps in other orders, to find the cause: {:.1f} s, "
        "{}\n",
        search.at("schedules").size() == 1 ? "once" : fmt::format("{} times", search.at("schedules").size()),
        search.at("wall_s").get<double>(), search.at("found") ? "found" : "no race or misuse was found");
  }
  int shown = 0;
  for (const json& cell : record.value("mismatches", json::array())) {
    if (++shown > kCellsShown) break;
    text += cell_text(output_name(lab), cell);
  }
  const std::string output = text_at(outcome.value("details", json::object()), "output");
  if (!output.empty())
    text += fmt::format("    the program printed: {}{}", output.substr(0, kOutputShown),
                        output.size() <= kOutputShown && output.ends_with('\n') ? "" : "\n");
  return text + "    again: " + repeat + "\n";
}

std::string printed_text(const std::vector<json>& records) {
  std::string text, first_case;
  int others = 0;
  for (const json& record : records) {
    const json& outcome = record.at("outcome");
    if (outcome.at("verdict") != Verdict::kAccepted) continue;
    const std::string output = text_at(outcome.value("details", json::object()), "output");
    if (output.empty()) continue;
    if (!text.empty()) {
      ++others;
      continue;
    }
    first_case = text_at(record.at("case"), "id");
    text = output.substr(0, kOutputShown);
  }
  if (text.empty()) return "";
  if (!text.ends_with('\n')) text += '\n';
  const std::string more =
      others == 0 ? "" : fmt::format(" (and in {} other case{})", others, others == 1 ? "" : "s");
  return fmt::format("  the program printed in {}{}:\n{}", first_case, more, text);
}

std::string writers_text(const std::vector<json>& records) {
  std::map<std::string, std::vector<std::string>> cases;
  for (const json& record : records)
    if (const std::string note = writers_note(record); !note.empty())
      cases[note].push_back(text_at(record.at("case"), "id"));
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

std::string trouble_text(const std::vector<json>& records) {
  constexpr size_t kMostLines = 20;
  std::vector<std::string> faults, for_staff;
  for (const json& record : records) {
    const json& outcome = record.at("outcome");
    const bool fault = outcome.at("verdict") == Verdict::kJudgeFault;
    const json causes = record.value("judge_faults", json::array());
    if (!fault && causes.empty()) continue;
    const bool has_reason = !causes.empty() && causes.back().is_string();
    const std::string why = has_reason ? causes.back().get<std::string>() : text_at(outcome, "message");
    (fault ? faults : for_staff)
        .push_back(fmt::format("  {} {}: {}\n", text_at(record.at("submission"), "id"),
                               text_at(record.at("case"), "id"), why));
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
  add(for_staff,
      fmt::format("{} cases made the judge fail twice and count as runtime errors; a person should "
                  "look at them (`warpgrade regrade` judges them again)\n",
                  for_staff.size()));
  return text;
}

}  // namespace warpgrade
