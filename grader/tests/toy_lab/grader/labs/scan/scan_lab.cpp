// Lab scan: its cases, and how one of them is judged. The numbers are drawn and checked on the host, on both
// backends.
#include <fmt/format.h>

#include <span>

#include "judge/arrays_bench.h"
#include "judge/case_judge.h"
#include "labs/lab.h"
#include "measure/random.h"
#include "scan/oracle.h"

namespace warpgrade::scan {
namespace {

constexpr int kRuns = 3;

class ScanJudge : public CaseJudge {
 public:
  ScanJudge(const JudgeContext& judge_context, const CaseInput& input)
      : CaseJudge(judge_context, input.spec, "scan"), in_(static_cast<std::size_t>(input.spec.k)) {}

 private:
  std::size_t bytes() const { return in_.size() * sizeof(int); }

  std::unique_ptr<CaseBench> open_bench() override {
    auto bench = context().backend == "cuda" ? make_cuda_arrays_bench() : make_host_arrays_bench();
    bench->add_input("in", bytes());
    bench->set_output("out", bytes(), timed());
    bench_ = bench.get();
    draw();
    return bench;
  }

  void draw() {
    const std::uint64_t seed = next_seed();
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = static_cast<int>(random_bits(seed, i) % 1000);
    bench_->copy_in(bench_->input(0), in_.data(), bytes());
    bench_->publish(0);
  }

  Outcome judge_submission() override {
    if (auto fault = start_submission()) return *fault;
    if (auto fault = plan()) return *fault;
    for (int run = 0; run < kRuns; ++run) {
      draw();
      if (auto fault = run_once()) return *fault;
      if (auto fault = verify_timed_run()) return *fault;
    }
    if (timed()) {
      if (auto fault = timed_phase()) return *fault;
    }
    if (auto fault = free_plan()) return *fault;
    return {};
  }

  Arguments plan_arguments() const override { return {spec().k}; }
  Arguments refresh_for_timing() override {
    draw();
    return {};
  }

  std::optional<Outcome> verify_timed_run() override {
    const std::vector<int> want = running_sums(in_);
    std::vector<int> got(want.size());
    bench_->copy_out(got.data(), bench_->output(), bytes());
    count_check("exact_every_cell", static_cast<std::int64_t>(want.size()));
    if (got == want) return std::nullopt;
    const std::size_t first =
        std::size_t(std::mismatch(got.begin(), got.end(), want.begin()).first - got.begin());
    mismatches_ = {{{"row", first}, {"want", want[first]}, {"got", got[first]}}};
    Outcome outcome;
    outcome.verdict = verdicts::kWrongAnswer;
    outcome.reason = "mismatch";
    outcome.message = fmt::format("out[{}] want {} got {}", first, want[first], got[first]);
    return outcome;
  }

  double compulsory_bytes() const override { return 2.0 * static_cast<double>(bytes()); }
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * static_cast<double>(bytes()) / peak_bytes_per_s;
  }
  void describe_case(nlohmann::json& record) const override {
    record["case"] = case_json();
    if (!timing().is_null())
      record["throughput_per_s"] = 1e6 * spec().k / timing().at("median_us").get<double>();
  }

  std::vector<int> in_;
  ArraysBench* bench_ = nullptr;
};

class ScanLab : public Lab {
 public:
  std::string name() const override { return "scan"; }
  std::string summary() const override { return "running sums of integers"; }
  Terms terms() const override { return {"n", "numbers", "out"}; }
  std::vector<CaseSpec> cases() const override {
    std::vector<CaseSpec> cases{
        {"numbers-1", "numbers", 1, "correctness", "public", "one number"},
        {"numbers-1000", "numbers", 1000, "correctness", "public", "a count that no block divides"},
        {"numbers-1000000", "numbers", 1000000, "speed", "stand-in", "a million"}};
    for (CaseSpec& spec : cases) spec.drawn = true;
    return cases;
  }
  std::vector<Baseline> baselines() const override { return {{"naive", "reference/scan/naive", {}, true}}; }
  nlohmann::json judge(const JudgeContext& context, const CaseInput& input) const override {
    return ScanJudge(context, input).judge();
  }
};

const LabRegistration kRegistration(std::make_unique<ScanLab>());

}  // namespace
}  // namespace warpgrade::scan
