// Behaviour of the raw layout's reader: what it takes, and what it says of what it does not take.
#include "warpgrade/datasets/raw_layer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr int kFeatures = 3, kClasses = 2;

class RawLayerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "raw-layer-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    write_graph("4 5\n2 1\n0 0\n2 0\n2 1\n3 3\n");
    write_matrix("x.bin", numbers(4 * kFeatures));
    write_matrix("w.bin", numbers(kFeatures * kClasses));
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::vector<double> numbers(std::size_t count) {
    std::vector<double> list(count);
    for (std::size_t i = 0; i < count; ++i) list[i] = 0.1 * static_cast<double>(i) - 1;
    return list;
  }
  void write_graph(const std::string& text) const { std::ofstream(folder_ / "graph.txt") << text; }
  void write_matrix(const char* name, const std::vector<double>& list) const {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(list.data()), static_cast<std::streamsize>(list.size() * 8));
  }
  RawLayer read() const { return read_raw_layer(folder_, kFeatures, kClasses); }
  void expect_refused(const std::string& words) const {
    try {
      read();
      ADD_FAILURE() << "not refused; expected: " << words;
    } catch (const DatasetError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  fs::path folder_;
};

TEST_F(RawLayerTest, reads_entries_in_any_order_and_keeps_what_repeats) {
  const RawLayer layer = read();
  EXPECT_EQ(layer.row_offsets, (std::vector<int>{0, 1, 1, 4, 5}));
  EXPECT_EQ(layer.columns, (std::vector<int>{0, 0, 1, 1, 3}));
  EXPECT_EQ(layer.x, numbers(12));
  EXPECT_EQ(layer.w, numbers(6));
}

TEST_F(RawLayerTest, hashes_graph_and_numbers) {
  const std::string before = read().hash;
  EXPECT_EQ(before, read().hash);
  std::vector<double> w = numbers(6);
  w[5] += 1e-9;
  write_matrix("w.bin", w);
  EXPECT_NE(before, read().hash);
}

TEST_F(RawLayerTest, takes_a_graph_without_entries_and_other_line_ends) {
  write_graph("4 0");
  EXPECT_TRUE(read().columns.empty());
  write_graph("4 1\r\n1\t2\r\n\r\n");
  EXPECT_EQ(read().columns, std::vector<int>{2});
}

TEST_F(RawLayerTest, names_the_line_of_a_bad_graph) {
  const std::pair<const char*, const char*> bad[] = {
      {"", "graph.txt: the file is empty; expected 'V E'"},
      {"four five\n", "graph.txt:1: expected two whole numbers, of vertices and of entries, got"},
      {"4\n", "graph.txt:1: expected two whole numbers, of vertices and of entries, got"},
      {"4 5 6\n", "graph.txt:1: expected two whole numbers, of vertices and of entries, got"},
      {"0 0\n", "graph.txt:1: expected 1 vertex or more"},
      {"4 -1\n", "graph.txt:1: expected 0 to 2^31 - 1 entries"},
      {"4 2\n0 1\n1 4\n",
       "graph.txt:3: expected vertices from 0 to 3 (this file may count from 1), got '1 4'"},
      {"4 2\n0 1\n-1 2\n", "graph.txt:3: expected vertices from 0 to 3, got"},
      {"4 2\n0 1\n1 2.5\n", "graph.txt:3: expected 'row column', got '1 2.5'"},
      {"4 2\n0 1\n", "graph.txt:2: expected 2 entries, as the first line says, got 1"},
      {"4 1\n0 1\n1 2\n", "graph.txt:3: expected the end of the file after 1 entries"},
  };
  for (const auto& [text, words] : bad) {
    write_graph(text);
    expect_refused(words);
  }
}

TEST_F(RawLayerTest, names_the_file_and_byte_of_bad_numbers) {
  std::vector<double> x = numbers(12);
  x[7] = std::numeric_limits<double>::quiet_NaN();
  write_matrix("x.bin", x);
  expect_refused("x.bin: byte 56 (row 2, column 1): expected a finite number, got nan");
  write_matrix("x.bin", numbers(11));
  expect_refused("x.bin: expected 96 bytes, X of 4 x 3 fp64 numbers, got 88: the file is cut off");
  write_matrix("x.bin", numbers(6));
  expect_refused("is it fp32?");
  write_matrix("x.bin", numbers(13));
  expect_refused("it is of another graph");
  fs::remove(folder_ / "x.bin");
  expect_refused("x.bin is not there; expected X: 4 x 3 numbers");
}

TEST_F(RawLayerTest, believes_no_claim_before_the_matrices_confirm_it) {
  write_graph("2000000000 2000000000\n0 0\n");
  expect_refused("x.bin: expected 48000000000 bytes");
}

TEST_F(RawLayerTest, names_a_folder_that_is_none) {
  EXPECT_THROW(read_raw_layer(folder_ / "nowhere", kFeatures, kClasses), DatasetError);
  fs::remove(folder_ / "graph.txt");
  expect_refused("graph.txt");
}

}  // namespace
}  // namespace warpgrade::datasets
