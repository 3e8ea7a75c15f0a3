#include "course/score/score.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/yaml_place.h"
#include "course/record/run_folder.h"
#include "course/score/calibrate.h"
#include "course/score/gpu_model.h"

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr const char* kPolicy = R"(
schema: warpgrade.policy.v1
name: test
lab: spmm
baseline: cusparse_default
points: {correctness: 40, speed: 60, gate: correct}
within_noise: pass
partial: {from: 0.5}
thresholds:
  default: {32: 2.0}
)";

Policy policy(const std::string& text = kPolicy) {
  return parse_policy(text, "test.yaml",
                      {.datasets = {"cora", "arxiv"}, .cases = {"cora-k32", "arxiv-k32"}, .width = "K"});
}

json run_of(const std::string& backend) {
  return {{"run", "r"},
          {"backend", backend},
          {"cases",
           {{{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}, {"kind", "correctness"}},
            {{"id", "arxiv-k32"}, {"dataset", "arxiv"}, {"k", 32}, {"kind", "speed"}}}},
          {"submissions", {{{"id", "ada"}, {"title", "Ada"}, {"role", "student"}}}}};
}

json record(const std::string& id, const std::string& verdict) {
  return {{"submission", {{"id", "ada"}}}, {"case", {{"id", id}}}, {"outcome", {{"verdict", verdict}}}};
}

json timed(double low, double median, double high) {
  json r = record("arxiv-k32", "accepted");
  r["ratios"]["cusparse_default"] = {{"median", median}, {"low", low}, {"high", high}};
  return r;
}

json only(const json& scores) {
  return scores.at("submissions").at(0);
}

json left_out(const std::string& id) {
  json r = record(id, "not_run");
  r["outcome"]["reason"] = "left_out";
  r["outcome"]["message"] = "left out: the interface SpMMOpt was never promised this";
  return r;
}

TEST(Score, ACaseThatIsLeftOutIsNoneOfTheSubmissionsCases) {
  const json s = only(score(policy(), run_of("cuda"), {left_out("cora-k32"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("verdict"), "accepted");
  EXPECT_EQ(s.at("total_cases"), 1);
  EXPECT_EQ(s.at("left_out_cases"), 1);
  EXPECT_EQ(s.at("undecided_cases"), 0);
  EXPECT_NE(s.at("cases")[0].at("note").get<std::string>().find("left out"), std::string::npos);
}

TEST(Score, ALeftOutSpeedCaseNeitherCountsNorGates) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), left_out("arxiv-k32")}));
  EXPECT_EQ(s.at("threshold_cases"), 0);
  EXPECT_EQ(s.at("correct_cases"), 1);
  EXPECT_EQ(s.at("verdict"), "accepted");
}

TEST(Score, WhoIsJudgedOnNothingIsNotAccepted) {
  const json s = only(score(policy(), run_of("cuda"), {left_out("cora-k32"), left_out("arxiv-k32")}));
  EXPECT_EQ(s.at("verdict"), "not_run");
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
}

TEST(Score, FullPointsForCorrectAndFastEnough) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "pass");
  EXPECT_EQ(s.at("over_threshold"), 1);
}

TEST(Score, NoiseAtTheThresholdGoesToTheStudentByDefault) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(1.9, 1.98, 2.05)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "within_noise");
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
}

TEST(Score, APolicyMayCountHostCodeAsWell) {
  const std::string text = std::string(kPolicy) + "time: device_and_host\n";
  json slow_host = timed(2.1, 2.2, 2.3);
  slow_host["ratios_with_host"]["cusparse_default"] = {{"median", 1.5}, {"low", 1.49}, {"high", 1.51}};
  const json s =
      only(score(policy(text), run_of("cuda"), {record("cora-k32", "accepted"), std::move(slow_host)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 40 + 60 * 0.5);
}

TEST(Score, PartialCreditGrowsLinearly) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), timed(1.49, 1.5, 1.51)}));
  EXPECT_EQ(s.at("cases")[1].at("threshold_status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 40 + 60 * 0.5);
}

TEST(Score, SpeedCountsOnlyWhenEveryCaseIsCorrect) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "wrong_answer"), timed(2.9, 3, 3.1)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 20);
  EXPECT_EQ(s.at("verdict"), "wrong_answer");
}

TEST(Score, AJudgeFaultIsNeverAZero) {
  const json s =
      only(score(policy(), run_of("cuda"), {record("cora-k32", "judge_fault"), timed(2.1, 2.2, 2.3)}));
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("undecided_cases"), 1);
  EXPECT_EQ(s.at("verdict"), "judge_fault");
}

TEST(Score, OnTheEmulatorSpeedIsNotMeasuredAndNotAsked) {
  const json scores =
      score(policy(), run_of("emulator"), {record("cora-k32", "accepted"), record("arxiv-k32", "accepted")});
  EXPECT_DOUBLE_EQ(scores.at("max_points"), 100) << "what the lab is worth does not depend on the machine";
  EXPECT_DOUBLE_EQ(scores.at("measured_points"), 40);
  EXPECT_DOUBLE_EQ(only(scores).at("points"), 40);
  EXPECT_EQ(only(scores).at("cases")[1].at("threshold_status"), "not_measured");
}

// ---- lateness, gates, refusals ----

json late_run(const json& about) {
  json run = run_of("cuda");
  run["submissions"][0].update(about);
  return run;
}

json late_of(const json& about) {
  const std::string rules = "late: {grace_minutes: 10, percent_per_day: 10, max_days: 7}\n";
  return only(score(policy(kPolicy + rules), late_run(about),
                    {record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)}));
}

TEST(Late, WhoIsInTimeOrOfUnknownTimeHearsNothingOfIt) {
  for (const json& about : {json{{"late_s", 0}}, json::object()}) {
    const json s = late_of(about);
    EXPECT_FALSE(s.contains("late"));
    EXPECT_FALSE(s.contains("points_before_late"));
    EXPECT_DOUBLE_EQ(s.at("points"), 100);
  }
}

TEST(Late, GraceCostsNothingAndIsCalledGrace) {
  const json s = late_of({{"late_s", 360}});
  EXPECT_DOUBLE_EQ(s.at("points"), 100);
  EXPECT_EQ(s.at("late").at("note"),
            "Handed in 6 min after the deadline, within the grace of 10 minutes: nothing is taken off.");
}

TEST(Late, WhoIsLateHearsWhatItCost) {
  const json s = late_of({{"late_s", 3660}});
  EXPECT_DOUBLE_EQ(s.at("points"), 90);
  EXPECT_EQ(s.at("late").at("note"),
            "Handed in 1 h 1 min after the deadline: 10 % is taken off, 10 of 100 points.");
  EXPECT_EQ(late_of({{"late_marked", true}}).at("late").at("note"),
            "Marked late by the LMS, which does not say by how much: 10 % is taken off, 10 of 100 points.");
}

const std::string kGate = std::string(kPolicy).replace(std::string(kPolicy).find("gate: correct"), 13,
                                                       "gate: {correct, faster_than: {naive: 1.2}}");

json with_naive(double ratio) {
  json r = timed(2.1, 2.2, 2.3);
  r["ratios"]["naive"] = {{"median", ratio}, {"low", ratio - 0.01}, {"high", ratio + 0.01}};
  return r;
}

TEST(Gate, ACopyOfTheNaiveSolutionEarnsNothing) {
  const json slow =
      only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), with_naive(1.0)}));
  EXPECT_DOUBLE_EQ(slow.at("points"), 0);
  EXPECT_DOUBLE_EQ(slow.at("parts").at("correctness"), 0);
  EXPECT_DOUBLE_EQ(slow.at("parts").at("speed"), 0);
  EXPECT_EQ(slow.at("gates")[0].at("status"), "fail");
  EXPECT_NEAR(slow.at("gates")[0].at("reached").get<double>(), 1.0, 1e-9);
  const json fast =
      only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), with_naive(1.5)}));
  EXPECT_DOUBLE_EQ(fast.at("points"), 100);
  EXPECT_EQ(fast.at("gates")[0].at("status"), "pass");
}

TEST(Gate, WhatItStopsKeepsNoPartOfTheSpeedPoints) {
  json nearly =
      timed(1.5, 1.6, 1.7);  // of the 2 that the threshold wants: three quarters of the points by `partial`
  nearly["ratios"]["naive"] = {{"median", 1.0}, {"low", 0.99}, {"high", 1.01}};
  const json s = only(score(policy(kGate), run_of("cuda"), {record("cora-k32", "accepted"), nearly}));
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
  EXPECT_GT(only(score(policy(), run_of("cuda"), {record("cora-k32", "accepted"), nearly})).at("points"), 40);
}

TEST(Gate, IsOpenWhereSpeedIsNotMeasured) {
  const json s = only(score(policy(kGate), run_of("emulator"),
                            {record("cora-k32", "accepted"), record("arxiv-k32", "accepted")}));
  EXPECT_EQ(s.at("gates")[0].at("status"), "not_measured");
  EXPECT_DOUBLE_EQ(s.at("points"), 40);
}

TEST(Gate, WhoseSpeedCasesAllFailIsNotFaster) {
  const json s = only(score(policy(kGate), run_of("cuda"),
                            {record("cora-k32", "accepted"), record("arxiv-k32", "time_limit")}));
  EXPECT_EQ(s.at("gates")[0].at("status"), "fail");
  EXPECT_DOUBLE_EQ(s.at("points"), 0);
}

TEST(Score, PartsAddUpToThePointsBeforeLateness) {
  const json s = late_of({{"late_s", 3660}});
  EXPECT_DOUBLE_EQ(s.at("parts").at("correctness").get<double>() + s.at("parts").at("speed").get<double>(),
                   100);
}

TEST(Score, ARefusedHandInIsNoCompileError) {
  const json s = only(score(policy(), late_run({{"refused", "unread_archive"}}),
                            {record("cora-k32", "compile_error"), record("arxiv-k32", "compile_error")}));
  EXPECT_EQ(s.at("verdict"), "refused");
}

// ---- cases of the policy's own ----

// A lab whose cases name a dataset and nothing else.
Policy with_cases(const std::string& more) {
  PolicyVocabulary known{.datasets = {"cora"}, .cases = {"cora-k32"}, .width = "K"};
  known.read_cases = [](const YamlPlace& list) {
    std::vector<CaseSpec> cases;
    for (const YamlPlace& item : list.items("a list")) {
      CaseSpec spec;
      spec.id = item["id"].text();
      spec.dataset = item["graph"].text();
      spec.k = 32;
      spec.place = item.where();
      cases.push_back(spec);
    }
    return cases;
  };
  const std::string text = kPolicy;
  return parse_policy(text.substr(0, text.find("thresholds:")) + more, "own.yaml", known);
}

std::string told(const std::string& more) {
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
    return own.thresholds.of({{"id", id}, {"dataset", dataset}, {"k", k}});
  };
  EXPECT_EQ(threshold("a", "web"), 1.5);
  EXPECT_EQ(threshold("b", "web"), 2);
  EXPECT_EQ(threshold("cora-k32", "cora"), 3);
  EXPECT_EQ(threshold("c", "web", 64), std::nullopt);
}

TEST(PolicyCases, MistakesAreToldWithTheirPlace) {
  EXPECT_EQ(told("cases: [{id: cora-k32, graph: web}]"),
            "own.yaml:9: cases[0]: the lab has a case cora-k32 of its own: give this one another id");
  EXPECT_EQ(told("cases: [{id: a, graph: web}]\nthresholds: {webb: {32: 1}}"),
            "own.yaml:10: thresholds.webb: expected a dataset or a case of this lab (`warpgrade labs` lists "
            "them) (did you mean web?), got a list or map");
  EXPECT_EQ(told("cases: here").substr(0, 18), "own.yaml:9: cases:");
  EXPECT_EQ(told("thresholds: {cora: {wide: 1}}"),
            "own.yaml:9: thresholds.cora.wide: expected a positive K as key, got 'wide'");
}

// ---- calibration ----

json step_record(const std::string& id, const std::string& dataset, int k, const json& ratios) {
  return {{"submission", {{"id", id}}},
          {"case", {{"id", fmt::format("{}-{}", dataset, k)}, {"dataset", dataset}, {"k", k}}},
          {"outcome", {{"verdict", "accepted"}}},
          {"ratios", ratios}};
}

std::vector<json> ladder_over(const std::string& baseline) {
  return {step_record("step-01_a", "complete", 100, {{baseline, {{"median", 2.0}}}}),
          step_record("step-02_b", "complete", 100, {{baseline, {{"median", 1.5}}}}),
          step_record("step-02_b", "complete", 1000, {{baseline, {{"median", 30.03}}}}),
          step_record("step-02_b", "sparse", 1000, {{baseline, {{"median", 0.01}}}}),
          step_record("optimized", "complete", 1000, {{baseline, {{"median", 99.0}}}})};
}

TEST(Calibrate, TakesTheBestStepOverTheBaselineThatIsNamed) {
  const json run{{"run", "r"}, {"lab", "apsp"}, {"device", {{"name", "H200"}}}};
  const std::string yaml = propose_thresholds(run, ladder_over("naive"), "naive");
  EXPECT_NE(yaml.find("over naive"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  complete: {100: 1.80, 1000: 27.00}"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  sparse: {1000: 0.05}"), std::string::npos) << yaml;
}

TEST(Calibrate, IsReadAsAPolicyAgain) {
  const json run{{"run", "r"}, {"lab", "spmm"}, {"device", json::object()}};
  const std::string proposed =
      propose_thresholds(run, {step_record("step-01", "cora", 32, {{"cub", {{"median", 3.0}}}})}, "cub", 0.5);
  std::string text = kPolicy;
  text = text.substr(0, text.find("thresholds:")) + proposed;
  EXPECT_EQ(policy(text).thresholds.of({{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}}), 1.5);
}

TEST(Calibrate, CasesOfOneDatasetAndWidthHaveAThresholdEach) {
  const json run{{"run", "r"}, {"lab", "gcn"}, {"device", json::object()}};
  json one = step_record("step-01", "cora", 2708, {{"naive", {{"median", 2.0}}}}), other = one;
  one["case"]["id"] = "pipeline-cora";
  other["case"]["id"] = "aggregate-cora";
  other["ratios"]["naive"]["median"] = 4.0;
  const std::string yaml = propose_thresholds(run, {one, other}, "naive", 0.5);
  EXPECT_NE(yaml.find("  aggregate-cora: 2.00  #"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  pipeline-cora: 1.00  #"), std::string::npos) << yaml;
}

TEST(Calibrate, NamesTheBaselinesThatWereTimed) {
  try {
    propose_thresholds({{"run", "r"}, {"lab", "apsp"}}, ladder_over("naive"), "cusparse_default");
    FAIL() << "proposed thresholds over a baseline that was not timed";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("timed: naive"), std::string::npos) << error.what();
  }
}

// ---- thresholds of a GPU model ----

TEST(GpuModel, IsMeantByAllOfItsWords) {
  EXPECT_EQ(gpu_match("H100", "NVIDIA H100 80GB HBM3"), 1u);
  EXPECT_EQ(gpu_match("h100 pcie", "NVIDIA H100 PCIe"), 2u);
  EXPECT_EQ(gpu_match("A100", "NVIDIA A100-SXM4-40GB"), 1u);
  EXPECT_EQ(gpu_match("H100 PCIe", "NVIDIA H100 80GB HBM3"), 0u);
  EXPECT_EQ(gpu_match("H200", "NVIDIA GH200 480GB"), 0u);
  EXPECT_EQ(gpu_match("H100", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"), 0u);
  EXPECT_EQ(gpu_match("H100 MIG 1g.10gb", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"), 3u);
  EXPECT_EQ(gpu_match("", "NVIDIA H100"), 0u);
}

TEST(GpuModel, IsTheNameWithoutMakerBrandAndMemory) {
  for (const auto& [device, model] : std::map<std::string, std::string>{
           {"NVIDIA H100 80GB HBM3", "H100"},
           {"NVIDIA H200", "H200"},
           {"NVIDIA H100 PCIe", "H100 PCIe"},
           {"NVIDIA A100-SXM4-40GB", "A100"},
           {"NVIDIA GeForce RTX 4090", "RTX 4090"},
           {"Tesla T4", "T4"},
           {"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100 80GB HBM3 MIG 1g.10gb"}}) {
    EXPECT_EQ(gpu_model(device), model);
    EXPECT_GT(gpu_match(model, device), 0u) << device;
  }
}

constexpr const char* kByGpu = R"(measured_on: H200
thresholds_by_gpu:
  H100: {default: {32: 4.0}}
  H100 PCIe: {arxiv-k32: 8.0}
)";

json run_on(const std::string& device) {
  json run = run_of("cuda");
  run["device"] = {{"name", device}};
  return run;
}

TEST(Score, ThresholdsAreThoseOfTheGpuThatMeasured) {
  const Policy by_gpu = policy(std::string(kPolicy) + kByGpu);
  const std::vector<json> records{record("cora-k32", "accepted"), timed(2.9, 3.0, 3.1)};
  const auto threshold_on = [&](const std::string& device) -> double {
    const json scores = score(by_gpu, run_on(device), records);
    EXPECT_FALSE(scores.contains("thresholds_note")) << scores.dump();
    return only(scores).at("cases")[1].at("threshold");
  };
  EXPECT_EQ(threshold_on("NVIDIA H200"), 2.0);
  EXPECT_EQ(threshold_on("NVIDIA H100 80GB HBM3"), 4.0);
  EXPECT_EQ(threshold_on("NVIDIA H100 PCIe"), 8.0);
}

TEST(Score, ARecordsOwnGpuComesBeforeTheRuns) {
  json on_h100 = timed(2.9, 3.0, 3.1);
  on_h100["device"] = {{"name", "NVIDIA H100 80GB HBM3"}};
  const json scores = score(policy(std::string(kPolicy) + kByGpu), run_on("NVIDIA H200"),
                            {record("cora-k32", "accepted"), on_h100});
  EXPECT_EQ(only(scores).at("cases")[1].at("threshold"), 4.0);
}

TEST(Score, AnotherModelsThresholdsAreSaidToBeThat) {
  const Policy by_gpu = policy(std::string(kPolicy) + kByGpu);
  const std::vector<json> records{record("cora-k32", "accepted"), timed(2.9, 3.0, 3.1)};
  const json scores = score(by_gpu, run_on("NVIDIA L4"), records);
  EXPECT_EQ(only(scores).at("cases")[1].at("threshold"), 2.0);
  const std::string note = scores.at("thresholds_note");
  EXPECT_NE(note.find("(H200)"), std::string::npos) << note;
  EXPECT_NE(note.find("NVIDIA L4"), std::string::npos) << note;
  // A policy that names no model speaks of every GPU, and without times there is nothing to say.
  EXPECT_FALSE(score(policy(), run_on("NVIDIA L4"), records).contains("thresholds_note"));
  json emulated = run_on("NVIDIA L4");
  emulated["backend"] = "emulator";
  EXPECT_FALSE(score(by_gpu, emulated, records).contains("thresholds_note"));
}

TEST(Calibrate, WritesIntoTheModelsOwnSectionAndNowhereElse) {
  const std::string before =
      std::string(kPolicy) + "# the course's own words\nmeasured_on: H200\nlate: {max_days: 3}\n";
  const auto propose = [](const char* device, double ratio) {
    return propose_thresholds({{"run", "r"}, {"lab", "spmm"}, {"device", {{"name", device}}}},
                              {step_record("step-01", "cora", 32, {{"cub", {{"median", ratio}}}})}, "cub",
                              0.5);
  };
  const auto threshold = [&](const std::string& text, const char* device) {
    return policy(text).thresholds_for(device).of({{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}});
  };
  std::string text = with_thresholds(before, "H100", propose("NVIDIA H100 PCIe", 3));
  EXPECT_TRUE(text.starts_with(before)) << text;
  EXPECT_EQ(threshold(text, "NVIDIA H100 PCIe"), 1.5) << text;
  EXPECT_EQ(threshold(text, "NVIDIA H200"), 2.0);
  text = with_thresholds(text, "RTX 4090", propose("NVIDIA GeForce RTX 4090", 5));
  const std::string twice = with_thresholds(text, "H100", propose("NVIDIA H100 PCIe", 3));
  EXPECT_EQ(twice, text) << "calibrated twice, the policy grew";
  text = with_thresholds(text, "H100", propose("NVIDIA H100 PCIe", 4));
  EXPECT_EQ(threshold(text, "NVIDIA H100 PCIe"), 2.0) << text;
  EXPECT_EQ(threshold(text, "NVIDIA GeForce RTX 4090"), 2.5) << text;
  text = with_thresholds(text, "H200", propose("NVIDIA H200", 7));
  EXPECT_EQ(threshold(text, "NVIDIA H200"), 3.5) << text;
  EXPECT_EQ(threshold(text, "NVIDIA H100 PCIe"), 2.0) << text;
  EXPECT_NE(text.find("# the course's own words"), std::string::npos) << text;
}

TEST(Score, IsAFunctionOfItsArguments) {
  const std::vector<json> records{record("cora-k32", "accepted"), timed(1.4, 1.5, 1.6)};
  EXPECT_EQ(score(policy(), run_of("cuda"), records), score(policy(), run_of("cuda"), records));
}

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
  expect_refused(with("thresholds_by_gpu: {H100: {}}\n"), "thresholds as `thresholds` has them");
  expect_refused(with("thresholds_by_gpu: {H100: {corra: {32: 1}}}\n"), "cora");
  expect_refused(with("measured_on: H200\nthresholds_by_gpu: {h200: {cora: {32: 1}}}\n"),
                 "stand under `thresholds`");
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

TEST(Records, AreWrittenOnceAndCheckedWhenRead) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  json first = record("cora-k32", "accepted"), second = record("cora-k32", "wrong_answer");
  EXPECT_TRUE(folder.add_record(first));
  EXPECT_FALSE(folder.add_record(second)) << "a verdict was overwritten";
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "accepted");

  const auto file = folder.case_file("ada", "cora-k32");
  std::string text = read_text(file);
  text.replace(text.find("accepted"), 8, "Accepted");
  write_text(file, text);
  EXPECT_THROW(folder.read_records(), UsageError);
}

TEST(Records, OfAPublishedSetAreThoseOfItsOneFile) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  EXPECT_TRUE(folder.add_record(timed(1, 2, 3)));
  folder.collect();
  const std::string collected = read_text(folder.records_file());
  std::filesystem::remove_all(folder.root() / "cases");
  EXPECT_EQ(folder.read_records().size(), 1u);
  folder.collect();
  EXPECT_EQ(read_text(folder.records_file()), collected) << "scoring a published set emptied it";
  write_text(folder.records_file(), collected.substr(0, collected.find("median")) + "x" +
                                        collected.substr(collected.find("median")));
  EXPECT_THROW(folder.read_records(), UsageError);
}

TEST(Records, AFaultGivesWayToAVerdict) {
  const TemporaryDirectory scratch("records-test");
  const RunFolder folder(scratch.path() / "run");
  json run = run_of("cuda");
  run["schema"] = "warpgrade.run.v1";
  folder.write_run(run);
  folder.add_fault(record("cora-k32", "judge_fault"));
  EXPECT_FALSE(folder.has_record("ada", "cora-k32"));
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "judge_fault");
  folder.add_record(record("cora-k32", "accepted"));
  EXPECT_EQ(folder.read_records().size(), 1u);
  EXPECT_EQ(folder.read_records().at(0).at("outcome").at("verdict"), "accepted");
}

}  // namespace
}  // namespace warpgrade
