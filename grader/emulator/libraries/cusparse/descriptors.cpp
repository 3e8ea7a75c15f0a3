// Descriptors of vectors and dense matrices. What they accept is what NVIDIA's library (12.6) accepts, which
// needs no GPU for it.
#include "cusparse/descriptors.h"

#include "cusparse/values.h"

using namespace warpgrade::cusparse;

namespace {

template <class Descriptor>
cusparseStatus_t destroy(const Descriptor* descriptor) {
  delete descriptor;
  return CUSPARSE_STATUS_SUCCESS;
}

void check_sparse_vector(const cusparseSpVecDescr& x) {
  require(x.size >= 0, "the size is negative");
  require_values(x.values, x.type, x.nnz);
  require(x.nnz >= 0 && x.nnz <= x.size, "nnz must be 0 to size");
  require_indices(x.indices, x.index_type, x.base, x.nnz);
  require_fits(x.size, x.index_type, x.base);
}

void check_dense_matrix(const cusparseDnMatDescr& m) {
  require(m.rows >= 0 && m.columns >= 0 && m.ld >= 0, "a size is negative");
  require(m.order == CUSPARSE_ORDER_ROW || m.order == CUSPARSE_ORDER_COL, "there is no such order");
  require(m.order == CUSPARSE_ORDER_ROW || m.ld >= m.rows, "ld must be at least rows where order is COL");
  require(m.order == CUSPARSE_ORDER_COL || m.ld >= m.columns, "ld must be at least cols where order is ROW");
  require_values(m.values, m.type, m.elements());
}

template <class To, class Made>
cusparseStatus_t make(const char* function, To* to, const Made& made, void (*check)(const Made&)) {
  return guarded(function, [&] {
    require(to != nullptr, "the descriptor is a null pointer");
    check(made);
    *to = new Made(made);
  });
}
void check_dense_vector(const cusparseDnVecDescr& y) {
  require(y.size >= 0, "the size is negative");
  require_values(y.values, y.type, y.size);
}

template <class Descriptor, class Pointer>
cusparseStatus_t get_values(const char* function, const Descriptor* from, Pointer* values) {
  return guarded(function, [&] {
    require(from != nullptr && values != nullptr, "a null pointer");
    *values = from->values;
  });
}
template <class Descriptor>
cusparseStatus_t set_values(const char* function, Descriptor* of, void* values) {
  return guarded(function, [&] {
    require(of != nullptr, "the descriptor is a null pointer");
    require_values(values, of->type, of->elements());
    of->values = values;
  });
}

template <class Pointer>
cusparseStatus_t get(const char* function, const cusparseSpVecDescr* x, int64_t* size, int64_t* nnz,
                     Pointer* indices, Pointer* values, cusparseIndexType_t* index_type,
                     cusparseIndexBase_t* base, cudaDataType* type) {
  return guarded(function, [&] {
    require_all(x, size, nnz, indices, values, index_type, base, type);
    *size = x->size, *nnz = x->nnz, *indices = x->indices, *values = x->values;
    *index_type = x->index_type, *base = x->base, *type = x->type;
  });
}
template <class Pointer>
cusparseStatus_t get(const char* function, const cusparseDnVecDescr* y, int64_t* size, Pointer* values,
                     cudaDataType* type) {
  return guarded(function, [&] {
    require_all(y, size, values, type);
    *size = y->size, *values = y->values, *type = y->type;
  });
}
template <class Pointer>
cusparseStatus_t get(const char* function, const cusparseDnMatDescr* m, int64_t* rows, int64_t* columns,
                     int64_t* ld, Pointer* values, cudaDataType* type, cusparseOrder_t* order) {
  return guarded(function, [&] {
    require_all(m, rows, columns, ld, values, type, order);
    *rows = m->rows, *columns = m->columns, *ld = m->ld, *values = m->values;
    *type = m->type, *order = m->order;
  });
}

}  // namespace

extern "C" {

cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* x, int64_t size, int64_t nnz, void* indices,
                                     void* values, cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                     cudaDataType type) {
  return make(__func__, x, cusparseSpVecDescr{size, nnz, indices, values, index_type, base, type},
              check_sparse_vector);
}
cusparseStatus_t cusparseCreateConstSpVec(cusparseConstSpVecDescr_t* x, int64_t size, int64_t nnz,
                                          const void* indices, const void* values,
                                          cusparseIndexType_t index_type, cusparseIndexBase_t base,
                                          cudaDataType type) {
  return make(__func__, x,
              cusparseSpVecDescr{size, nnz, mutable_of(indices), mutable_of(values), index_type, base, type},
              check_sparse_vector);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t x) {
  return destroy(x);
}
cusparseStatus_t cusparseSpVecGet(cusparseSpVecDescr_t x, int64_t* size, int64_t* nnz, void** indices,
                                  void** values, cusparseIndexType_t* index_type, cusparseIndexBase_t* base,
                                  cudaDataType* type) {
  return get(__func__, x, size, nnz, indices, values, index_type, base, type);
}
cusparseStatus_t cusparseConstSpVecGet(cusparseConstSpVecDescr_t x, int64_t* size, int64_t* nnz,
                                       const void** indices, const void** values,
                                       cusparseIndexType_t* index_type, cusparseIndexBase_t* base,
                                       cudaDataType* type) {
  return get(__func__, x, size, nnz, indices, values, index_type, base, type);
}
cusparseStatus_t cusparseSpVecGetIndexBase(cusparseConstSpVecDescr_t x, cusparseIndexBase_t* base) {
  return guarded(__func__, [&] {
    require_all(x, base);
    *base = x->base;
  });
}
cusparseStatus_t cusparseSpVecGetValues(cusparseSpVecDescr_t x, void** values) {
  return get_values(__func__, x, values);
}
cusparseStatus_t cusparseConstSpVecGetValues(cusparseConstSpVecDescr_t x, const void** values) {
  return get_values(__func__, x, values);
}
cusparseStatus_t cusparseSpVecSetValues(cusparseSpVecDescr_t x, void* values) {
  return set_values(__func__, x, values);
}

cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* y, int64_t size, void* values, cudaDataType type) {
  return make(__func__, y, cusparseDnVecDescr{size, values, type}, check_dense_vector);
}
cusparseStatus_t cusparseCreateConstDnVec(cusparseConstDnVecDescr_t* y, int64_t size, const void* values,
                                          cudaDataType type) {
  return make(__func__, y, cusparseDnVecDescr{size, mutable_of(values), type}, check_dense_vector);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t y) {
  return destroy(y);
}
cusparseStatus_t cusparseDnVecGet(cusparseDnVecDescr_t y, int64_t* size, void** values, cudaDataType* type) {
  return get(__func__, y, size, values, type);
}
cusparseStatus_t cusparseConstDnVecGet(cusparseConstDnVecDescr_t y, int64_t* size, const void** values,
                                       cudaDataType* type) {
  return get(__func__, y, size, values, type);
}
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t y, void** values) {
  return get_values(__func__, y, values);
}
cusparseStatus_t cusparseConstDnVecGetValues(cusparseConstDnVecDescr_t y, const void** values) {
  return get_values(__func__, y, values);
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t y, void* values) {
  return set_values(__func__, y, values);
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* m, int64_t rows, int64_t columns, int64_t ld,
                                     void* values, cudaDataType type, cusparseOrder_t order) {
  return make(__func__, m, cusparseDnMatDescr{rows, columns, ld, values, type, order}, check_dense_matrix);
}
cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t* m, int64_t rows, int64_t columns,
                                          int64_t ld, const void* values, cudaDataType type,
                                          cusparseOrder_t order) {
  return make(__func__, m, cusparseDnMatDescr{rows, columns, ld, mutable_of(values), type, order},
              check_dense_matrix);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t m) {
  return destroy(m);
}
cusparseStatus_t cusparseDnMatGet(cusparseDnMatDescr_t m, int64_t* rows, int64_t* columns, int64_t* ld,
                                  void** values, cudaDataType* type, cusparseOrder_t* order) {
  return get(__func__, m, rows, columns, ld, values, type, order);
}
cusparseStatus_t cusparseConstDnMatGet(cusparseConstDnMatDescr_t m, int64_t* rows, int64_t* columns,
                                       int64_t* ld, const void** values, cudaDataType* type,
                                       cusparseOrder_t* order) {
  return get(__func__, m, rows, columns, ld, values, type, order);
}
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t m, void** values) {
  return get_values(__func__, m, values);
}
cusparseStatus_t cusparseConstDnMatGetValues(cusparseConstDnMatDescr_t m, const void** values) {
  return get_values(__func__, m, values);
}
cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t m, void* values) {
  return set_values(__func__, m, values);
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t m, int batches, int64_t stride) {
  return guarded(__func__, [&] {
    require(m != nullptr, "the descriptor is a null pointer");
    require(batches > 0, "batchCount must be at least 1");
    require(batches == 1 || stride == 0 ||
                stride >= m->ld * (m->order == CUSPARSE_ORDER_ROW ? m->rows : m->columns),
            "batchStride must be 0 or at least the matrix's size with its leading dimension");
    m->batches = batches, m->stride = stride;
  });
}
cusparseStatus_t cusparseDnMatGetStridedBatch(cusparseConstDnMatDescr_t m, int* batches, int64_t* stride) {
  return guarded(__func__, [&] {
    require_all(m, batches, stride);
    *batches = m->batches, *stride = m->stride;
  });
}

cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t a, void** values) {
  return get_values(__func__, a, values);
}
cusparseStatus_t cusparseConstSpMatGetValues(cusparseConstSpMatDescr_t a, const void** values) {
  return get_values(__func__, a, values);
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t a, void* values) {
  return set_values(__func__, a, values);
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t a) {
  return destroy(a);
}

}  // extern "C"
