// Which attempt of each student the class's anonymous list shows.
#include "course/feedback/board.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

using nlohmann::json;

constexpr std::int64_t kFreeze = 1'771'545'600;  // 2026-02-20T00:00:00Z

json attempt(const std::string& id, const char* student, int number, double points, const char* at,
             bool counts) {
  return {{"id", id},           {"members", {student}}, {"attempt", number},     {"points", points},
          {"max_points", 100},  {"submitted_at", at},   {"counts", counts},      {"verdict", "accepted"},
          {"correct_cases", 0}, {"total_cases", 0},     {"cases", json::array()}};
}

// Ada's first attempt was the better one; Bo came after the freeze, and once before with nothing.
RunParts parts() {
  RunParts made;
  made.run = {{"run", "r"}, {"lab", "spmm"}, {"backend", "cuda"}, {"cases", json::array()}};
  made.scores = {{"max_points", 100},
                 {"submissions",
                  {attempt("a1", "ada", 1, 90, "2026-02-18T10:00:00Z", false),
                   attempt("a2", "ada", 2, 70, "2026-02-19T10:00:00Z", true),
                   attempt("b1", "bo", 1, 0, "2026-02-19T11:00:00Z", false),
                   attempt("b2", "bo", 2, 80, "2026-02-20T10:00:00Z", true)}}};
  return made;
}

using Listed = std::map<std::string, double>;

// Points by pseudonym.
Listed listed(const Policy::Board& board, std::int64_t now, RunParts of = parts()) {
  Policy policy;
  policy.visibility.board = board;
  Listed points;
  for (const json& view :
       board_views(policy, of, {{"a1", "A1"}, {"a2", "A2"}, {"b1", "B1"}, {"b2", "B2"}}, now))
    points[view.at("pseudonym")] = view.at("points");
  return points;
}

TEST(Board, ListsTheBestOrTheLastAttemptUnderTheNameOfTheOneThatCounts) {
  EXPECT_EQ(listed({.attempt = "best"}, 0), (Listed{{"A2", 90}, {"B2", 80}}));
  EXPECT_EQ(listed({.attempt = "last"}, 0), (Listed{{"A2", 70}, {"B2", 80}}));
  EXPECT_EQ(listed({}, 0), (Listed{{"A2", 70}, {"B2", 80}}));
}

TEST(Board, WhileItIsFrozenItListsWhatWasThereBefore) {
  const Policy::Board board{.frozen_from = kFreeze, .frozen_until = kFreeze + 1000};
  EXPECT_EQ(listed(board, kFreeze - 1), (Listed{{"A2", 70}, {"B2", 80}}));
  EXPECT_EQ(listed(board, kFreeze), (Listed{{"A2", 70}, {"B2", 0}}));
  EXPECT_EQ(listed(board, kFreeze + 1000), (Listed{{"A2", 70}, {"B2", 80}}));
  EXPECT_TRUE(lists_other_attempts(board, kFreeze));
  EXPECT_FALSE(lists_other_attempts(board, kFreeze + 1000));
}

// The deadline is the class's, wherever an extension of one student's lies.
TEST(Board, AFreezeByTheDeadlineIsThatOfTheClass) {
  Policy policy;
  policy.timezone = "Europe/Berlin";
  policy.visibility.board = {.freeze_before_s = 86400, .freeze_after_s = 3600};
  const json with_deadline{{"deadline", "2026-02-21T00:00:00Z"},
                           {"students", {{{"id", "ada"}, {"deadline", "2026-03-21T00:00:00Z"}}}}};
  const Policy::Board board = board_at(policy, with_deadline);
  EXPECT_EQ(board.frozen_from, kFreeze);
  EXPECT_EQ(board.frozen_until, kFreeze + 86400 + 3600);
  EXPECT_EQ(board.frozen_from_text, "Fri 20 Feb 2026 01:00 CET");
  EXPECT_EQ(listed(board, kFreeze - 1), (Listed{{"A2", 70}, {"B2", 80}})) << "before";
  EXPECT_EQ(listed(board, kFreeze + 86400), (Listed{{"A2", 70}, {"B2", 0}})) << "between";
  EXPECT_EQ(listed(board, kFreeze + 90000), (Listed{{"A2", 70}, {"B2", 80}})) << "after";
  for (const json& without : {json(), json::object()})
    EXPECT_FALSE(board_at(policy, without).is_frozen(kFreeze + 10));
}

TEST(Board, AnAttemptWithOpenCasesIsNotListed) {
  RunParts open = parts();
  open.scores["submissions"][3]["undecided_cases"] = 1;
  EXPECT_EQ(listed({.attempt = "last"}, 0, open), (Listed{{"A2", 70}, {"B2", 0}}));
}

TEST(Board, WhoseAttemptsAllCameLaterIsNotListedYet) {
  RunParts late = parts();
  late.scores["submissions"].erase(2);
  EXPECT_EQ(listed({.frozen_from = kFreeze, .frozen_until = kFreeze + 1000}, kFreeze, late),
            (Listed{{"A2", 70}}));
}

}  // namespace
}  // namespace warpgrade
