// What the judge makes of the emulator's findings.
#include "judge/judging/diagnosis.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "emulator/include/warpemu/findings.h"
#include "judge/judging/cause_search.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

using nlohmann::json;

Outcome outcome(Verdict verdict, const char* reason) {
  Outcome o;
  o.verdict = verdict;
  o.reason = reason_named(reason);
  o.message = "as it was";
  return o;
}

json finding(const char* kind) {
  return json::array({{{"kind", kind}, {"file", "src/kernel.cu"}, {"line", 7}}});
}

// What ended the program or was refused by it.
const std::set<std::string> kCauses{"out_of_bounds",    "misaligned",       "use_after_free",
                                    "read_only_write",  "null_pointer",     "foreign_stack",
                                    "other_device",     "launch_timeout",   "trap",
                                    "assert",           "stack_overflow",   "bad_call",
                                    "unsupported",      "invalid_launch",   "barrier_count",
                                    "invalid_free",     "barrier_deadlock", "invalid_copy",
                                    "host_copy_overrun"};

TEST(Diagnosis, every_kind_of_finding_explains_an_error_or_stands_beside_it_in_a_sentence) {
  for (const std::string kind : emu::kFindingWords) {
    Outcome o = outcome(Verdict::kRuntimeError, "cuda_error");
    apply_diagnostics(finding(kind.c_str()), o);
    if (kCauses.contains(kind)) {
      EXPECT_NE(o.reason, Reason::kCudaError) << kind << " has no meaning";
      ASSERT_EQ(o.message.substr(0, 13), "kernel.cu:7: ") << kind << ": " << o.message;
      EXPECT_NE(o.message.find("(as it was)"), std::string::npos) << kind << ": " << o.message;
      EXPECT_GT(o.message.size(), 40u) << kind << ": " << o.message;
    } else {
      EXPECT_EQ(o.reason, Reason::kCudaError) << kind;
      EXPECT_EQ(o.message.substr(0, 9), "as it was") << kind << ": " << o.message;
      EXPECT_EQ(o.message.find("also: kernel.cu:7: ") != std::string::npos, kind != "device_memory_leak")
          << o.message;
    }
  }
}

json findings_of(std::initializer_list<const char*> kinds) {
  json findings = json::array();
  for (const char* kind : kinds) {
    findings.push_back(
        {{"kind", kind}, {"file", "kernel.cu"}, {"line", findings.size() + 1}, {"message", kind}});
  }
  return findings;
}

TEST(Diagnosis, what_ended_the_program_is_told_first_and_gives_the_verdict) {
  Outcome o = outcome(Verdict::kRuntimeError, "cuda_error");
  apply_diagnostics(
      findings_of({"early_exit", "shared_race", "invalid_launch", "out_of_bounds", "null_pointer"}), o);
  EXPECT_EQ(o.verdict, Verdict::kRuntimeError);
  EXPECT_EQ(o.reason, Reason::kOutOfBounds);
  EXPECT_EQ(o.message,
            "kernel.cu:4: out_of_bounds (as it was); also: kernel.cu:5: null_pointer (null_pointer); also: "
            "kernel.cu:3: invalid_launch (invalid_launch); also: 2 more");
}

TEST(Diagnosis, a_race_never_turns_an_error_of_cuda_into_a_wrong_answer) {
  for (const char* reason : {"cuda_error", "crashed"}) {
    Outcome o = outcome(Verdict::kRuntimeError, reason);
    apply_diagnostics(findings_of({"global_race", "uninitialized_read"}), o);
    EXPECT_EQ(o.verdict, Verdict::kRuntimeError);
    EXPECT_EQ(word_of(o.reason), reason);
  }
}

TEST(Diagnosis, of_suspects_the_first_in_the_programs_order_stands_before_a_wrong_answer) {
  Outcome o = outcome(Verdict::kWrongAnswer, "mismatch");
  apply_diagnostics(findings_of({"early_exit", "uninitialized_read", "global_race", "device_memory_leak"}),
                    o);
  EXPECT_EQ(o.message,
            "kernel.cu:2: uninitialized_read (uninitialized_read); as it was; also: kernel.cu:3: global_race "
            "(global_race); also: kernel.cu:1: early_exit (early_exit)");
}

TEST(Diagnosis, an_error_that_the_program_hid_is_no_wrong_answer) {
  Outcome o = outcome(Verdict::kWrongAnswer, "mismatch");
  apply_diagnostics(findings_of({"global_race", "misaligned"}), o);
  EXPECT_EQ(o.verdict, Verdict::kRuntimeError);
  EXPECT_EQ(o.reason, Reason::kMisalignedAddress);
}

// And it counts: nobody gets out of a case by calling what the emulator lacks.
TEST(Diagnosis, what_the_emulator_cannot_run_is_not_called_unwritten) {
  for (const Outcome& before :
       {outcome(Verdict::kNotImplemented, ""), outcome(Verdict::kRuntimeError, "cuda_error")}) {
    Outcome o = before;
    apply_diagnostics(findings_of({"unsupported"}), o);
    EXPECT_EQ(o.verdict, Verdict::kRuntimeError);
    EXPECT_EQ(o.reason, Reason::kUnsupportedOnEmulator);
  }
}

TEST(Diagnosis, a_kernels_bad_free_ends_it_and_the_hosts_does_not) {
  json findings = findings_of({"invalid_free"});
  Outcome host, kernel;
  apply_diagnostics(findings, host);
  EXPECT_TRUE(host.accepted());
  findings[0]["kernel"] = "grow";
  apply_diagnostics(findings, kernel);
  EXPECT_EQ(kernel.reason, Reason::kInvalidFree);
}

TEST(Diagnosis, a_records_findings_are_in_the_order_of_the_message) {
  const json ordered =
      order_diagnostics(findings_of({"device_memory_leak", "shared_race", "of_tomorrow", "trap"}));
  std::string kinds;
  for (const json& each : ordered) kinds += each["kind"].get<std::string>() + " ";
  EXPECT_EQ(kinds, "trap shared_race device_memory_leak of_tomorrow ");
}

TEST(Diagnosis, a_known_fault_is_said_before_the_exit_code_that_follows_it) {
  for (const char* end : {"exited_early", "exception"}) {
    Outcome o = outcome(Verdict::kRuntimeError, end);
    apply_diagnostics(finding("out_of_bounds"), o);
    EXPECT_EQ(o.reason, Reason::kOutOfBounds);
    EXPECT_EQ(o.message.substr(0, 13), "kernel.cu:7: ") << o.message;
  }
  Outcome alone = outcome(Verdict::kRuntimeError, "exited_early");
  apply_diagnostics(finding("device_memory_leak"), alone);
  EXPECT_EQ(alone.reason, Reason::kExitedEarly) << "a leak ends nothing";
}

TEST(Diagnosis, memory_misuse_lowers_an_accepted_case_and_a_leak_does_not) {
  for (const char* kind : {"out_of_bounds", "foreign_stack", "barrier_count", "stack_overflow", "bad_call"}) {
    Outcome o = outcome(Verdict::kAccepted, "");
    apply_diagnostics(finding(kind), o);
    EXPECT_EQ(o.verdict, Verdict::kRuntimeError) << kind;
    EXPECT_EQ(word_of(o.reason), kind);
  }
  for (const char* kind : {"device_memory_leak", "invalid_launch", "invalid_copy", "partial_warp",
                           "shared_race", "early_exit", "unsupported"}) {
    Outcome o = outcome(Verdict::kAccepted, "");
    apply_diagnostics(finding(kind), o);
    EXPECT_TRUE(o.accepted()) << kind;
  }
}

TEST(Diagnosis, what_makes_an_answer_wrong_is_said_before_it_and_a_hint_behind_it) {
  for (const char* kind : {"global_race", "partial_warp", "wrong_mask", "undefined_shuffle",
                           "unawaited_product", "invalid_launch"}) {
    Outcome o = outcome(Verdict::kWrongAnswer, "mismatch");
    apply_diagnostics(finding(kind), o);
    EXPECT_EQ(o.verdict, Verdict::kWrongAnswer);
    EXPECT_EQ(o.message.substr(0, 13), "kernel.cu:7: ") << o.message;
    EXPECT_NE(o.message.find(std::string(kind) + "); as it was"), std::string::npos) << o.message;
  }
  Outcome hint = outcome(Verdict::kWrongAnswer, "mismatch");
  apply_diagnostics(finding("early_exit"), hint);
  EXPECT_EQ(hint.message.substr(0, 24), "as it was; kernel.cu:7: ") << hint.message;
}

TEST(Diagnosis, of_another_schedules_findings_the_first_that_is_new_and_explains_a_wrong_answer_counts) {
  const json known = findings_of({"early_exit"});
  json again =
      findings_of({"early_exit", "launch_timeout", "device_memory_leak", "shared_race", "global_race"});
  EXPECT_EQ(new_explanation(known, again), again[3]);
  EXPECT_EQ(new_explanation(json::array({again[3]}), again), again[4]);
  EXPECT_TRUE(new_explanation(again, again).is_null());
  EXPECT_TRUE(new_explanation(known, json::array()).is_null());
}

TEST(Diagnosis, the_finding_speaks_for_itself_where_it_can) {
  Outcome o = outcome(Verdict::kRuntimeError, "cuda_error");
  json findings = finding("out_of_bounds");
  findings[0]["message"] = "writes 4 bytes just past the end of a";
  apply_diagnostics(findings, o);
  EXPECT_EQ(o.message, "kernel.cu:7: writes 4 bytes just past the end of a (as it was)");
}

TEST(Diagnosis, unknown_kinds_change_nothing) {
  Outcome o = outcome(Verdict::kRuntimeError, "cuda_error");
  apply_diagnostics(finding("of_tomorrow"), o);
  EXPECT_EQ(o.reason, Reason::kCudaError);
  EXPECT_EQ(o.message, "as it was");
}

TEST(Refusal, OnAGpuNamesTheCallInsteadOfAnUnwrittenStub) {
  const nlohmann::json refused = {{{"kind", "unsupported"},
                                   {"message", "executor: unsupported call of cudaMallocArray"},
                                   {"advice", "Use cudaMalloc."}}};
  Outcome outcome;
  outcome.verdict = Verdict::kNotImplemented;
  explain_refusal(refused, outcome);
  EXPECT_EQ(outcome.verdict, Verdict::kRuntimeError);
  EXPECT_EQ(outcome.reason, Reason::kUnsupported);
  EXPECT_NE(outcome.message.find("cudaMallocArray"), std::string::npos);

  Outcome wrong;  // the program says what it likes: it explains no other failure away
  wrong.verdict = Verdict::kWrongAnswer;
  explain_refusal(refused, wrong);
  EXPECT_EQ(wrong.verdict, Verdict::kWrongAnswer);
  Outcome stub;
  stub.verdict = Verdict::kNotImplemented;
  explain_refusal(nlohmann::json::array(), stub);
  EXPECT_EQ(stub.verdict, Verdict::kNotImplemented);
}

}  // namespace
}  // namespace warpgrade
