// One case of lab spmm, judged: correctness rounds with fresh values, then, on a GPU, paired timing with
// every repetition verified.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/hash.h"
#include "judge/judging/case_judge.h"
#include "judge/labs/spmm/far_columns.h"
#include "judge/labs/spmm/pattern.h"
#include "judge/labs/spmm/spmm_buffers.h"
#include "judge/labs/spmm/spmm_lab.h"
#include "record/outcome.h"
#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/variant.h"

namespace warpgrade::spmm {
namespace {

class SpmmJudge : public CaseJudge {
 public:
  SpmmJudge(const JudgeContext& judge_context, const Case& input) : CaseJudge(judge_context, input, "spmm") {
    if (spec().drawn) {
      drawn_ = far_columns_matrix();
      a_ = {drawn_->rows, drawn_->cols, drawn_->row_offsets, drawn_->columns, ""};
      content_ = spec().dataset;
      return;
    }
    file_.emplace(datasets::CsrFile::open_verified(input.file));
    content_ = file_->content_hash();
    a_ = {file_->rows(), file_->cols(), file_->row_offsets(), file_->columns(), ""};
    if (is_variant(spec())) take_variant();
    if (judge_context.older_interface) make_square();
    // A variant's structure follows from the submission's own seed: no other case has it.
    if (!variant_) a_.content = "spmm structure " + content_ + (made_square_ ? " square" : "");
  }

 private:
  // The older class interface was promised square matrices: rows without entries, or columns that no entry
  // names, are added at the end.
  void make_square() {
    if (a_.rows < a_.cols) {
      square_offsets_.assign(a_.row_offsets.begin(), a_.row_offsets.end());
      square_offsets_.resize(static_cast<std::size_t>(a_.cols) + 1, square_offsets_.back());
      a_.row_offsets = square_offsets_;
    }
    made_square_ = a_.rows != a_.cols;
    a_.rows = a_.cols = std::max(a_.rows, a_.cols);
  }

  // The public matrix with rows and columns in an order that the run's seed decides, committed
  // to before the run like every other use of it.
  void take_variant() {
    variant_ = datasets::make_variant(a_.cols, a_.row_offsets, a_.columns, seed("variant"));
    a_.row_offsets = variant_->row_offsets;
    a_.columns = variant_->columns;
  }

  std::unique_ptr<CaseBuffers> open_buffers() override {
    auto buffers = context().backend == "cuda" ? make_cuda_spmm_buffers(context().services->kept_data())
                                               : make_host_spmm_buffers(context().threads);
    buffers->load(a_, spec().width);
    buffers_ = buffers.get();
    return buffers;
  }

  void prepare_plan(int, bool) override { buffers_->refresh_a(next_seed()); }

  Arguments plan_arguments() const override { return {a_.rows, a_.cols, a_.nnz(), spec().width}; }

  std::optional<Outcome> verify_checked_run() override { return accept(buffers_->check_every_cell()); }

  Arguments refresh_for_timing() override {
    buffers_->refresh_b(next_seed());
    return {};
  }

  std::optional<Outcome> verify_output() override {
    if (auto fault = accept(buffers_->check_product(next_seed()))) return fault;
    return closely() ? accept(buffers_->check_sparse_columns()) : std::nullopt;
  }

  std::optional<Outcome> accept(const Check& check) {
    count_check(check.method, check.cells_checked, check.max_error_over_bound);
    if (check.exact_cells > 0) count_check("exact_cells", 0);
    count_check("rms_by_row_length", 0);
    count_rms(check.max_rms_over_limit);
    if (check.ok()) return std::nullopt;
    return explain(check);
  }

  Outcome explain(const Check& check) {
    pattern_ = describe_pattern(check, a_, spec().width);
    mismatches_ = nlohmann::json::array();
    for (const Mismatch& cell : check.first) {
      nlohmann::json item{{"row", cell.row},
                          {"col", cell.col},
                          {"row_nnz", a_.row_offsets[cell.row + 1] - a_.row_offsets[cell.row]},
                          {"want", cell.want}};
      // JSON has no NaN: a cell that is none says so in words.
      if (std::isfinite(cell.got))
        item["got"] = cell.got;
      else
        item["got"] = std::isnan(cell.got) ? "nan" : "inf";
      mismatches_.push_back(std::move(item));
    }
    Outcome outcome;
    outcome.verdict = Verdict::kWrongAnswer;
    const std::string precision = describe_precision(check);
    if (check.bad_cells == 0) {  // each cell within its bound, all of them together not
      outcome.reason = Reason::kLowPrecision;
      outcome.message = precision;
      pattern_ = precision;
      return outcome;
    }
    const bool exact = check.not_exact == check.bad_cells;
    outcome.reason = check.never_written == check.bad_cells ? Reason::kNotWritten
                     : exact                                ? Reason::kNotExact
                                                            : Reason::kMismatch;
    if (!check.first.empty()) {
      const Mismatch& cell = check.first.front();
      const std::string got = std::isnan(cell.got) ? "nan" : fmt::format("{:.9g}", cell.got);
      outcome.message = fmt::format("c[{},{}] want {:.9g} got {}", cell.row, cell.col, cell.want, got);
    } else {
      outcome.message = "C * x is not A * (B * x)";
    }
    if (!pattern_.empty()) outcome.message += "; " + pattern_;
    if (check.never_written > 0) return outcome;
    if (exact)
      outcome.message +=
          " (integers of 18 bits times 2^-18: fp32 sums are exact here, those of any 16-bit type are not)";
    else if (!precision.empty())
      outcome.message += "; " + precision;
    return outcome;
  }

  // Reading B once: A may be compressed by the plan, C may still sit in L2.
  double impossible_us(double peak_bytes_per_s) const override {
    return 1e6 * 4.0 * spec().width * facts().used_columns / peak_bytes_per_s;
  }

  // Facts of the structure alone; a judge process sees the same few graphs again and again.
  struct Facts {
    int longest = 0;
    std::int64_t empty = 0, used_columns = 0;
  };
  const Facts& facts() const {
    static std::map<std::string, Facts> known;  // by content
    const auto [found, is_new] = known.try_emplace(content_ + (made_square_ ? " square" : ""));
    if (!is_new) return found->second;
    Facts& facts = found->second;
    for (int row = 0; row < a_.rows; ++row) {
      const int nnz = a_.row_offsets[row + 1] - a_.row_offsets[row];
      facts.longest = std::max(facts.longest, nnz);
      facts.empty += nnz == 0 ? 1 : 0;
    }
    std::vector<bool> used(a_.cols);
    for (int column : a_.columns) used[column] = true;
    facts.used_columns = std::count(used.begin(), used.end(), true);
    return facts;
  }

  double compulsory_bytes() const override {
    return 8.0 * a_.nnz() + 4.0 * (a_.rows + 1) + 4.0 * spec().width * (double(a_.cols) + a_.rows);
  }

  // A thread a cell; some 12 instructions a term and 30 a cell.
  double naive_steps() const override {
    const double warps = std::ceil(spec().width / 32.0);
    return warps * (12.0 * static_cast<double>(a_.nnz()) + 30.0 * a_.rows);
  }

  void describe_case(Record& record) const override {
    Case described = described_case();
    described.rows = a_.rows;
    described.cols = a_.cols;
    described.nnz = a_.nnz();
    if (file_) described.dataset_hash = content_;
    if (made_square_) described.other["made_square"] = true;
    if (variant_) {
      const auto bytes = [](const std::vector<int>& values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int));
      };
      described.other["variant"] = {
          {"version", datasets::kVariantVersion},
          {"structure_hash",
           Sha256().part(bytes(variant_->row_offsets)).part(bytes(variant_->columns)).hex()}};
    }
    described.shape = {{"max_row", facts().longest},
                       {"mean_row", a_.rows > 0 ? double(a_.nnz()) / a_.rows : 0.0},
                       {"empty_rows", facts().empty}};
    record.test_case = std::move(described);
    if (timing()) record.throughput_nnz_per_s = 1e6 * static_cast<double>(a_.nnz()) / timing()->median_us;
  }

  std::optional<datasets::CsrFile> file_;  // none where the matrix is drawn
  std::optional<datasets::Csr> drawn_;
  std::string content_;                   // names the structure, for what is kept of it
  std::optional<datasets::Csr> variant_;  // what a_ looks at in a hidden case
  std::vector<int> square_offsets_;       // and where rows were added
  bool made_square_ = false;
  Structure a_;
  SpmmBuffers* buffers_ = nullptr;  // the case's own buffers
};

}  // namespace

nlohmann::json judge_spmm(const JudgeContext& context, const Case& input) {
  return SpmmJudge(context, input).judge();
}

}  // namespace warpgrade::spmm
