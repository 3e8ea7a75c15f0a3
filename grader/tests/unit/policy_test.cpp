#include <gtest/gtest.h>

#include "base/error.h"
#include "base/yaml_place.h"
#include "score_support.h"

namespace warpgrade {
namespace {

// ---- cases of the policy's own ----

// A lab whose cases name a dataset and nothing else.
Policy with_cases(const std::string& more) {
  PolicyVocabulary known{
      .datasets = {"cora"}, .cases = {"cora-k32"}, .baselines = {"cusparse_default"}, .width = "K"};
  known.read_cases = [](const YamlPlace& list) {
    std::vector<Case> cases;
    for (const YamlPlace& item : list.items("a list")) {
      Case spec;
      spec.id = item["id"].text();
      spec.dataset = item["graph"].text();
      spec.width = 32;
      spec.place = item.where();
      cases.push_back(spec);
    }
    return cases;
  };
  const std::string text = kPolicy;
  return parse_policy(text.substr(0, text.find("thresholds:")) + more, "own.yaml", known);
}

std::string message_of(const std::string& more) {
  try {
    with_cases(more);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(PolicyCases, HaveThresholdsByTheirDatasetOrTheirId) {
  const Policy own = with_cases(
      "cases: [{id: a, graph: web}, {id: b, graph: web}]\nthresholds: {web: {32: 1.5}, b: 2, cora-k32: 3}");
  ASSERT_EQ(own.cases.size(), 2U);
  const auto threshold = [&](const char* id, const char* dataset, int k = 32) {
    return own.thresholds.of(nlohmann::json({{"id", id}, {"dataset", dataset}, {"k", k}}));
  };
  EXPECT_EQ(threshold("a", "web"), 1.5);
  EXPECT_EQ(threshold("b", "web"), 2);
  EXPECT_EQ(threshold("cora-k32", "cora"), 3);
  EXPECT_EQ(threshold("c", "web", 64), std::nullopt);
}

TEST(PolicyCases, MistakesAreToldWithTheirPlace) {
  EXPECT_EQ(message_of("cases: [{id: cora-k32, graph: web}]"),
            "own.yaml:9: cases[0]: the lab has a case cora-k32 of its own: give this one another id");
  EXPECT_EQ(message_of("cases: [{id: a, graph: web}]\nthresholds: {webb: {32: 1}}"),
            "own.yaml:10: thresholds.webb: expected a dataset or a case of this lab (`warpgrade labs` lists "
            "them) (did you mean web?), got a map");
  EXPECT_EQ(message_of("cases: here").substr(0, 18), "own.yaml:9: cases:");
  EXPECT_EQ(message_of("thresholds: {cora: {wide: 1}}"),
            "own.yaml:9: thresholds.cora.wide: expected a positive K as key, got 'wide'");
}

// ---- what a policy may not say ----

void expect_refused(const std::string& text, const std::string& fragment) {
  try {
    policy(text);
    FAIL() << "accepted: " << text;
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos) << error.what();
  }
}

std::string with(std::string from, const std::string& to) {
  std::string text = kPolicy;
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(Policy, GpuModelsAreNamesWithThresholdsOfTheirOwn) {
  const auto with = [](const char* more) { return std::string(kPolicy) + more; };
  expect_refused(with("measured_on: '--'\n"), "expected a GPU model");
  expect_refused(with("thresholds_by_gpu: [H100]\n"), "a map from GPU model to thresholds");
  expect_refused(with("thresholds_by_language: {rust: {cora: {32: 1}}}\n"), "python");
  expect_refused(with("thresholds_by_language: {python: {}}\n"), "thresholds as `thresholds` has them");
  expect_refused(with("thresholds_by_gpu: {H100: {}}\n"), "thresholds as `thresholds` has them");
  expect_refused(with("thresholds_by_gpu: {H100: {corra: {32: 1}}}\n"), "cora");
  expect_refused(with("measured_on: H200\nthresholds_by_gpu: {h200: {cora: {32: 1}}}\n"),
                 "belong under `thresholds`");
}

TEST(Policy, ACasesCallsMayTakeThreeTimesWhatOneMayWithoutAWordOfIt) {
  EXPECT_EQ(with_cases("limits: {run_s: {cuda: 15}}").limits.case_s.at("cuda"), 45);
  EXPECT_EQ(with_cases("limits: {run_s: {cuda: 15}}").limits.case_s.at("emulator"), 90);
  EXPECT_EQ(with_cases("limits: {run_s: {cuda: 15}, case_s: {cuda: 20}}").limits.case_s.at("cuda"), 20);
  EXPECT_NE(message_of("limits: {run_s: {cuda: 15}, case_s: {cuda: 14}}").find("limits.case_s.cuda"),
            std::string::npos);
  EXPECT_NE(message_of("limits: {case_s: {gpu: 14}}").find("limits.case_s.gpu"), std::string::npos);
}

TEST(Policy, ForbidsKindsOfFlags) {
  const auto limits = with_cases("limits: {forbidden_flags: [--extended-lambda, -maxrregcount=N]}").limits;
  EXPECT_EQ(limits.forbidden_flags, (std::set<std::string>{"--extended-lambda", "-maxrregcount=N"}));
  EXPECT_NE(message_of("limits: {forbidden_flags: [-dlink]}").find("-dlink is none"), std::string::npos);
}

TEST(Policy, RefusesWhatItDoesNotKnowAndSaysWhere) {
  expect_refused(with("  default: {32: 2.0}", "  citeseer: {32: 2.0}"),
                 "thresholds.citeseer: expected a dataset");
  expect_refused(with("  default: {32: 2.0}", "  cora: {x: 2.0}"), "positive K");
  expect_refused(with("  default: {32: 2.0}", "  cora: {32: fast}"), "test.yaml:10: thresholds.cora");
  expect_refused(with("within_noise: pass", "within_noise: maybe"), "fail or pass, got 'maybe'");
  expect_refused(with("speed: 60", "speed: -1"), "points.speed: expected a number");
  expect_refused(with("baseline:", "baselin:"), "test.yaml:5: unknown key baselin (did you mean baseline?)");
  expect_refused(with("warpgrade.policy.v1", "v2"), "schema: expected warpgrade.policy.v1, got 'v2'");
  expect_refused(with("correctness:", "corectness:"),
                 "test.yaml:6: unknown key points.corectness (did you mean correctness?)");
  expect_refused(with("gate: correct", "gate: {correct, faster: {naive: 2}}"),
                 "unknown key points.gate.faster");
  expect_refused(with("gate: correct", "gate: {faster_than: {naive: fast}}"),
                 "points.gate.faster_than.naive");
  expect_refused(with("name: test", "name: test\ntimezone: Europe/Berlim"),
                 "timezone: expected a name such as");
  expect_refused("a: [", "test.yaml:");
}

}  // namespace
}  // namespace warpgrade
