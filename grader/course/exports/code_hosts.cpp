// What hosts of code show beside a student's sources: GitHub's workflow commands and job summary, GitLab's
// Code Quality report. Read by github.com/actions/runner (src/Runner.Common/ActionCommand.cs, and
// src/Runner.Worker/FileCommandManager.cs for the summary) and by github.com/gitlabhq/gitlabhq
// (lib/gitlab/ci/parsers/codequality/code_climate.rb, app/validators/json_schemas/codeclimate.json).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "course/exports/exports.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

namespace {

constexpr std::size_t kMostRemarks = 10;      // of each kind: GitHub shows no more of one step
constexpr std::size_t kMostRows = 200;        // of a summary's table
constexpr std::size_t kMostMessage = 16'384;  // bytes: a summary may have 128 KiB

// A mistake at a line of the student's; without a line where no line is to blame.
struct Remark {
  bool is_error = true;
  std::string file, title, message;
  int line = 0;
};

// A source of the hand-in, and nothing above its folder.
bool is_source(std::string_view name) {
  return !name.empty() && name.front() != '/' && name.find("..") == std::string_view::npos &&
         name.find('\\') == std::string_view::npos && name.find('(') == std::string_view::npos;
}

struct Place {
  std::string_view file, rest;  // rest: what follows the place
  int line = 0;
};

// "spmm.cu(5): error: ..." of nvcc, or "spmm.cu:5:3: error: ..." of the host's compiler.
std::optional<Place> place_in(std::string_view line) {
  const std::size_t mark = line.find_first_of("(:");
  if (mark == std::string_view::npos || !is_source(line.substr(0, mark))) return std::nullopt;
  Place place{line.substr(0, mark), {}, 0};
  const char* const end = line.data() + line.size();
  const auto [after, error] = std::from_chars(line.data() + mark + 1, end, place.line);
  if (error != std::errc() || place.line < 1) return std::nullopt;
  const std::string_view left(after, end);
  const std::size_t words = left.find(": ");
  if (words == std::string_view::npos || (line[mark] == '(' && !left.starts_with("): "))) return std::nullopt;
  place.rest = left.substr(words + 2);
  return place;
}

// A message's first word, where it says what kind of message it is.
bool takes_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return false;
  text.remove_prefix(colon + 2);
  return true;
}

void add_compiler_remarks(const std::string& log, std::vector<Remark>& remarks) {
  for (std::size_t from = 0; from < log.size();) {
    const std::size_t end = std::min(log.find('\n', from), log.size());
    if (const auto place = place_in(std::string_view(log).substr(from, end - from))) {
      std::string_view words = place->rest;
      const bool is_error = takes_word(words, "error") || takes_word(words, "fatal error");
      if (is_error || takes_word(words, "warning"))
        remarks.push_back({is_error, std::string(place->file), is_error ? "compile error" : "warning",
                           std::string(words), place->line});
    }
    from = end + 1;
  }
}

std::string with_spaces(std::string words) {
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

void add_case_remarks(const ScoredCase& line, std::vector<Remark>& remarks) {
  const Verdict verdict = line.outcome();
  const std::string word(word_of(verdict));
  const bool right = verdict == Verdict::kAccepted;
  bool has_place = false;
  for (const Diagnostic& finding : line.diagnostics) {
    if (!is_source(finding.file) || finding.line.value_or(0) < 1) continue;
    has_place = true;
    std::string message = finding.message;
    if (!finding.advice.empty()) message += "\n" + finding.advice;
    message += "\n(case " + line.id + ")";
    remarks.push_back({!right, finding.file, with_spaces(finding.kind.empty() ? word : finding.kind), message,
                       static_cast<int>(*finding.line)});
  }
  const bool is_mistake =
      !right && !is_undecided(verdict) && verdict != Verdict::kCompileError && !line.left_out;
  if (is_mistake && !has_place)
    remarks.push_back({true, "", with_spaces(word),
                       line.id + ": " + (line.message.empty() ? with_spaces(word) : line.message), 0});
}

// Each mistake once, errors first, at most ten of each kind.
std::vector<Remark> remarks_of(const View& view) {
  std::vector<Remark> all, kept;
  add_compiler_remarks(view.compile.log, all);
  for (const ScoredCase& line : view.cases) add_case_remarks(line, all);
  if (all.empty() && view.compile.failed())
    all.push_back({true, "", with_spaces(view.compile.status), view.compile.message, 0});
  std::set<std::tuple<std::string, int, std::string>> told;
  for (const bool errors : {true, false}) {
    std::size_t count = 0;
    for (const Remark& remark : all) {
      const std::string what = remark.title == "compile error" ? remark.message : remark.title;
      if (remark.is_error != errors || count == kMostRemarks ||
          !told.emplace(remark.file, remark.line, what).second)
        continue;
      kept.push_back(remark);
      ++count;
    }
  }
  return kept;
}

std::string path_of(const Remark& remark, const std::string& root) {
  return root.empty() || root == "." ? remark.file : root + "/" + remark.file;
}

// As the runner's UnescapeData and UnescapeProperty take it back.
std::string escaped(std::string text, bool is_property) {
  replace_all(text, "%", "%25");
  replace_all(text, "\r", "%0D");
  replace_all(text, "\n", "%0A");
  if (is_property) {
    replace_all(text, ":", "%3A");
    replace_all(text, ",", "%2C");
  }
  return text;
}

// Text that nothing in it can end: the fence is longer than every run of its sign.
std::string fenced(std::string_view text) {
  std::size_t run = 0, longest = 2;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`');
  return fence + "text\n" + std::string(text) + "\n" + fence + "\n";
}

std::string cell(std::string text) {
  text = plain_line(text, 100);
  for (const char* sign : {"\\", "|", "`", "*", "_", "<", "[", "&"})
    replace_all(text, sign, std::string("\\") + sign);
  return text;
}

std::string speed_cell(const ScoredCase& line) {
  if (!line.ratio || !line.accepted()) return "";
  return fmt::format("{:.3g} over {}", line.ratio->median, cell(with_spaces(line.over())));
}

std::string table_of(const View& view) {
  const bool speed = view.speed_measured;
  std::string text =
      speed ? "| case | verdict | speed-up |\n|---|---|---:|\n" : "| case | verdict |\n|---|---|\n";
  const std::vector<ScoredCase>& cases = view.cases;
  for (std::size_t i = 0; i < std::min(cases.size(), kMostRows); ++i) {
    const std::string word(word_of(cases[i].outcome()));
    text += fmt::format("| {} | {} |", cell(cases[i].id),
                        cases[i].accepted() ? "right" : "**" + cell(with_spaces(word)) + "**");
    text += speed ? fmt::format(" {} |\n", speed_cell(cases[i])) : "\n";
  }
  if (cases.size() > kMostRows) text += fmt::format("\nand {} more cases\n", cases.size() - kMostRows);
  return text;
}

// What to mend first.
std::string first_message(const View& view) {
  const View::Compiled& compile = view.compile;
  if (compile.failed())
    return "\n**First: it does not compile**\n\n" +
           fenced((compile.log.empty() ? compile.message : compile.log).substr(0, 4000));
  for (const ScoredCase& line : view.cases) {
    if (line.accepted() || is_undecided(line.outcome())) continue;
    return fmt::format("\n**First: {}**\n\n", cell(line.id)) + fenced(tail_of(case_text(line), kMostMessage));
  }
  return "";
}

}  // namespace

std::string github_annotations(const View& view, const std::string& root) {
  std::string text;
  for (const Remark& remark : remarks_of(view)) {
    text += remark.is_error ? "::error " : "::warning ";
    if (remark.line > 0)
      text += fmt::format("file={},line={},", escaped(path_of(remark, root), true), remark.line);
    text += fmt::format("title={}::{}\n", escaped(remark.title, true), escaped(remark.message, false));
  }
  return text;
}

std::string github_summary(const View& view) {
  std::string text = fmt::format("### {}: {} of {} cases are right\n\n", cell(view.lab), view.correct_cases,
                                 view.total_cases);
  if (!view.judged_by.empty()) text += cell(view.judged_by) + "\n\n";
  for (const std::string& note : view.notes) text += "- your files: " + cell(note) + "\n";
  if (view.undecided_cases > 0)
    text += fmt::format("- {} cases were not judged; this is no fault of your code\n", view.undecided_cases);
  return text + "\n" + table_of(view) + first_message(view);
}

json gitlab_quality(const View& view, const std::string& root) {
  json report = json::array();
  for (const Remark& remark : remarks_of(view)) {
    if (remark.line < 1) continue;  // every entry has a place
    const std::string path = path_of(remark, root);
    report.push_back({{"description", remark.title + ": " + remark.message},
                      {"check_name", remark.title},
                      {"fingerprint", sha256(fmt::format("{}\n{}\n{}", path, remark.line, remark.message))},
                      {"severity", remark.is_error ? "major" : "minor"},
                      {"location", {{"path", path}, {"lines", {{"begin", remark.line}}}}}});
  }
  return report;
}

}  // namespace warpgrade
