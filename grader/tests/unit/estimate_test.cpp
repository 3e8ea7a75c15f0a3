#include "course/profile/estimate.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/error.h"
#include "course/profile/estimate_json.h"

namespace warpgrade {
namespace {

using nlohmann::json;

DeviceRates h200() {
  return find_rates("h200").value();
}

// One launch that fills the GPU and does little; tests add work. Figures are those of the emulator's
// launch groups (grader/emulator/src/report/README.md).
json launch(const json& changes = json::object()) {
  json group = {{"kernel", "k"},
                {"launch_group", 0},
                {"in_run", 1},
                {"runs", 1},
                {"launches", 1},
                {"grid", {1056, 1, 1}},
                {"block", {256, 1, 1}},
                {"resident_blocks", 8},
                {"blocks", 1056},
                {"warp_instructions", 84480},
                {"thread_instructions", 84480 * 32}};
  group.update(changes);
  return json::array({group});
}

double microseconds(const json& groups, Cure cure = Cure::nothing) {
  return estimate_run(groups, json::array(), h200(), fitted_coefficients(), cure).microseconds;
}

// A GB that is read once: the sample is one line in 16.
json streaming() {
  constexpr double kSectors = 1e9 / 32;
  return launch({{"global_load_sectors", kSectors},
                 {"global_load_sectors_ideal", kSectors},
                 {"global_load_requests", kSectors / 4},
                 {"lines", kSectors / 4},
                 {"sampled_loads", kSectors / 16},
                 {"sampled_l1_misses", kSectors / 16},
                 {"sampled_l2_accesses", kSectors / 16},
                 {"sampled_l2_read_misses", kSectors / 16},
                 {"distinct_sectors_read", kSectors}});
}

TEST(Estimate, AStreamIsBoundByMemoryAndTakesWhatItsBytesTake) {
  const Estimate e = estimate_run(streaming(), json::array(), h200());
  EXPECT_EQ(e.refusal, "");
  EXPECT_EQ(e.bound(), "dram");
  EXPECT_GT(e.microseconds, 1e9 / 4.8e12 * 1e6);  // not above the peak
  EXPECT_LT(e.microseconds, 3 * 1e9 / 4.8e12 * 1e6);
}

TEST(Estimate, MoreOfAnyWorkNeverTakesLess) {
  const double before = microseconds(streaming());
  for (const char* work : {"shared_load_passes", "global_atomic_sectors", "hottest_sector_updates", "lines",
                           "chain_global", "barriers", "sampled_written_back"}) {
    json groups = streaming();
    groups[0][work] = groups[0].value(work, 0.0) + 1e8;
    EXPECT_GT(microseconds(groups), before) << work;
  }
}

TEST(Estimate, OneAddressThatAllUpdateBindsAndItsCureGains) {
  const json groups = launch({{"hottest_sector_updates", 1e6}, {"global_atomic_sectors", 1e6 / 32}});
  EXPECT_EQ(estimate_run(groups, json::array(), h200()).bound(), "atomics");
  EXPECT_GT(microseconds(groups), 700);
  EXPECT_LT(microseconds(groups, Cure::contention), 0.1 * microseconds(groups));
}

TEST(Estimate, ABusyWarpBindsAndEqualWorkGains) {
  const json groups = launch({{"global_load_requests", 84480},
                              {"chain_global", 8448},
                              {"chain_loads", 84480},
                              {"max_warp_loads", 10000},
                              {"widest_global", 2},
                              {"widest_loads", 4}});
  EXPECT_EQ(estimate_run(groups, json::array(), h200()).bound(), "tail");
  EXPECT_GT(microseconds(groups), 10 * microseconds(groups, Cure::balance));
}

TEST(Estimate, EqualWorkIsPaidForByFillingAndUpdatingTheResults) {
  json groups = launch({{"global_load_requests", 84480},
                        {"chain_global", 8448},
                        {"chain_loads", 84480},
                        {"max_warp_loads", 10000},
                        {"widest_global", 2},
                        {"widest_loads", 4}});
  const double without_results = microseconds(groups, Cure::balance);
  constexpr double kResults = 1e7;
  groups[0].update({{"global_store_sectors", kResults}, {"global_store_sectors_ideal", kResults}});
  const double updates = 1e6 * kResults / (h200().scattered_updates_per_s * 1.1);
  EXPECT_GT(microseconds(groups, Cure::balance), without_results + updates);
  EXPECT_LT(microseconds(groups, Cure::balance), microseconds(groups));
}

TEST(Estimate, EqualWorkThatIsThereAlreadyIsNotCutUp) {
  json groups = streaming();
  groups[0].update({{"global_store_sectors", 1e7}, {"global_store_sectors_ideal", 1e7}});
  EXPECT_LE(microseconds(groups, Cure::balance), microseconds(groups));
}

std::map<std::string, double> bounds_of(const json& groups, Cure cure = Cure::nothing) {
  return estimate_run(groups, json::array(), h200(), fitted_coefficients(), cure).bounds;
}

// A warp loads `most` times, the others 10 times.
json busy_warp(double most) {
  return launch({{"global_load_requests", 84480},
                 {"chain_global", 84480},
                 {"chain_loads", 84480},
                 {"max_warp_loads", most},
                 {"widest_global", 1},
                 {"widest_loads", 1}});
}

TEST(Estimate, EqualWorkIsCutByAListThatEachWarpWaitsFor) {
  const auto cut = bounds_of(busy_warp(10000), Cure::balance), whole = bounds_of(busy_warp(10000));
  EXPECT_NEAR(cut.at("latency") / whole.at("latency"), 11. / 10, 1e-6);
}

TEST(Estimate, APieceOfEqualWorkHasAtLeastTheWidthOfAWarp) {
  const double tail = bounds_of(busy_warp(10000), Cure::balance).at("tail");
  EXPECT_DOUBLE_EQ(bounds_of(busy_warp(1000), Cure::balance).at("tail"), tail);
  EXPECT_NEAR(tail / bounds_of(busy_warp(32)).at("tail"), 33. / 32, 0.01);  // and the list's load
}

// Each sector is asked for by `apart` requests of which each wants a part, and all that ten times.
json read_again(double apart) {
  constexpr double kDistinct = 1e7;
  return launch({{"distinct_sectors_read", kDistinct},
                 {"global_load_sectors", 10 * apart * kDistinct},
                 {"global_load_sectors_ideal", 10 * kDistinct},
                 {"lines", 10 * apart * kDistinct},
                 {"global_load_requests", 10 * apart * kDistinct / 32}});
}

TEST(Estimate, WhatIsReadOnceIsAskedForAsBefore) {
  for (const double apart : {1, 4}) {
    const json groups = read_again(apart);
    const double before = bounds_of(groups).at("l2"), after = bounds_of(groups, Cure::reuse).at("l2");
    EXPECT_NEAR(before / after, 10, 1e-6) << apart;
  }
}

TEST(Estimate, WhatIsReadOnceIsWrittenToSharedMemoryAndReadThere) {
  const json groups = read_again(1);
  const double passes = 1.1 * groups[0]["global_load_requests"].get<double>();
  EXPECT_NEAR(bounds_of(groups, Cure::reuse).at("shared"),
              1e6 * passes / (h200().multiprocessors * h200().clock_hz), 1e-6);
  EXPECT_GT(bounds_of(groups, Cure::reuse).at("issue"), bounds_of(groups).at("issue"));
}

TEST(Estimate, AccessesBecomeCoalescedThroughSharedMemoryWithoutBankConflicts) {
  const json groups = launch({{"global_store_sectors", 1e8},
                              {"global_store_sectors_ideal", 1.25e7},
                              {"global_store_requests", 3.2e6}});
  const double passes = 2 * (1 - 1. / 8) * 3.2e6, us = 1e6 / (h200().multiprocessors * h200().clock_hz);
  const auto before = bounds_of(groups), after = bounds_of(groups, Cure::coalescing);
  EXPECT_EQ(before.at("shared"), 0);
  EXPECT_NEAR(after.at("shared") - after.at("l1"), passes * us, 1e-6);  // they use one pipe
  EXPECT_NEAR(after.at("issue") - before.at("issue"), fitted_coefficients().at("memory") * passes * us / 4,
              1e-6);
}

TEST(Estimate, WhatRemovingAProblemWouldMakeSlowerStays) {
  const json nothing_to_gain =
      launch({{"distinct_sectors_read", 0.9e6},  // nearly each of them once: staging costs more than it saves
              {"global_load_sectors", 1e6},
              {"global_load_sectors_ideal", 1e6},
              {"lines", 1e6},
              {"global_load_requests", 1e6},
              {"shared_load_passes", 1e9},
              {"shared_load_passes_ideal", 1e9}});
  for (const Cure cure : {Cure::coalescing, Cure::bank_conflicts, Cure::balance, Cure::occupancy,
                          Cure::divergence, Cure::contention, Cure::reuse, Cure::blocks})
    EXPECT_LE(microseconds(nothing_to_gain, cure), microseconds(nothing_to_gain)) << name_of(cure);
}

// 64 blocks that add up a million numbers, and a thread that adds up what they leave.
TEST(Estimate, MoreBlocksShareTheLoadsOfFew) {
  const auto blocks = [](double count, double loads_a_warp) {
    const double warps = 8 * count, sectors = 4 * loads_a_warp * warps;
    return launch({{"grid", {count, 1, 1}},
                   {"blocks", count},
                   {"warp_instructions", 20 * loads_a_warp * warps},
                   {"thread_instructions", 32 * 20 * loads_a_warp * warps},
                   {"global_load_requests", loads_a_warp * warps},
                   {"global_load_sectors", sectors},
                   {"global_load_sectors_ideal", sectors},
                   {"lines", sectors / 4},
                   {"distinct_sectors_read", sectors},
                   {"chain_global", loads_a_warp * warps},
                   {"chain_loads", loads_a_warp * warps},
                   {"widest_global", 1},
                   {"widest_loads", 1},
                   {"max_warp_loads", loads_a_warp},
                   {"max_warp_instructions", 20 * loads_a_warp}});
  };
  const json few = blocks(64, 64);
  EXPECT_EQ(estimate_run(few, json::array(), h200()).bound(), "tail");
  EXPECT_GT(microseconds(few), 1.5 * microseconds(few, Cure::blocks));
  EXPECT_GT(microseconds(blocks(1, 512)), 5 * microseconds(blocks(1, 512), Cure::blocks)) << "a serial end";
  const json full = blocks(132 * 8, 64), one_load = blocks(64, 1);
  EXPECT_DOUBLE_EQ(microseconds(full), microseconds(full, Cure::blocks)) << "the device is full";
  EXPECT_DOUBLE_EQ(microseconds(one_load), microseconds(one_load, Cure::blocks)) << "nothing can be shared";
}

TEST(Estimate, PartlyWrittenSectorsBindTheSecondLevelAndAreNotCalledAtomics) {
  const json groups = launch({{"global_store_sectors", 1e7}, {"global_store_sectors_ideal", 1.25e6}});
  const Estimate e = estimate_run(groups, json::array(), h200());
  EXPECT_EQ(e.bound(), "l2");
  EXPECT_EQ(e.bounds.at("atomics"), 0);
}

TEST(Estimate, FourBytesOfASectorCostHalfOfEight) {
  const json four = launch({{"global_store_sectors", 1e8}, {"global_store_sectors_ideal", 1.25e7}});
  const json eight = launch({{"global_store_sectors", 1e8}, {"global_store_sectors_ideal", 2.5e7}});
  EXPECT_NEAR(microseconds(eight) / microseconds(four), 2, 0.2);  // other bounds add a little to both
}

TEST(Estimate, ABusyWarpIsLongerUnderWayWhereOthersBindTheMemory) {
  json beside = streaming();
  beside[0].update({{"max_warp_loads", 1e7}, {"widest_global", 2}, {"widest_loads", 4}});
  json only_busy = streaming();
  only_busy[0]["max_warp_loads"] = 0;
  const double busy = estimate_run(beside, json::array(), h200()).bounds.at("tail");
  EXPECT_GT(microseconds(beside), 0.9 * (busy + microseconds(only_busy)));
}

TEST(Estimate, CountersThatFitSharedMemoryAreFreedOfContentionByABlocksOwnCopy) {
  json few = launch({{"global_atomic_sectors", 1e8},
                     {"global_atomic_requests", 1e7},
                     {"hottest_sector_updates", 1e6},
                     {"distinct_sectors_written", 700}});
  json many = few;
  many[0]["distinct_sectors_written"] = 1e6;  // 32 MB
  EXPECT_LT(2 * microseconds(few, Cure::contention), microseconds(many, Cure::contention));
}

TEST(Estimate, AShapeThatIsNoShapeIsReadAsOne) {
  for (const json& shape : {json(7), json::array(), json::array({"x", nullptr, -3})})
    EXPECT_GT(microseconds(launch({{"grid", shape}, {"block", shape}})), 0);
}

TEST(Estimate, ContentionThatIsRemovedLeavesTheSecondLevelFewerUpdates) {
  const json groups = launch({{"global_atomic_sectors", 1e8}, {"hottest_sector_updates", 1e6}});
  EXPECT_LT(microseconds(groups, Cure::contention), 0.05 * microseconds(groups));
}

TEST(Estimate, BankConflictsCostWhatTheirPassesCost) {
  const json groups = launch({{"shared_load_passes", 3.2e8}, {"shared_load_passes_ideal", 1e7}});
  EXPECT_EQ(estimate_run(groups, json::array(), h200()).bound(), "shared");
  EXPECT_LT(microseconds(groups, Cure::bank_conflicts), 0.1 * microseconds(groups));
}

// Sectors that are read again and again, so that the second level holds them.
json gathers(double sectors, double lines) {
  return launch(
      {{"global_load_sectors", sectors}, {"global_load_sectors_ideal", sectors / 8}, {"lines", lines}});
}

TEST(Estimate, ASectorOfALineCostsTheSecondLevelTwiceAPairsPart) {
  const auto l2 = [](const json& groups) {
    return estimate_run(groups, json::array(), h200()).bounds.at("l2");
  };
  const double whole_lines = l2(gathers(1e8, 2.5e7));
  EXPECT_NEAR(l2(gathers(1e8, 1e8)) / whole_lines, 2, 1e-6);
  EXPECT_NEAR(l2(gathers(1e8, 5e7)) / whole_lines, 1, 1e-6);
}

TEST(Estimate, MemoryMovesAPieceOfTwoSectorsForAFewWordsOfOne) {
  json few = gathers(1e8, 1e8), all = gathers(1e8, 1e8);
  few[0]["sampled_l2_read_misses"] = all[0]["sampled_l2_read_misses"] = 1e8 / 16;
  all[0]["global_load_sectors_ideal"] = 1e8;
  const auto dram = [](const json& groups) {
    return estimate_run(groups, json::array(), h200()).bounds.at("dram");
  };
  EXPECT_NEAR(dram(few) / dram(all), 2 - 1. / 8, 1e-6);
}

TEST(Estimate, WhatMemoryDeliversKeepsTheSecondLevelNearlyAsBusy) {
  const auto bounds = estimate_run(streaming(), json::array(), h200()).bounds;
  EXPECT_GT(bounds.at("l2"), 0.7 * bounds.at("dram"));
  EXPECT_LT(bounds.at("l2"), bounds.at("dram"));
}

TEST(Estimate, LinesAndPassesThroughSharedMemoryUseOnePipe) {
  json lines = launch({{"global_load_sectors", 1e8}, {"global_load_sectors_ideal", 1e8}, {"lines", 1e8}});
  json both = lines;
  both[0]["shared_load_passes"] = 5e7;
  const Estimate alone = estimate_run(lines, json::array(), h200()),
                 e = estimate_run(both, json::array(), h200());
  EXPECT_NEAR(e.bounds.at("l1") - alone.bounds.at("l1"), e.bounds.at("shared"), 1e-6);
}

TEST(Estimate, LanesThatCountInOneWordOfSharedMemoryAreAddedUpOnTheWay) {
  const json one_word = launch({{"shared_atomic_requests", 1e7},
                                {"shared_atomic_passes", 3.2e8},
                                {"shared_atomic_passes_ideal", 1e7},
                                {"atomic_turns", 3.2e8}});
  json one_bank = one_word;  // words of one bank, a lane each
  one_bank[0]["atomic_turns"] = 1e7;
  EXPECT_GT(microseconds(one_bank), 10 * microseconds(one_word));
}

TEST(Estimate, SpecialFunctionsWaitForTheirOwnPipe) {
  const Estimate e = estimate_run(launch({{"classes", {{"special", 1e8}}}}), json::array(), h200());
  EXPECT_EQ(e.bound(), "issue");
  EXPECT_NEAR(e.bounds.at("issue"), 1e6 * 1e8 * 32 / (16 * h200().multiprocessors * h200().clock_hz), 1);
}

TEST(Estimate, LaunchesOfThePlanAreNotCountedAndThoseOfARunAddUp) {
  json both = streaming();
  both.push_back(both[0]);
  both[1]["in_run"] = 0;
  EXPECT_DOUBLE_EQ(microseconds(both), microseconds(streaming()));
  both[1]["in_run"] = 1;
  EXPECT_GT(microseconds(both), 1.9 * microseconds(streaming()));
}

TEST(Estimate, CountersOfSeveralRunsTellTheTimeOfOne) {
  json twice = streaming();
  for (auto& [name, value] : twice[0].items()) {
    if (value.is_number() && name != "in_run" && name != "launch_group") value = 2 * value.get<double>();
  }
  EXPECT_NEAR(microseconds(twice), microseconds(streaming()), 1e-6);
}

TEST(Estimate, RegistersLimitTheWarpsThatHideLatency) {
  const json groups = launch({{"chain_global", 1e6}, {"chain_loads", 1e6}});
  const json few = {{{"name", "void k(int)"}, {"registers", 32}}},
             many = {{{"name", "void k(int)"}, {"registers", 255}}};
  EXPECT_GT(estimate_run(groups, many, h200()).microseconds,
            2 * estimate_run(groups, few, h200()).microseconds);
}

TEST(Estimate, NoEstimateWhereNothingLikeItWasCompared) {
  EXPECT_NE(estimate_run(json::array(), json::array(), h200()).refusal, "");
  EXPECT_NE(estimate_run(json(), json::array(), h200()).refusal, "");
  EXPECT_NE(estimate_run(launch({{"cooperative", 1}}), json::array(), h200()).refusal, "");
  EXPECT_NE(estimate_run(launch({{"waits_for_blocks", 1}}), json::array(), h200()).refusal, "");
  EXPECT_NE(estimate_run(launch({{"local_requests", 40000}}), json::array(), h200()).refusal, "");
  const json estimate =
      estimate_json({{"launch_groups", launch({{"cooperative", 1}})}}, json::array(), h200());
  EXPECT_FALSE(estimate.contains("us"));
  EXPECT_NE(estimate_text(estimate).find("No estimate"), std::string::npos);
}

TEST(Estimate, ATimeFarBeyondAllRecordsIsNotTold) {
  json groups = streaming();
  groups[0]["hottest_sector_updates"] = 1e12;
  EXPECT_TRUE(estimate_json({{"launch_groups", groups}}, json::array(), h200()).contains("refusal"));
}

TEST(Estimate, WhatIsToldHasAnIntervalAndSaysThatItIsAnEstimate) {
  json estimate = estimate_json({{"launch_groups", streaming()}}, json::array(), h200());
  EXPECT_LT(estimate["low_us"].get<double>(), estimate["us"].get<double>());
  EXPECT_GT(estimate["high_us"].get<double>(), estimate["us"].get<double>());
  set_beside_naive(estimate, {{"us", 3 * estimate["us"].get<double>()}});
  EXPECT_NEAR(estimate["over_naive"]["ratio"].get<double>(), 3, 1e-9);
  EXPECT_NE(estimate_text(estimate).find("Estimate, not a measurement"), std::string::npos);
  EXPECT_NE(estimate_text(estimate).find("3x naive"), std::string::npos);
}

TEST(Estimate, FindingsComeByWhatCuringThemGains) {
  json counters = {
      {"findings",
       {{{"disease", "redundant"}, {"severity", 0.9}}, {{"disease", "contention"}, {"severity", 0.1}}}}};
  order_by_gain(counters, {{"without", {{{"problem", "contention"}, {"gain", 5.0}}}}});
  EXPECT_EQ(counters["findings"][0]["disease"], "contention");
  EXPECT_EQ(counters["findings"][0]["gain"], 5.0);
}

TEST(Estimate, ADeviceThatWasNotComparedGetsAWiderIntervalAndAWord) {
  for (const std::string& id : devices_with_rates()) {
    const DeviceRates rates = find_rates(id).value();
    EXPECT_GT(rates.dram_bytes_per_s, 1e11) << id;
    EXPECT_GT(rates.l2_bytes_per_s, rates.dram_bytes_per_s) << id;
    const json estimate = estimate_json({{"launch_groups", streaming()}}, json::array(), rates);
    EXPECT_EQ(estimate_text(estimate).find("never compared with measurements") != std::string::npos,
              !rates.validated)
        << id;
  }
  EXPECT_FALSE(find_rates("abacus"));
  EXPECT_FALSE(find_rates("data_sheets"));
}

// NVIDIA's data sheet gives a T4 320 GB/s.
TEST(Estimate, AGpuOfADataSheetIsNoFasterThanItAndItsIntervalIsThreeTimesAsWideAtBothEnds) {
  const DeviceRates rates = rates_of_model("T4");
  EXPECT_TRUE(rates.from_data_sheet);
  const json groups = {{"launch_groups", streaming()}};
  const json e = estimate_json(groups, json::array(), rates),
             measured = estimate_json(groups, json::array(), h200());
  EXPECT_GT(e["us"].get<double>(), 1e6 * 1e9 / 320e9);
  EXPECT_LT(e["us"].get<double>(), 3e6 * 1e9 / 320e9);
  const auto width = [](const json& each) {
    return each["high_us"].get<double>() / each["low_us"].get<double>();
  };
  EXPECT_NEAR(width(e) / width(measured), 9, 1e-6);
  EXPECT_NE(estimate_text(e).find("nothing was measured"), std::string::npos);
  EXPECT_EQ(estimate_text(measured).find("nothing was measured"), std::string::npos);
}

TEST(Estimate, GpusOfStudentsAndCloudsAreKnownByTheirUsualNames) {
  for (const char* model : {"T4", "T4G", "V100", "A100", "L4", "A10", "RTX 2080 Ti", "RTX 3060", "RTX 3090",
                            "RTX 4060", "RTX 4090", "RTX 5070", "RTX 5090"})
    EXPECT_NO_THROW(rates_of_model(model)) << model;
  try {
    rates_of_model("GTX 480");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("those of a100, h100, h200, a10, l4"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace warpgrade
