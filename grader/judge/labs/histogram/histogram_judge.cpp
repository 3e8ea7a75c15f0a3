// One case of lab histogram, judged: runs on fresh ids, every cell compared; on a GPU, paired timing with
// every repetition verified the same way.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "judge/judging/arrays_judge.h"
#include "judge/labs/histogram/counting.h"
#include "judge/labs/histogram/histogram_lab.h"
#include "record/outcome.h"

namespace warpgrade::histogram {
namespace {

constexpr int kPatterns = static_cast<int>(Pattern::kHalfLast) + 1;

class HistogramJudge : public ArraysJudge {
 public:
  HistogramJudge(const JudgeContext& judge_context, const Case& input)
      : ArraysJudge(judge_context, input, "histogram"), shape_(shape_of_case(input)) {}

 private:
  void fill_buffers() override {
    buffers().add_input("ids", std::size_t(shape_.count) * sizeof(int));
    buffers().set_output("counts", std::size_t(bins()) * sizeof(unsigned));
    counting_ = on_gpu() ? make_cuda_counting(buffers(), shape_) : make_host_counting(buffers(), shape_);
    draw(shape_.pattern);
  }

  void draw(Pattern pattern) {
    counting_->draw(pattern, next_seed());
    buffers().publish(0);
  }

  // A plan sees no ids. So in a timed case one of the first least_runs() checked runs, which the seed
  // chooses, has ids of another pattern: counters or tables that fit the case's own alone do not pass.
  Arguments refresh_for_check() override {
    Pattern pattern = shape_.pattern;
    if (timed() && runs_++ == static_cast<int>(seed("other pattern's run") % least_runs())) {
      const int step = 1 + static_cast<int>(seed("other pattern") % (kPatterns - 1));
      pattern = static_cast<Pattern>((static_cast<int>(pattern) + step) % kPatterns);
    }
    draw(pattern);
    return {};
  }

  Arguments plan_arguments() const override { return {shape_.count, shape_.nodes}; }

  Arguments refresh_for_timing() override {
    draw(shape_.pattern);
    return {};
  }

  // Every cell, exactly.
  std::optional<Outcome> verify_output() override {
    const std::vector<unsigned>& want = counting_->expected();
    std::vector<unsigned> got(want.size());
    buffers().copy_out(got.data(), buffers().output(), got.size() * sizeof(unsigned));
    count_check("exact_every_cell", static_cast<std::int64_t>(want.size()));
    if (got == want) return std::nullopt;
    return explain(want, got);
  }

  // How often all bins hold what they should; 0: they differ.
  static std::uint64_t multiple_of(const std::vector<unsigned>& want, const std::vector<unsigned>& got) {
    const auto some = std::find_if(want.begin(), want.end(), [](unsigned count) { return count > 0; });
    if (some == want.end()) return 0;
    const std::uint64_t times = got[static_cast<std::size_t>(some - want.begin())] / *some;
    for (std::size_t b = 0; b < want.size(); ++b)
      if (got[b] != times * want[b]) return 0;
    return times;
  }

  // What the sums of all bins tell of the mistake; empty: nothing. Only cells never written are wrong, or
  // none is such.
  static std::string explain_sums(const std::vector<unsigned>& want, const std::vector<unsigned>& got,
                                  bool only_unwritten, bool all_written) {
    if (only_unwritten) return "the wrong cells were never written: bins without ids are 0";
    if (!all_written) return {};
    const auto want_sum = std::accumulate(want.begin(), want.end(), std::uint64_t{0});
    const auto got_sum = std::accumulate(got.begin(), got.end(), std::uint64_t{0});
    if (got_sum < want_sum) return fmt::format("{} of {} ids were not counted", want_sum - got_sum, want_sum);
    if (const auto times = multiple_of(want, got); times > 1)
      return fmt::format("each id was counted {} times: does each block count only its own ids?", times);
    if (got_sum == want_sum) return {};
    return fmt::format("the counts add up to {} more than there are ids: are counts set to 0 in every run?",
                       got_sum - want_sum);
  }

  Outcome explain(const std::vector<unsigned>& want, const std::vector<unsigned>& got) {
    std::int64_t wrong = 0, unwritten = 0, first = -1;
    for (std::size_t b = 0; b < want.size(); ++b) {
      if (got[b] == want[b]) continue;
      ++wrong;
      unwritten += got[b] == kPoison ? 1 : 0;
      if (first < 0) first = static_cast<std::int64_t>(b);
    }
    const bool only_last = bins() > 1 && wrong == 1 && first == bins() - 1;
    if (only_last) pattern_ = "only the last bin is wrong";
    const std::string cause = explain_sums(want, got, unwritten == wrong, unwritten == 0);
    if (!cause.empty()) pattern_ += (only_last ? ": " : "") + cause;
    Outcome outcome;
    outcome.verdict = Verdict::kWrongAnswer;
    outcome.reason = unwritten == wrong ? Reason::kNotWritten : Reason::kMismatch;
    outcome.message =
        fmt::format("counts[{}] want {} got {}; {} of {} bins are wrong", first, want[first],
                    got[first] == kPoison ? "nothing" : std::to_string(got[first]), wrong, bins());
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    return outcome;
  }

  double items() const override { return shape_.count; }
  int bins() const { return (shape_.nodes + 39) / 40; }

  // Every id must be read.
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * 4.0 * shape_.count / peak_bytes_per_s;
  }
  double compulsory_bytes() const override { return 4.0 * shape_.count + 4.0 * bins(); }

  // A thread an id and one a bin, some 30 instructions each.
  double naive_steps() const override { return 30.0 * (shape_.count + bins()) / 32 + 1e4; }

  void describe_case(Record& record) const override {
    Case described = described_case();
    described.rows = bins();
    described.cols = shape_.nodes;
    described.nnz = shape_.count;
    described.other["bins"] = bins();
    described.shape = {
        {"max_row", shape_.count}, {"mean_row", double(shape_.count) / bins()}, {"empty_rows", 0}};
    record.test_case = std::move(described);
  }

  Shape shape_;
  int runs_ = 0;  // checked ones
  std::unique_ptr<Counting> counting_;
};

}  // namespace

nlohmann::json judge_histogram(const JudgeContext& context, const Case& input) {
  return HistogramJudge(context, input).judge();
}

}  // namespace warpgrade::histogram
