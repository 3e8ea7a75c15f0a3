// Systems with a triangular sparse matrix: op(A) * y = alpha * x, for one or several right-hand sides.
#include "cusparse/structure.h"

// What an analysis would find is found again by each solve.
struct cusparseSpSVDescr {
  bool analysed = false;
};
struct cusparseSpSMDescr {
  bool analysed = false;
};

namespace warpgrade::cusparse {
namespace {

using Op = cusparseOperation_t;
using libraries::Held;

void check_system(const cusparseSpMatDescr& a, Op op, cudaDataType in, cudaDataType out,
                  cudaDataType compute) {
  require_operation(op);
  require_supported(a.batches == 1, "A must be one matrix, no batch");
  require(a.rows == a.columns, "A must be square");
  require_supported(
      (compute == CUDA_R_32F || compute == CUDA_R_64F || compute == CUDA_C_32F || compute == CUDA_C_64F) &&
          a.type == compute && in == compute && out == compute,
      "all types must be the compute type: CUDA_R_32F, CUDA_R_64F, CUDA_C_32F or CUDA_C_64F");
}

// Row by row, from the end that knows its unknown at once. Entries of the other triangle are not looked at; a
// missing or zero diagonal divides by zero, as on a GPU.
template <class X>
void solve(const Call& call, const cusparseSpMatDescr& a, Op op, Dense<X>& unknowns) {
  const Rows rows = read_rows(call, a, 0, op);
  const std::vector<X> values = read_operand_values<X>(call, a, 0, op);
  const bool lower = (a.fill == CUSPARSE_FILL_MODE_LOWER) == is_plain(op);
  for (int64_t k = 0; k < rows.rows; ++k) {
    const int64_t r = lower ? k : rows.rows - 1 - k;
    X diagonal{};
    X* out = unknowns.row(r);
    rows.for_row(r, [&](int64_t column, int64_t place) {
      if (column == r) diagonal += values[place];
      if (lower ? column >= r : column <= r) return;
      const X* known = unknowns.row(column);
      for (int64_t j = 0; j < unknowns.columns; ++j) out[j] -= times(values[place], known[j]);
    });
    if (a.diagonal == CUSPARSE_DIAG_TYPE_UNIT) continue;
    for (int64_t j = 0; j < unknowns.columns; ++j) out[j] /= diagonal;
  }
}

template <class X>
void scale(std::vector<X>& values, X by) {
  for (X& value : values) value = times(by, value);
}

struct VectorSystem {
  Op op;
  const void* alpha;
  Held<cusparseSpMatDescr> a;
  Held<cusparseDnVecDescr> x;
  Held<cusparseDnVecDescr> y;
  cudaDataType compute;
  cusparseSpSVDescr_t state;

  void check() const {
    require_all(alpha, a, x, y, state);
    check_system(*a, op, x->type, y->type, compute);
    require(x->size == a->rows && y->size == a->rows, "the vectors must have A's size");
  }
  template <class X>
  void solve_all(const Call& call) const {
    Dense<X> unknowns(a->rows, 1);
    const X by = scalar<X>(call, alpha, compute, "alpha");
    unknowns.data = read_vector<X>(call, *x);
    scale(unknowns.data, by);
    solve(call, *a, op, unknowns);
    write_vector(call, *y, unknowns.data);
  }
};

struct MatrixSystem {
  Op op_a, op_b;
  const void* alpha;
  Held<cusparseSpMatDescr> a;
  Held<cusparseDnMatDescr> b;
  Held<cusparseDnMatDescr> c;
  cudaDataType compute;
  cusparseSpSMDescr_t state;

  void check() const {
    require_all(alpha, a, b, c, state);
    check_system(*a, op_a, b->type, c->type, compute);
    require_operation(op_b);
    require_supported(b->batches == 1 && c->batches == 1, "B and C must be one matrix each, no batch");
    require(rows_under(*b, op_b) == a->rows && c->rows == a->rows, "op(B) and C must have A's rows");
    require(columns_under(*b, op_b) == c->columns, "C must have the columns of op(B)");
  }
  template <class X>
  void solve_all(const Call& call) const {
    const X by = scalar<X>(call, alpha, compute, "alpha");
    Dense<X> unknowns = read_dense<X>(call, *b, 0, op_b);
    scale(unknowns.data, by);
    solve(call, *a, op_a, unknowns);
    write_dense(call, *c, 0, unknowns);
  }
};

template <class System>
cusparseStatus_t analyse(const char* function, cusparseHandle_t handle, const System& system,
                         const void* buffer) {
  return run_at_once(function, handle, [&](const Call&) {
    system.check();
    require_buffer(buffer);
    system.state->analysed = true;
  });
}
template <class System>
cusparseStatus_t solve(const char* function, cusparseHandle_t handle, const System& system) {
  return run(function, handle, [=, state = Held(system.state)](const Call& call) {
    system.check();
    require(state->analysed, "the analysis of this descriptor comes first");
    with_numbers(system.compute, [&](auto number) { system.template solve_all<decltype(number)>(call); });
  });
}

template <class Descriptor>
cusparseStatus_t create(Descriptor** descriptor) {
  if (descriptor == nullptr) return CUSPARSE_STATUS_INVALID_VALUE;
  *descriptor = new (std::nothrow) Descriptor;
  return *descriptor != nullptr ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ALLOC_FAILED;
}

}  // namespace
}  // namespace warpgrade::cusparse

using namespace warpgrade::cusparse;

extern "C" {

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* descriptor) {
  return create(descriptor);
}
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t descriptor) {
  delete descriptor;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                         cusparseSpSVDescr_t state, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes,
                     [&] { VectorSystem{op, alpha, a, x, y, compute, state}.check(); });
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                       cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                       cusparseSpSVDescr_t state, void* buffer) {
  return analyse(__func__, handle, VectorSystem{op, alpha, a, x, y, compute, state}, buffer);
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                    cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t,
                                    cusparseSpSVDescr_t state) {
  return solve(__func__, handle, VectorSystem{op, alpha, a, x, y, compute, state});
}

cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* descriptor) {
  return create(descriptor);
}
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t descriptor) {
  delete descriptor;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                         cusparseOperation_t op_b, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                         cusparseSpSMDescr_t state, size_t* bytes) {
  return tell_buffer(__func__, handle, bytes,
                     [&] { MatrixSystem{op_a, op_b, alpha, a, b, c, compute, state}.check(); });
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t op_a,
                                       cusparseOperation_t op_b, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                       cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                       cusparseSpSMDescr_t state, void* buffer) {
  return analyse(__func__, handle, MatrixSystem{op_a, op_b, alpha, a, b, c, compute, state}, buffer);
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a,
                                    cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                    cusparseConstDnMatDescr_t b, cusparseDnMatDescr_t c, cudaDataType compute,
                                    cusparseSpSMAlg_t, cusparseSpSMDescr_t state) {
  return solve(__func__, handle, MatrixSystem{op_a, op_b, alpha, a, b, c, compute, state});
}

}  // extern "C"
