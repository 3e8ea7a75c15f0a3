#include "cusparse/structure.h"

#include <algorithm>

namespace warpgrade::cusparse {
namespace {

[[noreturn]] void fail_at(const std::string& where, const char* what, int64_t got, int64_t least,
                          int64_t end) {
  throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED,
                where + " has " + what + " " + std::to_string(got) + ", expected " + std::to_string(least) +
                    " to " + std::to_string(end - 1) +
                    ": a GPU would access other memory. Check the index arrays and the index base."};
}

// "entry 2 of row 7 (place 31)"
std::string entry_words(const char* line, int64_t line_index, int64_t in_line, int64_t place) {
  return "entry " + std::to_string(in_line) + " of " + line + " " + std::to_string(line_index) + " (place " +
         std::to_string(place) + ")";
}

// The line of each entry, from the offsets where lines begin; kNoLine: an entry before or behind all of them.
Indices lines_of_entries(const Indices& offsets, int64_t nnz, int64_t base, const char* line) {
  Indices lines(static_cast<size_t>(nnz), Entries::kNoLine);
  int64_t least = base;
  for (size_t k = 0; k < offsets.size(); ++k) {
    if (offsets[k] < least || offsets[k] > base + nnz)
      fail_at(std::string("the offset of ") + line + " " + std::to_string(k), "value", offsets[k], least,
              base + nnz + 1);
    if (k > 0)
      std::fill(&lines[0] + (least - base), &lines[0] + (offsets[k] - base), static_cast<int64_t>(k) - 1);
    least = offsets[k];
  }
  return lines;
}

void check_inner(const Indices& inner, const Indices& lines, int64_t end, int64_t base, const char* line,
                 const char* what) {
  int64_t in_line = 0;
  for (size_t e = 0; e < inner.size(); ++e) {
    in_line = e > 0 && lines[e] == lines[e - 1] ? in_line + 1 : 0;
    if (lines[e] != Entries::kNoLine && (inner[e] < 0 || inner[e] >= end))
      fail_at(entry_words(line, lines[e], in_line, static_cast<int64_t>(e)), what, inner[e] + base, base,
              base + end);
  }
}

void check_coordinates(const Indices& indices, int64_t end, int64_t base, const char* what) {
  for (size_t e = 0; e < indices.size(); ++e)
    if (indices[e] < 0 || indices[e] >= end)
      fail_at("entry " + std::to_string(e), what, indices[e] + base, base, base + end);
}

}  // namespace

Entries read_entries(const Call& call, const cusparseSpMatDescr& a, int batch) {
  const int64_t base = a.base;
  const size_t bytes = bytes_of(a.index_type);
  const bool coordinates = a.format == CUSPARSE_FORMAT_COO, by_row = a.format != CUSPARSE_FORMAT_CSC;
  const int64_t offsets_stride = coordinates ? a.entries_stride : a.offsets_stride;
  Indices offsets =
      a.nnz == 0 ? Indices{}
                 : call.read_indices(moved(a.offsets, offsets_stride, batch, bytes), a.index_type,
                                     a.offsets_count(), coordinates ? "the rows' indices" : "the offsets");
  Indices inner = call.read_indices(moved(a.inner, a.entries_stride, batch, bytes), a.index_type, a.nnz,
                                    by_row ? "the columns' indices" : "the rows' indices");
  for (int64_t& index : inner) index -= base;
  const char *line = by_row ? "row" : "column", *what = by_row ? "column" : "row";
  if (coordinates) {
    for (int64_t& index : offsets) index -= base;
    check_coordinates(offsets, a.rows, base, line);
    check_coordinates(inner, a.columns, base, what);
    return {std::move(offsets), std::move(inner)};
  }
  Indices lines = lines_of_entries(offsets, a.nnz, base, line);
  check_inner(inner, lines, by_row ? a.columns : a.rows, base, line, what);
  if (by_row) return {std::move(lines), std::move(inner)};
  return {std::move(inner), std::move(lines)};
}

Rows rows_of(const Entries& entries, int64_t rows, int64_t columns, bool transposed) {
  const Indices& row_of = transposed ? entries.columns : entries.rows;
  const Indices& column_of = transposed ? entries.rows : entries.columns;
  Rows sorted{transposed ? columns : rows, transposed ? rows : columns};
  sorted.offsets.resize(static_cast<size_t>(sorted.rows) + 1);
  for (size_t e = 0; e < row_of.size(); ++e)
    if (entries.is_in(e)) ++sorted.offsets[row_of[e] + 1];
  for (int64_t r = 0; r < sorted.rows; ++r) sorted.offsets[r + 1] += sorted.offsets[r];
  sorted.columns_of.resize(static_cast<size_t>(sorted.offsets.back()));
  sorted.places.resize(sorted.columns_of.size());
  Indices next(sorted.offsets.begin(), sorted.offsets.end() - 1);
  for (size_t e = 0; e < row_of.size(); ++e) {
    if (!entries.is_in(e)) continue;
    const int64_t at = next[row_of[e]]++;
    sorted.columns_of[at] = column_of[e];
    sorted.places[at] = static_cast<int64_t>(e);
  }
  return sorted;
}

void require_operation(cusparseOperation_t op) {
  require(op == CUSPARSE_OPERATION_NON_TRANSPOSE || op == CUSPARSE_OPERATION_TRANSPOSE ||
              op == CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE,
          "there is no such operation");
}

}  // namespace warpgrade::cusparse
