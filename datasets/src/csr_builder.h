// A matrix from entries in any order, in memory of the result's size: the source is read twice, once to count
// and once to place (a counting sort by row), so nothing but the result is ever held.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpgrade/datasets/csr.h"
#include "warpgrade/datasets/import.h"
#include "warpgrade/datasets/mix_bits.h"

namespace warpgrade::datasets {

// Dimensions are claims that cost memory before any entry is seen.
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 28;
inline constexpr std::int64_t kMostEntries = INT32_MAX;

class CsrBuilder {
 public:
  explicit CsrBuilder(std::string name) : name_(std::move(name)) {}

  Mirror mirror = Mirror::kNo;
  bool negate_mirrored = false;  // skew-symmetric
  Duplicates duplicates = Duplicates::kKeepAll;
  bool drop_self_edges = false;
  bool track_ids = false;  // remember which ids occur: for Ids::kAuto and kCompact

  // One entry of the source; the same ones in both passes. Ids from 0 to kMostRows.
  void add(std::int64_t row, std::int64_t col, float value) {
    if (!placing_) ++lines_;
    if (row == col) {
      ++self_edges_;
      if (drop_self_edges) return;
    }
    seal_ += mix_bits(static_cast<std::uint64_t>(row) << 32 ^ static_cast<std::uint64_t>(col));
    put(row, col, value);
    if (mirror == Mirror::kTwice || (mirror == Mirror::kOnce && row != col))
      put(col, row, negate_mirrored ? -value : value);
  }

  // Between the passes, on what was counted.
  std::int64_t lines() const { return lines_; }
  std::int64_t largest_id() const { return largest_; }    // -1: none
  std::int64_t smallest_id() const { return smallest_; }  // of rows and columns
  std::int64_t distinct_ids() const;                      // needs track_ids

  // Ends the counting. Ids are moved down by `shift`, or renumbered in ascending order when `compact`.
  // Throws DatasetError when there are more entries than 32-bit offsets hold.
  void begin_placing(std::int64_t rows, std::int64_t cols, std::int64_t shift = 0, bool compact = false);

  // Sorted rows, duplicates treated. Throws DatasetError when the second pass saw other entries than
  // the first.
  Csr finish(ImportReport* report);

 private:
  void put(std::int64_t row, std::int64_t col, float value) {
    if (placing_) {
      place(row, col, value);
    } else {
      count(row, col);
    }
  }
  void count(std::int64_t row, std::int64_t col);
  void place(std::int64_t row, std::int64_t col, float value);
  void grow(std::int64_t row, std::int64_t larger);
  std::int64_t rank(std::int64_t id) const;
  [[noreturn]] void fail_changed() const;

  std::string name_;
  bool placing_ = false, compact_ = false;
  std::int64_t lines_ = 0, self_edges_ = 0, largest_ = -1, smallest_ = INT64_MAX, shift_ = 0;
  std::int64_t placed_ = 0, total_ = 0, first_self_edges_ = 0;
  std::uint64_t seal_ = 0, first_seal_ = 0;
  std::vector<int> counts_;  // by id, then row_offsets
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint32_t> seen_before_;  // ids below a word of seen_
  Csr matrix_;
};

// Sorts each row by column and treats duplicates, in place; scratch of the longest row. Returns how many were
// dropped or added up.
std::int64_t tidy_rows(Csr& matrix, Duplicates duplicates);

}  // namespace warpgrade::datasets
