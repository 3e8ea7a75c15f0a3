#include "test_support.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>

namespace warpgrade::datasets {
namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "warpgrade-datasets-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

std::vector<std::string> TemporaryFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

ScopedEnvironment::ScopedEnvironment(const char* name, const char* value) : name_(name) {
  if (const char* before = std::getenv(name)) {
    was_set_ = true;
    before_ = before;
  }
  value != nullptr ? setenv(name, value, 1) : unsetenv(name);
}

ScopedEnvironment::~ScopedEnvironment() {
  was_set_ ? setenv(name_.c_str(), before_.c_str(), 1) : unsetenv(name_.c_str());
}

void write_file(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  ASSERT_TRUE(file.good()) << path;
}

void write_gzip(const fs::path& path, std::string_view content) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr) << path;
  if (!content.empty()) {
    ASSERT_EQ(gzwrite(file, content.data(), static_cast<unsigned>(content.size())),
              static_cast<int>(content.size()));
  }
  ASSERT_EQ(gzclose(file), Z_OK);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint64_t base_seed() {
  const char* text = std::getenv("WARPGRADE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

Csr random_matrix(std::uint64_t seed, int most_rows, int most_cols) {
  std::mt19937_64 random(seed);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<std::uint64_t>(bound));
  };
  Csr matrix;
  matrix.rows = 1 + below(most_rows);
  matrix.cols = 1 + below(most_cols);
  matrix.row_offsets = {0};
  std::vector<int> all(static_cast<std::size_t>(matrix.cols));
  std::iota(all.begin(), all.end(), 0);
  for (int row = 0; row < matrix.rows; ++row) {
    const int length = below(3) == 0 ? 0 : below(std::min(matrix.cols, 9) + 1);
    std::shuffle(all.begin(), all.end(), random);
    std::vector<int> columns(all.begin(), all.begin() + length);
    std::sort(columns.begin(), columns.end());
    for (int column : columns) {
      matrix.columns.push_back(column);
      const int value = 1 + below(9);
      matrix.values.push_back(static_cast<float>(below(2) == 0 ? value : -value));
    }
    matrix.row_offsets.push_back(static_cast<int>(matrix.columns.size()));
  }
  return matrix;
}

void expect_valid(const Csr& matrix) {
  ASSERT_EQ(matrix.row_offsets.size(), static_cast<std::size_t>(matrix.rows) + 1);
  ASSERT_EQ(matrix.row_offsets.front(), 0);
  ASSERT_EQ(matrix.row_offsets.back(), matrix.nnz());
  ASSERT_EQ(matrix.columns.size(), matrix.values.size());
  for (int row = 0; row < matrix.rows; ++row) {
    const int begin = matrix.row_offsets[row], end = matrix.row_offsets[row + 1];
    ASSERT_LE(begin, end) << "row " << row;
    for (int entry = begin; entry < end; ++entry) {
      ASSERT_GE(matrix.columns[entry], entry == begin ? 0 : matrix.columns[entry - 1]) << "entry " << entry;
      ASSERT_LT(matrix.columns[entry], matrix.cols) << "row " << row << ", entry " << entry;
    }
  }
}

void expect_equal(const Csr& got, const Csr& want) {
  EXPECT_EQ(got.rows, want.rows);
  EXPECT_EQ(got.cols, want.cols);
  EXPECT_EQ(got.row_offsets, want.row_offsets);
  EXPECT_EQ(got.columns, want.columns);
  EXPECT_EQ(got.values, want.values);
}

void expect_equal(const CsrFile& got, const Csr& want) {
  Csr copy;
  copy.rows = got.rows();
  copy.cols = got.cols();
  copy.row_offsets.assign(got.row_offsets().begin(), got.row_offsets().end());
  copy.columns.assign(got.columns().begin(), got.columns().end());
  copy.values.assign(got.values().begin(), got.values().end());
  expect_equal(copy, want);
}

}  // namespace warpgrade::datasets
