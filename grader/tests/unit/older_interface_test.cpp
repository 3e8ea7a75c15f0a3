#include "judge/compile/older_interface.h"

#include <gtest/gtest.h>

#include "judge/labs/registry.h"

namespace warpgrade {
namespace {

using Paths = std::vector<std::filesystem::path>;

TEST(OlderInterface, IsFoundInWhateverFolders) {
  const InterfaceChoice choice = choose_interface(
      {{"week5/src/spmm_opt.cu", ""}, {"week5/include/spmm_opt.h", "class SpMMOpt;"}}, "spmm");
  EXPECT_EQ(choice.interface, "SpMMOpt");
  EXPECT_TRUE(choice.left_out.empty());
}

TEST(OlderInterface, LeavesOutTheCoursesHarnessAndKeepsWhatIsTheStudents) {
  const InterfaceChoice choice = choose_interface({{"include/spmm_opt.h", ""},
                                                   {"include/tiles.h", ""},
                                                   {"include/util.h", "void argParse(int, char**);"},
                                                   {"src/bench.cu", "int\n  main (int argc, char** argv) {}"},
                                                   {"src/spmm_cusparse.cu", ""},
                                                   {"src/spmm_opt.cu", "int main_tile;"},
                                                   {"src/util.cu", ""},
                                                   {"test/test_spmm.cu", ""}},
                                                  "spmm");
  EXPECT_EQ(choice.left_out, (Paths{"include/util.h", "src/bench.cu", "src/spmm_cusparse.cu", "src/util.cu",
                                    "test/test_spmm.cu"}));
}

TEST(OlderInterface, AStudentsOwnUtilIsKept) {
  const InterfaceChoice choice = choose_interface(
      {{"spmm_opt.h", ""}, {"spmm_opt.cu", ""}, {"util.h", "int ceil_div(int, int);"}}, "spmm");
  EXPECT_TRUE(choice.left_out.empty());
}

TEST(OlderInterface, OfASubmissionToTheContractNothingIsLeftOut) {
  const InterfaceChoice choice = choose_interface(
      {{"apsp.cu", "cudaError_t apsp_run(int n); void apsp(int n, int* g); int main() {}"}}, "apsp");
  EXPECT_EQ(choice.interface, "apsp.h");
  EXPECT_TRUE(choice.left_out.empty());
}

TEST(OlderInterface, HeadersAreLookedForInTheirFolders) {
  EXPECT_EQ(header_folders({"a.cu", "a.h", "include/b.h", "include/c.cuh", "src/d.cu"}), Paths{"include"});
}

// What the courses promised; anything more has cost honest submissions their verdict.
TEST(OlderInterface, IsJudgedOnPromisedCasesOnly) {
  const std::set<std::string> apsp{"complete-1",   "complete-31",  "complete-100",
                                   "complete-161", "complete-128", "complete-257"};
  for (const Case& spec : find_lab("apsp").cases()) {
    if (spec.kind != "correctness") continue;
    EXPECT_EQ(spec.beyond_older.empty(), apsp.contains(spec.id)) << spec.id;
  }
  for (const Case& spec : find_lab("spmm").cases()) {
    const bool promised = (spec.width == 32 || spec.width == 256) && spec.dataset != "far-columns";
    EXPECT_EQ(spec.beyond_older.empty(), promised) << spec.id;
  }
}

}  // namespace
}  // namespace warpgrade
