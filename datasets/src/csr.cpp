#include "warpgrade/datasets/csr.h"

#include <algorithm>
#include <numeric>
#include <span>

namespace warpgrade::datasets {
namespace {

struct Cell {
  int col;
  float value;
};

// Sorts a row by column and merges equal columns; returns how many cells stay.
std::size_t tidy_row(std::span<Cell> row, Duplicates duplicates) {
  std::stable_sort(row.begin(), row.end(), [](const Cell& a, const Cell& b) { return a.col < b.col; });
  if (duplicates == Duplicates::kKeepAll) return row.size();
  std::size_t kept = 0;
  for (const Cell& cell : row) {
    if (kept > 0 && row[kept - 1].col == cell.col) {
      if (duplicates == Duplicates::kSum) row[kept - 1].value += cell.value;
    } else {
      row[kept++] = cell;
    }
  }
  return kept;
}

}  // namespace

Csr build_csr(int rows, int cols, std::vector<Entry> entries, Duplicates duplicates) {
  Csr matrix;
  matrix.rows = rows;
  matrix.cols = cols;
  std::vector<std::size_t> begin(static_cast<std::size_t>(rows) + 1, 0);
  for (const Entry& entry : entries) ++begin[entry.row + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Cell> cells(entries.size());
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (const Entry& entry : entries) cells[next[entry.row]++] = {entry.col, entry.value};
  entries = {};

  matrix.row_offsets.assign(static_cast<std::size_t>(rows) + 1, 0);
  std::size_t kept = 0;
  for (int row = 0; row < rows; ++row) {
    const std::span<Cell> line(cells.data() + begin[row], begin[row + 1] - begin[row]);
    const std::size_t size = tidy_row(line, duplicates);
    std::copy(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(size),
              cells.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += size;
    matrix.row_offsets[row + 1] = static_cast<int>(kept);
  }
  matrix.columns.resize(kept);
  matrix.values.resize(kept);
  for (std::size_t i = 0; i < kept; ++i) {
    matrix.columns[i] = cells[i].col;
    matrix.values[i] = cells[i].value;
  }
  return matrix;
}

}  // namespace warpgrade::datasets
