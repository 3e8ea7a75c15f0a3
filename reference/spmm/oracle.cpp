#include "spmm/oracle.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace warpgrade {
namespace {

// One line of C. The column loop is innermost, so that it vectorizes and reads B by whole rows.
void multiply_row(const CsrView& a, std::int64_t row, std::int64_t k, const float* b, double* c,
                  double* abs_sum) {
  std::fill_n(c, k, 0.0);
  if (abs_sum != nullptr) std::fill_n(abs_sum, k, 0.0);
  for (std::int64_t e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e) {
    const double value = a.values[e];
    const float* b_row = b + a.columns[e] * k;
    for (std::int64_t j = 0; j < k; ++j) c[j] += value * static_cast<double>(b_row[j]);
    if (abs_sum == nullptr) continue;
    for (std::int64_t j = 0; j < k; ++j) abs_sum[j] += std::abs(value * static_cast<double>(b_row[j]));
  }
}

// Calls work(i) for i in [0, count). Threads take small chunks from a shared counter: rows differ in length
// by orders of magnitude, so a fixed split would leave one thread with the hubs.
template <typename Work>
void parallel_for(std::int64_t count, int threads, const Work& work) {
  constexpr std::int64_t kChunk = 64;
  const std::int64_t wanted = threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
  const std::int64_t useful = std::clamp<std::int64_t>((count + kChunk - 1) / kChunk, 1, wanted);
  std::atomic<std::int64_t> next{0};
  const auto drain = [&] {
    for (;;) {
      const std::int64_t begin = next.fetch_add(kChunk, std::memory_order_relaxed);
      if (begin >= count) return;
      const std::int64_t end = std::min(begin + kChunk, count);
      for (std::int64_t i = begin; i < end; ++i) work(i);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t t = 1; t < useful; ++t) helpers.emplace_back(drain);
  drain();
}

[[noreturn]] void reject(const std::string& place, const std::string& want, std::int64_t got) {
  throw std::invalid_argument("CSR matrix: " + place + " must be " + want + ", got " + std::to_string(got));
}

}  // namespace

void check_csr(const CsrView& a) {
  if (a.row_offsets.empty()) reject("row_offsets.size()", "rows + 1 >= 1", 0);
  if (a.row_offsets[0] != 0) reject("row_offsets[0]", "0", a.row_offsets[0]);
  for (std::size_t r = 0; r + 1 < a.row_offsets.size(); ++r) {
    if (a.row_offsets[r + 1] >= a.row_offsets[r]) continue;
    reject("row_offsets[" + std::to_string(r + 1) + "]",
           "at least row_offsets[" + std::to_string(r) + "] = " + std::to_string(a.row_offsets[r]),
           a.row_offsets[r + 1]);
  }
  const auto nnz = static_cast<std::int64_t>(a.columns.size());
  if (a.row_offsets.back() != nnz) {
    reject("row_offsets[rows]", "columns.size() = " + std::to_string(nnz), a.row_offsets.back());
  }
  if (a.values.size() != a.columns.size()) {
    reject("values.size()", "columns.size() = " + std::to_string(nnz),
           static_cast<std::int64_t>(a.values.size()));
  }
  for (std::size_t e = 0; e < a.columns.size(); ++e) {
    if (a.columns[e] >= 0 && a.columns[e] < a.cols) continue;
    reject("columns[" + std::to_string(e) + "]", "in [0, " + std::to_string(a.cols) + ")", a.columns[e]);
  }
}

void spmm_oracle(const CsrView& a, int k, const float* b, double* c, double* abs_sum, int threads) {
  parallel_for(a.rows(), threads, [&](std::int64_t row) {
    multiply_row(a, row, k, b, c + row * k, abs_sum == nullptr ? nullptr : abs_sum + row * k);
  });
}

void spmm_oracle_rows(const CsrView& a, int k, const float* b, std::span<const int> rows, double* c,
                      double* abs_sum, int threads) {
  for (const int row : rows) {
    if (row < 0 || row >= a.rows()) reject("a selected row", "in [0, " + std::to_string(a.rows()) + ")", row);
  }
  parallel_for(static_cast<std::int64_t>(rows.size()), threads, [&](std::int64_t i) {
    multiply_row(a, rows[i], k, b, c + i * k, abs_sum == nullptr ? nullptr : abs_sum + i * k);
  });
}

double spmm_worst_case_error(std::int64_t row_nnz, double abs_sum) {
  constexpr double kUnitRoundoff = 0x1p-24;
  return std::expm1(static_cast<double>(row_nnz + 1) * std::log1p(kUnitRoundoff)) * abs_sum;
}

}  // namespace warpgrade
