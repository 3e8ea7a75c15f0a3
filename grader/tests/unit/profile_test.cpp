#include <gtest/gtest.h>

#include "base/files.h"
#include "course/profile/text.h"
#include "judge/judging/diagnosis.h"
#include "judge/judging/performance_problems.h"

namespace warpgrade {
namespace {

using nlohmann::json;

// A kernel without a flaw; tests add one.
json healthy() {
  return {{"kernel", "k"},
          {"launches", 1},
          {"blocks", 8},
          {"warp_instructions", 1000},
          {"thread_instructions", 32000},
          {"global_requests", 100},
          {"global_sectors", 400},
          {"global_sectors_ideal", 400},
          {"global_load_sectors", 400},
          {"distinct_sectors_read", 400},
          {"shared_requests", 100},
          {"shared_passes", 100},
          {"shared_passes_ideal", 100},
          {"block_imbalance", 1.0},
          {"warp_imbalance", 1.0}};
}

json with(json kernel, const json& changes, const json& line) {
  kernel.update(changes);
  json worst = {{"file", "k.cu"}, {"line", 7}}, other = {{"file", "k.cu"}, {"line", 3}};
  worst.update(line);
  kernel["lines"] = {other, worst};
  return kernel;
}

json only_finding(const json& kernel) {
  const json found = find_performance_problems(json::array({kernel}));
  EXPECT_EQ(found.size(), 1u) << found.dump(1);
  return found.empty() ? json::object() : found[0];
}

TEST(Diseases, AHealthyKernelHasNone) {
  EXPECT_TRUE(find_performance_problems(json::array({healthy()})).empty());
}

// A thread and its number are nothing that a kernel in Triton could name.
TEST(Diseases, AreCuredInTheWordsOfTheKernelsLanguage) {
  const json changes = {{"global_sectors", 3200}};
  const json line = {{"global_requests", 100}, {"global_sectors", 3200}, {"global_sectors_ideal", 400}};
  const auto advice = [&](const char* file) {
    json kernel = with(healthy(), changes, line);
    for (json& each : kernel["lines"]) each["file"] = file;
    return only_finding(kernel)["advice"].get<std::string>();
  };
  EXPECT_NE(advice("k.cu").find("threadIdx.x"), std::string::npos);
  EXPECT_EQ(advice("k.py").find("threadIdx"), std::string::npos);
  EXPECT_NE(advice("k.py").find("[None, :]"), std::string::npos);
}

TEST(Diseases, NothingCountedIsNothingFound) {
  EXPECT_TRUE(find_performance_problems(json::array()).empty());
  EXPECT_TRUE(find_performance_problems(json::array({json::object()})).empty());
}

TEST(Diseases, EachIsToldByItsFigureAndItsWorstLine) {
  struct Case {
    const char* problem;
    json kernel, line;
    const char* text;
  };
  const Case cases[] = {
      {"divergence",
       {{"thread_instructions", 8000}},
       {{"warp_instructions", 900}, {"thread_instructions", 7200}},
       "8.0 of 32 lanes active"},
      {"uncoalesced",
       {{"global_sectors", 3200}},
       {{"global_requests", 100}, {"global_sectors", 3200}, {"global_sectors_ideal", 400}},
       "32.0 sectors per request where 4.0 would be enough"},
      {"redundant", {{"distinct_sectors_read", 40}}, {{"global_load_sectors", 400}}, "reads 400 sectors"},
      {"imbalance",
       {{"block_imbalance", 7.5}},
       {{"warp_instructions", 800}},
       "executes 800 warp instructions"},
      {"bank_conflicts",
       {{"shared_passes", 3200}},
       {{"shared_requests", 100}, {"shared_passes", 3200}, {"shared_passes_ideal", 100}},
       "32.0 passes per request where 1.0 would be enough"},
      {"contention",
       {{"atomic_requests", 100}, {"atomic_turns", 3200}},
       {{"atomic_requests", 100}, {"atomic_turns", 3200}},
       "32.0 lanes of a warp update one address"},
  };
  for (const Case& c : cases) {
    const json found = only_finding(with(healthy(), c.kernel, c.line));
    EXPECT_EQ(found.value("problem", ""), c.problem);
    ASSERT_FALSE(found["places"].empty()) << c.problem;
    EXPECT_EQ(found["places"][0]["line"], 7) << c.problem;
    EXPECT_NE(found["places"][0]["text"].get<std::string>().find(c.text), std::string::npos) << found.dump(1);
  }
}

TEST(Diseases, ASerialEndIsToldWhereOneWarpIsAlone) {
  json kernel = healthy();
  kernel.update({{"block", {256, 1, 1}}, {"warp_imbalance", 4.0}});
  // Line 3 has most instructions, all warps the same; of line 7 one warp has all.
  kernel["lines"] = {
      {{"file", "k.cu"}, {"line", 3}, {"warp_instructions", 640}, {"busy_warp_instructions", 80}},
      {{"file", "k.cu"}, {"line", 7}, {"warp_instructions", 300}, {"busy_warp_instructions", 300}}};
  const json places = only_finding(kernel)["places"];
  ASSERT_EQ(places.size(), 1u) << places.dump(1);
  EXPECT_EQ(places[0]["line"], 7);
  EXPECT_EQ(places[0]["text"], "executes 300 warp instructions, 100 % of them in one warp of a block");
}

TEST(Diseases, AreNotToldOfKernelsThatHardlyCount) {
  json small = with(healthy(), {{"thread_instructions", 80}, {"warp_instructions", 10}}, json::object());
  EXPECT_EQ(find_performance_problems(json::array({small})).size(), 1u);
  json large = healthy();
  large["warp_instructions"] = 100000;
  large["thread_instructions"] = 3200000;
  EXPECT_TRUE(find_performance_problems({large, small}).empty());
}

TEST(Counters, LinesAndBuffersStandInTheirKernel) {
  const json line = {{"kernel", "k"}, {"file", "k.cu"}, {"line", 7}, {"warp_instructions", 1000}};
  const json buffer = {{"kernel", "k"}, {"buffer", "B"}, {"sectors_read", 400}};
  const json stray = {{"kernel", "unheard of"}, {"line", 1}};
  const json totals = summarize_counters({healthy(), line, buffer, stray});
  ASSERT_EQ(totals["kernels"].size(), 1u);
  EXPECT_EQ(totals["kernels"][0]["lines"][0]["line"], 7);
  EXPECT_EQ(totals["kernels"][0]["buffers"][0]["buffer"], "B");
  EXPECT_EQ(totals["warp_instructions"], 1000);
  EXPECT_TRUE(totals["findings"].empty());
}

class AnnotatedSource : public testing::Test {
 protected:
  void SetUp() override {
    write_text(folder_.path() / "k.cu", "first\nsecond\nthird\nfourth\nfifth\n");
    json kernel = healthy();
    kernel["lines"] = {
        {{"file", "k.cu"}, {"line", 2}, {"warp_instructions", 900}, {"thread_instructions", 14400}},
        {{"file", "k.cu"}, {"line", 3}, {"warp_instructions", 1}, {"thread_instructions", 32}},
        {{"file", "k.cu"}, {"line", 5}, {"warp_instructions", 99}, {"thread_instructions", 3168}}};
    counters_["kernels"] = json::array({kernel});
  }
  TemporaryDirectory folder_{"profile-test"};
  json counters_;
};

TEST_F(AnnotatedSource, ShowsTheLinesThatMatterWithTheirFigures) {
  const std::string text = annotated_source(counters_, folder_.path(), false);
  EXPECT_NE(text.find("k.cu\n"), std::string::npos) << text;
  EXPECT_NE(text.find("2  90.0 %   16.0"), std::string::npos) << text;
  EXPECT_NE(text.find("| second"), std::string::npos) << text;
  EXPECT_NE(text.find("| fifth"), std::string::npos) << text;
  EXPECT_EQ(text.find("third"), std::string::npos) << text;
  EXPECT_EQ(text.find("first"), std::string::npos) << text;
}

TEST_F(AnnotatedSource, ShowsEveryLineWhenAsked) {
  const std::string text = annotated_source(counters_, folder_.path(), true);
  for (const char* line : {"| first", "| second", "| third", "| fourth", "| fifth"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
}

TEST_F(AnnotatedSource, SaysWhatIsNotInTheSubmission) {
  counters_["kernels"][0]["lines"][0]["file"] = "block_scan.cuh";
  const std::string text = annotated_source(counters_, folder_.path(), false);
  EXPECT_NE(text.find("block_scan.cuh\n  not in the submission: 90.0 % of the instructions"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace warpgrade
