#include "cli/mistakes.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

using nlohmann::json;

json record(const std::string& id, const std::string& verdict, const std::string& message, int line = 0) {
  json r{{"case", {{"id", id}}}, {"outcome", {{"verdict", verdict}, {"reason", "r"}, {"message", message}}}};
  if (line > 0) r["diagnostics"] = {{{"kind", "out_of_bounds"}, {"file", "spmm.cu"}, {"line", line}}};
  return r;
}

TEST(Mistakes, OneMistakeOfManyCasesIsOne) {
  const auto mistakes = sort_by_mistake(
      {record("a", "wrong_answer", "c[0,1] want 1 got 2; only rows longer than 32 are wrong"),
       record("b", "accepted", ""),
       record("c", "wrong_answer", "c[7,0] want 3 got 4; only rows longer than 64 are wrong")});
  ASSERT_EQ(mistakes.size(), 1U);
  EXPECT_EQ(mistakes[0].record.test_case.id, "a");
  EXPECT_EQ(mistakes[0].other_cases, std::vector<std::string>{"c"});
}

TEST(Mistakes, OtherPatternsAreOtherMistakes) {
  EXPECT_EQ(
      sort_by_mistake({record("a", "wrong_answer", "c[0,1] want 1 got 2; only rows longer than 32 are wrong"),
                       record("b", "wrong_answer", "c[0,1] want 1 got 2; every row is wrong")})
          .size(),
      2U);
}

TEST(Mistakes, ThePlaceTellsWhereThereIsOne) {
  const auto mistakes =
      sort_by_mistake({record("a", "runtime_error", "spmm.cu:31: reads 4 bytes behind b", 31),
                       record("b", "runtime_error", "spmm.cu:31: reads 4 bytes in front of b", 31),
                       record("c", "runtime_error", "spmm.cu:40: reads 4 bytes behind b", 40)});
  ASSERT_EQ(mistakes.size(), 2U);
  EXPECT_EQ(mistakes[0].other_cases, std::vector<std::string>{"b"});
}

TEST(Mistakes, WhatEndsTheProgramComesBeforeWrongAnswers) {
  const auto mistakes = sort_by_mistake({record("a", "wrong_answer", "x; y"),
                                         record("b", "time_limit", "the kernel does not end"),
                                         record("c", "runtime_error", "spmm.cu:31: reads", 31)});
  ASSERT_EQ(mistakes.size(), 3U);
  EXPECT_EQ(mistakes[0].record.test_case.id, "c");
  EXPECT_EQ(mistakes[1].record.test_case.id, "b");
}

TEST(Mistakes, UnwrittenAndLeftOutCasesAreNone) {
  EXPECT_TRUE(
      sort_by_mistake({record("a", "not_implemented", ""), record("b", "not_run", "left out")}).empty());
}

}  // namespace
}  // namespace warpgrade
