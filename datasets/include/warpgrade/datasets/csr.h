// A sparse matrix in host memory, and the list of entries that importers build it from.
#pragma once

#include <cstdint>
#include <vector>

namespace warpgrade::datasets {

struct Csr {
  int rows = 0, cols = 0;
  std::vector<int> row_offsets;  // [rows + 1]
  std::vector<int> columns;      // [nnz], sorted within a row
  std::vector<float> values;     // [nnz]
  std::int64_t nnz() const { return static_cast<std::int64_t>(columns.size()); }
};

struct Entry {
  int row, col;
  float value;
};

enum class Duplicates { kSum, kMin, kKeepFirst, kKeepAll };

// Entries in any order to CSR with sorted rows.
Csr build_csr(int rows, int cols, std::vector<Entry> entries, Duplicates duplicates);

}  // namespace warpgrade::datasets
