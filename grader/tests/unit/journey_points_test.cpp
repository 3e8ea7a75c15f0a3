// Points for the way there: what a policy asks, what was counted, and what must add up. How versions, notes
// and gains are counted is held against published times of an H200 in grader/tests/test_journey.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "course/score/journey.h"
#include "score_support.h"

namespace warpgrade {
namespace {

std::string with_journey(const std::string& points, const std::string& asked) {
  std::string text = kPolicy;
  text.replace(text.find("speed: 60"), 9, "speed: 50, journey: " + points);
  return text + asked + "\n";
}

const std::string& asking() {
  static const std::string text = with_journey("10", "journey: {versions: 4, notes: 2, gains: 2}");
  return text;
}

const std::vector<Record>& all_right() {
  static const std::vector<Record> records{record("cora-k32", "accepted"), timed(2.1, 2.2, 2.3)};
  return records;
}

json scored_with(const JourneyCounts& counts, const std::vector<Record>& records = all_right()) {
  return only(score(policy(asking()), run_of("cuda"), records, CountsByStudent{{"ada", {counts}}}));
}

TEST(JourneyPoints, EachPartThatIsAskedForIsWorthTheSame) {
  EXPECT_DOUBLE_EQ(journey_share({3, 3, 2}, {3, 3, 2}), 1);
  EXPECT_DOUBLE_EQ(journey_share({3, 3, 2}, {9, 0, 0}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(journey_share({4, 2, 2}, {2, 2, 1}), 2.0 / 3);
  EXPECT_DOUBLE_EQ(journey_share({0, 2, 0}, {9, 1, 9}), 0.5);
  EXPECT_DOUBLE_EQ(journey_share({}, {9, 9, 9}), 0);
}

TEST(JourneyPoints, AddUpWithTheOthers) {
  const json whole = scored_with({4, 2, 2}), half = scored_with({2, 1, 1}), none = scored_with({});
  EXPECT_DOUBLE_EQ(whole.at("max_points"), 100);
  EXPECT_DOUBLE_EQ(whole.at("measured_points"), 100);
  EXPECT_DOUBLE_EQ(whole.at("points"), 100);
  EXPECT_DOUBLE_EQ(half.at("points"), 95);
  EXPECT_DOUBLE_EQ(none.at("points"), 90);
  double parts = 0, cases = 0;
  for (const auto& [name, points] : half.at("parts").items()) parts += points.get<double>();
  for (const json& line : half.at("cases")) cases += line.at("points").get<double>();
  EXPECT_DOUBLE_EQ(parts, 95);
  EXPECT_DOUBLE_EQ(cases + half.at("journey").at("points").get<double>(), 95);
  EXPECT_EQ(half.at("journey").at("note"),
            "2 of 4 versions, 1 of 2 with a note, 1 of 2 faster than the one before, beyond noise");
}

TEST(JourneyPoints, AreForTheWorkAndNotForTheResult) {
  const json wrong = scored_with({4, 2, 2}, {record("cora-k32", "wrong_answer")});
  EXPECT_DOUBLE_EQ(wrong.at("points"), 10);
  EXPECT_EQ(wrong.at("verdict"), "wrong_answer");
}

TEST(JourneyPoints, LatenessTakesItsShareOfThemToo) {
  json run = run_of("cuda");
  run["submissions"][0]["late_s"] = 3600;
  const json s = only(score(policy(asking() + "late: {percent_per_day: 10}\n"), run, all_right(),
                            CountsByStudent{{"ada", {{4, 2, 2}}}}));
  EXPECT_DOUBLE_EQ(s.at("points_before_late"), 100);
  EXPECT_DOUBLE_EQ(s.at("points"), 90);
}

TEST(JourneyPoints, OfATeamAreThoseOfWhoeverDidMost) {
  json run = run_of("cuda");
  run["submissions"][0]["members"] = {"bo", "cy"};
  const json s = only(score(policy(asking()), run, all_right(),
                            CountsByStudent{{"bo", {{4, 0, 0}}}, {"cy", {{1, 2, 1}}}, {"dee", {{9, 9, 9}}}}));
  EXPECT_EQ(s.at("journey").at("versions"), 4);
  EXPECT_EQ(s.at("journey").at("notes"), 2);
  EXPECT_EQ(s.at("journey").at("gains"), 1);
}

TEST(JourneyPoints, AreOpenWhereNobodyCounted) {
  const json scores = score(policy(asking()), run_of("cuda"), all_right());
  EXPECT_DOUBLE_EQ(scores.at("max_points"), 100);
  EXPECT_DOUBLE_EQ(scores.at("measured_points"), 90);
  EXPECT_DOUBLE_EQ(only(scores).at("points"), 90);
  EXPECT_FALSE(only(scores).contains("journey"));
  EXPECT_EQ(scores.at("open_note"),
            "The way there is not counted in this run, which keeps no hand-ins of a class.");
  EXPECT_NE(score(policy(asking()), run_of("emulator"), all_right())
                .at("open_note")
                .get<std::string>()
                .find("Speed was not measured in this run. The way there"),
            std::string::npos);
}

TEST(JourneyPoints, ArrivingWholeCostsNothingByItself) {
  const CountsByStudent at_once{{"ada", {{1, 0, 0}, true}}}, the_same{{"ada", {{1, 0, 0}, false}}};
  const json listed = only(score(policy(asking()), run_of("cuda"), all_right(), at_once));
  EXPECT_EQ(listed.at("journey").at("arrived_whole"), true);
  EXPECT_EQ(listed.at("points"),
            only(score(policy(asking()), run_of("cuda"), all_right(), the_same)).at("points"));
}

TEST(JourneyPoints, OfAPolicyWithoutThemNothingChanges) {
  const json before = score(policy(), run_of("cuda"), all_right());
  EXPECT_EQ(before, score(policy(), run_of("cuda"), all_right(), CountsByStudent{{"ada", {{4, 2, 2}}}}));
  EXPECT_EQ(policy(with_journey("0", "journey: {notes: 1}")).max_points(), 90);
}

TEST(JourneyPoints, APolicyThatAsksForNothingIsRefusedWithWhatToWrite) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      policy(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal(with_journey("10", ""))
                .find("points.journey: nothing is asked for these points: give journey:"),
            std::string::npos);
  EXPECT_NE(
      refusal(kPolicy + std::string("journey: {notes: 1}\n")).find("journey: no points are given for it"),
      std::string::npos);
  EXPECT_NE(refusal(with_journey("10", "journey: {version: 3}")).find("did you mean versions?"),
            std::string::npos);
  EXPECT_NE(
      refusal(with_journey("10", "journey: {notes: -1}")).find("journey.notes: expected a whole number"),
      std::string::npos);
}

}  // namespace
}  // namespace warpgrade
