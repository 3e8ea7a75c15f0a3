// When the executors of the next submission are sent for: evenly, and in time.
#include "judge/judging/executors_ahead.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

TEST(ExecutorsAhead, ComeOneAfterAnotherAndAreAllThereAtTheEnd) {
  for (const int count : {1, 5, 31})
    for (const int cases : {1, 2, 3, 27}) {
      const int most_at_once = (count + 2 * cases - 1) / (2 * cases);
      int before = 0;
      for (int i = 0; i < cases; ++i)
        for (const bool behind : {false, true}) {
          const int now = executors_of_next(count, i, cases - i - 1, behind);
          EXPECT_GE(now, before);
          EXPECT_LE(now - before, most_at_once) << count << " executors, case " << i << " of " << cases;
          before = now;
        }
      EXPECT_EQ(before, count) << cases;
    }
}

TEST(ExecutorsAhead, OfThreeCasesWaitForOneContextAtATime) {
  EXPECT_EQ(executors_of_next(5, 0, 2, false), 1);
  EXPECT_EQ(executors_of_next(5, 1, 1, false), 3);
  EXPECT_EQ(executors_of_next(5, 2, 0, false), 5);
}

}  // namespace
}  // namespace warpgrade
