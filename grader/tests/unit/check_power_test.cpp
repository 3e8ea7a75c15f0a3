// What a check can see: bounds as wide as the outputs' spread, and parts of inputs that no output needs.
// The first lab is reduction as it was once declared: a program that left out an eighth and added its
// mean passed.
#include "judge/labs/declared/check_power.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "cli/kept_check_power.h"
#include "judge/judging/program_box.h"
#include "judge/labs/declared/oracle_keeper.h"

namespace warpgrade {
namespace {

using declared::CasePower;

constexpr int kRuns = 30;

// A lab that adds numbers up, in its own folder.
class Sums {
 public:
  explicit Sums(const std::string& draw, const std::string& bound, const std::string& summed = "x") {
    make_directories(folder_);
    write_text(folder_ / "lab.yaml",
               "schema: warpgrade.lab.v1\nname: total\nsummary: numbers added up\n"
               "parameters: {n: int}\narrays:\n  x: {type: fp32, shape: [n], draw: {" +
                   draw +
                   "}}\n  sum: {type: fp32, shape: [1], role: output}\n"
                   "call: \"cudaError_t total_run(const float* x, int n, float* sum, "
                   "cudaStream_t stream)\"\ntruth: oracle.py\ncheck: {bound: " +
                   bound + "}\nwork: {bytes: 4*n}\ncases:\n  - {id: many, n: 65536, kind: speed}\n");
    write_text(folder_ / "oracle.py", "import numpy as np\n\ndef total(x):\n    x = " + summed +
                                          ".astype(np.float64)\n"
                                          "    return np.array([x.sum()]), np.array([np.abs(x).sum()])\n");
  }

  declaration::LabDeclaration declaration() const {
    return declaration::parse_lab(read_text(folder_ / "lab.yaml"), folder_ / "lab.yaml");
  }
  CasePower measured(int seeds = 48) const {
    const declaration::LabDeclaration lab = declaration();
    declared::OracleProcess oracle(declared::oracle_spec(
        lab, lab.truth, probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed, 1));
    return declared::measure_power(lab, lab.cases.front(), {}, oracle, 7, seeds, 1, [](int, int) {});
  }
  std::vector<std::string> weaknesses() const { return declared::weaknesses(measured(), kRuns); }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  TemporaryDirectory scratch_{"warpgrade-power"};
  std::filesystem::path folder_ = scratch_.path() / "total";
};

// Each begins with "case many: ".
void expect_weaknesses(const Sums& sums, const std::vector<std::string>& words) {
  const std::vector<std::string> found = sums.weaknesses();
  ASSERT_EQ(found.size(), words.size()) << testing::PrintToString(found);
  for (std::size_t i = 0; i < words.size(); ++i)
    EXPECT_NE(found[i].find(words[i]), std::string::npos) << found[i];
}

TEST(CheckPower, FindsABoundAsWideAsTheSpreadAndInputsThatItHides) {
  expect_weaknesses(Sums("uniform: [0, 1]", "16384"),
                    {"the check allows sum errors of 0.", "the check took the outputs where x's sixteenth"});
}

TEST(CheckPower, TakesABoundThatIsFarBelow) {
  const CasePower power = Sums("uniform: [-1, 1]", "8").measured();
  EXPECT_TRUE(declared::weaknesses(power, kRuns).empty());
  EXPECT_EQ(power.inputs.front().tried, 48);
  EXPECT_EQ(power.inputs.front().passed, 0);
  // Sums of 65,536 numbers of deviation 0.577 deviate by 148; 8 units of the sum of their sizes are 0.0156.
  EXPECT_NEAR(power.outputs.front().allowed_over_spread, 0.0156 / 148, 0.5e-4);
}

TEST(CheckPower, FindsAPartThatNoOutputNeeds) {
  expect_weaknesses(Sums("uniform: [-1, 1]", "8", "x[:len(x) * 15 // 16]"),
                    {"20 of 20 times the check took the outputs where x's sixteenth 16 by"});
}

TEST(CheckPower, FindsAnOutputThatIsAlwaysTheSame) {
  expect_weaknesses(Sums("constant: 3", "8"), {"sum is the same under each of 48 seeds"});
}

TEST(KeptCheckPower, HoldsUntilLabOrOracleChange) {
  const Sums sums("uniform: [-1, 1]", "8");
  const std::string lab = read_text(sums.folder() / "lab.yaml"),
                    oracle = read_text(sums.folder() / "oracle.py");
  KeptCheckPower fresh(sums.declaration());
  EXPECT_FALSE(fresh.find("many").has_value());
  EXPECT_TRUE(fresh.add(sums.measured(4)));
  write_text(sums.folder() / "lab.yaml", "# a comment\n" + lab);
  const auto kept = KeptCheckPower(sums.declaration()).find("many");
  ASSERT_TRUE(kept.has_value());
  EXPECT_EQ(kept->seeds, 4);
  EXPECT_EQ(kept->inputs.front().tried, 4);
  write_text(sums.folder() / "lab.yaml", lab + "  - {id: small, n: 7, why: other}\n");
  EXPECT_TRUE(KeptCheckPower(sums.declaration()).find("many").has_value());
  write_text(sums.folder() / "lab.yaml", lab + "  - {id: more, n: 7, kind: speed}\n");
  EXPECT_FALSE(KeptCheckPower(sums.declaration()).find("many").has_value());
  write_text(sums.folder() / "lab.yaml", lab);
  write_text(sums.folder() / "oracle.py", oracle + "# other\n");
  EXPECT_FALSE(KeptCheckPower(sums.declaration()).find("many").has_value());
  write_text(sums.folder() / "check_power.json", "{");
  EXPECT_THROW(KeptCheckPower(sums.declaration()), UsageError);
}

}  // namespace
}  // namespace warpgrade
