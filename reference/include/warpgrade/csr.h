// A sparse matrix in compressed sparse row (CSR) form, as every lab's kernels see it.
//
// Row r owns the entries row_offsets[r] .. row_offsets[r + 1] - 1 of `columns` and `values`. Columns are
// sorted within a row; duplicates may occur and add up; rows may be empty. All three arrays are device memory
// and read-only: the judge notices a write and rejects the run.
#pragma once

struct CsrMatrix {
  int rows;                // m
  int cols;                // n
  int nnz;                 // stored entries, = row_offsets[rows]
  const int* row_offsets;  // [rows + 1], device, row_offsets[0] == 0
  const int* columns;      // [nnz], device, each in [0, cols)
  const float* values;     // [nnz], device
};
