// The bench for the emulator: shared buffers are memfds, checks run on the CPU against the oracle.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "judge/shared_host_memory.h"
#include "labs/spmm/private_b.h"
#include "labs/spmm/workbench.h"
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

class HostWorkbench : public Workbench {
 public:
  explicit HostWorkbench(int threads) : threads_(threads) {}

  nlohmann::json describe() override { return {{"name", "libwarpemu"}}; }

  void load(const Structure& a, int k, bool with_baseline_output) override {
    if (with_baseline_output) throw JudgeFault("no baseline runs on the emulator");
    a_ = a;
    k_ = k;
    const auto make = [](const char* name, std::size_t bytes) {
      return std::make_unique<SharedHostMemory>(name, bytes);
    };
    row_offsets_ = make("A.row_offsets", a.row_offsets.size_bytes());
    columns_ = make("A.columns", a.columns.size_bytes());
    values_ = make("A.values", a.columns.size() * sizeof(float));
    b_ = make("B", std::size_t(a.cols) * k * sizeof(float));
    c_ = make("C", std::size_t(a.rows) * k * sizeof(float));
    private_a_.resize(a.columns.size());
    private_b_.allocate(a, k);
  }

  std::vector<SharedBuffer> input_buffers() override {
    return {row_offsets_->buffer(), columns_->buffer(), values_->buffer(), b_->buffer()};
  }
  SharedBuffer output_buffer(Output) override { return c_->buffer(); }

  void refresh_a(Values values) override {
    fill(private_a_, values);
    std::copy(a_.row_offsets.begin(), a_.row_offsets.end(), row_offsets_->payload<int>().begin());
    std::copy(a_.columns.begin(), a_.columns.end(), columns_->payload<int>().begin());
    std::copy(private_a_.begin(), private_a_.end(), values_->payload<float>().begin());
    for (SharedHostMemory* mapping : {row_offsets_.get(), columns_.get(), values_.get()})
      mapping->write_guards();
  }

  void refresh_b(Values values) override {
    private_b_.for_parts([&](std::int64_t first, std::int64_t end) {
      parallel_for(end - first, threads_, [&](std::int64_t from, std::int64_t to) {
        private_b_.draw(first + from, first + to, [&](std::int64_t cell) {
          return random_value(values.distribution, values.seed, cell);
        });
      });
    });
    private_b_.show(b_->payload<float>());
    b_->write_guards();
  }

  void poison(Output) override {
    const std::span<std::uint32_t> cells = c_->payload<std::uint32_t>();
    std::fill(cells.begin(), cells.end(), kPoison);
    c_->write_guards();
  }

  void flush_caches() override {}

  void snapshot(Output) override {
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

  Check check_every_cell(bool exact) override {
    Check check;
    check.method = exact ? "exact_every_cell" : "fp64_every_cell";
    check.bad_rows.assign(a_.rows, 0);
    check.bad_cols.assign(k_, 0);
    // In batches, so that a C of gigabytes does not need four times its size.
    const std::int64_t batch = std::max<std::int64_t>(1, (std::int64_t{1} << 22) / k_);
    for (std::int64_t begin = 0; begin < a_.rows; begin += batch) {
      check_rows(begin, std::min<std::int64_t>(begin + batch, a_.rows), exact, check);
    }
    if (check.bad_cells == 0) {
      check.bad_rows.clear();
      check.bad_cols.clear();
    }
    return check;
  }

  // On the host a full check costs no more than the emulated run.
  Check check_product(std::uint64_t) override { return check_every_cell(false); }

 private:
  void fill(std::vector<float>& cells, Values values) {
    parallel_for(static_cast<std::int64_t>(cells.size()), threads_,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     cells[i] = random_value(values.distribution, values.seed, i);
                 });
  }

  void check_rows(std::int64_t begin, std::int64_t end, bool exact, Check& check) {
    std::vector<int> rows(end - begin);
    std::iota(rows.begin(), rows.end(), static_cast<int>(begin));
    want_.resize(rows.size() * k_);
    abs_sum_.resize(rows.size() * k_);
    const CsrView a{a_.cols, a_.row_offsets, a_.columns, private_a_};
    spmm_oracle_rows(a, k_, private_b_.data(), rows, want_.data(), abs_sum_.data(), threads_);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t nnz = a.row_nnz(row);
      const bool exact_row = exact && nnz <= kExactTerms;
      for (int col = 0; col < k_; ++col) {
        const std::int64_t at = (row - begin) * k_ + col;
        const float got = private_c_[row * k_ + col];
        const double bound = exact_row ? 0 : cell_bound(static_cast<double>(nnz), abs_sum_[at]);
        const double error = std::abs(got - want_[at]);
        if (std::isfinite(got) && error <= bound) {
          if (bound > 0) check.max_error_over_bound = std::max(check.max_error_over_bound, error / bound);
          continue;
        }
        ++check.bad_cells;
        check.bad_rows[row] = check.bad_cols[col] = 1;
        if (std::bit_cast<std::uint32_t>(got) == kPoison) ++check.never_written;
        if (check.first.size() < 16) check.first.push_back({row, col, want_[at], got});
      }
    }
    check.cells_checked += (end - begin) * k_;
  }

  int threads_;
  Structure a_;
  int k_ = 0;
  std::unique_ptr<SharedHostMemory> row_offsets_, columns_, values_, b_, c_;
  std::vector<float> private_a_, private_c_;
  PrivateB private_b_;
  std::vector<double> want_, abs_sum_;
};

}  // namespace

std::unique_ptr<Workbench> make_host_workbench(int threads) {
  return std::make_unique<HostWorkbench>(threads);
}

// Programs without CUDA in them have this one; the judge's own stands in workbench_cuda.cu.
[[gnu::weak]] std::unique_ptr<Workbench> make_cuda_workbench(int) {
  throw JudgeFault("this program has no GPU bench; warpgrade-judge has");
}

}  // namespace warpgrade::spmm
