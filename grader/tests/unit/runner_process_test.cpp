// The judge's side of the protocol against a runner that does not keep to it: whatever comes, the answer is a
// verdict of the submission, and the judge lives.
#include "judge/judging/runner_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "judge/judging/diagnosis.h"
#include "judge/judging/shared_host_memory.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

namespace fs = std::filesystem;
using protocol::Op;

// A runner of this habit with one buffer attached.
class Hostile {
 public:
  explicit Hostile(const std::string& habit, const std::string& report = "", bool attach = true,
                   OthersMay others = OthersMay::kWrite)
      : memory_("C", 1 << 16, others) {
    write_text(libraries_.path() / "libcudart.so.13", "");
    RunnerSpec spec;
    spec.label = "hostile";
    spec.executable = HOSTILE_RUNNER;
    spec.sandbox = SandboxMode::kUnsandboxed;
    spec.cuda_libraries = libraries_.path();
    spec.environment = {{"HOSTILE", habit}, {"HOSTILE_REPORT", report}};
    spec.limits.run = std::chrono::milliseconds(habit == "silent" ? 100 : 20'000);
    spec.limits.start = std::chrono::milliseconds(habit == "silent" ? 100 : 20'000);
    runner_ = std::make_unique<RunnerProcess>(spec);
    if (attach) first_ = runner_->attach(memory_.buffer(), false);
  }
  RunnerProcess& runner() { return *runner_; }
  const Answer& first() const { return first_; }
  SharedHostMemory& memory() { return memory_; }
  Outcome run() { return runner_->explain(runner_->call(Op::kRun), "spmm_run"); }

 private:
  TemporaryDirectory libraries_{"warpgrade-hostile"};
  SharedHostMemory memory_;
  std::unique_ptr<RunnerProcess> runner_;
  Answer first_;
};

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

TEST(RunnerProcess, AnHonestExchangeIsAnswered) {
  Hostile peer("honest");
  EXPECT_TRUE(peer.first().ok());
  EXPECT_TRUE(peer.run().accepted());
  EXPECT_TRUE(peer.run().accepted());
}

struct Expected {
  const char* habit;
  Verdict verdict;
  const char* reason;
};

class HostileReply : public testing::TestWithParam<Expected> {};

TEST_P(HostileReply, IsAVerdictOfTheSubmission) {
  Hostile peer(GetParam().habit);
  ASSERT_TRUE(peer.first().ok());
  const Outcome outcome = peer.run();
  EXPECT_EQ(outcome.verdict, GetParam().verdict) << outcome.message;
  EXPECT_EQ(word_of(outcome.reason), GetParam().reason) << outcome.message;
  EXPECT_EQ(valid_utf8(outcome.message), outcome.message);
  EXPECT_EQ(outcome.message.find('\x1b'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Each, HostileReply,
                         testing::Values(Expected{"fault", Verdict::kRuntimeError, "runner_fault"},
                                         Expected{"throws", Verdict::kRuntimeError, "exception"},
                                         Expected{"dies", Verdict::kRuntimeError, "crashed"},
                                         Expected{"aborts", Verdict::kRuntimeError, "crashed"},
                                         Expected{"silent", Verdict::kTimeLimit, "out_of_time"},
                                         Expected{"status", Verdict::kCheating, "protocol_violation"},
                                         Expected{"nan", Verdict::kCheating, "protocol_violation"},
                                         Expected{"infinity", Verdict::kCheating, "protocol_violation"},
                                         Expected{"negative", Verdict::kCheating, "protocol_violation"},
                                         Expected{"magic", Verdict::kCheating, "protocol_violation"},
                                         Expected{"op", Verdict::kCheating, "protocol_violation"},
                                         Expected{"short", Verdict::kCheating, "protocol_violation"},
                                         Expected{"long", Verdict::kCheating, "protocol_violation"}),
                         [](const auto& given) { return std::string(given.param.habit); });

TEST(RunnerProcess, ACallEndsWithWhatIsLeftOfTheCasesTime) {
  Hostile peer("silent");
  const auto budget = std::make_shared<CaseBudget>(std::chrono::milliseconds(200));
  peer.runner().use_budget(budget);
  budget->end_call(Op::kPlan, std::chrono::milliseconds(150));
  const Answer answer = peer.runner().call(Op::kRun);
  EXPECT_EQ(answer.kind, Answer::Kind::kTimeout);
  EXPECT_TRUE(answer.of_case);
  EXPECT_EQ(answer.limit, std::chrono::milliseconds(50));
  const Outcome outcome = peer.runner().explain(answer, "spmm_run");
  EXPECT_EQ(outcome.verdict, Verdict::kTimeLimit);
  EXPECT_EQ(outcome.message, "spmm_run was ended: all calls of a case may take 90 s together");
  EXPECT_EQ(budget->rest(), std::chrono::milliseconds(0));
}

TEST(RunnerProcess, SeveralProcessesOfACaseSpendOneBudget) {
  const auto budget = std::make_shared<CaseBudget>(std::chrono::seconds(20));
  for (int process = 0; process < 3; ++process) {
    Hostile peer("honest");
    peer.runner().use_budget(budget);
    const auto before = budget->to_json()["total_s"].get<double>();
    EXPECT_TRUE(peer.run().accepted());
    EXPECT_GT(budget->to_json()["total_s"].get<double>(), before);
  }
}

TEST(RunnerProcess, AReplySentAheadOfItsCommandIsFoundOut) {
  for (const char* habit : {"ahead", "flood"}) {
    Hostile peer(habit);
    EXPECT_TRUE(peer.run().accepted()) << habit;
    EXPECT_EQ(peer.run().reason, Reason::kProtocolViolation) << habit;
  }
  Hostile peer("talks_first");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(peer.first().ok() && peer.run().accepted());
}

TEST(RunnerProcess, DescriptorsThatComeAlongAreNeitherTakenNorKept) {
  Hostile peer("descriptors");
  const int before = open_descriptors();
  for (int i = 0; i < 50; ++i) peer.run();
  EXPECT_EQ(open_descriptors(), before);
}

TEST(RunnerProcess, AFaultThatIsToldBeforeAnyBufferWasTakenMayBeTheMachines) {
  Hostile forged("fault_first");
  EXPECT_THROW(forged.runner().explain(forged.first(), "the start"), JudgeFault);
  Hostile gone("exits_first");
  EXPECT_THROW(gone.runner().explain(gone.first(), "the start"), JudgeFault);
  Hostile crashed("crashes_first");
  EXPECT_EQ(crashed.runner().explain(crashed.first(), "the start").reason, Reason::kCrashed);
}

TEST(RunnerProcess, MemoryThatTheJudgeMapsKeepsItsSize) {
  Hostile peer("harm");
  EXPECT_EQ(peer.run().message, "spmm_run: mapped-for-writing written opened-again");
}

TEST(RunnerProcess, AnInputCannotBeWrittenByWhoHoldsItsDescriptor) {
  Hostile peer("harm", "", true, OthersMay::kRead);
  EXPECT_EQ(peer.run().message, "spmm_run: ");  // nothing worked
  peer.memory().payload<char>()[0] = 'x';       // the judge can
}

TEST(RunnerProcess, AReportOfAnyKindIsReadOrLeftOut) {
  EXPECT_EQ(Hostile("deep_report").runner().drain_diagnostics(), nlohmann::json::array());
  EXPECT_EQ(Hostile("cut_report").runner().drain_diagnostics().dump(), R"([{"kind":"trap"}])");
  const std::string line = "{\"kind\":\"trap\",\"message\":\"\xff\\u001b[2J\"}\n";
  const nlohmann::json read = Hostile("endless_report", line).runner().drain_diagnostics();
  EXPECT_EQ(read.dump(), "[{\"kind\":\"trap\",\"message\":\"\xEF\xBF\xBD\xEF\xBF\xBD[2J\"}]");
}

// ---- what is read from reports

TEST(ReportLines, KeepWhatTheEmulatorWrites) {
  const std::string finding =
      R"j({"access":"store","address":"0x7f","allocation":{"bytes":4096,"name":"c","offset":-4},)j"
      R"j("block":[0,0,0],"bytes":4,"count":12,"file":"spmm.cu","kernel":"k","kind":"out_of_bounds","line":31,)j"
      R"j("message":"m","other":{"access":"load","block":"(0,0,0)","file":"a.cu","line":3},"thread":[5,0,0]})j";
  EXPECT_EQ(read_report(finding + "\n", Report::kDiagnostics).dump(), "[" + finding + "]");
  const std::string kernel =
      R"({"active_lanes":31.5,"block":[32,1,1],"classes":{"fma":7},"kernel":"k<float, 4>","launches":2})";
  EXPECT_EQ(read_report(kernel + "\n", Report::kCounters).dump(), "[" + kernel + "]");
}

TEST(ReportLines, LeaveOutFieldsOfOtherTypesAndNumbersOutOfRange) {
  const auto counters = [](const char* line) { return read_report(line, Report::kCounters).dump(); };
  EXPECT_EQ(counters(R"({"kernel":5,"launches":"2","atomics":-1,"blocks":1e308,"ok":1})"), R"([{"ok":1}])");
  EXPECT_EQ(counters(R"({"kernel":"k","lines":[1],"buffers":3,"findings":[],"line":1e10})"),
            R"([{"kernel":"k"}])");
  EXPECT_EQ(counters(R"({"block":[1,2],"grid":[1,2,"x"],"classes":{"a":{"b":1}}})"), R"([{"classes":{}}])");
  EXPECT_EQ(counters("[1]\n\"x\"\nnull\n7\n{\n"), "[]");
  EXPECT_EQ(counters(R"({"a":1e999})"), "[]");
}

// A line as an attacker may write it: any value under any key that the judge looks at.
nlohmann::json any_value(std::mt19937& random, int depth) {
  switch (random() % (depth > 2 ? 8 : 10)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) - (1ll << 31);
    case 3:
      return std::numeric_limits<std::int64_t>::min();
    case 4:
      return std::numeric_limits<std::uint64_t>::max();
    case 5:
      return 1e308;
    case 6:
      return std::string(random() % 20, static_cast<char>(random() % 128));
    case 7:
      return -0.0;
    case 8:
      return nlohmann::json::array({any_value(random, depth + 1), any_value(random, depth + 1)});
    default:
      return {{"line", any_value(random, depth + 1)}, {"name", any_value(random, depth + 1)}};
  }
}

nlohmann::json any_object(std::mt19937& random) {
  static const char* kKeys[] = {"kind",
                                "file",
                                "line",
                                "kernel",
                                "buffer",
                                "lines",
                                "source",
                                "buffers",
                                "block",
                                "message",
                                "launches",
                                "warp_instructions",
                                "other",
                                "allocation",
                                "count",
                                "classes",
                                "advice",
                                "thread_instructions",
                                "global_sectors",
                                "global_sectors_ideal",
                                "shared_passes",
                                "shared_requests",
                                "atomic_turns",
                                "atomic_requests",
                                "block_imbalance",
                                "distinct_sectors_read",
                                "global_load_sectors"};
  static const char* kKinds[] = {"out_of_bounds", "shared_race", "unsupported", "leak", ""};
  nlohmann::json object = nlohmann::json::object();
  for (int i = static_cast<int>(random() % 12); i > 0; --i)
    object[kKeys[random() % std::size(kKeys)]] = any_value(random, 0);
  if (random() % 2 == 0) object["kind"] = kKinds[random() % std::size(kKinds)];
  if (random() % 2 == 0) object["kernel"] = "k";
  return object;
}

TEST(ReportLines, WhateverALineHoldsItIsSummedUpAndWritten) {
  const unsigned seed = 20261124;
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = static_cast<int>(random() % 6); i > 0; --i) {
      text += any_object(random).dump() + "\n";
      if (random() % 4 == 0) text[random() % text.size()] = static_cast<char>(random());
    }
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round << ": " << text);
    for (const Report report : {Report::kDiagnostics, Report::kCounters}) {
      const nlohmann::json read = read_report(text, report);
      const nlohmann::json totals = summarize_counters(read);
      for (const auto& [key, value] : totals.items()) {
        if (!value.is_number()) continue;
        ASSERT_TRUE(std::isfinite(value.get<double>())) << key;
      }
      for (const Verdict verdict :
           {Verdict::kAccepted, Verdict::kRuntimeError, Verdict::kWrongAnswer, Verdict::kTimeLimit}) {
        Outcome outcome;
        outcome.verdict = verdict;
        outcome.reason = Reason::kCudaError;
        apply_diagnostics(read, outcome);
        ASSERT_NO_THROW((void)nlohmann::json(outcome).dump());
      }
      ASSERT_NO_THROW((void)totals.dump());
    }
  }
}

// Objects that did not pass through read_report(): older records hold them.
TEST(ReportLines, SummingUpSurvivesObjectsOfAnyShape) {
  const unsigned seed = 20261125;
  std::mt19937 random(seed);
  for (int round = 0; round < 3000; ++round) {
    nlohmann::json objects = nlohmann::json::array();
    for (int i = static_cast<int>(random() % 6); i > 0; --i)
      objects.push_back(random() % 8 == 0 ? any_value(random, 0) : any_object(random));
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", round " << round << ": " << objects.dump());
    ASSERT_NO_THROW((void)summarize_counters(objects).dump());
    Outcome outcome;
    ASSERT_NO_THROW(apply_diagnostics(objects, outcome));
  }
}

// The peer of the protocol in an executor's place: it ends while it is asked.
TEST(RunnerProcess, AnExecutorThatEndsByItselfIsTheJudgesFault) {
  const TemporaryDirectory folder("warpgrade-executor");
  fs::create_symlink(HOSTILE_RUNNER, folder.path() / "warpgrade-executor");
  write_text(folder.path() / "libcudart.so.13", "");
  SharedHostMemory memory("C", 1 << 16);
  RunnerSpec spec;
  spec.label = "one";
  spec.executable = HOSTILE_RUNNER;
  spec.executor = folder.path();
  spec.sandbox = SandboxMode::kUnsandboxed;
  spec.environment = {{"HOSTILE", "dies"}};
  RunnerProcess runner(spec);
  ASSERT_TRUE(runner.attach(memory.buffer(), false).ok());
  const Answer answer = runner.call(Op::kRun);
  EXPECT_EQ(answer.kind, Answer::Kind::kExecutorDied);
  EXPECT_THROW(runner.explain(answer, "spmm_run"), JudgeFault);
}

}  // namespace
}  // namespace warpgrade
