#include "judge/labs/spmm/pattern.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <numeric>

namespace warpgrade::spmm {
namespace {

struct Example {
  std::vector<int> offsets{0}, columns;
  Structure structure;

  explicit Example(const std::vector<int>& lengths) {
    for (int length : lengths) offsets.push_back(offsets.back() + length);
    columns.resize(offsets.back());
    structure = {static_cast<int>(lengths.size()), 100, offsets, columns};
  }

  std::string pattern(const std::function<bool(int row, int length)>& bad, int k = 32,
                      const std::function<bool(int)>& bad_col = nullptr, float got = 2.0f,
                      bool is_written = true) const {
    Check check;
    check.bad_rows.resize(structure.rows);
    check.bad_cols.assign(k, 1);
    for (int row = 0; row < structure.rows; ++row) {
      check.bad_rows[row] = bad(row, offsets[row + 1] - offsets[row]);
      check.bad_cells += check.bad_rows[row] * k;
    }
    for (int col = 0; col < k && bad_col; ++col) check.bad_cols[col] = bad_col(col);
    check.first.push_back({0, 0, 1.0, got});
    if (!is_written) check.never_written = check.bad_cells;
    return describe_pattern(check, structure, k);
  }
};

std::vector<int> mixed_lengths(int rows) {
  std::vector<int> lengths(rows);
  for (int i = 0; i < rows; ++i) lengths[i] = (i * 7919) % 61;
  return lengths;
}

TEST(Pattern, NamesTheLengthAboveWhichRowsAreWrong) {
  const Example example(mixed_lengths(500));
  EXPECT_EQ(example.pattern([](int, int length) { return length > 32; }),
            "only rows longer than 32 are wrong");
}

TEST(Pattern, NamesEmptyRows) {
  const Example example(mixed_lengths(500));
  EXPECT_NE(example.pattern([](int, int length) { return length == 0; }).find("the rows without entries"),
            std::string::npos);
}

TEST(Pattern, NamesTheLastPartialTile) {
  const Example example(mixed_lengths(1237));
  const std::string text = example.pattern([](int row, int) { return row >= 1237 / 64 * 64; });
  EXPECT_NE(text.find("from 1216 to the end (1236)"), std::string::npos) << text;
  EXPECT_NE(text.find("partial tile of 64 rows"), std::string::npos) << text;
}

TEST(Pattern, NamesTheColumns) {
  const Example example(mixed_lengths(100));
  const std::string text =
      example.pattern([](int, int) { return true; }, 256, [](int col) { return col >= 32; });
  EXPECT_EQ(text, "every row is wrong; only columns from 32 on are wrong");
}

TEST(Pattern, TellsWhereNaNComesFromUnlessNothingWasWritten) {
  const Example example(mixed_lengths(100));
  const auto every = [](int, int) { return true; };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(example.pattern(every, 32, nullptr, nan).find("does the program set it before it adds to it?"),
            std::string::npos);
  EXPECT_EQ(example.pattern(every, 32, nullptr, nan, false),
            "every row is wrong; the wrong cells were never written");
}

TEST(Pattern, SaysNothingWhenNoRuleFits) {
  const Example example(mixed_lengths(500));
  EXPECT_EQ(example.pattern([](int row, int) { return row % 17 == 3; }), "");
}

}  // namespace
}  // namespace warpgrade::spmm
