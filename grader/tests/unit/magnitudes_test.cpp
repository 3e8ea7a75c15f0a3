// Magnitudes that lab.yaml says are outputs for inputs without signs: oracles that agree, and some that
// do not.
#include <gtest/gtest.h>

#include "base/files.h"
#include "judge/judging/program_box.h"
#include "judge/labs/declared/changed_outputs.h"
#include "judge/labs/declared/oracle_keeper.h"

namespace warpgrade::declared {
namespace {

constexpr const char* kLab = R"y(schema: warpgrade.lab.v1
name: scaled
summary: numbers scaled
parameters: {n: int}
scalars:
  factor: {type: fp32, draw: {uniform: [-1, 1]}}
arrays:
  in: {type: fp32, shape: [n], draw: {normal: [0, 1]}}
  out: {type: fp32, shape: [n], role: output}
call: "cudaError_t scaled_run(const float* in, int n, float factor, float* out, cudaStream_t stream)"
truth: oracle.py
check: {bound: 4, magnitude: absolute_inputs}
work: {bytes: 8*n}
cases:
  - {id: some, n: 1000}
)y";

std::vector<std::string> found_by(const std::string& magnitude) {
  const TemporaryDirectory scratch("warpgrade-magnitudes");
  const std::filesystem::path folder = scratch.path() / "scaled";
  make_directories(folder);
  write_text(folder / "lab.yaml", kLab);
  write_text(folder / "oracle.py",
             "import numpy as np\n\ndef scaled(in_, factor):\n"
             "    out = in_.astype(np.float64) * factor\n    return out, " +
                 magnitude + "\n");
  const declaration::LabDeclaration lab = declaration::parse_lab(kLab, folder / "lab.yaml");
  OracleProcess oracle(oracle_spec(
      lab, lab.truth, probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed, 1));
  return other_magnitudes(
      lab, [](const std::string&) { return std::filesystem::path(); }, oracle, 5, 1,
      [](int, int, const std::string&) {});
}

TEST(Magnitudes, ThatAreTheOutputForInputsWithoutSignsAreFoundToBeSo) {
  EXPECT_EQ(found_by("np.abs(out)"), std::vector<std::string>());
  EXPECT_EQ(found_by("np.abs(out).astype(np.float32)"), std::vector<std::string>());
}

TEST(Magnitudes, ThatAreSomethingElseAreToldWithTheirCell) {
  for (const char* magnitude : {"1.01 * np.abs(out)", "np.abs(out) + 0.1", "out", "np.abs(in_)"}) {
    const auto found = found_by(magnitude);
    ASSERT_EQ(found.size(), 1u) << magnitude;
    EXPECT_NE(found.front().find("of out_magnitude is"), std::string::npos) << found.front();
  }
}

}  // namespace
}  // namespace warpgrade::declared
