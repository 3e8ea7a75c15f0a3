// cublasLtMatrixTransform: C = alpha * op(A) + beta * op(B), in any order of memory.
#include "cublaslt/matrices.h"

namespace warpgrade::cublaslt {
namespace {

constexpr char kTransformCall[] = "cublasLtMatrixTransform";

struct Operand {
  const char* name;
  const void *scalar, *at;
  const cublasLtMatrixLayoutOpaque_t* layout;
  int32_t op;
};

template <class S>
void add_operand(Call& call, const Operand& o, S scalar, const Layout& c, int64_t index, Matrix<S>& sum) {
  if (o.at == nullptr || scalar == S(0)) return;
  const Layout layout = layout_of(o.layout, kTransformCall, o.name);
  const Matrix<S> m = cublas::operand(load<S>(call, layout, matrix_at(call, layout, o.at, index)),
                                      static_cast<cublasOperation_t>(o.op));
  require(m.rows == sum.rows && m.columns == sum.columns && layout.batch_count == c.batch_count,
          kTransformCall, std::string("op(") + o.name + ") has not the rows, columns and batch of C");
  for (size_t k = 0; k < sum.data.size(); ++k) sum.data[k] += scalar * m.data[k];
}

template <class S, class Stored>
void transform_all(Call& call, const Operand& a, const Operand& b, const Layout& layout, void* c) {
  const auto scalar = [&](const Operand& o) {
    return o.at == nullptr ? S(0)
                           : static_cast<S>(cublas::wide(call.scalar(static_cast<const Stored*>(o.scalar))));
  };
  const S alpha = scalar(a), beta = scalar(b);
  for (int64_t i = 0; i < layout.batch_count; ++i) {
    Matrix<S> sum(static_cast<int64_t>(layout.rows), static_cast<int64_t>(layout.columns));
    add_operand(call, a, alpha, layout, i, sum);
    add_operand(call, b, beta, layout, i, sum);
    store(call, layout, const_cast<void*>(matrix_at(call, layout, c, i)), sum);
  }
}

}  // namespace
}  // namespace warpgrade::cublaslt

using namespace warpgrade::cublaslt;

extern "C" cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t how,
                                                  const void* alpha, const void* a,
                                                  cublasLtMatrixLayout_t a_layout, const void* beta,
                                                  const void* b, cublasLtMatrixLayout_t b_layout, void* c,
                                                  cublasLtMatrixLayout_t c_layout, cudaStream_t stream) {
  if (how == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto t = held_in<Transform>(how);
  const warpgrade::libraries::Held of_a(a_layout), of_b(b_layout), of_c(c_layout);
  return run(handle, stream, t.pointer_mode, [=](Call& call) {
    require_here(
        t.pointer_mode == CUBLASLT_POINTER_MODE_HOST || t.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE,
        kTransformCall, "CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE " + std::to_string(t.pointer_mode));
    const Layout layout = layout_of(of_c.get(), kTransformCall, "C");
    const Operand first{"A", alpha, a, of_a.get(), t.op_a}, second{"B", beta, b, of_b.get(), t.op_b};
    switch (t.scale_type) {
      case CUDA_R_32F:
        return transform_all<float, float>(call, first, second, layout, c);
      case CUDA_R_16F:
        return transform_all<float, warpgrade::cublas::Half>(call, first, second, layout, c);
      case CUDA_R_64F:
        return transform_all<double, double>(call, first, second, layout, c);
      case CUDA_R_32I:
        return transform_all<int32_t, int32_t>(call, first, second, layout, c);
      default:
        leave_out(kTransformCall,
                  "CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE " + std::to_string(t.scale_type));
    }
  });
}
