// A record's one mapping to JSON: what it reads it writes again, whatever it does not know.
#include "record/record.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/toolchain.h"
#include "published_sets.h"
#include "record/view.h"

namespace warpgrade {
namespace {

using nlohmann::json;

TEST(RecordMapping, KeepsWhatItDoesNotKnow) {
  const json text = {
      {"schema", "warpgrade.case.v1"},
      {"of_tomorrow", {{"a", {1, 2.5, nullptr}}}},
      {"case", {{"id", "one"}, {"width", 3}, {"colour", "red"}}},
      {"outcome", {{"verdict", "lost"}, {"reason", "of_tomorrow"}, {"message", "m"}, {"new", true}}},
      {"wall_s", "long"}};
  const Record record = text;
  EXPECT_EQ(record.test_case.width, 3);
  EXPECT_EQ(record.outcome.verdict, Verdict::kUnknown);
  EXPECT_FALSE(record.wall_s);
  json again = record;
  again["case"].erase("details");
  EXPECT_EQ(again, text);
}

TEST(RecordMapping, ReadsAnOlderRecordsNames) {
  const Case older = json{{"id", "cora-k32"}, {"dataset", "cora"}, {"k", 32}};
  EXPECT_EQ(older.width, 32);
  EXPECT_EQ(json(older).at("width"), 32);
}

TEST(RecordMapping, AWholeParameterStaysWhole) {
  const Case one = json{{"id", "a"}, {"parameters", {{"n", 5}, {"alpha", 5.0}}}};
  EXPECT_TRUE(one.parameters.at("n").is_whole);
  EXPECT_FALSE(one.parameters.at("alpha").is_whole);
  EXPECT_EQ(json(one).at("parameters").dump(), R"({"alpha":5.0,"n":5})");
}

// What a policy adds to a declared lab comes to the judge as it was read.
TEST(RecordMapping, ACaseTravelsWholeThroughAJob) {
  Case one;
  one.id = "own";
  one.kind = "speed";
  one.drawn = true;
  one.parameters["n"] = declaration::Value::of(7);
  declaration::Draw draw;
  draw.kind = declaration::DrawKind::kNormal;
  draw.mean = 0.1;
  draw.part = declaration::CsrPart::kRows;
  one.draws["in"] = {draw, {}};
  one.file = "/a/file";
  EXPECT_EQ(json::parse(json(one).dump()).get<Case>(), one);
}

TEST(RecordMapping, WritesKeptRecordsAsTheyWere) {
  if (!can_unpack()) GTEST_SKIP() << "built without libarchive";
  const PublishedSets published;
  std::size_t records = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(published.path())) {
    if (entry.path().filename() != "records.jsonl") continue;
    std::ifstream lines(entry.path());
    for (std::string line; std::getline(lines, line); ++records) {
      json kept = json::parse(line), again = kept.get<Record>();
      again["case"].erase("details");
      kept["case"]["width"] = kept["case"].at("k");  // the one name that has changed
      kept["case"].erase("k");
      for (const char* none : {"ratios", "ratios_with_host"})  // what is empty is absent
        if (kept.contains(none) && kept[none].empty()) kept.erase(none);
      ASSERT_EQ(again, kept) << entry.path() << ": " << line.substr(0, 200);
    }
  }
  EXPECT_GT(records, 100U);
}

// The schema of a view is its page's (grader/course/record/README.md); what else a view says is passed over.
TEST(RecordMapping, WhatIsReadAloneRefusesAFieldOfAnotherType) {
  const View view = json{{"max_points", 100}, {"points", nullptr}, {"of_tomorrow", {1, 2}}};
  EXPECT_EQ(view.max_points, 100);
  EXPECT_FALSE(view.points);
  EXPECT_THROW(json({{"max_points", "many"}}).get<View>(), json::type_error);
  EXPECT_THROW(json({{"cases", {{{"ratio", {{"median", "fast"}}}}}}}).get<View>(), json::type_error);
}

TEST(Words, OfVerdictsAndReasonsAreTheirOwn) {
  for (const VerdictFacts& each : kVerdicts) EXPECT_EQ(verdict_named(each.word), each.verdict) << each.word;
  for (const ReasonFacts& each : kReasons) {
    EXPECT_EQ(reason_named(each.word), each.reason) << each.word;
    const bool is_one = each.reason != Reason::kNone && each.reason != Reason::kUnknown;
    EXPECT_EQ(each.help.empty(), !is_one) << each.word;
  }
  EXPECT_EQ(verdict_named("right"), Verdict::kUnknown);
}

}  // namespace
}  // namespace warpgrade
