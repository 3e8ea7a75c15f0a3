#include "csr_builder.h"

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <span>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

struct Cell {
  int col;
  float value;
};

bool sorted(std::span<const int> columns, bool distinct) {
  for (std::size_t i = 1; i < columns.size(); ++i) {
    if (columns[i - 1] > columns[i] || (distinct && columns[i - 1] == columns[i])) return false;
  }
  return true;
}

}  // namespace

void CsrBuilder::grow(std::int64_t row, std::int64_t larger) {
  // By half and by 64 MB at most: a claim of many rows costs what the largest row costs, hardly more.
  const auto need = static_cast<std::size_t>(row) + 1, now = counts_.size();
  if (now < need) counts_.resize(std::max(need, std::min(now + now / 2, now + (std::size_t{1} << 24))));
  const auto words = static_cast<std::size_t>(larger) / 64 + 1;
  if (track_ids && seen_.size() < words) seen_.resize(std::max(words, seen_.size() * 3 / 2));
}

void CsrBuilder::count(std::int64_t row, std::int64_t col) {
  const std::int64_t larger = std::max(row, col), smaller = std::min(row, col);
  if (larger > largest_ || static_cast<std::size_t>(row) >= counts_.size()) grow(row, larger);
  largest_ = std::max(largest_, larger);
  smallest_ = std::min(smallest_, smaller);
  if (track_ids) {
    seen_[static_cast<std::size_t>(row) / 64] |= std::uint64_t{1} << (row % 64);
    seen_[static_cast<std::size_t>(col) / 64] |= std::uint64_t{1} << (col % 64);
  }
  if (++total_ > kMostEntries)
    throw DatasetError("{}: more than {} entries; 32-bit offsets end there", name_, kMostEntries);
  ++counts_[static_cast<std::size_t>(row)];
}

std::int64_t CsrBuilder::distinct_ids() const {
  std::int64_t distinct = 0;
  for (const std::uint64_t word : seen_) distinct += std::popcount(word);
  return distinct;
}

std::int64_t CsrBuilder::rank(std::int64_t id) const {
  const auto word = static_cast<std::size_t>(id) / 64;
  const std::uint64_t below = (std::uint64_t{1} << (id % 64)) - 1;
  return seen_before_[word] + std::popcount(seen_[word] & below);
}

void CsrBuilder::begin_placing(std::int64_t rows, std::int64_t cols, std::int64_t shift, bool compact) {
  shift_ = shift;
  compact_ = compact;
  if (compact) {
    seen_before_.resize(seen_.size());
    std::uint32_t before = 0;
    for (std::size_t word = 0; word < seen_.size(); ++word) {
      seen_before_[word] = before;
      before += static_cast<std::uint32_t>(std::popcount(seen_[word]));
    }
    counts_.resize(static_cast<std::size_t>(largest_) + 1);
    for (std::int64_t id = 0; id <= largest_; ++id) {  // ranks never exceed ids, so this moves down in place
      const auto at = static_cast<std::size_t>(id);
      if (seen_[at / 64] >> (at % 64) & 1) counts_[static_cast<std::size_t>(rank(id))] = counts_[at];
    }
  } else if (shift > 0) {
    counts_.erase(counts_.begin(), counts_.begin() + std::min<std::ptrdiff_t>(shift, std::ssize(counts_)));
  }
  matrix_.rows = static_cast<int>(rows);
  matrix_.cols = static_cast<int>(cols);
  try {
    // offsets[r + 1] is where row r's next entry goes; once all are placed it is where row r ends.
    std::vector<int>& offsets = matrix_.row_offsets;
    offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
    int start = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      offsets[static_cast<std::size_t>(row) + 1] = start;
      if (static_cast<std::size_t>(row) < counts_.size()) start += counts_[static_cast<std::size_t>(row)];
    }
    counts_ = {};
    matrix_.columns.resize(static_cast<std::size_t>(total_));
    matrix_.values.resize(static_cast<std::size_t>(total_));
  } catch (const std::bad_alloc&) {
    throw DatasetError("{}: {} rows and {} entries need {} MB of memory, more than there is", name_, rows,
                       total_, (8 * total_ + 4 * rows) >> 20);
  }
  placing_ = true;
  first_seal_ = seal_;
  first_self_edges_ = self_edges_;
  seal_ = 0;
  self_edges_ = 0;
}

void CsrBuilder::fail_changed() const {
  throw DatasetError("{}: the file changed while it was read; try again when nobody writes to it", name_);
}

void CsrBuilder::place(std::int64_t row, std::int64_t col, float value) {
  if (row > largest_ || col > largest_ || ++placed_ > total_) fail_changed();
  if (compact_) {
    row = rank(row);
    col = rank(col);
  } else {
    row -= shift_;
    col -= shift_;
  }
  if (row < 0 || col < 0 || row >= matrix_.rows || col >= matrix_.cols) fail_changed();
  const int at = matrix_.row_offsets[static_cast<std::size_t>(row) + 1]++;
  if (at >= total_) fail_changed();
  matrix_.columns[static_cast<std::size_t>(at)] = static_cast<int>(col);
  matrix_.values[static_cast<std::size_t>(at)] = value;
}

Csr CsrBuilder::finish(ImportReport* report) {
  if (placed_ != total_ || seal_ != first_seal_ || self_edges_ != first_self_edges_) fail_changed();
  seen_ = {};
  seen_before_ = {};
  const std::int64_t repeated = tidy_rows(matrix_, duplicates);
  if (report != nullptr) {
    report->duplicates = repeated;
    report->self_edges = self_edges_;
  }
  return std::move(matrix_);
}

std::int64_t tidy_rows(Csr& matrix, Duplicates duplicates) {
  const bool distinct = duplicates != Duplicates::kKeepAll;
  std::vector<Cell> scratch;
  std::size_t kept = 0;
  // Rows move down over what earlier ones lost.
  std::size_t old_begin = 0;
  for (int row = 0; row < matrix.rows; ++row) {
    const auto old_end = static_cast<std::size_t>(matrix.row_offsets[row + 1]);
    const std::size_t size = old_end - old_begin;
    int* columns = matrix.columns.data() + old_begin;
    float* values = matrix.values.data() + old_begin;
    if (!sorted({columns, size}, distinct)) {
      scratch.resize(size);
      for (std::size_t i = 0; i < size; ++i) scratch[i] = {columns[i], values[i]};
      std::stable_sort(scratch.begin(), scratch.end(),
                       [](const Cell& a, const Cell& b) { return a.col < b.col; });
      for (std::size_t i = 0; i < size; ++i) {
        columns[i] = scratch[i].col;
        values[i] = scratch[i].value;
      }
    }
    const std::size_t row_begin = kept;
    if (kept == old_begin && (!distinct || sorted({columns, size}, true))) {
      kept += size;
      matrix.row_offsets[row + 1] = static_cast<int>(kept);
      old_begin = old_end;
      continue;
    }
    for (std::size_t i = 0; i < size; ++i) {
      const int col = columns[i];
      const float value = values[i];
      if (distinct && kept > row_begin && matrix.columns[kept - 1] == col) {
        float& before = matrix.values[kept - 1];
        if (duplicates == Duplicates::kSum) before += value;
        if (duplicates == Duplicates::kMin) before = std::min(before, value);
        continue;
      }
      matrix.columns[kept] = col;
      matrix.values[kept] = value;
      ++kept;
    }
    matrix.row_offsets[row + 1] = static_cast<int>(kept);
    old_begin = old_end;
  }
  const auto repeated = static_cast<std::int64_t>(matrix.columns.size() - kept);
  matrix.columns.resize(kept);
  matrix.values.resize(kept);
  return repeated;
}

}  // namespace warpgrade::datasets
