// Seeds of a declared lab's case: by run, case and place.
#include "judge/labs/declared/run_seeds.h"

#include <gtest/gtest.h>

#include <set>

namespace warpgrade::declared {
namespace {

TEST(RunSeedsTest, DifferByRunCasePurposeAndNumberAndByNothingElse) {
  std::set<std::uint64_t> seen;
  for (const char* run : {"one", "other"}) {
    for (const char* case_id : {"odd", "many"}) {
      const RunSeeds seeds(run, case_id);
      for (int number = 1; number <= 20; ++number) {
        seen.insert(seeds.plan(number));
        seen.insert(seeds.check(number));
        seen.insert(seeds.repetition(number));
      }
      seen.insert(seeds.show());
      seen.insert(seeds.order());
      seen.insert(seeds.oracles_repetition());
    }
  }
  EXPECT_EQ(seen.size(), 4u * (3 * 20 + 3));
  EXPECT_EQ(RunSeeds("one", "odd").check(3), RunSeeds("one", "odd").check(3));
}

}  // namespace
}  // namespace warpgrade::declared
