// What the room's tests share: folders that vanish, files from text, random matrices with printed seeds.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "warpgrade/datasets/csr.h"
#include "warpgrade/datasets/csr_file.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> files() const;  // names, sorted

 private:
  std::filesystem::path path_;
};

// Sets an environment variable for a scope; null unsets it.
class ScopedEnvironment {
 public:
  ScopedEnvironment(const char* name, const char* value);
  ~ScopedEnvironment();
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

 private:
  std::string name_, before_;
  bool was_set_ = false;
};

void write_file(const std::filesystem::path& path, std::string_view content);
void write_gzip(const std::filesystem::path& path, std::string_view content);
std::string read_file(const std::filesystem::path& path);

// Rows of random length, columns sorted and distinct, values small integers (exact in any text format),
// never zero.
Csr random_matrix(std::uint64_t seed, int most_rows = 40, int most_cols = 40);

// 1 unless WARPGRADE_TEST_SEED says otherwise; property tests print it.
std::uint64_t base_seed();

// Offsets run from 0 to nnz without falling, columns are in range and sorted.
void expect_valid(const Csr& matrix);
void expect_equal(const Csr& got, const Csr& want);
void expect_equal(const CsrFile& got, const Csr& want);

// Runs `action`, which must throw DatasetError with every fragment in its message.
template <typename Action>
void expect_error(Action action, const std::vector<std::string>& fragments) {
  try {
    action();
  } catch (const DatasetError& error) {
    for (const std::string& fragment : fragments) {
      EXPECT_NE(std::string(error.what()).find(fragment), std::string::npos)
          << "message: " << error.what() << "\nlacks:   " << fragment;
    }
    return;
  } catch (const std::exception& error) {
    FAIL() << "expected a DatasetError, got another exception: " << error.what();
  }
  FAIL() << "expected a DatasetError with: " << (fragments.empty() ? "" : fragments.front());
}

}  // namespace warpgrade::datasets
