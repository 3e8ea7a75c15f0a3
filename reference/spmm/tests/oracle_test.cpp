// The oracle against the definition of a matrix product, spelled as a dense triple loop.
#include "spmm/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace warpgrade {
namespace {

struct Matrix {
  std::int64_t cols = 0;
  std::vector<int> row_offsets{0};
  std::vector<int> columns;
  std::vector<float> values;

  std::int64_t rows() const { return static_cast<std::int64_t>(row_offsets.size()) - 1; }
  CsrView view() const { return {cols, row_offsets, columns, values}; }
  void add_row(const std::vector<int>& row_columns, std::mt19937& random) {
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    for (const int column : row_columns) {
      columns.push_back(column);
      values.push_back(value(random));
    }
    row_offsets.push_back(static_cast<int>(columns.size()));
  }
};

// Rows of very different lengths: empty ones, hubs longer than the matrix is wide, duplicates.
Matrix random_matrix(int rows, int cols, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> column(0, cols - 1);
  Matrix a;
  a.cols = cols;
  for (int r = 0; r < rows; ++r) {
    const int length = r % 5 == 0 ? 0 : r % 17 == 1 ? 3 * cols : r % 7;
    std::vector<int> row(length);
    for (int& entry : row) entry = column(random);
    std::sort(row.begin(), row.end());
    a.add_row(row, random);
  }
  return a;
}

std::vector<float> random_dense(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  std::vector<float> b(count);
  for (float& x : b) x = value(random);
  return b;
}

// Scatters A into a dense matrix first, so that it shares no code and no loop order with the oracle.
std::vector<double> dense_product(const Matrix& a, int k, const std::vector<float>& b, bool absolute) {
  std::vector<double> dense(a.rows() * a.cols, 0.0);
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    for (int e = a.row_offsets[r]; e < a.row_offsets[r + 1]; ++e) {
      dense[r * a.cols + a.columns[e]] += absolute ? std::abs(a.values[e]) : a.values[e];
    }
  }
  std::vector<double> c(a.rows() * k, 0.0);
  for (std::int64_t r = 0; r < a.rows(); ++r) {
    for (int j = 0; j < k; ++j) {
      for (std::int64_t i = 0; i < a.cols; ++i) {
        const double x = b[i * k + j];
        c[r * k + j] += dense[r * a.cols + i] * (absolute ? std::abs(x) : x);
      }
    }
  }
  return c;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), 1e-12) << "cell " << i << ": want " << want[i] << " got " << got[i];
  }
}

class OracleTest : public testing::TestWithParam<int> {};

TEST_P(OracleTest, EqualsTheDenseTripleLoopWithEmptyRowsHubsAndDuplicates) {
  const int k = GetParam();
  const Matrix a = random_matrix(203, 31, 7);
  const std::vector<float> b = random_dense(a.cols * k, 11);
  for (const int threads : {1, 3, 0}) {
    std::vector<double> c(a.rows() * k, std::nan("")), abs_sum(a.rows() * k, std::nan(""));
    spmm_oracle(a.view(), k, b.data(), c.data(), abs_sum.data(), threads);
    expect_near(c, dense_product(a, k, b, false));
    expect_near(abs_sum, dense_product(a, k, b, true));
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, OracleTest, testing::Values(1, 7, 32, 33));

TEST(OracleRowsTest, SelectedRowsEqualTheWholeProductInTheOrderAsked) {
  const int k = 5;
  const Matrix a = random_matrix(120, 40, 3);
  const std::vector<float> b = random_dense(a.cols * k, 5);
  std::vector<double> whole(a.rows() * k);
  spmm_oracle(a.view(), k, b.data(), whole.data(), nullptr);
  const std::vector<int> rows = {119, 0, 18, 18, 5, 64};
  std::vector<double> c(rows.size() * k, std::nan("")), abs_sum(rows.size() * k, std::nan(""));
  spmm_oracle_rows(a.view(), k, b.data(), rows, c.data(), abs_sum.data(), 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int j = 0; j < k; ++j) {
      EXPECT_EQ(c[i * k + j], whole[rows[i] * k + j]) << "row " << rows[i] << " column " << j;
      EXPECT_GE(abs_sum[i * k + j], std::abs(c[i * k + j]));
    }
  }
}

TEST(OracleRowsTest, ARowOutsideTheMatrixIsRejectedByNumber) {
  const Matrix a = random_matrix(10, 4, 1);
  const std::vector<float> b = random_dense(a.cols, 1);
  std::vector<double> c(1);
  const std::vector<int> rows = {10};
  try {
    spmm_oracle_rows(a.view(), 1, b.data(), rows, c.data(), nullptr);
    FAIL() << "accepted row 10 of 10";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("got 10"), std::string::npos) << error.what();
  }
}

TEST(OracleTest, AMatrixWithoutRowsOrEntriesWritesOnlyZeros) {
  Matrix a;
  a.cols = 3;
  spmm_oracle(a.view(), 4, nullptr, nullptr, nullptr);
  a.row_offsets = {0, 0, 0};
  const std::vector<float> b = random_dense(a.cols * 4, 1);
  std::vector<double> c(2 * 4, std::nan(""));
  spmm_oracle(a.view(), 4, b.data(), c.data(), nullptr);
  for (const double cell : c) EXPECT_EQ(cell, 0.0);
}

TEST(CheckCsrTest, NamesTheFirstBrokenRule) {
  const Matrix good = random_matrix(20, 9, 2);
  EXPECT_NO_THROW(check_csr(good.view()));
  const auto message = [](const Matrix& a) -> std::string {
    try {
      check_csr(a.view());
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  Matrix bad = good;
  bad.columns[3] = 9;
  EXPECT_EQ(message(bad), "CSR matrix: columns[3] must be in [0, 9), got 9");
  bad = good;
  bad.columns[0] = -1;
  EXPECT_EQ(message(bad), "CSR matrix: columns[0] must be in [0, 9), got -1");
  bad = good;
  bad.row_offsets[2] = bad.row_offsets[1] - 1;
  EXPECT_NE(message(bad).find("row_offsets[2] must be at least"), std::string::npos) << message(bad);
  bad = good;
  bad.row_offsets[0] = 1;
  EXPECT_EQ(message(bad), "CSR matrix: row_offsets[0] must be 0, got 1");
  bad = good;
  bad.values.pop_back();
  EXPECT_NE(message(bad).find("values.size()"), std::string::npos) << message(bad);
  bad = good;
  bad.columns.pop_back();
  bad.values.pop_back();
  EXPECT_NE(message(bad).find("row_offsets[rows]"), std::string::npos) << message(bad);
}

TEST(WorstCaseErrorTest, CoversASequentialFloatSumAndGrowsWithTheRow) {
  std::mt19937 random(13);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  float sum = 0.0f;
  double exact = 0.0, abs_sum = 0.0;
  const int count = 10000;
  for (int i = 0; i < count; ++i) {
    const float a = value(random), b = value(random);
    sum += a * b;
    exact += static_cast<double>(a) * b;
    abs_sum += std::abs(static_cast<double>(a) * b);
  }
  EXPECT_LE(std::abs(sum - exact), spmm_worst_case_error(count, abs_sum));
  EXPECT_LT(spmm_worst_case_error(10, 1.0), spmm_worst_case_error(11, 1.0));
  EXPECT_NEAR(spmm_worst_case_error(1, 1.0), 0x1p-23, 1e-13);
  EXPECT_EQ(spmm_worst_case_error(5, 0.0), 0.0);
}

}  // namespace
}  // namespace warpgrade
