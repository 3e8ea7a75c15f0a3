// Calls of cuBLAS, cuBLASLt and cuSPARSE in captured streams, against plain loops on the host. What a graph keeps of a
// call is in NVIDIA's documentation of cuBLAS ("CUDA Graphs Support"): scalars on the host have the values of the
// capture, scalars and matrices on the device those of the launch, and a result on the host cannot be captured. The
// conjugate gradients are those of NVIDIA's sample conjugateGradientCudaGraphs. The same source runs on a GPU. With
// "overrun": a matrix that leaves its allocation, at the launch. With "unordered": branches without an order; with
// "ordered": their corrected twin.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusparse.h>

#include <functional>

#include "check.h"

#define CHECK_STATUS(call)                                                \
  do {                                                                    \
    const int status_ = static_cast<int>(call);                           \
    if (status_ != 0) {                                                   \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_); \
      std::exit(100);                                                     \
    }                                                                     \
  } while (0)

namespace {

using Floats = std::vector<float>;

cublasHandle_t g_blas;
cusparseHandle_t g_sparse;
cudaStream_t g_stream;
constexpr auto kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;

template <class T>
struct Array {
  explicit Array(const std::vector<T>& host) : size(host.size()) {
    CHECK_CUDA(cudaMalloc(&at, size * sizeof(T)));
    send(host);
  }
  ~Array() { cudaFree(at); }
  Array(const Array&) = delete;
  void send(const std::vector<T>& host) const {
    CHECK_CUDA(cudaMemcpyAsync(at, host.data(), size * sizeof(T), cudaMemcpyHostToDevice, g_stream));
  }
  std::vector<T> received() const {
    std::vector<T> host(size);
    CHECK_CUDA(cudaMemcpyAsync(host.data(), at, size * sizeof(T), cudaMemcpyDeviceToHost, g_stream));
    CHECK_CUDA(cudaStreamSynchronize(g_stream));
    return host;
  }
  T* at = nullptr;
  size_t size;
};

Floats zeros(int n) {
  return Floats(static_cast<size_t>(n));
}

Floats samples(size_t n, int salt) {
  Floats values(n);
  for (size_t k = 0; k < n; ++k) values[k] = float(int(bits_of(int(k), salt) % 201) - 100) / 64.0f;
  return values;
}

void expect_near(const Floats& got, const Floats& want, const char* what, double relative = 1e-5) {
  for (size_t k = 0; k < want.size(); ++k) {
    if (std::abs(double(got[k]) - want[k]) <= relative * (1 + std::abs(want[k]))) continue;
    std::printf("element %zu is %.9g, expected %.9g\n", k, got[k], want[k]);
    return expect(false, what);
  }
}

class Graph {
 public:
  explicit Graph(const std::function<void()>& calls) {
    CHECK_CUDA(cudaStreamBeginCapture(g_stream, cudaStreamCaptureModeGlobal));
    calls();
    CHECK_CUDA(cudaStreamEndCapture(g_stream, &graph_));
    CHECK_CUDA(cudaGraphInstantiate(&exec_, graph_, 0));
    CHECK_CUDA(cudaGraphDestroy(graph_));
  }
  ~Graph() { CHECK_CUDA(cudaGraphExecDestroy(exec_)); }
  Graph(const Graph&) = delete;
  void launch() const { CHECK_CUDA(cudaGraphLaunch(exec_, g_stream)); }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t exec_;
};

// alpha * a * b + beta * c, columns one behind the other.
Floats product(int m, int n, int k, float alpha, const Floats& a, const Floats& b, float beta,
               const Floats& c) {
  Floats result(size_t(m * n));
  for (int col = 0; col < n; ++col) {
    for (int row = 0; row < m; ++row) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += double(a[i * m + row]) * b[col * k + i];
      result[col * m + row] = float(alpha * sum + beta * c[col * m + row]);
    }
  }
  return result;
}

constexpr int kRows = 7, kColumns = 5, kInner = 9;

void scalars_on_the_host_are_those_of_the_capture() {
  const Array<float> a(samples(kRows * kInner, 1)), b(samples(kInner * kColumns, 2)),
      c(zeros(kRows * kColumns));
  float alpha = 1.5f, beta = -0.25f;
  const Graph graph([&] {
    CHECK_STATUS(cublasSgemm(g_blas, CUBLAS_OP_N, CUBLAS_OP_N, kRows, kColumns, kInner, &alpha, a.at, kRows,
                             b.at, kInner, &beta, c.at, kRows));
  });
  alpha = beta = 100.0f;
  Floats want = samples(kRows * kColumns, 3);
  c.send(want);
  CHECK_STATUS(cublasSetPointerMode(g_blas, CUBLAS_POINTER_MODE_DEVICE));  // of later calls alone
  for (int launch = 0; launch < 3; ++launch) {
    const Floats left = samples(kRows * kInner, 10 + launch), right = samples(kInner * kColumns, 20 + launch);
    a.send(left);
    b.send(right);
    graph.launch();
    want = product(kRows, kColumns, kInner, 1.5f, left, right, -0.25f, want);
    expect_near(c.received(), want, "a product with scalars of the capture");
  }
  CHECK_STATUS(cublasSetPointerMode(g_blas, CUBLAS_POINTER_MODE_HOST));
}

void scalars_and_pointers_on_the_device_are_those_of_the_launch() {
  const Array<float> a(samples(kRows * kInner, 1)), b(samples(kInner * kColumns, 2)),
      c(zeros(kRows * kColumns)), other(samples(kInner * kColumns, 4)), alpha(Floats{0}), beta(Floats{0});
  const Array<const float*> left(std::vector<const float*>{a.at}), right(std::vector<const float*>{nullptr});
  const Array<float*> result(std::vector<float*>{c.at});
  CHECK_STATUS(cublasSetPointerMode(g_blas, CUBLAS_POINTER_MODE_DEVICE));
  const Graph graph([&] {
    CHECK_STATUS(cublasSgemmBatched(g_blas, CUBLAS_OP_N, CUBLAS_OP_N, kRows, kColumns, kInner, alpha.at,
                                    left.at, kRows, right.at, kInner, beta.at, result.at, kRows, 1));
  });
  CHECK_STATUS(cublasSetPointerMode(g_blas, CUBLAS_POINTER_MODE_HOST));
  for (int launch = 0; launch < 2; ++launch) {
    alpha.send({2.0f + launch});
    right.send({launch == 0 ? b.at : other.at});
    graph.launch();
    const Floats want = product(kRows, kColumns, kInner, 2.0f + launch, a.received(),
                                (launch == 0 ? b : other).received(), 0, zeros(kRows * kColumns));
    expect_near(c.received(), want, "a product of a batch with what the device has at the launch");
  }
}

void results_on_the_host_end_the_capture() {
  const Array<float> x(samples(8, 1));
  float result = -1;
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamBeginCapture(g_stream, cudaStreamCaptureModeGlobal));
  expect(cublasSdot(g_blas, 8, x.at, 1, x.at, 1, &result) != CUBLAS_STATUS_SUCCESS,
         "a result on the host is refused");
  expect(cudaStreamEndCapture(g_stream, &graph) == cudaErrorStreamCaptureInvalidated && graph == nullptr,
         "the capture is over");
  expect(result == -1, "nothing was written");
  static_cast<void>(cudaGetLastError());
}

void arguments_are_checked_at_the_call() {
  const Array<float> x(samples(81, 1));
  const float one = 1;
  Graph graph([&] {
    expect(cublasSgemm(g_blas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 9, 9, &one, x.at, 9, x.at, 8, &one, x.at, 9) ==
               CUBLAS_STATUS_INVALID_VALUE,
           "a leading dimension that is too small");
  });
}

// relu(a * b + bias), and descriptors that are gone when the graph is launched.
void products_with_epilogues() {
  const Array<float> a(samples(kRows * kInner, 5)), b(samples(kInner * kColumns, 6)), bias(samples(kRows, 7)),
      d(zeros(kRows * kColumns));
  cublasLtHandle_t handle;
  CHECK_STATUS(cublasLtCreate(&handle));
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t of_a, of_b, of_d;
  CHECK_STATUS(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
  CHECK_STATUS(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  CHECK_STATUS(
      cublasLtMatmulDescSetAttribute(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias.at, sizeof bias.at));
  CHECK_STATUS(cublasLtMatrixLayoutCreate(&of_a, CUDA_R_32F, kRows, kInner, kRows));
  CHECK_STATUS(cublasLtMatrixLayoutCreate(&of_b, CUDA_R_32F, kInner, kColumns, kInner));
  CHECK_STATUS(cublasLtMatrixLayoutCreate(&of_d, CUDA_R_32F, kRows, kColumns, kRows));
  float alpha = 0.5f, beta = 0;
  const Graph graph([&] {
    CHECK_STATUS(cublasLtMatmul(handle, operation, &alpha, a.at, of_a, b.at, of_b, &beta, d.at, of_d, d.at,
                                of_d, nullptr, nullptr, 0, g_stream));
  });
  alpha = beta = 9;
  for (const auto layout : {of_a, of_b, of_d}) CHECK_STATUS(cublasLtMatrixLayoutDestroy(layout));
  CHECK_STATUS(cublasLtMatmulDescDestroy(operation));
  CHECK_STATUS(cublasLtDestroy(handle));
  for (int launch = 0; launch < 3; ++launch) {
    const Floats left = samples(kRows * kInner, 30 + launch), add = samples(kRows, 40 + launch);
    a.send(left);
    bias.send(add);
    graph.launch();
    Floats want = product(kRows, kColumns, kInner, 0.5f, left, b.received(), 0, zeros(kRows * kColumns));
    for (size_t k = 0; k < want.size(); ++k) want[k] = std::fmax(want[k] + add[k % kRows], 0.0f);
    expect_near(d.received(), want, "a product with bias and ReLU");
  }
}

// The rows of a matrix with three diagonals.
struct Sparse {
  std::vector<int> offsets{0}, columns;
  Floats values;
  explicit Sparse(int n) {
    for (int r = 0; r < n; ++r) {
      for (int c = std::max(0, r - 1); c <= std::min(n - 1, r + 1); ++c) {
        columns.push_back(c);
        values.push_back(r == c ? 10.0f + float(r % 5) : 1.0f / float(1 + std::min(r, c) % 3));
      }
      offsets.push_back(int(columns.size()));
    }
  }
  template <class Visit>
  void for_row(int r, Visit visit) const {
    for (int e = offsets[r]; e < offsets[r + 1]; ++e) visit(columns[e], values[e]);
  }
};

// C = 2 * A * B - C, and descriptors that are gone when the graph is launched.
void sparse_products() {
  constexpr int kSize = 12, kWide = 3;
  const Sparse host(kSize);
  const Array<int> offsets(host.offsets), columns(host.columns);
  const Array<float> values(host.values), b(samples(kSize * kWide, 1)), c(zeros(kSize * kWide));
  cusparseSpMatDescr_t of_a;
  cusparseDnMatDescr_t of_b, of_c;
  CHECK_STATUS(cusparseCreateCsr(&of_a, kSize, kSize, int64_t(host.values.size()), offsets.at, columns.at,
                                 values.at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 CUDA_R_32F));
  CHECK_STATUS(cusparseCreateDnMat(&of_b, kSize, kWide, kSize, b.at, CUDA_R_32F, CUSPARSE_ORDER_COL));
  CHECK_STATUS(cusparseCreateDnMat(&of_c, kSize, kWide, kSize, c.at, CUDA_R_32F, CUSPARSE_ORDER_COL));
  float alpha = 2, beta = -1;
  size_t bytes = 0;
  CHECK_STATUS(cusparseSpMM_bufferSize(g_sparse, kPlain, kPlain, &alpha, of_a, of_b, &beta, of_c, CUDA_R_32F,
                                       CUSPARSE_SPMM_ALG_DEFAULT, &bytes));
  const Array<char> buffer(std::vector<char>(bytes + 1));
  const Graph graph([&] {
    CHECK_STATUS(cusparseSpMM(g_sparse, kPlain, kPlain, &alpha, of_a, of_b, &beta, of_c, CUDA_R_32F,
                              CUSPARSE_SPMM_ALG_DEFAULT, buffer.at));
  });
  alpha = beta = 50;
  CHECK_STATUS(cusparseDnMatSetValues(of_b, c.at));
  CHECK_STATUS(cusparseDestroySpMat(of_a));
  CHECK_STATUS(cusparseDestroyDnMat(of_b));
  CHECK_STATUS(cusparseDestroyDnMat(of_c));
  Floats want(kSize * kWide);
  for (int launch = 0; launch < 3; ++launch) {
    const Floats dense = samples(kSize * kWide, 50 + launch);
    b.send(dense);
    graph.launch();
    for (int col = 0; col < kWide; ++col) {
      for (int r = 0; r < kSize; ++r) {
        double sum = 0;
        host.for_row(r, [&](int k, float v) { sum += double(v) * dense[col * kSize + k]; });
        want[col * kSize + r] = float(2 * sum - want[col * kSize + r]);
      }
    }
    expect_near(c.received(), want, "a product of a sparse matrix");
  }
}

__global__ void divide(const float* a, const float* b, float* to) {
  *to = *a / *b;
}
__global__ void negate(const float* a, float* to) {
  *to = -*a;
}

// One iteration of NVIDIA's sample is one graph, which is launched until the residual is small.
void conjugate_gradients() {
  constexpr int kSize = 300;
  constexpr float kSmall = 1e-5f;
  const Sparse host(kSize);
  const Array<int> offsets(host.offsets), columns(host.columns);
  const Array<float> values(host.values), x(zeros(kSize)), r(Floats(kSize, 1.0f)), p(zeros(kSize)),
      ax(zeros(kSize)), r1(Floats{0}), r0(Floats{1}), dot(Floats{0}), a(Floats{0}), minus_a(Floats{0}),
      b(Floats{0});
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t of_p, of_ax;
  CHECK_STATUS(cusparseCreateCsr(&matrix, kSize, kSize, int64_t(host.values.size()), offsets.at, columns.at,
                                 values.at, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 CUDA_R_32F));
  CHECK_STATUS(cusparseCreateDnVec(&of_p, kSize, p.at, CUDA_R_32F));
  CHECK_STATUS(cusparseCreateDnVec(&of_ax, kSize, ax.at, CUDA_R_32F));
  const float one = 1, zero = 0;
  size_t bytes = 0;
  CHECK_STATUS(cusparseSpMV_bufferSize(g_sparse, kPlain, &one, matrix, of_p, &zero, of_ax, CUDA_R_32F,
                                       CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  const Array<char> buffer(std::vector<char>(bytes + 1));
  const auto mode = [](cublasPointerMode_t m) { CHECK_STATUS(cublasSetPointerMode(g_blas, m)); };
  mode(CUBLAS_POINTER_MODE_DEVICE);
  CHECK_STATUS(cublasSdot(g_blas, kSize, r.at, 1, r.at, 1, r1.at));
  float residual = 0;
  const Graph iteration([&] {
    divide<<<1, 1, 0, g_stream>>>(r1.at, r0.at, b.at);
    CHECK_STATUS(cublasSscal(g_blas, kSize, b.at, p.at, 1));
    mode(CUBLAS_POINTER_MODE_HOST);
    CHECK_STATUS(cublasSaxpy(g_blas, kSize, &one, r.at, 1, p.at, 1));
    mode(CUBLAS_POINTER_MODE_DEVICE);
    CHECK_STATUS(cusparseSpMV(g_sparse, kPlain, &one, matrix, of_p, &zero, of_ax, CUDA_R_32F,
                              CUSPARSE_SPMV_ALG_DEFAULT, buffer.at));
    CHECK_STATUS(cublasSdot(g_blas, kSize, p.at, 1, ax.at, 1, dot.at));
    divide<<<1, 1, 0, g_stream>>>(r1.at, dot.at, a.at);
    CHECK_STATUS(cublasSaxpy(g_blas, kSize, a.at, p.at, 1, x.at, 1));
    negate<<<1, 1, 0, g_stream>>>(a.at, minus_a.at);
    CHECK_STATUS(cublasSaxpy(g_blas, kSize, minus_a.at, ax.at, 1, r.at, 1));
    CHECK_CUDA(cudaMemcpyAsync(r0.at, r1.at, sizeof(float), cudaMemcpyDeviceToDevice, g_stream));
    CHECK_STATUS(cublasSdot(g_blas, kSize, r.at, 1, r.at, 1, r1.at));
    CHECK_CUDA(cudaMemcpyAsync(&residual, r1.at, sizeof(float), cudaMemcpyDeviceToHost, g_stream));
  });
  mode(CUBLAS_POINTER_MODE_HOST);
  int launches = 0;
  do {
    iteration.launch();
    CHECK_CUDA(cudaStreamSynchronize(g_stream));
  } while (residual > kSmall * kSmall && ++launches < 100);
  expect(launches > 3 && launches < 100, "the iterations end");
  const Floats found = x.received();
  Floats back(kSize);
  for (int row = 0; row < kSize; ++row) {
    double sum = 0;
    host.for_row(row, [&](int k, float v) { sum += double(v) * found[k]; });
    back[row] = float(sum);
  }
  expect_near(back, Floats(kSize, 1.0f), "conjugate gradients of a graph");
  CHECK_STATUS(cusparseDestroySpMat(matrix));
  CHECK_STATUS(cusparseDestroyDnVec(of_p));
  CHECK_STATUS(cusparseDestroyDnVec(of_ax));
}

// Two branches of a graph: the second reads what the first writes, and waits for it or not.
void show_branches(bool waits) {
  const Array<float> a(samples(81, 1)), c(zeros(81)), d(zeros(81));
  const float one = 1, zero = 0;
  cudaStream_t other;
  cudaEvent_t forked, written, joined;
  CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (cudaEvent_t* event : {&forked, &written, &joined}) CHECK_CUDA(cudaEventCreate(event));
  const auto multiply = [&](cudaStream_t stream, const float* from, float* to) {
    CHECK_STATUS(cublasSetStream(g_blas, stream));
    CHECK_STATUS(
        cublasSgemm(g_blas, CUBLAS_OP_N, CUBLAS_OP_N, 9, 9, 9, &one, from, 9, from, 9, &zero, to, 9));
  };
  const Graph graph([&] {
    CHECK_CUDA(cudaEventRecord(forked, g_stream));
    CHECK_CUDA(cudaStreamWaitEvent(other, forked, 0));
    multiply(g_stream, a.at, c.at);
    CHECK_CUDA(cudaEventRecord(written, g_stream));
    if (waits) CHECK_CUDA(cudaStreamWaitEvent(other, written, 0));
    multiply(other, c.at, d.at);
    CHECK_CUDA(cudaEventRecord(joined, other));
    CHECK_CUDA(cudaStreamWaitEvent(g_stream, joined, 0));
  });
  graph.launch();
  CHECK_CUDA(cudaStreamSynchronize(g_stream));
}

// The result has one column less than the product.
void show_overrun() {
  const Array<float> a(samples(kRows * kInner, 1)), b(samples(kInner * kColumns, 2)),
      c(zeros(kRows * (kColumns - 1)));
  const float one = 1, zero = 0;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaStreamBeginCapture(g_stream, cudaStreamCaptureModeGlobal));
  std::printf("%d\n", cublasSgemm(g_blas, CUBLAS_OP_N, CUBLAS_OP_N, kRows, kColumns, kInner, &one, a.at,
                                  kRows, b.at, kInner, &zero, c.at, kRows));
  CHECK_CUDA(cudaStreamEndCapture(g_stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  std::printf("%s\n", cudaGetErrorName(cudaGraphLaunch(exec, g_stream)));  // MISTAKE overrun
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_CUDA(cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking));
  CHECK_STATUS(cublasCreate(&g_blas));
  CHECK_STATUS(cusparseCreate(&g_sparse));
  CHECK_STATUS(cublasSetStream(g_blas, g_stream));
  CHECK_STATUS(cusparseSetStream(g_sparse, g_stream));
  if (argc > 1 && std::strcmp(argv[1], "overrun") == 0) {
    show_overrun();
    return 0;
  }
  if (argc > 1) {
    show_branches(std::strcmp(argv[1], "ordered") == 0);
    return 0;
  }
  scalars_on_the_host_are_those_of_the_capture();
  scalars_and_pointers_on_the_device_are_those_of_the_launch();
  results_on_the_host_end_the_capture();
  arguments_are_checked_at_the_call();
  products_with_epilogues();
  sparse_products();
  conjugate_gradients();
  CHECK_STATUS(cusparseDestroy(g_sparse));
  CHECK_STATUS(cublasDestroy(g_blas));
  CHECK_CUDA(cudaStreamDestroy(g_stream));
  return g_failures;
}
