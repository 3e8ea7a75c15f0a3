// What cuSPARSE's descriptors hold: pointers into the device's memory, sizes and types.
#pragma once
#include "cusparse/call.h"

struct cusparseSpVecDescr {
  int64_t size, nnz;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;

  int64_t elements() const { return nnz; }
};

struct cusparseDnVecDescr {
  int64_t size;
  void* values;
  cudaDataType type;

  int64_t elements() const { return size; }
};

// Of CSR: `offsets` of the rows and `inner` columns; of CSC: of the columns, and rows; of COO `offsets` are
// the entries' rows and `inner` their columns.
struct cusparseSpMatDescr {
  cusparseFormat_t format;
  int64_t rows, columns, nnz;
  void *offsets, *inner, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  int batches = 1;
  int64_t offsets_stride = 0, entries_stride = 0;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;

  int64_t lines() const { return format == CUSPARSE_FORMAT_CSC ? columns : rows; }
  int64_t offsets_count() const { return format == CUSPARSE_FORMAT_COO ? nnz : lines() + 1; }
  int64_t elements() const { return nnz; }
};

struct cusparseDnMatDescr {
  int64_t rows, columns, ld;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
  int batches = 1;
  int64_t stride = 0;

  int64_t elements() const { return rows > 0 && columns > 0 ? 1 : 0; }  // whether there are any
};

struct cusparseMatDescr {
  cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
};
