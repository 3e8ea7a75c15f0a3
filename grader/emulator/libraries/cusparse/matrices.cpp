// Descriptors of sparse matrices: CSR, CSC and COO; and the older descriptor of a matrix's properties.
#include "cusparse/descriptors.h"
#include "cusparse/values.h"

using namespace warpgrade::cusparse;

namespace {

// nnz <= rows * columns, without overflow.
bool has_room(int64_t rows, int64_t columns, int64_t nnz) {
  return nnz == 0 || (rows > 0 && columns > 0 && (nnz - 1) / columns < rows);
}

void check_matrix(const cusparseSpMatDescr& a, cusparseIndexType_t inner_type) {
  require(a.rows >= 0 && a.columns >= 0 && a.nnz >= 0, "a size is negative");
  require(has_room(a.rows, a.columns, a.nnz), "nnz is larger than the matrix");
  require_indices(a.offsets, a.index_type, a.base, a.format == CUSPARSE_FORMAT_COO ? a.nnz : a.lines());
  require_indices(a.inner, inner_type, a.base, a.nnz);
  require_values(a.values, a.type, a.nnz);
  require_fits(a.lines(), a.index_type, a.base);
  // NVIDIA's library holds nnz against the type of CSR's offsets, and of CSC's rows.
  if (a.format == CUSPARSE_FORMAT_CSR) require_fits(a.nnz, a.index_type, a.base);
  if (a.format == CUSPARSE_FORMAT_CSC) require_fits(a.nnz, inner_type, a.base);
  require_fits(a.format == CUSPARSE_FORMAT_CSC ? a.rows : a.columns, inner_type, a.base);
  require_supported(a.index_type == inner_type, "offsets and indices must have the same type");
}

template <class To>
cusparseStatus_t make_matrix(const char* function, To* to, const cusparseSpMatDescr& made,
                             cusparseIndexType_t inner_type) {
  return guarded(function, [&] {
    require(to != nullptr, "the descriptor is a null pointer");
    check_matrix(made, inner_type);
    *to = new cusparseSpMatDescr(made);
  });
}

void require_format(const cusparseSpMatDescr* a, cusparseFormat_t format) {
  require(a != nullptr, "the descriptor is a null pointer");
  require(a->format == format, "the matrix has another format");
}

template <class Pointer>
cusparseStatus_t get_matrix(const char* function, cusparseFormat_t format, const cusparseSpMatDescr* a,
                            int64_t* rows, int64_t* columns, int64_t* nnz, Pointer* offsets, Pointer* inner,
                            Pointer* values, cusparseIndexType_t* offsets_type,
                            cusparseIndexType_t* inner_type, cusparseIndexBase_t* base, cudaDataType* type) {
  return guarded(function, [&] {
    require_format(a, format);
    require_all(rows, columns, nnz, offsets, inner, values, offsets_type, inner_type, base, type);
    *rows = a->rows, *columns = a->columns, *nnz = a->nnz;
    *offsets = a->offsets, *inner = a->inner, *values = a->values;
    *offsets_type = *inner_type = a->index_type, *base = a->base, *type = a->type;
  });
}

cusparseStatus_t set_pointers(const char* function, cusparseFormat_t format, cusparseSpMatDescr* a,
                              void* offsets, void* inner, void* values) {
  return guarded(function, [&] {
    require_format(a, format);
    require_indices(offsets, a->index_type, a->base, format == CUSPARSE_FORMAT_COO ? a->nnz : a->lines());
    require_indices(inner, a->index_type, a->base, a->nnz);
    require_values(values, a->type, a->nnz);
    a->offsets = offsets, a->inner = inner, a->values = values;
  });
}

void set_batches(cusparseSpMatDescr& a, int batches, int64_t offsets_stride, int64_t entries_stride) {
  require(batches > 0 && offsets_stride >= 0 && entries_stride >= 0,
          "batchCount must be at least 1, strides at least 0");
  require(offsets_stride == 0 || offsets_stride >= a.offsets_count(),
          "the stride of offsets or rows must be 0 or at least their number");
  require(entries_stride == 0 || entries_stride >= a.nnz, "the entries' stride must be 0 or at least nnz");
  a.batches = batches, a.offsets_stride = offsets_stride, a.entries_stride = entries_stride;
}

template <class T>
void copy_attribute(T* attribute, void* data, bool set) {
  if (set) {
    *attribute = *static_cast<const T*>(data);
  } else {
    *static_cast<T*>(data) = *attribute;
  }
}

cusparseStatus_t attribute(const char* function, cusparseSpMatDescr* a, cusparseSpMatAttribute_t which,
                           void* data, size_t bytes, bool set) {
  return guarded(function, [&] {
    require_all(a, data);
    require(which == CUSPARSE_SPMAT_FILL_MODE || which == CUSPARSE_SPMAT_DIAG_TYPE,
            "there is no such attribute");
    require(bytes == sizeof a->fill, "dataSize must be the attribute's size");
    if (which == CUSPARSE_SPMAT_FILL_MODE) return copy_attribute(&a->fill, data, set);
    copy_attribute(&a->diagonal, data, set);
  });
}

template <class T>
cusparseStatus_t set_property(cusparseMatDescr* descriptor, T cusparseMatDescr::*property, T value,
                              int most) {
  if (descriptor == nullptr || static_cast<int>(value) < 0 || static_cast<int>(value) > most)
    return CUSPARSE_STATUS_INVALID_VALUE;
  descriptor->*property = value;
  return CUSPARSE_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

#define MATRIX(constant, pointer, name, format)                                                            \
  cusparseStatus_t cusparseCreate##constant##name(                                                         \
      cusparse##constant##SpMatDescr_t* a, int64_t rows, int64_t columns, int64_t nnz, pointer offsets,    \
      pointer inner, pointer values, cusparseIndexType_t offsets_type, cusparseIndexType_t inner_type,     \
      cusparseIndexBase_t base, cudaDataType type) {                                                       \
    return make_matrix(__func__, a,                                                                        \
                       {format, rows, columns, nnz, mutable_of(offsets), mutable_of(inner),                \
                        mutable_of(values), offsets_type, base, type},                                     \
                       inner_type);                                                                        \
  }                                                                                                        \
  cusparseStatus_t cusparse##constant##name##Get(                                                          \
      cusparse##constant##SpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* nnz, pointer* offsets, \
      pointer* inner, pointer* values, cusparseIndexType_t* offsets_type, cusparseIndexType_t* inner_type, \
      cusparseIndexBase_t* base, cudaDataType* type) {                                                     \
    return get_matrix(__func__, format, a, rows, columns, nnz, offsets, inner, values, offsets_type,       \
                      inner_type, base, type);                                                             \
  }
MATRIX(, void*, Csr, CUSPARSE_FORMAT_CSR)
MATRIX(Const, const void*, Csr, CUSPARSE_FORMAT_CSR)
MATRIX(, void*, Csc, CUSPARSE_FORMAT_CSC)
MATRIX(Const, const void*, Csc, CUSPARSE_FORMAT_CSC)

#define COORDINATES(constant, pointer)                                                                      \
  cusparseStatus_t cusparseCreate##constant##Coo(                                                           \
      cusparse##constant##SpMatDescr_t* a, int64_t rows, int64_t columns, int64_t nnz, pointer row_indices, \
      pointer column_indices, pointer values, cusparseIndexType_t index_type, cusparseIndexBase_t base,     \
      cudaDataType type) {                                                                                  \
    return make_matrix(__func__, a,                                                                         \
                       {CUSPARSE_FORMAT_COO, rows, columns, nnz, mutable_of(row_indices),                   \
                        mutable_of(column_indices), mutable_of(values), index_type, base, type},            \
                       index_type);                                                                         \
  }                                                                                                         \
  cusparseStatus_t cusparse##constant##CooGet(                                                              \
      cusparse##constant##SpMatDescr_t a, int64_t* rows, int64_t* columns, int64_t* nnz,                    \
      pointer* row_indices, pointer* column_indices, pointer* values, cusparseIndexType_t* index_type,      \
      cusparseIndexBase_t* base, cudaDataType* type) {                                                      \
    return get_matrix(__func__, CUSPARSE_FORMAT_COO, a, rows, columns, nnz, row_indices, column_indices,    \
                      values, index_type, index_type, base, type);                                          \
  }
COORDINATES(, void*)
COORDINATES(Const, const void*)

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t a, void* offsets, void* columns, void* values) {
  return set_pointers(__func__, CUSPARSE_FORMAT_CSR, a, offsets, columns, values);
}
cusparseStatus_t cusparseCscSetPointers(cusparseSpMatDescr_t a, void* offsets, void* rows, void* values) {
  return set_pointers(__func__, CUSPARSE_FORMAT_CSC, a, offsets, rows, values);
}
cusparseStatus_t cusparseCooSetPointers(cusparseSpMatDescr_t a, void* rows, void* columns, void* values) {
  return set_pointers(__func__, CUSPARSE_FORMAT_COO, a, rows, columns, values);
}

cusparseStatus_t cusparseSpMatGetFormat(cusparseConstSpMatDescr_t a, cusparseFormat_t* format) {
  return guarded(__func__, [&] {
    require_all(a, format);
    *format = a->format;
  });
}
cusparseStatus_t cusparseSpMatGetIndexBase(cusparseConstSpMatDescr_t a, cusparseIndexBase_t* base) {
  return guarded(__func__, [&] {
    require_all(a, base);
    *base = a->base;
  });
}
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t a, int64_t* rows, int64_t* columns,
                                      int64_t* nnz) {
  return guarded(__func__, [&] {
    require_all(a, rows, columns, nnz);
    *rows = a->rows, *columns = a->columns, *nnz = a->nnz;
  });
}
cusparseStatus_t cusparseSpMatGetStridedBatch(cusparseConstSpMatDescr_t a, int* batches) {
  return guarded(__func__, [&] {
    require_all(a, batches);
    *batches = a->batches;
  });
}
cusparseStatus_t cusparseCooSetStridedBatch(cusparseSpMatDescr_t a, int batches, int64_t stride) {
  return guarded(__func__, [&] {
    require_format(a, CUSPARSE_FORMAT_COO);
    set_batches(*a, batches, stride, stride);
  });
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t a, int batches, int64_t offsets_stride,
                                            int64_t entries_stride) {
  return guarded(__func__, [&] {
    require(a != nullptr && a->format != CUSPARSE_FORMAT_COO, "the matrix is none in CSR or CSC");
    set_batches(*a, batches, offsets_stride, entries_stride);
  });
}
cusparseStatus_t cusparseSpMatGetAttribute(cusparseConstSpMatDescr_t a, cusparseSpMatAttribute_t which,
                                           void* data, size_t bytes) {
  return attribute(__func__, const_cast<cusparseSpMatDescr_t>(a), which, data, bytes, false);
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t a, cusparseSpMatAttribute_t which, void* data,
                                           size_t bytes) {
  return attribute(__func__, a, which, data, bytes, true);
}

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* descriptor) {
  if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *descriptor = new (std::nothrow) cusparseMatDescr;
  return *descriptor != nullptr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t descriptor) {
  delete descriptor;
  return CUSPARSE_STATUS_SUCCESS;
}
#define PROPERTY(name, type, member, most)                                        \
  cusparseStatus_t cusparseSet##name(cusparseMatDescr_t descriptor, type value) { \
    return set_property(descriptor, &cusparseMatDescr::member, value, most);      \
  }                                                                               \
  type cusparseGet##name(const cusparseMatDescr_t descriptor) {                   \
    return descriptor == nullptr ? type{} : descriptor->member;                   \
  }
PROPERTY(MatType, cusparseMatrixType_t, type, 3)
PROPERTY(MatFillMode, cusparseFillMode_t, fill, 1)
PROPERTY(MatDiagType, cusparseDiagType_t, diagonal, 1)
PROPERTY(MatIndexBase, cusparseIndexBase_t, base, 1)

}  // extern "C"
