// Gradescope and Autolab: a file a student.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/tables.h"
#include "course/exports/csv.h"
#include "course/exports/exports.h"
#include "record/verdict.h"

namespace warpgrade {
using nlohmann::json;

namespace {

double two_digits(double value) {
  return std::round(value * 100) / 100;
}

json test_of(const std::string& name, double points, double most, const std::string& output) {
  return {{"name", name},     {"score", two_digits(points)}, {"max_score", two_digits(most)},
          {"output", output}, {"output_format", "text"},     {"visibility", "visible"}};
}

json gradescope_test(const ScoredCase& line) {
  json test = test_of(line.id, line.points, line.max_points, case_text(line));
  test["tags"] = json::array({line.kind.empty() ? "case" : line.kind});
  if (line.left_out || line.dropped)
    test["output"] = line.note.empty() ? "none of this submission's cases" : line.note;
  else if (is_undecided(line.outcome()))
    test["output"] = "not judged: you lose no points for this; the staff will judge it again";
  else  // Gradescope would call a test failed that earned less than its maximum: a slow one is not wrong
    test["status"] = line.accepted() ? "passed" : "failed";
  return test;
}

// What a gate of speed did, where it is not passed.
std::string gates_text(const View& view) {
  std::string text;
  for (const View::Gate& gate : view.gates) {
    if (gate.status == "pass") continue;
    text += fmt::format("\nPoints are earned from a speed-up of {:g} over {} on", gate.needed, gate.baseline);
    if (gate.status == "not_measured")
      text += "; speed was not measured here, so that is still open";
    else if (gate.reached)
      text += fmt::format("; yours is {:.3g}", *gate.reached);
    else
      text += "; yours is below";
  }
  return text;
}

}  // namespace

std::string headline(const View& view) {
  const double points = view.points.value_or(0), most = view.max_points,
               measured = view.measured_points.value_or(most);
  std::string text = fmt::format("{} of {} points", points_cell(points), points_cell(most));
  if (view.overridden) text += ", set by the course's staff";
  if (!view.override_reason.empty()) text += ": " + view.override_reason;
  if (!view.graded_in.empty()) text += "\nGraded in run " + view.graded_in;
  if (view.verdict == word_of(Verdict::kNotSubmitted)) return text + "\nNothing was handed in.";
  if (view.verdict == "graded_elsewhere") return text;
  if (view.unfinished) text += ", so far: cases are not judged yet";
  if (!view.judged_by.empty()) text += "\n" + view.judged_by;
  if (measured < most)
    text += fmt::format("\n{}: {} points are still open",
                        why_points_are_open(view.open_note, view.limits_note), points_cell(most - measured));
  text += fmt::format("\n{} of {} cases correct", view.correct_cases, view.total_cases);
  if (view.undecided_cases > 0) text += fmt::format(", {} not judged, costing nothing", view.undecided_cases);
  if (view.speed_measured)
    text += fmt::format("\n{} of {} over the threshold", view.over_threshold, view.threshold_cases);
  text += gates_text(view);
  if (view.journey) text += "\nThe way there: " + view.journey->note;
  if (view.late) text += "\n" + (view.late->note.empty() ? "late" : view.late->note);
  if (view.refusal)
    text += fmt::format("\nThe hand-in was refused: {}\n{}", view.refusal->message, view.refusal->next_step);
  for (const View::Refusal& refusal : view.refused_attempts)
    text += fmt::format("\nAttempt {} was refused, an earlier or later one counts: {}\n{}", refusal.attempt,
                        refusal.message, refusal.next_step);
  for (const std::string& note : view.notes) text += "\nYour files: " + note;
  if (!view.refusal && view.compile.failed())
    text += fmt::format("\n{}: {}\n{}", view.compile.status, view.compile.message, view.compile.log);
  return text;
}

std::string feedback_text(const View& view) {
  std::string text = headline(view) + "\n";
  for (const ScoredCase& line : view.cases)
    text += fmt::format("\n{}: {} of {} points\n{}\n", line.id, points_cell(line.points),
                        points_cell(line.max_points),
                        !line.left_out      ? case_text(line)
                        : line.note.empty() ? "left out"
                                            : line.note);
  return text + "\nmade from " + view.made_from + "\n";
}

json gradescope_results(const View& view) {
  json tests = json::array();
  for (const ScoredCase& line : view.cases) tests.push_back(gradescope_test(line));
  const View::Hidden& hidden = view.hidden;
  if (hidden.cases > 0 && std::ssize(tests) < view.total_cases)
    tests.push_back(test_of("hidden cases", hidden.points, hidden.max_points,
                            fmt::format("{} of {} correct", hidden.correct, hidden.cases)));
  if (const auto& journey = view.journey)
    tests.push_back(test_of("the way there", journey->points, journey->max_points, journey->note));
  json about{{"run", view.run}, {"lab", view.lab}, {"made_from", view.made_from}};
  if (!view.submission.id.empty()) about["hash"] = view.submission.hash;
  json board = {{{"name", "Points"}, {"value", two_digits(view.earned())}, {"order", "desc"}}};
  for (const int k : speed_widths_of(view)) {
    if (const auto mean = mean_speedup(view, k)) {
      board.push_back({{"name", speedup_title(view, k)}, {"value", two_digits(*mean)}, {"order", "desc"}});
    }
  }
  return {{"score", two_digits(view.points.value_or(0))},
          {"output", headline(view)},
          {"output_format", "text"},
          {"test_output_format", "text"},
          {"visibility", "visible"},
          {"stdout_visibility", "hidden"},
          {"tests", tests},
          {"leaderboard", board},
          {"extra_data", {{"warpgrade", about}}}};
}

json autolab_scores(const View& view) {
  const double total = two_digits(view.points.value_or(0));
  json scores = json::object();
  double sum = 0;
  for (const char* name : {"correctness", "speed", "limit", "journey"}) {
    const auto part = view.parts.find(name);
    if (part == view.parts.end()) continue;
    scores[name] = two_digits(part->second);
    sum += two_digits(part->second);
  }
  if (scores.empty()) {
    scores[view.lab] = total;
  } else if (const double rest = two_digits(total - sum); rest != 0) {
    scores["adjustment"] = rest;  // a late hand-in, or what a person decided
  }
  json board = {total};
  for (const int k : speed_widths_of(view)) {
    if (const auto mean = mean_speedup(view, k)) board.push_back(two_digits(*mean));
  }
  return {{"scores", scores}, {"scoreboard", board}, {"made_from", view.made_from}};
}

}  // namespace warpgrade
