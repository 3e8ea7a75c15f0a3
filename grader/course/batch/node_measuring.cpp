#include "course/batch/node_measuring.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "course/batch/error_of.h"
#include "course/ingest/times.h"
#include "judge/labs/registry.h"
#include "record/outcome.h"

namespace warpgrade {
using nlohmann::json;

namespace {

// The lab of one addition an element: nothing but memory limits it. The larger case needs 800 MB.
constexpr const char* kLab = "vector_add";
constexpr const char* kCaseOnGpu = "many-64M";
constexpr const char* kCaseOnEmulator = "many-1M";
constexpr double kBytesAnElement = 12;  // two read, one written: `work.bytes` of its lab.yaml
constexpr double kSpeedBudget_s = 2;    // of timed pairs
// Equal programs give an interval of 95 % that does not hold 1 once in twenty times. So the test is repeated
// then. Three in a row happen by chance once in 8,000 times.
constexpr int kMostTries = 3;
constexpr int kPairsOnEmulator = 5;

Case case_of(const Lab& lab, const std::string& id) {
  for (const Case& spec : lab.cases())
    if (spec.id == id) return spec;
  throw JudgeFault("lab {} has no case {}: nodes are tested with it", lab.name(), id);
}

// The record of one judged case, or why there is none.
json judged(JudgeClient& server, const JudgeJob& job) {
  json record;
  std::string problem;
  JudgeEvents happened;
  happened.on_record = [&](const std::string&, const json& part) { record = part; };
  happened.on_memory_short = [&](const std::string&, const std::string& why) { problem = why; };
  happened.on_fault = [&](const std::string&, const std::vector<std::string>& causes) {
    problem = causes.back();
  };
  server.run(job, happened);
  if (!record.is_object()) throw JudgeFault("{}", problem.empty() ? "the judge said nothing" : problem);
  if (const Outcome outcome = outcome_of(record); !outcome.accepted())
    throw JudgeFault("{}: {}", word_of(outcome.verdict), outcome.message);
  return record;
}

// As the judge measures each submission: `ratios` and `timing` of its record.
void measure_on_gpu(JudgeClient& server, const JudgeJob& job, double bytes, NodeTest& test) {
  const json record = judged(server, job);
  const json &ratio = record.at("ratios").at("self"), &timing = record.at("timing");
  test.self = {ratio.at("median"), ratio.at("low"), ratio.at("high"), ratio.at("confidence")};
  const auto rate = [&](const char* key) { return 1e6 * bytes / timing.at(key).get<double>(); };
  test.bytes_per_s = {rate("median_us"), rate("high_us"), rate("low_us"), timing.at("confidence")};
  test.facts["device"] = record.at("device");
  test.facts["clocks"] = timing.at("samples").value("clocks", json());
}

// The emulator times nothing, but a record says how long the runs took: of two judged one after another, in
// turns, each in a process of its own.
void measure_on_emulator(JudgeClient& server, const JudgeJob& job, double bytes, NodeTest& test) {
  const auto run_s = [&](int number) {
    JudgeJob one = job;
    one.context.seed = Sha256().part(job.context.seed).part(std::to_string(number)).hex();
    const json record = judged(server, one);
    const double runs = record.at("verification").at("repetitions");
    return record.at("phases").at("run").get<double>() / std::max(1.0, runs);
  };
  std::vector<double> ratios, rates;
  for (int pair = 0; pair < kPairsOnEmulator; ++pair) {
    double first = run_s(2 * pair), second = run_s(2 * pair + 1);
    if (pair % 2 == 1) std::swap(first, second);
    ratios.push_back(second / first);
    for (const double s : {first, second}) rates.push_back(bytes / s);
  }
  test.self = geometric_interval(ratios);
  test.bytes_per_s = geometric_interval(rates);
}

}  // namespace

NodeTest measure_node(CaseDispatcher& dispatcher, const ClassRun& run, const std::string& node, int threads) {
  const auto start = std::chrono::steady_clock::now();
  NodeTest test;
  test.node = node;
  test.backend = run.backend().name;
  const JudgeDevice* device = run.backend().devices.empty() ? nullptr : &run.backend().devices.front();
  if (device != nullptr) test.device = device->about.value("uuid", "");
  const auto problem = error_of([&] {
    const Lab& lab = find_lab(kLab);
    const Case input = case_of(lab, run.on_gpu() ? kCaseOnGpu : kCaseOnEmulator);
    const double bytes = kBytesAnElement * input.width;
    CaseDispatcher::Share share;
    share.emulator_threads = share.judge_threads = threads;
    JudgeJob job = dispatcher.job_against_itself(lab, input, share);
    job.context.speed_budget_s = kSpeedBudget_s;
    JudgeClient server(device != nullptr ? device->visible : "");
    for (test.tries = 1;; ++test.tries) {
      job.context.seed = Sha256().part(run.seed()).part("node").part(node + std::to_string(test.tries)).hex();
      (run.on_gpu() ? measure_on_gpu : measure_on_emulator)(server, job, bytes, test);
      if (test.tries == kMostTries || (test.self.low <= 1 && 1 <= test.self.high)) return;
    }
  });
  if (problem) test.problem = *problem;
  test.facts["at"] = format_time(std::time(nullptr));
  test.facts["seconds"] = seconds_since(start);
  return test;
}

}  // namespace warpgrade
