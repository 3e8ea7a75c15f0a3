// Thresholds of a GPU model.
#include "course/score/gpu_model.h"

#include <gtest/gtest.h>

#include <map>

#include "score_support.h"

namespace warpgrade {
namespace {

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
  const std::vector<Record> records{record("cora-k32", "accepted"), timed(2.9, 3.0, 3.1)};
  const auto threshold_on = [&](const std::string& device) -> double {
    const json scores = score(by_gpu, run_on(device), records);
    EXPECT_FALSE(scores.contains("thresholds_note")) << scores.dump();
    return only(scores).at("cases")[1].at("threshold");
  };
  EXPECT_EQ(threshold_on("NVIDIA H200"), 2.0);
  EXPECT_EQ(threshold_on("NVIDIA H100 80GB HBM3"), 4.0);
  EXPECT_EQ(threshold_on("NVIDIA H100 PCIe"), 8.0);
}

// A case without a threshold of the language's own keeps the GPU's.
TEST(Score, ThresholdsOfALanguageComeBeforeTheGpus) {
  const Policy both =
      policy(std::string(kPolicy) + kByGpu + "thresholds_by_language: {python: {arxiv-k32: 1.5}}\n");
  const auto threshold_of = [&](const std::string& case_policy, const std::string& language) -> double {
    json measured = timed(2.9, 3.0, 3.1);
    if (!language.empty()) measured["submission"]["language"] = language;
    const std::vector<Record> records{record("cora-k32", "accepted"), measured};
    const Policy of = case_policy.empty() ? both : policy(std::string(kPolicy) + kByGpu + case_policy);
    return only(score(of, run_on("NVIDIA H100 PCIe"), records)).at("cases")[1].at("threshold");
  };
  EXPECT_EQ(threshold_of("", "Python"), 1.5);
  EXPECT_EQ(threshold_of("", ""), 8.0);
  EXPECT_EQ(threshold_of("thresholds_by_language: {python: {cora-k32: 1.5}}\n", "Python"), 8.0);
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
  const std::vector<Record> records{record("cora-k32", "accepted"), timed(2.9, 3.0, 3.1)};
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

}  // namespace
}  // namespace warpgrade
