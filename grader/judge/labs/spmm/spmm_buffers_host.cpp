// The buffers for the emulator: shared buffers are memfds, checks run on the CPU against the oracle.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "judge/judging/shared_host_memory.h"
#include "judge/labs/spmm/private_b.h"
#include "judge/labs/spmm/spmm_buffers.h"
#include "spmm/oracle.h"

namespace warpgrade::spmm {
namespace {

// Calls work(begin, end) on `threads` threads for parts of [0, count).
template <typename Work>
void parallel_for(std::int64_t count, int threads, Work work) {
  const std::int64_t part = (count + threads - 1) / std::max(threads, 1);
  if (threads <= 1 || count < 65536) return work(0, count);
  std::vector<std::jthread> pool;
  for (std::int64_t begin = 0; begin < count; begin += part) {
    pool.emplace_back([=] { work(begin, std::min(begin + part, count)); });
  }
}

class HostSpmmBuffers : public SpmmBuffers {
 public:
  explicit HostSpmmBuffers(int threads) : threads_(threads) {}

  nlohmann::json describe() override { return {{"name", "libwarpemu"}}; }

  void load(const Structure& a, int k) override {
    a_ = a;
    k_ = k;
    const auto make = [](const char* name, std::size_t bytes) {
      return std::make_unique<SharedHostMemory>(name, bytes, OthersMay::kRead);
    };
    row_offsets_ = make("A.row_offsets", a.row_offsets.size_bytes());
    columns_ = make("A.columns", a.columns.size_bytes());
    values_ = make("A.values", a.columns.size() * sizeof(float));
    b_ = make("B", std::size_t(a.cols) * k * sizeof(float));
    c_ = std::make_unique<SharedHostMemory>("C", std::size_t(a.rows) * k * sizeof(float));
    private_a_.resize(a.columns.size());
    private_b_.allocate(a, k);
    longest_row_ = 0;
    for (int row = 0; row < a.rows; ++row)
      longest_row_ = std::max<std::int64_t>(longest_row_, a.row_offsets[row + 1] - a.row_offsets[row]);
  }

  std::vector<SharedBuffer> input_buffers() override {
    return {row_offsets_->buffer(), columns_->buffer(), values_->buffer(), b_->buffer()};
  }
  SharedBuffer output_buffer() override { return c_->buffer(); }

  void refresh_a(std::uint64_t seed) override {
    a_seed_ = seed;
    parallel_for(static_cast<std::int64_t>(private_a_.size()), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t e = begin; e < end; ++e) private_a_[e] = a_value(seed, e, a_.columns[e]);
                 });
    std::copy(a_.row_offsets.begin(), a_.row_offsets.end(), row_offsets_->payload<int>().begin());
    std::copy(a_.columns.begin(), a_.columns.end(), columns_->payload<int>().begin());
    std::copy(private_a_.begin(), private_a_.end(), values_->payload<float>().begin());
    for (SharedHostMemory* mapping : {row_offsets_.get(), columns_.get(), values_.get()})
      mapping->write_guards();
  }

  void refresh_b(std::uint64_t seed) override {
    kinds_ = draw_column_kinds(seed, k_, longest_row_);
    const DenseValues values{seed, a_seed_, k_, kinds_.data()};
    private_b_.for_parts([&](std::int64_t first, std::int64_t end) {
      parallel_for(end - first, threads_, [&](std::int64_t from, std::int64_t to) {
        private_b_.draw(first + from, first + to,
                        [&](std::int64_t cell) { return values.at(cell / k_, cell % k_); });
      });
    });
    private_b_.show(b_->payload<float>());
    b_->write_guards();
  }

  void poison() override {
    const std::span<std::uint32_t> cells = c_->payload<std::uint32_t>();
    std::fill(cells.begin(), cells.end(), kPoison);
    c_->write_guards();
  }

  void snapshot() override {
    const std::span<float> cells = c_->payload<float>();
    private_c_.resize(cells.size());
    std::memcpy(private_c_.data(), cells.data(), cells.size_bytes());
  }

  Integrity check_integrity() override {
    Integrity result;
    for (SharedHostMemory* mapping :
         {row_offsets_.get(), columns_.get(), values_.get(), b_.get(), c_.get()}) {
      if (const int where = mapping->damaged_guard()) {
        result.damaged_guard = mapping->buffer().name;
        result.guard_behind = where > 0;
        break;
      }
    }
    const auto differs = [](auto shared, auto kept) {
      return std::memcmp(shared.data(), kept.data(), shared.size_bytes()) != 0;
    };
    if (differs(row_offsets_->payload<const int>(), a_.row_offsets)) result.modified_input = "A.row_offsets";
    if (differs(columns_->payload<const int>(), a_.columns)) result.modified_input = "A.columns";
    if (differs(values_->payload<const float>(), std::span(private_a_))) result.modified_input = "A.values";
    if (!private_b_.equals(b_->payload<const float>())) result.modified_input = "B";
    return result;
  }

  Check check_every_cell() override {
    Check check;
    check.method = "fp64_every_cell";
    check.bad_rows.assign(a_.rows, 0);
    check.bad_cols.assign(k_, 0);
    // In batches, so that a C of gigabytes does not need four times its size.
    const std::int64_t batch = std::max<std::int64_t>(1, (std::int64_t{1} << 22) / k_);
    for (std::int64_t begin = 0; begin < a_.rows; begin += batch) {
      check_rows(begin, std::min<std::int64_t>(begin + batch, a_.rows), check);
    }
    settle(check);
    if (check.bad_cells == 0) {
      check.bad_rows.clear();
      check.bad_cols.clear();
      check.first.clear();
    }
    return check;
  }

  // On the host a full check costs no more than the emulated run.
  Check check_sparse_columns() override { return check_every_cell(); }

  Check check_product(std::uint64_t seed) override {
    const std::vector<double> x = draw_x(seed, k_);
    std::vector<double> z(static_cast<std::size_t>(a_.cols));
    for (std::size_t row = 0; row < z.size(); ++row)
      for (int col = 0; col < k_; ++col) z[row] += double(private_b_.data()[row * k_ + col]) * x[col];
    Check check;
    check.method = "freivalds";
    check.bad_rows.assign(a_.rows, 0);
    check.cells_checked = std::int64_t(a_.rows) * k_;
    for (std::int64_t row = 0; row < a_.rows; ++row) check_row_product(row, x, z, check);
    settle(check);
    return check;
  }

 private:
  void check_rows(std::int64_t begin, std::int64_t end, Check& check) {
    std::vector<int> rows(end - begin);
    std::iota(rows.begin(), rows.end(), static_cast<int>(begin));
    want_.resize(rows.size() * k_);
    abs_sum_.resize(rows.size() * k_);
    const CsrView a{a_.cols, a_.row_offsets, a_.columns, private_a_};
    spmm_oracle_rows(a, k_, private_b_.data(), rows, want_.data(), abs_sum_.data(), threads_);
    for (std::int64_t row = begin; row < end; ++row) {
      LengthGroup& errors = check.lengths[length_group(static_cast<std::uint32_t>(a.row_nnz(row)))];
      for (int col = 0; col < k_; ++col) {
        const std::int64_t at = (row - begin) * k_ + col;
        check_cell(row, col, want_[at], abs_sum_[at], check, errors);
      }
    }
    check.cells_checked += (end - begin) * k_;
  }

  void check_row_product(std::int64_t row, const std::vector<double>& x, const std::vector<double>& z,
                         Check& check) {
    double got = 0, want = 0, abs_row = 0;
    for (int col = 0; col < k_; ++col) got += double(private_c_[row * k_ + col]) * x[col];
    for (int e = a_.row_offsets[row]; e < a_.row_offsets[row + 1]; ++e) {
      want += double(private_a_[e]) * z[a_.columns[e]];
      abs_row += std::abs(private_a_[e]);
    }
    const double scale = product_scale(abs_row, k_), bound = cell_bound(scale), error = std::abs(got - want);
    if (!(std::isfinite(got) && error <= bound)) {
      ++check.bad_cells;
      check.bad_rows[row] = 1;
    } else if (bound > 0) {
      check.max_error_over_bound = std::max(check.max_error_over_bound, error / bound);
      LengthGroup& errors = check.lengths[length_group(
          static_cast<std::uint32_t>(a_.row_offsets[row + 1] - a_.row_offsets[row]))];
      ++errors.count;
      errors.squares += error / (kUnitRoundoff * scale) * (error / (kUnitRoundoff * scale));
    }
  }

  void check_cell(std::int64_t row, int col, double want, double abs_sum, Check& check, LengthGroup& errors) {
    const float got = private_c_[row * k_ + col];
    const bool exact = is_exact_cell(kinds_[col], abs_sum);
    const double bound = exact ? 0 : cell_bound(abs_sum), error = std::abs(got - want);
    check.exact_cells += exact ? 1 : 0;
    const bool accepted = std::isfinite(got) && error <= bound;
    const bool outlier = !accepted && std::isfinite(got) && error <= kOutlierFactor * bound;
    if (accepted || outlier) {
      if (bound > 0) check.max_error_over_bound = std::max(check.max_error_over_bound, error / bound);
      if (kinds_[col] == kDense && abs_sum > 0) {
        const double over = error / (kUnitRoundoff * abs_sum);
        ++errors.count;
        errors.squares += over * over;
      }
    }
    if (accepted) return;
    ++(outlier ? check.outliers : check.bad_cells);
    check.not_exact += exact ? 1 : 0;
    check.bad_rows[row] = check.bad_cols[col] = 1;
    if (std::bit_cast<std::uint32_t>(got) == kPoison) ++check.never_written;
    if (check.first.size() < 16) check.first.push_back({row, col, want, got});
  }

  int threads_;
  Structure a_;
  int k_ = 0;
  std::int64_t longest_row_ = 0;
  std::uint64_t a_seed_ = 0;
  std::vector<ColumnKind> kinds_;
  std::unique_ptr<SharedHostMemory> row_offsets_, columns_, values_, b_, c_;
  std::vector<float> private_a_, private_c_;
  PrivateB private_b_;
  std::vector<double> want_, abs_sum_;
};

}  // namespace

std::unique_ptr<SpmmBuffers> make_host_spmm_buffers(int threads) {
  return std::make_unique<HostSpmmBuffers>(threads);
}

// Programs without CUDA in them have this one; the judge's own stands in spmm_buffers_cuda.cu.
[[gnu::weak]] std::unique_ptr<SpmmBuffers> make_cuda_spmm_buffers(KeptData&) {
  throw JudgeFault("this program has no GPU buffers; warpgrade-judge has");
}

}  // namespace warpgrade::spmm
