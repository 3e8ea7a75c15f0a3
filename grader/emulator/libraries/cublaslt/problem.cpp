#include "cublaslt/problem.h"

#include <cuda_runtime_api.h>

namespace warpgrade::cublaslt {
namespace {

using cublas::is_of_8_bit_floats;

constexpr uint32_t kEpilogues[] = {
    CUBLASLT_EPILOGUE_DEFAULT,  CUBLASLT_EPILOGUE_RELU,        CUBLASLT_EPILOGUE_RELU_AUX,
    CUBLASLT_EPILOGUE_BIAS,     CUBLASLT_EPILOGUE_RELU_BIAS,   CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
    CUBLASLT_EPILOGUE_DRELU,    CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_GELU,
    CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_BIAS,   CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    CUBLASLT_EPILOGUE_DGELU,    CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
    CUBLASLT_EPILOGUE_BGRADB};

cudaDataType type_of(const Layout& layout) {
  return static_cast<cudaDataType>(layout.type);
}

// The combinations of cublasLtMatmul's documentation. Its tables want C like D but for 8-bit floats.
bool are_types_supported(const Operation& op, cudaDataType a, cudaDataType b, cudaDataType c,
                         cudaDataType d) {
  const bool half_like = d == CUDA_R_16F || d == CUDA_R_16BF || d == CUDA_R_32F;
  if (is_of_8_bit_floats(a) && is_of_8_bit_floats(b)) {
    const bool both_e5m2 = a == CUDA_R_8F_E5M2 && b == CUDA_R_8F_E5M2;
    const bool one_e5m2 = a == CUDA_R_8F_E5M2 || b == CUDA_R_8F_E5M2;
    const bool narrow = d == CUDA_R_8F_E4M3 || (d == CUDA_R_8F_E5M2 && one_e5m2);
    return !both_e5m2 && op.scale_type == CUDA_R_32F &&
           ((half_like && c == d) || (narrow && (c == CUDA_R_16F || c == CUDA_R_16BF)));
  }
  if (a != b || c != d) return false;
  switch (op.compute_type) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      return op.scale_type == CUDA_R_64F && a == CUDA_R_64F && d == CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      return a == CUDA_R_8I && ((op.scale_type == CUDA_R_32I && d == CUDA_R_32I) ||
                                (op.scale_type == CUDA_R_32F && d == CUDA_R_8I));
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      return op.scale_type == CUDA_R_16F && a == CUDA_R_16F && d == CUDA_R_16F;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return op.scale_type == CUDA_R_32F && ((a == CUDA_R_16F && (d == a || d == CUDA_R_32F)) ||
                                             (a == CUDA_R_16BF && (d == a || d == CUDA_R_32F)) ||
                                             ((a == CUDA_R_32F || a == CUDA_R_8I) && d == CUDA_R_32F));
    default:
      return false;
  }
}

bool lies_along_k(const Layout& layout, bool is_transposed, bool is_a) {
  return (is_transposed == is_a) == (layout.order == CUBLASLT_ORDER_COL);
}
bool a_along_k(const Problem& p) {
  return lies_along_k(p.a, p.op.op_a != CUBLAS_OP_N, true);
}
bool b_along_k(const Problem& p) {
  return lies_along_k(p.b, p.op.op_b != CUBLAS_OP_N, false);
}

// cuBLASLt 13 on an H200 takes these orders and no others (tests/programs/cublasLt_host.cu, survey).
void check_8_bit_integers(const char* function, const Problem& p) {
  const auto is_in_tiles = [](const Layout& layout) {
    return layout.order != CUBLASLT_ORDER_COL && layout.order != CUBLASLT_ORDER_ROW;
  };
  if (is_in_tiles(p.a) || is_in_tiles(p.b) || is_in_tiles(p.d)) return;
  const bool any_order = p.d.type == CUDA_R_8I && p.d.order == CUBLASLT_ORDER_ROW;
  require(any_order || (a_along_k(p) && b_along_k(p)), function,
          "8-bit integers must lie along k: in column order CUBLASLT_MATMUL_DESC_TRANSA is CUBLAS_OP_T and "
          "CUBLASLT_MATMUL_DESC_TRANSB is CUBLAS_OP_N",
          CUBLAS_STATUS_NOT_SUPPORTED);
}

// What a device asks of 8-bit floats: compute capability 8.9, and below 10.0 both operands contiguous along k.
void check_8_bit_floats(const char* function, const Problem& p) {
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  const std::string capability = std::to_string(major) + "." + std::to_string(minor);
  const auto wants = [&](bool holds, const std::string& what) {
    require(holds, function, "8-bit floats " + what, CUBLAS_STATUS_NOT_SUPPORTED);
  };
  wants(major * 10 + minor >= 89, "need compute capability 8.9, and the device has " + capability +
                                      ": choose another by WARPEMU_DEVICE (l4, h200)");
  wants(major >= 10 || (a_along_k(p) && b_along_k(p)),
        "must lie along k below compute capability 10.0: in column order CUBLASLT_MATMUL_DESC_TRANSA is "
        "CUBLAS_OP_T "
        "and CUBLASLT_MATMUL_DESC_TRANSB is CUBLAS_OP_N");
  wants(p.a.ld % 16 == 0 && p.b.ld % 16 == 0, "need a CUBLASLT_MATRIX_LAYOUT_LD that is a multiple of 16");
}

bool is_complex(const Layout& layout) {
  return layout.type == CUDA_C_16F || layout.type == CUDA_C_16BF || layout.type == CUDA_C_32F ||
         layout.type == CUDA_C_64F || layout.type == CUDA_C_8I;
}

void check_scales(const char* function, const Problem& p) {
  const Operation& op = p.op;
  const bool is_fp8 = is_of_8_bit_floats(type_of(p.a));
  struct Mode {
    const char* name;
    int32_t value;
    bool is_operand;
  };
  for (const Mode& mode :
       {Mode{"A_SCALE_MODE", op.scale_mode_a, true}, Mode{"B_SCALE_MODE", op.scale_mode_b, true},
        Mode{"C_SCALE_MODE", op.scale_mode_c, false}, Mode{"D_SCALE_MODE", op.scale_mode_d, false},
        Mode{"EPILOGUE_AUX_SCALE_MODE", op.aux_scale_mode, false},
        Mode{"D_OUT_SCALE_MODE", op.out_scale_mode_d, false}})
    require_here(mode.value == 0 || (mode.is_operand && mode.value == 3), function,
                 std::string("CUBLASLT_MATMUL_DESC_") + mode.name + " " + std::to_string(mode.value));
  require_here(op.out_scale_d == nullptr, function, "CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER");
  require_here(op.aux_scale == nullptr && op.aux_amax == nullptr, function,
               "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER or _AUX_AMAX_POINTER");
  require(is_fp8 || (op.scale_a == nullptr && op.scale_b == nullptr && op.scale_c == nullptr &&
                     op.scale_d == nullptr),
          function, "a scale pointer is set, and A and B are no 8-bit floats");
  require((is_of_8_bit_floats(type_of(p.d)) || op.amax_d == nullptr), function,
          "CUBLASLT_MATMUL_DESC_AMAX_D_POINTER is set, and D is no matrix of 8-bit floats");
}

void check_epilogue(const char* function, const Problem& p) {
  const Operation& op = p.op;
  bool known = false;
  for (const uint32_t epilogue : kEpilogues) known = known || op.epilogue == epilogue;
  require_here(known, function, "CUBLASLT_MATMUL_DESC_EPILOGUE " + std::to_string(op.epilogue));
  require_here(
      p.d.type != CUDA_R_32I || op.epilogue == CUBLASLT_EPILOGUE_DEFAULT, function,
      "CUBLASLT_MATMUL_DESC_EPILOGUE " + std::to_string(op.epilogue) + " of a product of 32-bit integers");
  if (!p.has(Problem::kAux)) return;
  const bool bits = p.has(CUBLASLT_EPILOGUE_RELU | Problem::kReluGradient);
  const int64_t step = bits ? 128 : 8;
  require(op.aux_ld >= p.m && op.aux_ld % step == 0, function,
          "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD is " + std::to_string(op.aux_ld) +
              ", expected a multiple of " + std::to_string(step) + " of at least " + std::to_string(p.m) +
              ", the rows of D");
  require(op.aux_stride % step == 0, function,
          "CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE is " + std::to_string(op.aux_stride) +
              ", expected a multiple of " + std::to_string(step));
}

void require_shape(const char* function, const char* name, int64_t rows, int64_t columns, int64_t want_rows,
                   int64_t want_columns) {
  require(rows == want_rows && columns == want_columns, function,
          std::string(name) + " is " + std::to_string(rows) + " x " + std::to_string(columns) +
              ", expected " + std::to_string(want_rows) + " x " + std::to_string(want_columns));
}

}  // namespace

cudaDataType Problem::bias_type() const {
  if (op.bias_type != -1) return static_cast<cudaDataType>(op.bias_type);
  if (d.type == CUDA_R_8I) return CUDA_R_32F;
  if (is_of_8_bit_floats(type_of(a)) && d.type != CUDA_R_16F) return CUDA_R_16BF;
  return type_of(d);
}

cudaDataType Problem::aux_type() const {
  if (op.aux_type != -1) return static_cast<cudaDataType>(op.aux_type);
  return is_of_8_bit_floats(type_of(d)) ? CUDA_R_16BF : type_of(d);
}

Problem checked_problem(const char* function, const cublasLtMatmulDescOpaque_t* operation,
                        const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                        const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d) {
  require(operation != nullptr, function, "the operation's descriptor is a null pointer");
  Problem p;
  p.op = held_in<Operation>(operation);
  p.a = layout_of(a, function, "A");
  p.b = layout_of(b, function, "B");
  p.c = layout_of(c, function, "C");
  p.d = layout_of(d, function, "D");
  const auto is_operation = [](int32_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; };
  require(is_operation(p.op.op_a) && is_operation(p.op.op_b), function,
          "CUBLASLT_MATMUL_DESC_TRANSA or TRANSB is no cublasOperation_t");
  require_here(p.op.op_c == CUBLAS_OP_N, function,
               "CUBLASLT_MATMUL_DESC_TRANSC " + std::to_string(p.op.op_c));
  require_here(p.op.fill_mode == CUBLAS_FILL_MODE_FULL, function,
               "CUBLASLT_MATMUL_DESC_FILL_MODE " + std::to_string(p.op.fill_mode));
  require_here(p.op.pointer_mode >= CUBLASLT_POINTER_MODE_HOST &&
                   p.op.pointer_mode <= CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST,
               function, "CUBLASLT_MATMUL_DESC_POINTER_MODE " + std::to_string(p.op.pointer_mode));
  require_here(!is_complex(p.a) && !is_complex(p.b) && !is_complex(p.c) && !is_complex(p.d), function,
               "CUBLASLT_MATRIX_LAYOUT_TYPE of complex numbers");
  require(are_types_supported(p.op, type_of(p.a), type_of(p.b), type_of(p.c), type_of(p.d)), function,
          "no product has CUBLASLT_MATMUL_DESC_COMPUTE_TYPE " + std::to_string(p.op.compute_type) +
              ", _SCALE_TYPE " + std::to_string(p.op.scale_type) + " and matrices A, B, C, D of types " +
              std::to_string(p.a.type) + ", " + std::to_string(p.b.type) + ", " + std::to_string(p.c.type) +
              ", " + std::to_string(p.d.type) +
              " (cudaDataType): the tables of cublasLtMatmul's documentation have those that go together",
          CUBLAS_STATUS_NOT_SUPPORTED);
  p.m = static_cast<int64_t>(p.d.rows);
  p.n = static_cast<int64_t>(p.d.columns);
  const auto a_rows = static_cast<int64_t>(p.a.rows), a_columns = static_cast<int64_t>(p.a.columns);
  p.k = p.op.op_a == CUBLAS_OP_N ? a_columns : a_rows;
  require_shape(function, "op(A)", p.op.op_a == CUBLAS_OP_N ? a_rows : a_columns, p.k, p.m, p.k);
  const auto b_rows = static_cast<int64_t>(p.b.rows), b_columns = static_cast<int64_t>(p.b.columns);
  const bool b_plain = p.op.op_b == CUBLAS_OP_N;
  require_shape(function, "op(B)", b_plain ? b_rows : b_columns, b_plain ? b_columns : b_rows, p.k, p.n);
  require_shape(function, "C", static_cast<int64_t>(p.c.rows), static_cast<int64_t>(p.c.columns), p.m, p.n);
  for (const Layout* layout : {&p.a, &p.b, &p.c})
    require(layout->batch_count == p.d.batch_count, function,
            "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT is " + std::to_string(layout->batch_count) +
                " and that of D " + std::to_string(p.d.batch_count));
  if (is_of_8_bit_floats(type_of(p.a))) check_8_bit_floats(function, p);
  const bool in_integers =
      p.op.compute_type == CUBLAS_COMPUTE_32I || p.op.compute_type == CUBLAS_COMPUTE_32I_PEDANTIC;
  if (type_of(p.a) == CUDA_R_8I && in_integers) check_8_bit_integers(function, p);
  check_scales(function, p);
  check_epilogue(function, p);
  return p;
}

}  // namespace warpgrade::cublaslt
