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

bool undecided(const json& line) {
  return is_undecided(line.at("verdict"));
}

json gradescope_test(const json& line) {
  json test = {{"name", line.at("id")},
               {"score", two_digits(line.value("points", 0.0))},
               {"max_score", two_digits(line.value("max_points", 0.0))},
               {"output", case_text(line)},
               {"output_format", "text"},
               {"visibility", "visible"},
               {"tags", {line.value("kind", "case")}}};
  // Without a status Gradescope calls a test failed that earned less than its maximum: a slow one is
  // not wrong.
  test["status"] = line.at("verdict") == Verdict::kAccepted ? "passed" : "failed";
  if (line.value("left_out", false) || line.value("dropped", false)) {
    test["output"] = line.value("note", "none of this submission's cases");
    test.erase("status");
  } else if (undecided(line)) {
    test["output"] = "not judged: you lose no points for this; the staff will judge it again";
    test.erase("status");
  }
  return test;
}

// What a gate of speed did, where it is not passed.
std::string gates_text(const json& view) {
  std::string text;
  for (const json& gate : view.value("gates", json::array())) {
    const std::string status = gate.at("status");
    if (status == "pass") continue;
    text += fmt::format("\nPoints are earned from a speed-up of {:g} over {} on",
                        gate.at("needed").get<double>(), gate.at("baseline").get<std::string>());
    if (status == "not_measured")
      text += "; speed was not measured here, so that is still open";
    else if (gate.contains("reached"))
      text += fmt::format("; yours is {:.3g}", gate.at("reached").get<double>());
    else
      text += "; yours is below";
  }
  return text;
}

}  // namespace

std::string headline(const json& view) {
  const double most = view.at("max_points"), measured = view.value("measured_points", most);
  std::string text = fmt::format("{} of {} points", points_cell(view.at("points")), points_cell(most));
  if (view.value("overridden", false)) text += ", set by the course's staff";
  if (view.contains("override_reason")) text += ": " + view.at("override_reason").get<std::string>();
  if (view.contains("graded_in"))
    text += fmt::format("\nGraded in run {}", view.at("graded_in").get<std::string>());
  if (view.at("verdict") == Verdict::kNotSubmitted) return text + "\nNothing was handed in.";
  if (view.at("verdict") == "graded_elsewhere") return text;
  if (view.value("unfinished", false)) text += ", so far: cases are not judged yet";
  if (view.contains("judged_by")) text += "\n" + view.at("judged_by").get<std::string>();
  if (measured < most)
    text += fmt::format("\n{}: {} points are still open", why_points_are_open(view),
                        points_cell(most - measured));
  text +=
      fmt::format("\n{} of {} cases correct", view.value("correct_cases", 0), view.value("total_cases", 0));
  if (const int open = view.value("undecided_cases", 0); open > 0)
    text += fmt::format(", {} not judged, costing nothing", open);
  if (view.value("speed_measured", false)) {
    text += fmt::format("\n{} of {} over the threshold", view.value("over_threshold", 0),
                        view.value("threshold_cases", 0));
  }
  text += gates_text(view);
  if (view.contains("journey")) text += "\nThe way there: " + view.at("journey").value("note", "");
  if (view.contains("late")) text += "\n" + view.at("late").value("note", "late");
  if (view.contains("refusal")) {
    text += fmt::format("\nThe hand-in was refused: {}\n{}", view.at("refusal").value("message", ""),
                        view.at("refusal").value("next_step", ""));
  }
  for (const json& refusal : view.value("refused_attempts", json::array()))
    text += fmt::format("\nAttempt {} was refused, an earlier or later one counts: {}\n{}",
                        refusal.value("attempt", 0), refusal.value("message", ""),
                        refusal.value("next_step", ""));
  for (const json& note : view.value("notes", json::array()))
    text += "\nYour files: " + note.get<std::string>();
  const json compile = view.value("compile", json());
  if (!view.contains("refusal") && compile.is_object() && compile.value("status", "compiled") != "compiled") {
    text += fmt::format("\n{}: {}\n{}", compile.value("status", ""), compile.value("message", ""),
                        compile.value("log", ""));
  }
  return text;
}

std::string feedback_text(const json& view) {
  std::string text = headline(view) + "\n";
  for (const json& line : view.at("cases"))
    text += fmt::format("\n{}: {} of {} points\n{}\n", line.at("id").get<std::string>(),
                        points_cell(line.value("points", 0.0)), points_cell(line.value("max_points", 0.0)),
                        line.value("left_out", false) ? line.value("note", "left out") : case_text(line));
  return text + "\nmade from " + view.at("made_from").get<std::string>() + "\n";
}

json gradescope_results(const json& view) {
  json tests = json::array();
  for (const json& line : view.at("cases")) tests.push_back(gradescope_test(line));
  const json hidden = view.value("hidden", json::object());
  const bool listed =
      hidden.value("cases", 0) == 0 || tests.size() >= static_cast<std::size_t>(view.value("total_cases", 0));
  if (!listed) {
    tests.push_back(
        {{"name", "hidden cases"},
         {"score", two_digits(hidden.value("points", 0.0))},
         {"max_score", two_digits(hidden.value("max_points", 0.0))},
         {"output", fmt::format("{} of {} correct", hidden.value("correct", 0), hidden.value("cases", 0))},
         {"output_format", "text"},
         {"visibility", "visible"}});
  }
  if (const json journey = view.value("journey", json()); journey.is_object())
    tests.push_back({{"name", "the way there"},
                     {"score", two_digits(journey.at("points"))},
                     {"max_score", two_digits(journey.at("max_points"))},
                     {"output", journey.at("note")},
                     {"output_format", "text"},
                     {"visibility", "visible"}});
  json result = {
      {"score", two_digits(view.at("points"))},
      {"output", headline(view)},
      {"output_format", "text"},
      {"test_output_format", "text"},
      {"visibility", "visible"},
      {"stdout_visibility", "hidden"},
      {"tests", tests},
      {"extra_data",
       {{"warpgrade",
         {{"run", view.at("run")}, {"lab", view.at("lab")}, {"made_from", view.at("made_from")}}}}}};
  if (view.contains("submission"))
    result["extra_data"]["warpgrade"]["hash"] = view.at("submission").value("hash", "");
  json board = {{{"name", "Points"},
                 {"value", two_digits(view.value("computed_points", view.at("points").get<double>()))},
                 {"order", "desc"}}};
  for (const int k : speed_widths_of(view)) {
    if (const auto mean = mean_speedup(view, k)) {
      board.push_back({{"name", speedup_title(view, k)}, {"value", two_digits(*mean)}, {"order", "desc"}});
    }
  }
  result["leaderboard"] = board;
  return result;
}

json autolab_scores(const json& view) {
  const double total = two_digits(view.at("points"));
  const json parts = view.value("parts", json::object());
  json scores = json::object();
  double sum = 0;
  for (const char* part : {"correctness", "speed", "limit", "journey"}) {
    if (!parts.contains(part)) continue;
    scores[part] = two_digits(parts.at(part));
    sum += scores[part].get<double>();
  }
  if (scores.empty()) {
    scores[view.at("lab").get<std::string>()] = total;
  } else if (const double rest = two_digits(total - sum); rest != 0) {
    scores["adjustment"] = rest;  // a late hand-in, or what a person decided
  }
  json board = {total};
  for (const int k : speed_widths_of(view)) {
    if (const auto mean = mean_speedup(view, k)) board.push_back(two_digits(*mean));
  }
  return {{"scores", scores}, {"scoreboard", board}, {"made_from", view.at("made_from")}};
}

}  // namespace warpgrade
