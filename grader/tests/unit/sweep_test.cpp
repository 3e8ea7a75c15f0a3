#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "course/sweep/summary.h"
#include "course/sweep/variants.h"

namespace warpgrade {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

TEST(SweepParameter, IsANameAndItsValuesWithoutRepeats) {
  const SweepParameter parameter = parse_parameter("SPLIT=32,64,32");
  EXPECT_EQ(parameter.name, "SPLIT");
  EXPECT_EQ(parameter.values, (std::vector<std::string>{"32", "64"}));
}

TEST(SweepParameter, RefusesWhatIsNoMacroOrNoValue) {
  for (const char* text : {"SPLIT", "=1", "2X=1", "X=", "X=1,,2", "X=1;rm", "X=$(id)"}) {
    EXPECT_THROW(parse_parameter(text), UsageError) << text;
  }
}

TEST(SweepVariants, AreAllCombinationsTheLastParameterFastest) {
  const auto variants = combine({parse_parameter("A=1,2"), parse_parameter("B=x,y,z")}, 6);
  ASSERT_EQ(variants.size(), 6u);
  EXPECT_EQ(variants[0].title(), "A=1 B=x");
  EXPECT_EQ(variants[1].title(), "A=1 B=y");
  EXPECT_EQ(variants[5].id(), "A-2.B-z");
}

TEST(SweepVariants, RefuseMoreThanAllowedAndNamesGivenTwice) {
  EXPECT_THROW(combine({parse_parameter("A=1,2"), parse_parameter("B=1,2")}, 3), UsageError);
  EXPECT_THROW(combine({parse_parameter("A=1"), parse_parameter("A=2")}, 9), UsageError);
  EXPECT_THROW(combine({}, 9), UsageError);
}

TEST(SweepVariants, CarryTheirSettingsBesideTheSubmissionsOwnFlags) {
  const TemporaryDirectory scratch("sweep-test");
  const fs::path given = scratch.path() / "given";
  make_directories(given);
  write_text(given / "spmm.cu", "int tile = TILE;\n");
  write_text(given / "submission.yaml", "flags: [-O2]\n");
  write_variants(given, "spmm", combine({parse_parameter("TILE=8,16")}, 9), scratch.path() / "class");
  const std::string manifest = read_text(scratch.path() / "class/TILE-16/submission.yaml");
  EXPECT_NE(manifest.find("-O2"), std::string::npos);
  EXPECT_NE(manifest.find("-DTILE=16"), std::string::npos);
  EXPECT_TRUE(fs::exists(scratch.path() / "class/TILE-8/spmm.cu"));
}

TEST(SweepVariants, RefuseAParameterThatNoSourceReads) {
  const TemporaryDirectory scratch("sweep-test");
  write_text(scratch.path() / "spmm.cu", "int tile = TILES;\n");
  EXPECT_THROW(write_variants(scratch.path(), "spmm", combine({parse_parameter("TILE=8")}, 9), "/nowhere"),
               UsageError);
}

json record(const char* title, const char* case_id, const char* verdict, double median, double low,
            double high) {
  return {{"submission", {{"title", title}}},
          {"case", {{"id", case_id}}},
          {"outcome", {{"verdict", verdict}}},
          {"timing", {{"median_us", median}, {"low_us", low}, {"high_us", high}}}};
}

class SweepSummary : public testing::Test {
 protected:
  const json run_{{"run", "r"},
                  {"lab", "spmm"},
                  {"speed_measured", true},
                  {"cases", {{{"id", "small"}}, {{"id", "large"}}}}};
  const std::vector<SweepVariant> variants_ = combine({parse_parameter("T=1,2,3")}, 9);
};

TEST_F(SweepSummary, NamesTheBestOfEachCaseAndTheBestSingleChoice) {
  const json found = summarize_sweep(
      run_,
      {record("T=1", "small", "accepted", 10, 9, 11), record("T=2", "small", "accepted", 12, 11.5, 12.5),
       record("T=3", "small", "accepted", 30, 29, 31), record("T=1", "large", "accepted", 400, 390, 410),
       record("T=2", "large", "accepted", 220, 210, 230), record("T=3", "large", "accepted", 200, 190, 215)},
      variants_);
  EXPECT_EQ(found["by_case"][0]["best"], "T=1");
  EXPECT_EQ(found["by_case"][1]["best"], "T=3");
  EXPECT_EQ(found["by_case"][0]["as_good"], json::array());
  EXPECT_EQ(found["by_case"][1]["as_good"], json({"T=2"}));
  EXPECT_EQ(found["best_single_choice"], "T=2");  // sqrt(1.2 * 1.1) beats sqrt(2) and sqrt(3)
  EXPECT_DOUBLE_EQ(found["variants"][1]["worst_over_best"], 1.2);
}

TEST_F(SweepSummary, NeverChoosesAVariantThatIsWrongSomewhere) {
  const json found = summarize_sweep(
      run_,
      {record("T=1", "small", "accepted", 1, 1, 1), record("T=1", "large", "wrong_answer", 1, 1, 1),
       record("T=2", "small", "accepted", 9, 9, 9), record("T=2", "large", "accepted", 9, 9, 9)},
      variants_);
  EXPECT_EQ(found["best_single_choice"], "T=2");
  EXPECT_FALSE(found["variants"][0].contains("mean_over_best"));
  EXPECT_EQ(found["by_case"][1]["best"], "T=2");
  EXPECT_EQ(found["by_case"][0]["values"][2]["verdict"], "not_run");
}

}  // namespace
}  // namespace warpgrade
