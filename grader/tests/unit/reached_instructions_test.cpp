// What a case's run got to, as the emulator's counters tell it, and which mutants it can see then.
#include "cli/reached_instructions.h"

#include <gtest/gtest.h>

namespace warpgrade {
namespace {

Mutant mutant(const std::string& kernel, std::uint32_t ordinal, const std::string& operation = "boundary") {
  Mutant one;
  one.kernel = kernel;
  one.ordinal = ordinal;
  one.operation = operation;
  return one;
}

TEST(ReachedInstructions, are_ranges_of_ordinals_of_each_function) {
  const auto reached =
      ReachedInstructions::read({{"kernels",
                                  {{{"kernel", "_Z3sum"}, {"kind", "reached"}, {"message", "0-2,7"}},
                                   {{"kernel", "_Z3sum"}, {"kind", "reached"}, {"message", "70-71"}},
                                   {{"kernel", "_Z3sum"}, {"kind", "guard_false"}, {"message", "9"}}}}});
  for (const std::uint32_t ordinal : {0, 1, 2, 7, 70, 71})
    EXPECT_TRUE(reached.gets_to(mutant("_Z3sum", ordinal)));
  for (const std::uint32_t ordinal : {3, 6, 8, 9, 69, 72})
    EXPECT_FALSE(reached.gets_to(mutant("_Z3sum", ordinal)));
  EXPECT_FALSE(reached.gets_to(mutant("_Z4scan", 0)));
  EXPECT_TRUE(reached.runs("_Z3sum"));
  EXPECT_FALSE(reached.runs("_Z4scan"));
}

TEST(ReachedInstructions, a_guard_that_never_holds_is_reached_by_a_change_of_the_guard_alone) {
  const auto reached = ReachedInstructions::read(
      {{"kernels", {{{"kernel", "_Z3sum"}, {"kind", "guard_false"}, {"message", "9"}}}}});
  EXPECT_TRUE(reached.gets_to(mutant("_Z3sum", 9, "guard_true")));
  EXPECT_FALSE(reached.gets_to(mutant("_Z3sum", 9, "no_store")));
}

TEST(ReachedInstructions, a_report_that_is_damaged_reaches_nothing_more) {
  const auto reached = ReachedInstructions::read(
      {{"kernels", {{{"kernel", "_Z3sum"}, {"kind", "reached"}, {"message", "5-2,x,4000000000"}}}}});
  for (const std::uint32_t ordinal : {1, 2, 5}) EXPECT_FALSE(reached.gets_to(mutant("_Z3sum", ordinal)));
}

}  // namespace
}  // namespace warpgrade
