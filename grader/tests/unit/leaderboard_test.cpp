// The class's anonymous list: by points, then by speed; a rank is shared where the measurement tells
// nobody apart.
#include <gtest/gtest.h>

#include <cmath>

#include "course/exports/exports.h"

namespace warpgrade {
namespace {

using nlohmann::json;

struct Ratio {
  double median, low, high;
};

json speed_case(const Ratio& ratio, const char* verdict = "accepted") {
  return {{"id", "arxiv-k32"},
          {"kind", "speed"},
          {"k", 32},
          {"verdict", verdict},
          {"threshold", 2.0},
          {"baseline", "cusparse_default"},
          {"ratio", {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}}}};
}

json view(const std::string& name, double points, json cases) {
  return {{"run", "r"},        {"lab", "spmm"},      {"pseudonym", name}, {"points", points},
          {"max_points", 100}, {"correct_cases", 2}, {"total_cases", 2},  {"cases", std::move(cases)}};
}

// "name rank" of each row in order; a shared rank has "=".
std::vector<std::string> order_of(const Views& views) {
  std::vector<std::string> order;
  const json board = leaderboard(views);
  for (const json& row : board.at("rows")) {
    const std::string sign = row.value("shared", false) ? "=" : "";
    order.push_back(row.at("name").get<std::string>() + " " + sign +
                    std::to_string(row.at("rank").get<int>()));
  }
  return order;
}

using Order = std::vector<std::string>;

TEST(Leaderboard, GoesByPointsThenBySpeed) {
  EXPECT_EQ(order_of({view("slow", 90, {speed_case({2.0, 1.98, 2.02})}),
                      view("fast", 90, {speed_case({3.0, 2.98, 3.02})}),
                      view("best", 95, {speed_case({1.0, 0.98, 1.02})})}),
            (Order{"best 1", "fast 2", "slow 3"}));
}

TEST(Leaderboard, WhomTheMeasurementDoesNotTellApartShareARankAndTheNextOneIsCountedOn) {
  EXPECT_EQ(order_of({view("a", 90, {speed_case({2.02, 1.99, 2.05})}),
                      view("b", 90, {speed_case({2.0, 1.97, 2.03})}),
                      view("c", 90, {speed_case({1.5, 1.49, 1.51})})}),
            (Order{"a =1", "b =1", "c 3"}));
}

// A chain of neighbours that meet does not tie the last to the first: all are compared with a rank's first.
TEST(Leaderboard, ARankIsSharedWithItsFirstAndNotWithANeighbour) {
  EXPECT_EQ(order_of({view("a", 90, {speed_case({2.00, 1.90, 2.10})}),
                      view("b", 90, {speed_case({1.85, 1.75, 1.95})}),
                      view("c", 90, {speed_case({1.70, 1.60, 1.80})})}),
            (Order{"a =1", "b =1", "c 3"}));
}

TEST(Leaderboard, MeansOverDifferentCasesAreNotCompared) {
  const json board =
      leaderboard({view("all", 40, {speed_case({1.1, 1.0, 1.2}), speed_case({1.1, 1.0, 1.2})}),
                   view("one", 40, {speed_case({9.0, 8.9, 9.1}), speed_case({1, 1, 1}, "wrong_answer")})});
  EXPECT_EQ(board.at("rows")[0].at("name"), "all") << "who has all cases correct stands first";
  EXPECT_TRUE(board.at("rows")[1].at("speed").is_null());
  EXPECT_EQ(board.at("rows")[1].at("rank"), 2);
}

TEST(Leaderboard, TheMeanIsGeometricAndItsIntervalNarrowsWithTheCases) {
  const json speed =
      leaderboard({view("a", 90, {speed_case({2, 1, 4}), speed_case({8, 4, 16})})}).at("rows")[0].at("speed");
  EXPECT_NEAR(speed.at("median").get<double>(), 4, 1e-9);
  EXPECT_NEAR(speed.at("low").get<double>(), 4 / std::pow(2, std::sqrt(0.5)), 1e-9);
  EXPECT_NEAR(speed.at("high").get<double>(), 4 * std::pow(2, std::sqrt(0.5)), 1e-9);
}

TEST(Leaderboard, ACasesListHasWhoIsCorrectFastestFirstWithLanguageAndShare) {
  json fast = view("fast", 50, {speed_case({3, 2.9, 3.1})}), slow = view("slow", 90, {speed_case({2, 1, 3})});
  fast["submission"] = {{"language", "Python"}};
  fast["cases"][0]["limit"] = {{"share", 0.5}};
  const json wrong = view("wrong", 10, {speed_case({9, 8, 10}, "wrong_answer")});
  const json list = leaderboard({slow, fast, wrong}, {.cases = true});
  ASSERT_EQ(list.at("cases").size(), 1);
  const json& rows = list.at("cases")[0].at("rows");
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0].at("name"), "fast");
  EXPECT_EQ(rows[0].at("language"), "Python");
  EXPECT_EQ(rows[0].at("share"), 0.5);
  EXPECT_TRUE(rows[1].at("share").is_null());
  EXPECT_EQ(list.at("rows")[0].at("name"), "slow");
  EXPECT_TRUE(list.at("rows")[0].at("share").is_null());
  EXPECT_EQ(list.at("rows")[1].at("share"), 0.5);
}

TEST(Leaderboard, SaysThatItIsFrozenWhileItIs) {
  const Policy::Board board{.frozen_from = 100, .frozen_until = 200, .frozen_from_text = "then"};
  const Views views{view("a", 1, json::array())};
  EXPECT_FALSE(leaderboard(views, board, 99).contains("frozen"));
  EXPECT_EQ(leaderboard(views, board, 100).at("frozen").at("from"), "then");
  EXPECT_FALSE(leaderboard(views, board, 200).contains("frozen"));
}

TEST(Leaderboard, PointsThatReadTheSameAreTheSame) {
  EXPECT_EQ(order_of({view("b", 70.0000001, json::array()), view("a", 70, json::array())}),
            (Order{"a =1", "b =1"}));
}

}  // namespace
}  // namespace warpgrade
