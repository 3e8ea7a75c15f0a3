// Random matrices, written as text in every way that is allowed, come back as they were. Seeds are printed on
// failure; WARPGRADE_TEST_SEED starts elsewhere.
#include <algorithm>

#include "test_support.h"
#include "warpgrade/datasets/import.h"

namespace warpgrade::datasets {
namespace {

struct Cell {
  int row, col;
  float value;
};

std::vector<Cell> cells_of(const Csr& matrix) {
  std::vector<Cell> cells;
  for (int row = 0; row < matrix.rows; ++row) {
    for (int i = matrix.row_offsets[row]; i < matrix.row_offsets[row + 1]; ++i) {
      cells.push_back({row, matrix.columns[i], matrix.values[i]});
    }
  }
  return cells;
}

Csr matrix_of(int rows, int cols, std::vector<Cell> cells) {
  std::sort(cells.begin(), cells.end(),
            [](const Cell& a, const Cell& b) { return std::pair(a.row, a.col) < std::pair(b.row, b.col); });
  Csr matrix{rows, cols, std::vector<int>(static_cast<std::size_t>(rows) + 1), {}, {}};
  for (const Cell& cell : cells) {
    ++matrix.row_offsets[cell.row + 1];
    matrix.columns.push_back(cell.col);
    matrix.values.push_back(cell.value);
  }
  for (int row = 0; row < rows; ++row) matrix.row_offsets[row + 1] += matrix.row_offsets[row];
  return matrix;
}

std::string market_text(const std::string& field, const std::string& symmetry, const Csr& shape,
                        const std::vector<Cell>& cells, const char* line_end) {
  std::string text = fmt::format("%%MatrixMarket matrix coordinate {} {}{}", field, symmetry, line_end);
  text += fmt::format("{} {} {}{}", shape.rows, shape.cols, cells.size(), line_end);
  for (const Cell& cell : cells) {
    text += fmt::format("{} {}", cell.row + 1, cell.col + 1);
    if (field != "pattern")
      text += field == "real" ? fmt::format(" {:.3e}", cell.value)
                              : fmt::format(" {}", static_cast<int>(cell.value));
    text += line_end;
  }
  return text;
}

class RandomMatrices : public testing::Test {
 protected:
  // Calls check(seed, generator) for fifty seeds.
  template <typename Check>
  void for_each_seed(Check check) {
    for (std::uint64_t seed = base_seed(); seed < base_seed() + 50; ++seed) {
      SCOPED_TRACE(fmt::format("WARPGRADE_TEST_SEED={}", seed));
      std::mt19937_64 random(seed * 7 + 3);
      check(seed, random);
      if (HasFailure()) return;
    }
  }
  Csr read(const std::string& name, const std::string& text, bool gzip) {
    const auto path = folder_ / (gzip ? name + ".gz" : name);
    gzip ? write_gzip(path, text) : write_file(path, text);
    Csr matrix = import_file(path);
    expect_valid(matrix);
    return matrix;
  }

  TemporaryFolder folder_;
};

TEST_F(RandomMatrices, SurviveMatrixMarketInAnyOrder) {
  for_each_seed([&](std::uint64_t seed, std::mt19937_64& random) {
    const Csr matrix = random_matrix(seed);
    std::vector<Cell> cells = cells_of(matrix);
    std::shuffle(cells.begin(), cells.end(), random);
    const char* line_end = seed % 3 == 0 ? "\r\n" : "\n";
    const char* field = seed % 2 == 0 ? "real" : "integer";
    expect_equal(read("a.mtx", market_text(field, "general", matrix, cells, line_end), seed % 5 == 0),
                 matrix);
  });
}

TEST_F(RandomMatrices, SurviveAsSymmetricAndSkewTriangles) {
  for_each_seed([&](std::uint64_t seed, std::mt19937_64& random) {
    const bool skew = seed % 2 == 0;
    const Csr triangle = random_matrix(seed);
    const int n = std::max(triangle.rows, triangle.cols);
    std::vector<Cell> stored, full;
    for (const Cell& cell : cells_of(triangle)) {
      if (cell.col > cell.row || (skew && cell.col == cell.row)) continue;
      stored.push_back(cell);
      full.push_back(cell);
      if (cell.col != cell.row) full.push_back({cell.col, cell.row, skew ? -cell.value : cell.value});
    }
    std::shuffle(stored.begin(), stored.end(), random);
    const Csr square{n, n, {}, {}, {}};
    expect_equal(
        read("a.mtx", market_text("integer", skew ? "skew-symmetric" : "symmetric", square, stored, "\n"),
             false),
        matrix_of(n, n, full));
  });
}

TEST_F(RandomMatrices, DuplicatesAddUpInMatrixMarket) {
  for_each_seed([&](std::uint64_t seed, std::mt19937_64& random) {
    const Csr matrix = random_matrix(seed);
    std::vector<Cell> split;
    for (const Cell& cell : cells_of(matrix)) {
      split.push_back({cell.row, cell.col, cell.value - 5});
      split.push_back({cell.row, cell.col, 5});
    }
    std::shuffle(split.begin(), split.end(), random);
    expect_equal(read("a.mtx", market_text("real", "general", matrix, split, "\n"), false), matrix);
  });
}

TEST_F(RandomMatrices, SurviveEdgeListsWithRepeatedEdges) {
  for_each_seed([&](std::uint64_t seed, std::mt19937_64& random) {
    std::vector<Cell> cells = cells_of(random_matrix(seed));
    if (cells.empty()) return;
    int n = 0;
    for (Cell& cell : cells) {
      cell.value = 1;
      n = std::max({n, cell.row + 1, cell.col + 1});
    }
    const Csr want = matrix_of(n, n, cells);
    cells.insert(cells.end(), cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(cells.size() / 2));
    std::shuffle(cells.begin(), cells.end(), random);
    std::string text = "# Directed graph\n";
    for (const Cell& cell : cells)
      text += fmt::format("{}{}{}\n", cell.row, seed % 2 == 0 ? "\t" : "  ", cell.col);
    expect_equal(read("a.txt", text, seed % 4 == 0), want);
  });
}

TEST_F(RandomMatrices, SurviveOurOwnArchives) {
  for_each_seed([&](std::uint64_t seed, std::mt19937_64&) {
    const Csr matrix = random_matrix(seed, 200, 200);
    write_csr(folder_ / "a.npz", matrix, {});
    expect_equal(import_file(folder_ / "a.npz"), matrix);
  });
}

}  // namespace
}  // namespace warpgrade::datasets
