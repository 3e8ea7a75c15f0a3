// Stand-ins on CPU cores. standin_core.h says what a row holds; a bitmap of the columns taken is how it
// is found here.
#include "warpgrade/datasets/standin.h"

#include <algorithm>
#include <bit>
#include <span>

#include "parallel_rows.h"
#include "standin_tables.h"

namespace warpgrade::datasets {
namespace {

// One thread's bitmap of the columns that its current row has.
class RowDrawer {
 public:
  explicit RowDrawer(const StandInTables& tables)
      : tables_(tables), taken_((static_cast<std::size_t>(tables.n) + 63) / 64, 0) {}

  // Fills `row` with its columns in ascending order.
  void operator()(int row, std::span<int> columns) {
    const u64 key = standin::row_key(tables_, row);
    std::size_t have = 0;
    u64 counter = 0;
    for (int round = 0; round < kRounds && have < columns.size(); ++round) {
      for (std::size_t missing = columns.size() - have; missing > 0; --missing)
        have += take(standin::draw_column(tables_, row, key, round, counter++), columns, have);
    }
    if (have < columns.size()) {
      for (int column = standin::fill_from(tables_, key, counter); have < columns.size();
           column = column + 1 == tables_.n ? 0 : column + 1)
        have += take(column, columns, have);
    }
    sort(columns);
    for (const int column : columns) taken_[column >> 6] = 0;
  }

 private:
  std::size_t take(int column, std::span<int> columns, std::size_t have) {
    u64& word = taken_[column >> 6];
    const u64 bit = u64{1} << (column & 63);
    if ((word & bit) != 0) return 0;
    word |= bit;
    columns[have] = column;
    return 1;
  }

  // By comparison, or by reading the bitmap when it is shorter work.
  void sort(std::span<int> columns) const {
    if (columns.size() * static_cast<std::size_t>(std::bit_width(columns.size())) < taken_.size()) {
      std::sort(columns.begin(), columns.end());
      return;
    }
    std::size_t out = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      for (u64 word = taken_[i]; word != 0; word &= word - 1)
        columns[out++] = static_cast<int>(i * 64) + std::countr_zero(word);
    }
  }

  const StandInTables& tables_;
  std::vector<u64> taken_;
};

}  // namespace

Csr generate_standin(const StandInSpec& spec, int threads) {
  const HostTables tables(spec);
  Csr matrix;
  matrix.rows = matrix.cols = spec.n;
  matrix.row_offsets = tables.row_offsets();
  matrix.columns.resize(static_cast<std::size_t>(spec.nnz));
  matrix.values.resize(static_cast<std::size_t>(spec.nnz));
  parallel_rows(spec.n, thread_count(threads), [&](int begin, int end) {
    RowDrawer draw_row(tables.view());
    for (int row = begin; row < end; ++row) {
      const auto offset = static_cast<std::size_t>(matrix.row_offsets[row]);
      const auto length = static_cast<std::size_t>(matrix.row_offsets[row + 1]) - offset;
      draw_row(row, {matrix.columns.data() + offset, length});
      for (std::size_t i = offset; i < offset + length; ++i) matrix.values[i] = draw_value(spec.seed, i);
    }
  });
  return matrix;
}

}  // namespace warpgrade::datasets
