// What the judge makes of the emulator's findings.
#include "judge/diagnosis.h"

#include <gtest/gtest.h>

#include "emulator/include/warpemu/findings.h"

namespace warpgrade {
namespace {

using nlohmann::json;

Outcome outcome(const char* verdict, const char* reason) {
  Outcome o;
  o.verdict = verdict;
  o.reason = reason;
  o.message = "as it was";
  return o;
}

json finding(const char* kind) {
  return json::array({{{"kind", kind}, {"file", "src/kernel.cu"}, {"line", 7}}});
}

TEST(Diagnosis, every_kind_of_finding_explains_an_error_in_a_sentence) {
  for (const char* kind : emu::kFindingWords) {
    Outcome o = outcome(verdicts::kRuntimeError, "cuda_error");
    apply_diagnostics(finding(kind), o);
    EXPECT_NE(o.reason, "cuda_error") << kind << " has no meaning";
    ASSERT_EQ(o.message.substr(0, 13), "kernel.cu:7: ") << kind << ": " << o.message;
    EXPECT_GT(o.message.size(), 30u) << kind << ": " << o.message;
  }
}

TEST(Diagnosis, memory_misuse_lowers_an_accepted_case_and_a_leak_does_not) {
  for (const char* kind : {"out_of_bounds", "foreign_stack", "barrier_count", "stack_overflow", "bad_call"}) {
    Outcome o = outcome(verdicts::kAccepted, "");
    apply_diagnostics(finding(kind), o);
    EXPECT_EQ(o.verdict, verdicts::kRuntimeError) << kind;
    EXPECT_EQ(o.reason, kind);
  }
  for (const char* kind :
       {"device_memory_leak", "invalid_launch", "partial_warp", "shared_race", "unsupported"}) {
    Outcome o = outcome(verdicts::kAccepted, "");
    apply_diagnostics(finding(kind), o);
    EXPECT_TRUE(o.accepted()) << kind;
  }
}

TEST(Diagnosis, what_may_make_an_answer_wrong_is_said_beside_it) {
  for (const char* kind :
       {"global_race", "partial_warp", "wrong_mask", "undefined_shuffle", "invalid_launch"}) {
    Outcome o = outcome(verdicts::kWrongAnswer, "value");
    apply_diagnostics(finding(kind), o);
    EXPECT_EQ(o.verdict, verdicts::kWrongAnswer);
    EXPECT_EQ(o.message.substr(0, 24), "as it was; kernel.cu:7: ") << o.message;
    EXPECT_NE(o.message.find(kind), std::string::npos) << o.message;
  }
}

TEST(Diagnosis, the_finding_speaks_for_itself_where_it_can) {
  Outcome o = outcome(verdicts::kRuntimeError, "cuda_error");
  json findings = finding("out_of_bounds");
  findings[0]["message"] = "writes 4 bytes just past the end of a";
  apply_diagnostics(findings, o);
  EXPECT_EQ(o.message, "kernel.cu:7: writes 4 bytes just past the end of a");
}

TEST(Diagnosis, unknown_kinds_change_nothing) {
  Outcome o = outcome(verdicts::kRuntimeError, "cuda_error");
  apply_diagnostics(finding("of_tomorrow"), o);
  EXPECT_EQ(o.reason, "cuda_error");
  EXPECT_EQ(o.message, "as it was");
}

}  // namespace
}  // namespace warpgrade
