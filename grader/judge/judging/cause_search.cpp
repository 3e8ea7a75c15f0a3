#include "judge/judging/cause_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/process.h"
#include "judge/judging/diagnosis.h"
#include "judge/judging/services.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// The checks that can explain a wrong answer; out of bounds is always looked for.
constexpr const char* kChecks = "memcheck,initcheck,racecheck,synccheck";
constexpr double kLongestSearchS = 60;  // no further run is begun behind this

struct Try {
  const char* schedule;  // of WARPEMU_SCHEDULE
  const char* words;     // when the finding shows
};

std::vector<Try> tries_for(const std::string& checks) {
  std::vector<Try> tries;
  const auto has = [&](const char* check) { return checks.find(check) != std::string::npos; };
  const bool all = has("all") || (has("initcheck") && has("racecheck") && has("synccheck"));
  if (!all) tries.push_back({"in_order", "the emulator finds this when every check is on"});
  tries.push_back({"reversed", "the emulator finds this when the last warp of a block runs first"});
  tries.push_back({"one_ahead", "the emulator finds this when one warp of a block runs ahead of the others"});
  return tries;
}

// The findings of the case in such a run; none where the judge itself fails.
json findings_of(const Lab& lab, const JudgeContext& context, const Case& input) {
  context.services->forget_prepared();  // those have other settings
  try {
    const json record = lab.judge(context, input);
    context.services->forget_prepared();
    return record.value("diagnostics", json::array());
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    context.services->forget_prepared();
    return json::array();
  }
}

bool is_same_place(const json& x, const json& y) {
  const auto same = [&](const char* key) { return x.value(key, json()) == y.value(key, json()); };
  return same("kind") && same("file") && same("line");
}

void put_first(json& record, json finding, const Try& tried) {
  std::string& message = record["outcome"]["message"].get_ref<std::string&>();
  finding["schedule"] = tried.schedule;
  message = fmt::format("{}, {}; {}", finding_text(finding), tried.words, message);
  json diagnostics = json::array({std::move(finding)});
  for (json& known : record["diagnostics"]) diagnostics.push_back(std::move(known));
  record["diagnostics"] = std::move(diagnostics);
}

}  // namespace

json new_explanation(const json& known, const json& again) {
  for (const json& finding : again) {
    const bool is_known = std::any_of(known.begin(), known.end(),
                                      [&](const json& other) { return is_same_place(finding, other); });
    if (!is_known && explains_wrong_answer(finding)) return finding;
  }
  return nullptr;
}

void look_for_cause(const Lab& lab, const JudgeContext& context, const Case& input, json& record) {
  const Outcome outcome = outcome_of(record);
  if (context.backend != "emulator" || outcome.verdict != Verdict::kWrongAnswer) return;
  if (outcome.reason == Reason::kUnordered) return;  // its outputs are not looked at
  const json known = record.value("diagnostics", json::array());
  if (std::any_of(known.begin(), known.end(), explains_wrong_answer)) return;
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  JudgeContext again = context;
  again.cases_after = 0;
  auto& environment = again.submission.environment;
  json schedules = json::array();
  json found;
  for (const Try& tried : tries_for(environment["WARPEMU_CHECKS"])) {
    if (elapsed_s() > kLongestSearchS) break;
    environment["WARPEMU_CHECKS"] = kChecks;
    environment["WARPEMU_SCHEDULE"] = tried.schedule;
    schedules.push_back(tried.schedule);
    found = new_explanation(known, findings_of(lab, again, input));
    if (found.is_null()) continue;
    put_first(record, found, tried);
    break;
  }
  const double wall_s = elapsed_s();
  record["cause_search"] = {{"schedules", schedules}, {"found", !found.is_null()}, {"wall_s", wall_s}};
  record["phases"]["cause_search"] = wall_s;
  record["wall_s"] = record.at("wall_s").get<double>() + wall_s;
}

}  // namespace warpgrade
