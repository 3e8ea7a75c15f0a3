// The least time that a device allows, held against times that GPUs took: the published records of an H100
// and an H200.
#include "course/score/limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "course/record/run_folder.h"
#include "course/score/calibrate.h"
#include "judge/labs/registry.h"
#include "published_sets.h"
#include "score_support.h"

namespace warpgrade {
namespace {

const json kH100{{"name", "NVIDIA H100 80GB HBM3"}, {"sm_count", 132}, {"l2_bytes", 52428800}};

LimitRates simple_rates() {
  LimitRates rates;
  rates.dram_bytes_per_s = 1e12;
  rates.l2_bytes_per_s = 4e12;
  rates.l1_bytes_per_s = 16e12;
  rates.l2_bytes = 10e6;
  rates.launch_us = 2;
  rates.operations_per_s = {{"fp32", 50e12}};
  return rates;
}

TEST(Limit, IsThatOfThePartWhichNeedsLongest) {
  const LimitRates rates = simple_rates();
  const auto of = [&](const CaseWork& work, double bytes) {
    const Limit limit = limit_of(work, bytes, rates);
    return std::pair(limit.bound_by, limit.us);
  };
  EXPECT_EQ(of({}, 1e6), std::pair(std::string("launch"), 2.0));
  EXPECT_EQ(of({}, 100e6), std::pair(std::string("DRAM"), 100.0));
  // Of 60 MB written 10 stay in L2.
  EXPECT_EQ(of({.written_bytes = 60e6}, 100e6), std::pair(std::string("DRAM"), 90.0));
  // All of 10 MB may stay there, and must pass it.
  EXPECT_EQ(of({.written_bytes = 10e6}, 10e6), std::pair(std::string("L2"), 2.5));
  EXPECT_EQ(of({.gathered_bytes = 3.2e9}, 100e6), std::pair(std::string("L1"), 200.0));
  EXPECT_EQ(of({.operations = 1e10}, 100e6), std::pair(std::string("fp32"), 200.0));
}

// A GPU that is none of the models here, and has what `calibrate --device` writes.
json measured_device() {
  json device{{"name", "NVIDIA Z9"}, {"sm_count", 10}, {"l2_bytes", 1e6}};
  device["rates"] = {{"dram_bytes_per_s", 1e12}, {"l2_bytes_per_s", 4e12},
                     {"l1_bytes_per_s", 16e12},  {"launch_us", 2.0},
                     {"sm_count", 10},           {"operations_per_s", {{"fp32", 5e13}}}};
  return device;
}

TEST(Limit, IsKnownOfAnyDeviceThatWasMeasuredWhole) {
  const auto rates = limit_rates(measured_device());
  ASSERT_TRUE(rates);
  EXPECT_EQ(rates->source, "measured on this device");
  EXPECT_EQ(rates->operations_per_s.at("fp32"), 5e13);
  for (const char* missing :
       {"dram_bytes_per_s", "l2_bytes_per_s", "l1_bytes_per_s", "launch_us", "operations_per_s"}) {
    json device = measured_device();
    device["rates"].erase(missing);
    EXPECT_FALSE(limit_rates(device)) << missing;
  }
}

TEST(Limit, OfADeviceWithoutRatesIsNotKnown) {
  EXPECT_TRUE(limit_rates(kH100));
  for (const char* name : {"NVIDIA H100 PCIe", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "NVIDIA Z9", ""}) {
    json device = kH100;
    device["name"] = name;
    EXPECT_FALSE(limit_rates(device)) << name;
  }
  json smaller = kH100;  // fewer multiprocessors than the model has: another model of that name
  smaller["sm_count"] = 114;
  EXPECT_FALSE(limit_rates(smaller));
  EXPECT_FALSE(limit_rates(json()));
}

TEST(Limit, TakesWhatWasMeasuredOnTheDeviceItself) {
  json device = kH100;
  device["rates"] = {{"dram_bytes_per_s", 3.0e12},
                     {"operations_per_s", {{"fp32", 60e12}, {"of no unit", 7}}}};
  const auto own = limit_rates(device), model = limit_rates(kH100);
  ASSERT_TRUE(own && model);
  EXPECT_EQ(own->dram_bytes_per_s, 3.0e12);
  EXPECT_EQ(own->operations_per_s.at("fp32"), 60e12);
  EXPECT_EQ(own->l2_bytes_per_s, model->l2_bytes_per_s);
  EXPECT_FALSE(own->operations_per_s.contains("of no unit"));
  EXPECT_EQ(own->source, "measured on this device");
}

// What `calibrate --device` printed on an H100.
json measured_on_an_h100() {
  return json::parse(read_text(project_root() / "reports/published/h100/benches/rates.json"));
}

// NVIDIA's data sheet "H100 Tensor Core GPU" (SXM5; TF32 without sparsity, half of what it prints). Kernels
// reach nine tenths of a memory's rate; a GPU that boosts passes the rest by its clock.
TEST(Limit, RatesMeasuredOnAnH100AreThoseOfItsDataSheet) {
  const json measured = measured_on_an_h100();
  const json& units = measured.at("operations_per_s");
  const auto near = [](double rate, double sheet) { return rate > 0.9 * sheet && rate < 1.02 * sheet; };
  EXPECT_TRUE(near(measured.at("dram_bytes_per_s"), 3.35e12));
  EXPECT_TRUE(near(units.at("fp64"), 34e12));
  EXPECT_TRUE(near(units.at("fp64 tensor"), 67e12));
  EXPECT_TRUE(near(units.at("fp32"), 67e12));
  EXPECT_TRUE(near(3 * units.at("tf32 x 3").get<double>(), 989e12 / 2));
}

// Ours on two GPUs: a share above 1 would show that the limit is none. Rates have two to three digits: an
// H200 read 0.5 % faster than its 4.40 TB/s.
constexpr double kRounding = 1.01;

TEST(Limit, IsPassedByNoPublishedTime) {
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  int timed = 0;
  std::map<std::string, double> best;  // by lab
  for (const auto& set : published.all()) {
    for (const Record& record : RunFolder(set).read_records()) {
      if (record.backend != "cuda" || !record.timing) continue;
      json device = record.device;
      const auto limit = limit_of_record(record, limit_rates(device));
      ASSERT_TRUE(limit) << set << " " << record.test_case.id;
      double share = limit->at("share");
      if (device.at("name") == kH100.at("name")) {  // nor by what one of its kind measured of itself
        device["rates"] = measured_on_an_h100();
        share = std::max(share, limit_of_record(record, limit_rates(device))->at("share").get<double>());
      }
      EXPECT_LE(share, kRounding) << set << " " << record.submission.id << " " << record.test_case.id << " "
                                  << limit->dump();
      EXPECT_GT(share, 0);
      best[record.lab] = std::max(best[record.lab], share);
      ++timed;
    }
  }
  EXPECT_GT(timed, 400);
  EXPECT_EQ(best.size(), labs().size()) << "each lab has records";
  // What streams through memory alone comes near.
  for (const char* lab : {"histogram", "vector_add", "reduction"}) EXPECT_GT(best.at(lab), 0.85) << lab;
}

// ---- points ----

constexpr const char* kMixed = R"(
schema: warpgrade.policy.v1
name: mixed
lab: spmm
baseline: cusparse_default
points: {correctness: 40, speed: 40, limit: 20, gate: correct}
within_noise: pass
partial: {from: 0.5}
thresholds:
  baseline: {default: {32: 2.0}}
  limit: {default: {32: 0.5}}
)";

// A graph of 80 MB of compulsory bytes, all read: 25.9 us on an H100 with 3.09 TB/s.
json with_time(double us) {
  json r = timed(2.5, 2.5, 2.5);
  r["lab"] = "spmm";
  r["case"].update({{"dataset", "arxiv"}, {"k", 32}, {"nnz", 1000000}, {"rows", 0}});
  r["timing"] = {{"median_us", us}, {"low_us", us}, {"high_us", us}};
  r["floor"] = {{"compulsory_bytes", 80e6}};
  r["device"] = kH100;
  return r;
}

json scored(const std::string& text, double us) {
  json run = run_of("cuda");
  run["device"] = kH100;
  return score(policy(text), run, {record("cora-k32", "accepted"), with_time(us)});
}

TEST(LimitPoints, AreMixedWithThoseForSpeedUps) {
  const json near = scored(kMixed, 30), half = scored(kMixed, 80e6 / 3.09e6 / 0.375),
             far = scored(kMixed, 300);
  EXPECT_DOUBLE_EQ(near.at("max_points"), 100);
  EXPECT_DOUBLE_EQ(near.at("measured_points"), 100);
  EXPECT_DOUBLE_EQ(only(near).at("points"), 100);
  EXPECT_DOUBLE_EQ(only(near).at("parts").at("limit"), 20);
  EXPECT_NEAR(only(near).at("cases").at(1).at("limit").at("share"), 0.863, 0.001);
  EXPECT_EQ(only(near).at("cases").at(1).at("limit").at("bound_by"), "DRAM");
  EXPECT_EQ(only(near).at("cases").at(1).at("limit_status"), "pass");
  EXPECT_EQ(near.at("limits").at("device"), "NVIDIA H100 80GB HBM3");
  // Three quarters of the threshold: half of the points, as for speed-ups.
  EXPECT_NEAR(only(half).at("parts").at("limit"), 10, 1e-6);
  EXPECT_DOUBLE_EQ(only(far).at("parts").at("limit"), 0);
  EXPECT_DOUBLE_EQ(only(far).at("parts").at("speed"), 40) << "the two parts are apart";
}

TEST(LimitPoints, NoiseOfAnHonestProgramExcusesThemAsItDoesSpeedUps) {
  json run = run_of("cuda");
  run["device"] = kH100;
  json r = with_time(80e6 / 3.09e6 / 0.49);
  r["ratios"]["cusparse_default"]["noise"] = 0.05;
  const json scores = score(policy(kMixed), run, {record("cora-k32", "accepted"), r});
  EXPECT_EQ(only(scores).at("cases").at(1).at("limit_status"), "within_noise");
  EXPECT_DOUBLE_EQ(only(scores).at("parts").at("limit"), 20);
}

TEST(LimitPoints, AreOpenWhereTheGpuIsNotKnown) {
  json run = run_of("cuda"), r = with_time(30);
  run["device"] = r["device"] = {{"name", "NVIDIA Z9"}, {"sm_count", 10}};
  const json scores = score(policy(kMixed), run, {record("cora-k32", "accepted"), r});
  EXPECT_DOUBLE_EQ(scores.at("measured_points"), 80);
  EXPECT_FALSE(only(scores).at("parts").contains("limit"));
  EXPECT_NE(scores.at("limits_note").get<std::string>().find("Z9"), std::string::npos);
}

// The lab's own policy, with 20 of the points for speed for the share of the limit.
Policy by_limit(const Lab& lab) {
  std::string text = read_text(project_root() / "grader/policies" / (lab.name() + ".yaml"));
  const auto put = [&](const std::string& old, const std::string& now) {
    const std::size_t at = text.find(old);
    if (at != std::string::npos) text.replace(at, old.size(), now);
    return at != std::string::npos;
  };
  if (!put("correctness: 40, speed: 60", "correctness: 40, speed: 40, limit: 20")) {
    put("  correctness: 40", "  limit: 20\n  correctness: 40");
    put("  speed: 60", "  speed: 40");
  }
  PolicyVocabulary known;
  known.is_kept = true;
  known.width = lab.terms().width;
  for (const Case& spec : lab.cases()) known.cases.insert(spec.id), known.datasets.insert(spec.dataset);
  return parse_policy(text, lab.name() + ".yaml", known);
}

json optimized_scored_anew(const PublishedSets& published, const Lab& lab, const std::string& gpu) {
  const RunFolder folder(published.path() / gpu / lab.name());
  const json scores = score(by_limit(lab), folder.read_run(), folder.read_records());
  for (const json& submission : scores.at("submissions"))
    if (submission.at("id") == "optimized") return submission;
  return nullptr;
}

TEST(LimitPoints, NeedNoGpuToBeScoredAnewInAnyLab) {
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  EXPECT_EQ(labs().size(), 14u);
  for (const Lab* lab : labs()) {
    const json optimized = optimized_scored_anew(published, *lab, "h200");
    ASSERT_TRUE(optimized.is_object()) << lab->name();
    int asked = 0;
    for (const json& line : optimized.at("cases")) {
      if (!line.contains("limit_threshold")) continue;
      ++asked;
      EXPECT_TRUE(line.contains("limit")) << lab->name() << " " << line.at("id");
    }
    EXPECT_GT(asked, 0) << lab->name();
    EXPECT_NEAR(optimized.at("parts").at("limit"), 20, 1e-9) << lab->name();
    EXPECT_NEAR(optimized.at("parts").at("speed"), 40, 1e-9) << lab->name();
  }
}

// Of an H100's limit one case is a little below what the ladder reached of an H200's.
TEST(LimitPoints, OfAnotherGpuAreThoseOfItsOwnLimit) {
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  const json parts = optimized_scored_anew(published, find_lab("spmm"), "h100").at("parts");
  EXPECT_NEAR(parts.at("limit"), 20, 0.2);
  EXPECT_LT(parts.at("limit"), 20 - 1e-6);
}

std::string refusal(const std::string& old, const std::string& now) {
  std::string text = kMixed;
  text.replace(text.find(old), old.size(), now);
  try {
    policy(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LimitPoints, ThatNobodyCouldEarnAreRefused) {
  EXPECT_NE(refusal("  limit: {default: {32: 0.5}}", "").find("points.limit"), std::string::npos);
  EXPECT_NE(refusal("32: 0.5", "32: 50").find("thresholds.limit.default.32"), std::string::npos);
  EXPECT_NE(refusal("  limit: {default", "  limt: {default").find("did you mean limit?"), std::string::npos);
  EXPECT_NE(refusal("  limit: {default", "  limit: {corra").find("did you mean cora?"), std::string::npos);
}

// ---- proposals ----

TEST(LimitProposal, IsAPartOfThePolicyBesideItsSpeedUps) {
  json run = run_of("cuda");
  run["device"] = kH100;
  json step = with_time(30);
  step["submission"]["id"] = "step-02_rows";
  const std::string proposed = propose_limit_thresholds(run, {step});
  EXPECT_NE(proposed.find("  arxiv: {32: 0.77}  # step-02_rows 0.86"), std::string::npos) << proposed;
  const std::string once = with_limit_thresholds(kPolicy, proposed);
  const Policy both = policy(once);
  const json spec{{"id", "arxiv-k32"}, {"dataset", "arxiv"}, {"k", 32}};
  EXPECT_EQ(both.limit_thresholds.of(spec), 0.77) << once;
  EXPECT_EQ(both.thresholds.of(spec), 2.0) << once;
  EXPECT_EQ(with_limit_thresholds(once, proposed), once) << "a second time nothing changes";
  // New speed-ups take the place of the old ones alone.
  const std::string sped = with_thresholds("measured_on: H100\n" + once, "H100",
                                           "# Proposed by `warpgrade calibrate`: so\n# on it.\nthresholds:\n"
                                           "  default: {32: 3.00}\n");
  EXPECT_EQ(policy(sped).thresholds.of(spec), 3.0) << sped;
  EXPECT_EQ(policy(sped).limit_thresholds.of(spec), 0.77) << sped;
}

TEST(LimitProposal, OfARunWithoutTimesNamesWhatToDo) {
  try {
    propose_limit_thresholds(run_of("emulator"), {record("cora-k32", "accepted")});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("warpgrade bench"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpgrade
