// cublasLtMatmul: D = epilogue(alpha * op(A) * op(B) + beta * C). The product is cuBLAS's.
#include <cmath>

#include "cublaslt/problem.h"

namespace warpgrade::cublaslt {
namespace {

constexpr char kCall[] = "cublasLtMatmul";

struct Pointers {
  const void *alpha, *a, *b, *beta, *c;
  void* d;
};

// A number for each row of D.
template <class S>
using Rows = std::vector<S>;

// As cublasLt.h describes cublasLtPointerMode_t. Stored is the scale type as it is in memory.
template <class S, class Stored>
Rows<S> rows_of_scalar(Call& call, const Problem& p, const void* at, bool is_vector) {
  const auto* from = static_cast<const Stored*>(at);
  if (!is_vector) return Rows<S>(static_cast<size_t>(p.m), static_cast<S>(cublas::wide(call.scalar(from))));
  Rows<S> rows;
  for (const Stored& value : call.vector(from, p.m, 1)) rows.push_back(static_cast<S>(cublas::wide(value)));
  return rows;
}

template <class S, class Stored>
Rows<S> alpha_of(Call& call, const Problem& p, const void* at, int64_t index) {
  const bool is_vector = p.op.pointer_mode >= CUBLASLT_POINTER_MODE_DEVICE_VECTOR;
  return rows_of_scalar<S, Stored>(
      call, p, is_vector ? static_cast<const Stored*>(at) + index * p.op.alpha_stride : at, is_vector);
}

template <class S, class Stored>
Rows<S> beta_of(Call& call, const Problem& p, const void* at) {
  if (p.op.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO)
    return Rows<S>(static_cast<size_t>(p.m), S(0));
  if (p.op.pointer_mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST) {
    require(at != nullptr, kCall, "beta is a null pointer");
    return Rows<S>(static_cast<size_t>(p.m),
                   static_cast<S>(cublas::wide(call.on_host(static_cast<const Stored*>(at)))));
  }
  return rows_of_scalar<S, Stored>(call, p, at, p.op.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE_VECTOR);
}

// A factor of 8-bit floats in the device's memory: one, or one for each of `count` rows or columns.
Rows<float> scale_of(Call& call, const void* at, int32_t mode, int64_t count) {
  if (at == nullptr) return Rows<float>(static_cast<size_t>(count), 1.0F);
  const auto* from = static_cast<const float*>(at);
  if (mode != 0) return call.vector(from, count, 1);
  return Rows<float>(static_cast<size_t>(count), call.vector(from, 1, 1)[0]);
}

// The approximation by tanh, as NVIDIA's own tests of this epilogue have it (nvmath-python,
// tests/nvmath_tests/linalg/advanced/matmul/test_epilog.py), and its derivative.
constexpr double kRoot = 0.79788456080286535588, kCubic = 0.044715;  // sqrt(2 / pi)

template <class S>
S gelu(S x) {
  return S(0.5) * x * (S(1) + std::tanh(S(kRoot) * (x + S(kCubic) * x * x * x)));
}
template <class S>
S gelu_slope(S x) {
  const S t = std::tanh(S(kRoot) * (x + S(kCubic) * x * x * x));
  return S(0.5) * (S(1) + t) + S(0.5) * x * (S(1) - t * t) * S(kRoot) * (S(1) + S(3 * kCubic) * x * x);
}

// The matrix beside D that epilogues write or read: bits of ReLU, inputs of GELU.
struct Aux {
  const Problem& p;
  int64_t index;

  template <class T>
  T* at(int64_t bits_of_element) const {
    return reinterpret_cast<T*>(static_cast<char*>(p.op.aux) + index * p.op.aux_stride * bits_of_element / 8);
  }
  uint8_t* bits() const { return at<uint8_t>(1); }
  cublas::Place inputs() const {
    const int64_t bits_of_element = cublas::with_element(
        p.aux_type(), [](auto element) { return static_cast<int64_t>(8 * sizeof element); });
    return {at<void>(bits_of_element), p.aux_type(), p.op.aux_ld};
  }
};

// Row r of a column is bit r % 8 of its byte r / 8, 1 where the slope is 1 (the same tests' verify_relu_bitmask).
template <class S>
void relu(Call& call, const Aux& aux, Matrix<S>& d) {
  Matrix<uint8_t> bits((d.rows + 7) / 8, d.columns);
  for (int64_t c = 0; c < d.columns; ++c) {
    for (int64_t r = 0; r < d.rows; ++r) {
      if (d(r, c) < S(0))
        d(r, c) = S(0);
      else
        bits(r / 8, c) = static_cast<uint8_t>(bits(r / 8, c) | 1U << r % 8);
    }
  }
  if (aux.p.has(Problem::kAux)) call.put(aux.bits(), aux.p.op.aux_ld / 8, bits);
}

template <class S>
void relu_gradient(Call& call, const Aux& aux, Matrix<S>& d) {
  const Matrix<uint8_t> bits =
      call.matrix<uint8_t>(aux.bits(), (d.rows + 7) / 8, d.columns, aux.p.op.aux_ld / 8);
  for (int64_t c = 0; c < d.columns; ++c)
    for (int64_t r = 0; r < d.rows; ++r)
      if ((bits(r / 8, c) >> r % 8 & 1) == 0) d(r, c) = S(0);
}

template <class S>
void add_bias(Call& call, const Problem& p, const cublas::Place& bias, Matrix<S>& d) {
  const Matrix<S> column = cublas::load<S>(call, bias, p.m, 1);
  for (int64_t c = 0; c < d.columns; ++c)
    for (int64_t r = 0; r < d.rows; ++r) d(r, c) += column(r, 0);
}

// The sum of each row, or of each column.
template <class S, class T>
Matrix<S> sums(const Matrix<T>& m, bool of_rows) {
  Matrix<S> sum(of_rows ? m.rows : m.columns, 1);
  for (int64_t c = 0; c < m.columns; ++c)
    for (int64_t r = 0; r < m.rows; ++r) sum(of_rows ? r : c, 0) += static_cast<S>(m(r, c));
  return sum;
}

// As D's type stores it.
template <class S>
Matrix<S> rounded(cudaDataType type, Matrix<S> d) {
  cublas::with_element(type, [&](auto element) {
    for (S& value : d.data) value = static_cast<S>(cublas::wide(cublas::narrow<decltype(element)>(value)));
  });
  return d;
}

template <class S>
void apply_epilogue(Call& call, const Problem& p, const Aux& aux, const cublas::Place& bias, Matrix<S>& d) {
  if (p.has(CUBLASLT_EPILOGUE_BIAS)) add_bias(call, p, bias, d);
  if (p.has(CUBLASLT_EPILOGUE_RELU)) relu(call, aux, d);
  if (p.has(Problem::kReluGradient)) relu_gradient(call, aux, d);
  if constexpr (std::is_floating_point_v<S>) {
    if (p.has(CUBLASLT_EPILOGUE_GELU)) {
      if (p.has(Problem::kAux)) cublas::store(call, aux.inputs(), d);
      for (S& value : d.data) value = gelu(value);
    }
    if (p.has(Problem::kGeluGradient)) {
      const Matrix<S> inputs = cublas::load<S>(call, aux.inputs(), d.rows, d.columns);
      for (size_t i = 0; i < d.data.size(); ++i) d.data[i] *= gelu_slope(inputs.data[i]);
    }
  }
  if (p.has(Problem::kBiasGradient))
    cublas::store(call, bias, sums<S>(rounded(static_cast<cudaDataType>(p.d.type), d), true));
}

// The largest magnitude of all matrices before D's scale; a null pointer asks for none.
class Largest {
 public:
  template <class S>
  void see(const Matrix<S>& m) {
    for (const S& value : m.data) largest_ = std::fmax(largest_, std::fabs(static_cast<float>(value)));
  }
  void put(Call& call, void* at) const {
    if (at != nullptr) call.put(static_cast<float*>(at), 1, std::vector<float>{largest_});
  }

 private:
  float largest_ = 0;
};

// T is what products are summed in, S the type of alpha and beta.
template <class T, class S, class Stored = S>
void multiply(Call& call, const Problem& p, const Pointers& at) {
  const Rows<S> beta = beta_of<S, Stored>(call, p, at.beta);
  const bool reads_c = std::any_of(beta.begin(), beta.end(), [](S value) { return value != S(0); });
  require(!reads_c || at.c != nullptr, kCall, "C is a null pointer, and beta is not 0");
  const Rows<float> scale_a = scale_of(call, p.op.scale_a, p.op.scale_mode_a, p.m),
                    scale_b = scale_of(call, p.op.scale_b, p.op.scale_mode_b, p.n),
                    scale_c = scale_of(call, p.op.scale_c, 0, 1),
                    scale_d = scale_of(call, p.op.scale_d, 0, 1);
  const auto fetch = [&](const Layout& layout, const void* first, int32_t op, int64_t index) {
    return cublas::operand(load<T>(call, layout, matrix_at(call, layout, first, index)),
                           static_cast<cublasOperation_t>(op));
  };
  Largest largest;
  for (int64_t i = 0; i < p.d.batch_count; ++i) {
    const Rows<S> alpha = alpha_of<S, Stored>(call, p, at.alpha, i);
    const Matrix<T> left = fetch(p.a, at.a, p.op.op_a, i), right = fetch(p.b, at.b, p.op.op_b, i);
    const Matrix<T> sum = cublas::product(left, right);
    Matrix<S> d(p.m, p.n), c;
    if (reads_c) c = load<S>(call, p.c, matrix_at(call, p.c, at.c, i));
    for (int64_t k = 0; k < p.n; ++k) {
      for (int64_t r = 0; r < p.m; ++r) {
        const auto scaled =
            static_cast<S>(static_cast<S>(scale_a[r] * scale_b[k]) * static_cast<S>(sum(r, k)));
        d(r, k) = alpha[r] * scaled;
        if (beta[r] != S(0)) d(r, k) += beta[r] * static_cast<S>(scale_c[0]) * c(r, k);
      }
    }
    const cublas::Place first{p.op.bias, p.bias_type(), std::max(p.m, p.n)};
    cublas::Place bias = first;
    if (p.op.bias != nullptr) bias.at = cublas::further(first, i * p.op.bias_stride);
    apply_epilogue(call, p, Aux{p, i}, bias, d);
    if (p.has(CUBLASLT_EPILOGUE_BGRADA)) cublas::store(call, bias, sums<S>(left, true));
    if (p.has(CUBLASLT_EPILOGUE_BGRADB)) cublas::store(call, bias, sums<S>(right, false));
    if (p.op.amax_d != nullptr) largest.see(d);
    if (p.op.scale_d != nullptr)
      for (S& value : d.data) value *= static_cast<S>(scale_d[0]);
    store(call, p.d, const_cast<void*>(matrix_at(call, p.d, at.d, i)), d);
  }
  largest.put(call, p.op.amax_d);
}

void require_pointers(const Problem& p, const Pointers& at) {
  require(at.alpha != nullptr && at.a != nullptr && at.b != nullptr && at.d != nullptr, kCall,
          "alpha, A, B or D is a null pointer");
  require(p.op.bias != nullptr || !(p.has(CUBLASLT_EPILOGUE_BIAS) || p.makes_bias_gradient()), kCall,
          "the epilogue needs CUBLASLT_MATMUL_DESC_BIAS_POINTER, which is a null pointer");
  require(p.op.aux != nullptr || !p.has(Problem::kAux), kCall,
          "the epilogue needs CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, which is a null pointer");
  const bool same_place =
      at.c != at.d || (p.c.type == p.d.type && p.c.order == p.d.order && p.c.ld == p.d.ld);
  require(same_place, kCall, "C and D are one matrix with two layouts");
}

}  // namespace
}  // namespace warpgrade::cublaslt

using namespace warpgrade::cublaslt;

extern "C" cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                         const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                         const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                                         const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                         cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*,
                                         size_t, cudaStream_t stream) {
  if (operation == nullptr)
    return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_INVALID_VALUE;
  using warpgrade::libraries::Held;
  const Held of(operation);
  const Held of_a(a_layout), of_b(b_layout), of_c(c_layout), of_d(d_layout);
  return run(handle, stream, held_in<Operation>(operation).pointer_mode, [=](Call& call) {
    const Problem p = checked_problem(kCall, of.get(), of_a.get(), of_b.get(), of_c.get(), of_d.get());
    const Pointers at{alpha, a, b, beta, c, d};
    require_pointers(p, at);
    switch (p.op.compute_type) {
      case CUBLAS_COMPUTE_64F:
      case CUBLAS_COMPUTE_64F_PEDANTIC:
        return multiply<double, double>(call, p, at);
      case CUBLAS_COMPUTE_32I:
      case CUBLAS_COMPUTE_32I_PEDANTIC:
        return p.op.scale_type == CUDA_R_32I ? multiply<int32_t, int32_t>(call, p, at)
                                             : multiply<int32_t, float>(call, p, at);
      case CUBLAS_COMPUTE_16F:
      case CUBLAS_COMPUTE_16F_PEDANTIC:
        return multiply<float, float, warpgrade::cublas::Half>(call, p, at);
      default:
        return multiply<float, float>(call, p, at);
    }
  });
}
