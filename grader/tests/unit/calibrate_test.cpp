#include "course/score/calibrate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "course/profile/modelled_ladder.h"
#include "score_support.h"

namespace warpgrade {
namespace {

json step_record(const std::string& id, const std::string& dataset, int k, const json& ratios) {
  return {{"submission", {{"id", id}}},
          {"case", {{"id", fmt::format("{}-{}", dataset, k)}, {"dataset", dataset}, {"k", k}}},
          {"outcome", {{"verdict", "accepted"}}},
          {"ratios", ratios}};
}

std::vector<Record> ladder_over(const std::string& baseline) {
  return {step_record("step-01_a", "complete", 100, {{baseline, {{"median", 2.0}}}}),
          step_record("step-02_b", "complete", 100, {{baseline, {{"median", 1.5}}}}),
          step_record("step-02_b", "complete", 1000, {{baseline, {{"median", 30.03}}}}),
          step_record("step-02_b", "sparse", 1000, {{baseline, {{"median", 0.01}}}}),
          step_record("optimized", "complete", 1000, {{baseline, {{"median", 99.0}}}})};
}

TEST(Calibrate, TakesTheBestStepOverTheBaselineThatIsNamed) {
  const json run{{"run", "r"}, {"lab", "apsp"}, {"device", {{"name", "H200"}}}};
  const std::string yaml = propose_thresholds(run, ladder_over("naive"), "naive", "ratios");
  EXPECT_NE(yaml.find("over naive"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  complete: {100: 1.80, 1000: 27.00}"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  sparse: {1000: 0.05}"), std::string::npos) << yaml;
}

TEST(Calibrate, IsReadAsAPolicyAgain) {
  const json run{{"run", "r"}, {"lab", "spmm"}, {"device", json::object()}};
  const std::string proposed = propose_thresholds(
      run, {step_record("step-01", "cora", 32, {{"cub", {{"median", 3.0}}}})}, "cub", "ratios", 0.5);
  std::string text = kPolicy;
  text = text.substr(0, text.find("thresholds:")) + proposed;
  EXPECT_EQ(policy(text).thresholds.of(nlohmann::json({{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}})),
            1.5);
}

TEST(Calibrate, CasesOfOneDatasetAndWidthHaveAThresholdEach) {
  const json run{{"run", "r"}, {"lab", "gcn"}, {"device", json::object()}};
  json one = step_record("step-01", "cora", 2708, {{"naive", {{"median", 2.0}}}}), other = one;
  one["case"]["id"] = "pipeline-cora";
  other["case"]["id"] = "aggregate-cora";
  other["ratios"]["naive"]["median"] = 4.0;
  const std::string yaml = propose_thresholds(run, {one, other}, "naive", "ratios", 0.5);
  EXPECT_NE(yaml.find("  aggregate-cora: 2.00  #"), std::string::npos) << yaml;
  EXPECT_NE(yaml.find("  pipeline-cora: 1.00  #"), std::string::npos) << yaml;
}

// A policy with `time: device_and_host` scores by other ratios than the device's; its thresholds are
// of those.
TEST(Calibrate, ReadsTheRatiosThatThePolicyScoresBy) {
  const json run{{"run", "r"}, {"lab", "spmm"}, {"device", json::object()}};
  json one = step_record("step-01", "cora", 32, {{"cub", {{"median", 4.0}}}});
  one["ratios_with_host"] = {{"cub", {{"median", 2.0}}}};
  const auto proposed_by = [&](const std::string& text) {
    return propose_thresholds(run, {one}, "cub", policy(text).ratios_key(), 0.5);
  };
  EXPECT_NE(proposed_by(kPolicy).find("  cora: {32: 2.00}"), std::string::npos);
  const std::string with_host = proposed_by(std::string(kPolicy) + "time: device_and_host\n");
  EXPECT_NE(with_host.find("  cora: {32: 1.00}"), std::string::npos) << with_host;
  EXPECT_NE(with_host.find("host time included"), std::string::npos) << with_host;
}

TEST(Calibrate, NamesTheBaselinesThatWereTimed) {
  try {
    propose_thresholds(json{{"run", "r"}, {"lab", "apsp"}}, ladder_over("naive"), "cusparse_default",
                       "ratios");
    FAIL() << "proposed thresholds over a baseline that was not timed";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("timed: naive"), std::string::npos) << error.what();
  }
}

// A launch that reads so many GB once, as the emulator counts it.
nlohmann::json counted(const char* id, double gigabytes, const char* verdict = "accepted") {
  const double sectors = gigabytes * 1e9 / 32;
  nlohmann::json record = step_record(id, "cora", 32, nlohmann::json::object());
  record["outcome"]["verdict"] = verdict;
  record["counters"]["launch_groups"] = {{{"kernel", "k"},
                                          {"in_run", 1},
                                          {"runs", 1},
                                          {"launches", 1},
                                          {"grid", {1056, 1, 1}},
                                          {"block", {256, 1, 1}},
                                          {"resident_blocks", 8},
                                          {"blocks", 1056},
                                          {"warp_instructions", 84480},
                                          {"thread_instructions", 84480 * 32},
                                          {"global_load_sectors", sectors},
                                          {"global_load_sectors_ideal", sectors},
                                          {"global_load_requests", sectors / 4},
                                          {"lines", sectors / 4},
                                          {"sampled_loads", sectors / 16},
                                          {"sampled_l1_misses", sectors / 16},
                                          {"sampled_l2_accesses", sectors / 16},
                                          {"sampled_l2_read_misses", sectors / 16},
                                          {"distinct_sectors_read", sectors}}};
  return record;
}

TEST(Calibrate, AGpuThatIsNotHereGetsAShareOfWhatTheModelAllows) {
  const std::vector<Record> run = {counted("naive", 4), counted("step-01", 1), counted("step-02", 2),
                                   counted("step-03", 0.1, "wrong_answer")};
  const auto modelled = modelled_records(run, "naive", "ratios", rates_of_model("T4"));
  EXPECT_NEAR(modelled[1].ratios.at("naive").median, 4,
              0.2);  // memory binds: the bytes' ratio
  EXPECT_NEAR(modelled[2].ratios.at("naive").median, 2, 0.1);
  EXPECT_TRUE(modelled[3].ratios.empty());
  const std::string text =
      propose_thresholds(json{{"run", "r"}, {"device", {{"name", "T4"}}}}, modelled, "naive", "ratios", 0.5);
  EXPECT_TRUE(text.find("  cora: {32: 1.95}  # step-01 ") != std::string::npos ||
              text.find("  cora: {32: 2.00}  # step-01 ") != std::string::npos)
      << text;
}

TEST(Calibrate, AModelNeedsCountersOfTheBaseline) {
  const DeviceRates rates = rates_of_model("T4");
  try {
    modelled_records({counted("step-01", 1)}, "cusparse_default", "ratios", rates);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("give --baseline naive"), std::string::npos) << error.what();
  }
  EXPECT_THROW(modelled_records({step_record("naive", "cora", 32, {})}, "naive", "ratios", rates),
               UsageError);
}

TEST(Calibrate, WritesIntoTheModelsOwnSectionAndNowhereElse) {
  const std::string before =
      std::string(kPolicy) + "# the course's own words\nmeasured_on: H200\nlate: {max_days: 3}\n";
  const auto propose = [](const char* device, double ratio) {
    return propose_thresholds(json{{"run", "r"}, {"lab", "spmm"}, {"device", {{"name", device}}}},
                              {step_record("step-01", "cora", 32, {{"cub", {{"median", ratio}}}})}, "cub",
                              "ratios", 0.5);
  };
  const auto threshold = [&](const std::string& text, const char* device) {
    return policy(text).thresholds_for(device).of(
        nlohmann::json({{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}}));
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

}  // namespace
}  // namespace warpgrade
