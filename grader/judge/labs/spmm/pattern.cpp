#include "judge/labs/spmm/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <vector>

namespace warpgrade::spmm {
namespace {

int row_nnz(const Structure& a, int row) {
  return a.row_offsets[row + 1] - a.row_offsets[row];
}

struct Range {
  int low = INT_MAX, high = INT_MIN;
  void add(int value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool any() const { return low <= high; }
};

struct RowFacts {
  Range bad_rows, bad_lengths, good_rows, good_lengths;
};

RowFacts collect(const Check& check, const Structure& a) {
  RowFacts facts;
  for (int row = 0; row < a.rows; ++row) {
    const bool bad = check.bad_rows[row] != 0;
    (bad ? facts.bad_rows : facts.good_rows).add(row);
    (bad ? facts.bad_lengths : facts.good_lengths).add(row_nnz(a, row));
  }
  return facts;
}

std::string row_rule(const RowFacts& facts, int rows) {
  const Range &bad = facts.bad_lengths, &good = facts.good_lengths;
  if (!facts.good_rows.any()) return "every row is wrong";
  if (bad.high == 0 && good.low > 0) return "the wrong rows are the rows without entries: C must be 0 there";
  if (bad.low > good.high) {
    // A limit between the two, a round one where there is one.
    int limit = good.high;
    for (int power = 1; power > 0 && power < bad.low; power *= 2) {
      if (power >= good.high) limit = power;
    }
    return fmt::format("only rows longer than {} are wrong", limit);
  }
  if (bad.high < good.low) return fmt::format("only rows of at most {} entries are wrong", bad.high);
  if (facts.bad_rows.low > facts.good_rows.high) {
    std::string tile;
    for (int size = 1024; size >= 4 && tile.empty(); size /= 2) {
      if (rows % size != 0 && facts.bad_rows.low == rows / size * size) {
        tile = fmt::format(": the last, partial tile of {} rows", size);
      }
    }
    return fmt::format("only rows from {} to the end ({}) are wrong{}", facts.bad_rows.low, rows - 1, tile);
  }
  if (facts.bad_rows.high < facts.good_rows.low)
    return fmt::format("only rows up to {} are wrong", facts.bad_rows.high);
  return "";
}

// A column rule needs no row in it, and the other way round.
std::string column_rule(const Check& check, int k) {
  if (check.bad_cols.empty()) return "";
  Range bad, good;
  for (int col = 0; col < k; ++col) (check.bad_cols[col] != 0 ? bad : good).add(col);
  if (!good.any()) return "";
  if (bad.low > good.high) return fmt::format("only columns from {} on are wrong", bad.low);
  if (bad.high < good.low) return fmt::format("only columns up to {} are wrong", bad.high);
  return "";
}

std::string one_parity(const Check& check, int rows) {
  for (int parity : {0, 1}) {
    bool all = rows > 8;
    for (int row = 0; row < rows && all; ++row) all = (check.bad_rows[row] != 0) == (row % 2 == parity);
    if (all) return parity == 0 ? "exactly the even rows are wrong" : "exactly the odd rows are wrong";
  }
  return "";
}

}  // namespace

std::string describe_pattern(const Check& check, const Structure& a, int k) {
  if (check.bad_rows.empty()) return "";
  std::string text;
  const auto add = [&](const std::string& rule) {
    if (!rule.empty()) text += (text.empty() ? "" : "; ") + rule;
  };
  add(row_rule(collect(check, a), a.rows));
  add(column_rule(check, k));
  if (text.empty()) add(one_parity(check, a.rows));
  if (check.never_written == check.bad_cells) {
    add("the wrong cells were never written");
  } else if (check.never_written > 0) {
    add(fmt::format("{} of the {} wrong cells were never written", check.never_written, check.bad_cells));
  }
  const bool all_zero =
      std::all_of(check.first.begin(), check.first.end(), [](const Mismatch& cell) { return cell.got == 0; });
  if (all_zero && !check.first.empty()) add("the first wrong cells are all 0");
  // The poison is a NaN: what is added to it is NaN, too, but no longer the poison.
  const bool all_nan = std::all_of(check.first.begin(), check.first.end(),
                                   [](const Mismatch& cell) { return std::isnan(cell.got); });
  if (all_nan && !check.first.empty() && check.never_written < check.bad_cells)
    add("the first wrong cells are all NaN, and c is full of NaN before each run: does the program set it "
        "before it adds to it?");
  return text;
}

}  // namespace warpgrade::spmm
