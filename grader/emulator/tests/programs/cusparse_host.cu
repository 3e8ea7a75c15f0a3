// cuSPARSE as NVIDIA's own samples call it (CUDALibrarySamples: spmv_csr, spmv_coo, spmm_csr, sddmm_csr, spgemm,
// sparse2dense_csr, dense2sparse_csr): the samples' matrices and the results that they expect. The same source runs
// on a GPU. With "captured": calls go through graphs. With "index": an index outside of the matrix.
#include <cusparse.h>

#include <cstring>
#include <string>

#include "through_graph.h"

#define CHECK_CUSPARSE(call)                                                                      \
  do {                                                                                            \
    const cusparseStatus_t status_ = through_graph([&] { return (call); });                       \
    if (status_ != CUSPARSE_STATUS_SUCCESS) {                                                     \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cusparseGetErrorString(status_)); \
      std::exit(100);                                                                             \
    }                                                                                             \
  } while (0)

namespace {

cusparseHandle_t g_handle;
constexpr cusparseOperation_t kPlain = CUSPARSE_OPERATION_NON_TRANSPOSE;
constexpr float kOne = 1.0f, kZero = 0.0f;

// A copy on the device.
template <class T>
struct Array {
  explicit Array(std::vector<T> values) : size(values.size()) {
    CHECK_CUDA(cudaMalloc(&device, size * sizeof(T) + 1));
    CHECK_CUDA(cudaMemcpy(device, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(device); }
  Array(const Array&) = delete;
  std::vector<T> received() const {
    std::vector<T> now(size);
    CHECK_CUDA(cudaMemcpy(now.data(), device, size * sizeof(T), cudaMemcpyDeviceToHost));
    return now;
  }
  size_t size;
  T* device = nullptr;
};

// The 4 x 4 matrix of most samples.
struct Sample {
  Array<int> offsets{{0, 3, 4, 7, 9}}, rows{{0, 0, 0, 1, 2, 2, 2, 3, 3}},
      columns{{0, 2, 3, 1, 0, 2, 3, 1, 3}};
  Array<float> values{{1, 2, 3, 4, 5, 6, 7, 8, 9}};
  cusparseSpMatDescr_t csr, coo;
  Sample() {
    CHECK_CUSPARSE(cusparseCreateCsr(&csr, 4, 4, 9, offsets.device, columns.device, values.device,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                     CUDA_R_32F));
    CHECK_CUSPARSE(cusparseCreateCoo(&coo, 4, 4, 9, rows.device, columns.device, values.device,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  }
  ~Sample() {
    CHECK_CUSPARSE(cusparseDestroySpMat(csr));
    CHECK_CUSPARSE(cusparseDestroySpMat(coo));
  }
};

struct Vector : Array<float> {
  explicit Vector(std::vector<float> v) : Array<float>(std::move(v)) {
    CHECK_CUSPARSE(cusparseCreateDnVec(&of, int64_t(size), device, CUDA_R_32F));
  }
  ~Vector() { CHECK_CUSPARSE(cusparseDestroyDnVec(of)); }
  cusparseDnVecDescr_t of;
};

struct Dense : Array<float> {
  Dense(int rows, int columns, cusparseOrder_t order, std::vector<float> v) : Array<float>(std::move(v)) {
    const int ld = order == CUSPARSE_ORDER_ROW ? columns : rows;
    CHECK_CUSPARSE(cusparseCreateDnMat(&of, rows, columns, ld, device, CUDA_R_32F, order));
  }
  ~Dense() { CHECK_CUSPARSE(cusparseDestroyDnMat(of)); }
  cusparseDnMatDescr_t of;
};

// Memory for a call, of the size that it asks.
struct Buffer {
  explicit Buffer(size_t bytes) { CHECK_CUDA(cudaMalloc(&at, bytes + 1)); }
  ~Buffer() { cudaFree(at); }
  Buffer(const Buffer&) = delete;
  void* at = nullptr;
};

void vector_products() {
  Sample a;
  struct Way {
    cusparseSpMatDescr_t matrix;
    cusparseSpMVAlg_t algorithm;
  };
  for (const Way way : {Way{a.csr, CUSPARSE_SPMV_ALG_DEFAULT}, Way{a.coo, CUSPARSE_SPMV_COO_ALG1},
                        Way{a.csr, CUSPARSE_SPMV_CSR_ALG2}}) {
    Vector x({1, 2, 3, 4}), y({0, 0, 0, 0});
    size_t bytes = 0;
    CHECK_CUSPARSE(cusparseSpMV_bufferSize(g_handle, kPlain, &kOne, way.matrix, x.of, &kZero, y.of,
                                           CUDA_R_32F, way.algorithm, &bytes));
    Buffer buffer(bytes);
    CHECK_CUSPARSE(cusparseSpMV(g_handle, kPlain, &kOne, way.matrix, x.of, &kZero, y.of, CUDA_R_32F,
                                way.algorithm, buffer.at));
    expect(y.received() == std::vector<float>{19, 8, 51, 52}, "spmv of the sample");
  }
}

void matrix_products() {
  Sample a;
  for (const cusparseSpMMAlg_t algorithm :
       {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG3}) {
    Dense b(4, 3, CUSPARSE_ORDER_COL, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    Dense c(4, 3, CUSPARSE_ORDER_COL, std::vector<float>(12, NAN));  // beta is 0
    size_t bytes = 0;
    CHECK_CUSPARSE(cusparseSpMM_bufferSize(g_handle, kPlain, kPlain, &kOne, a.csr, b.of, &kZero, c.of,
                                           CUDA_R_32F, algorithm, &bytes));
    Buffer buffer(bytes);
    CHECK_CUSPARSE(cusparseSpMM_preprocess(g_handle, kPlain, kPlain, &kOne, a.csr, b.of, &kZero, c.of,
                                           CUDA_R_32F, algorithm, buffer.at));
    CHECK_CUSPARSE(cusparseSpMM(g_handle, kPlain, kPlain, &kOne, a.csr, b.of, &kZero, c.of, CUDA_R_32F,
                                algorithm, buffer.at));
    expect(c.received() == std::vector<float>{19, 8, 51, 52, 43, 24, 123, 120, 67, 40, 195, 188},
           "spmm of the sample");
  }
}

// The samples' entries of C, and NumPy's product there.
void sampled_products() {
  Dense a(4, 3, CUSPARSE_ORDER_ROW, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Dense b(3, 4, CUSPARSE_ORDER_ROW, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Sample c;
  size_t bytes = 0;
  CHECK_CUSPARSE(cusparseSDDMM_bufferSize(g_handle, kPlain, kPlain, &kOne, a.of, b.of, &kZero, c.csr,
                                          CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes));
  Buffer buffer(bytes);
  CHECK_CUSPARSE(cusparseSDDMM_preprocess(g_handle, kPlain, kPlain, &kOne, a.of, b.of, &kZero, c.csr,
                                          CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, buffer.at));
  CHECK_CUSPARSE(cusparseSDDMM(g_handle, kPlain, kPlain, &kOne, a.of, b.of, &kZero, c.csr, CUDA_R_32F,
                               CUSPARSE_SDDMM_ALG_DEFAULT, buffer.at));
  expect(c.values.received() == std::vector<float>{38, 50, 56, 98, 128, 176, 200, 206, 272},
         "sddmm at the sample's entries");
}

void sparse_products() {
  Sample a;
  Array<int> b_offsets({0, 2, 4, 7, 8}), b_columns({0, 3, 1, 3, 0, 1, 2, 1}), c_offsets({0, 0, 0, 0, 0});
  Array<float> b_values({1, 2, 3, 4, 5, 6, 7, 8});
  cusparseSpMatDescr_t b, c;
  CHECK_CUSPARSE(cusparseCreateCsr(&b, 4, 4, 8, b_offsets.device, b_columns.device, b_values.device,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                   CUDA_R_32F));
  CHECK_CUSPARSE(cusparseCreateCsr(&c, 4, 4, 0, c_offsets.device, nullptr, nullptr, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  cusparseSpGEMMDescr_t plan;
  CHECK_CUSPARSE(cusparseSpGEMM_createDescr(&plan));
  size_t bytes = 0;
  const auto estimate = [&](void* buffer) {
    CHECK_CUSPARSE(cusparseSpGEMM_workEstimation(g_handle, kPlain, kPlain, &kOne, a.csr, b, &kZero, c,
                                                 CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, plan, &bytes, buffer));
  };
  const auto compute = [&](void* buffer) {
    CHECK_CUSPARSE(cusparseSpGEMM_compute(g_handle, kPlain, kPlain, &kOne, a.csr, b, &kZero, c, CUDA_R_32F,
                                          CUSPARSE_SPGEMM_DEFAULT, plan, &bytes, buffer));
  };
  estimate(nullptr);
  Buffer first(bytes);
  estimate(first.at);
  compute(nullptr);
  Buffer second(bytes);
  compute(second.at);
  int64_t rows, columns, nnz;
  CHECK_CUSPARSE(cusparseSpMatGetSize(c, &rows, &columns, &nnz));
  expect(nnz == 12, "spgemm's number of entries");
  Array<int> c_columns(std::vector<int>(size_t(nnz), 0));
  Array<float> c_values(std::vector<float>(size_t(nnz), 0.0f));
  CHECK_CUSPARSE(cusparseCsrSetPointers(c, c_offsets.device, c_columns.device, c_values.device));
  CHECK_CUSPARSE(cusparseSpGEMM_copy(g_handle, kPlain, kPlain, &kOne, a.csr, b, &kZero, c, CUDA_R_32F,
                                     CUSPARSE_SPGEMM_DEFAULT, plan));
  expect(c_offsets.received() == std::vector<int>{0, 4, 6, 10, 12}, "spgemm's offsets");
  expect(c_columns.received() == std::vector<int>{0, 1, 2, 3, 1, 3, 0, 1, 2, 3, 1, 3}, "spgemm's columns");
  expect(c_values.received() == std::vector<float>{11, 36, 14, 2, 12, 16, 35, 92, 42, 10, 96, 32},
         "spgemm's values");
  CHECK_CUSPARSE(cusparseSpGEMM_destroyDescr(plan));
  CHECK_CUSPARSE(cusparseDestroySpMat(b));
  CHECK_CUSPARSE(cusparseDestroySpMat(c));
}

void conversions() {
  const std::vector<float> dense{1, 0, 2, 3, 0, 4, 0, 0, 5, 0, 6, 7, 0, 8, 0, 9};
  Sample a;
  Dense b(4, 4, CUSPARSE_ORDER_ROW, std::vector<float>(16, -1.0f));
  size_t bytes = 0;
  CHECK_CUSPARSE(
      cusparseSparseToDense_bufferSize(g_handle, a.csr, b.of, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &bytes));
  Buffer buffer(bytes);
  CHECK_CUSPARSE(cusparseSparseToDense(g_handle, a.csr, b.of, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, buffer.at));
  expect(b.received() == dense, "sparse2dense of the sample");
  Array<int> offsets({0, 0, 0, 0, 0}), columns(std::vector<int>(9, 0));
  Array<float> values(std::vector<float>(9, 0.0f));
  cusparseSpMatDescr_t back;
  CHECK_CUSPARSE(cusparseCreateCsr(&back, 4, 4, 0, offsets.device, nullptr, nullptr, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  CHECK_CUSPARSE(
      cusparseDenseToSparse_bufferSize(g_handle, b.of, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, &bytes));
  Buffer other(bytes);
  CHECK_CUSPARSE(
      cusparseDenseToSparse_analysis(g_handle, b.of, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, other.at));
  int64_t rows, cols, nnz;
  CHECK_CUSPARSE(cusparseSpMatGetSize(back, &rows, &cols, &nnz));
  expect(nnz == 9, "dense2sparse's number of entries");
  CHECK_CUSPARSE(cusparseCsrSetPointers(back, offsets.device, columns.device, values.device));
  CHECK_CUSPARSE(
      cusparseDenseToSparse_convert(g_handle, b.of, back, CUSPARSE_DENSETOSPARSE_ALG_DEFAULT, other.at));
  expect(offsets.received() == a.offsets.received() && columns.received() == a.columns.received() &&
             values.received() == a.values.received(),
         "dense2sparse of the sample");
  CHECK_CUSPARSE(cusparseDestroySpMat(back));
}

// What cuSPARSE of CUDA 13 answered on an H100 where a program did not ask for a buffer.
void null_buffers() {
  Sample a;
  Vector x({1, 2, 3, 4}), y({0, 0, 0, 0});
  for (const auto& [matrix, algorithm] :
       {std::pair{a.csr, CUSPARSE_SPMV_ALG_DEFAULT}, std::pair{a.csr, CUSPARSE_SPMV_CSR_ALG2},
        std::pair{a.coo, CUSPARSE_SPMV_ALG_DEFAULT}, std::pair{a.coo, CUSPARSE_SPMV_COO_ALG2}})
    expect(cusparseSpMV(g_handle, kPlain, &kOne, matrix, x.of, &kZero, y.of, CUDA_R_32F, algorithm,
                        nullptr) == CUSPARSE_STATUS_INVALID_VALUE,
           "spmv without a buffer");
  Dense b(4, 4, CUSPARSE_ORDER_COL, std::vector<float>(16, 1)),
      c(4, 4, CUSPARSE_ORDER_COL, std::vector<float>(16));
  const auto multiply = [&](cusparseSpMatDescr_t matrix, cusparseSpMMAlg_t algorithm) {
    return cusparseSpMM(g_handle, kPlain, kPlain, &kOne, matrix, b.of, &kZero, c.of, CUDA_R_32F, algorithm,
                        nullptr);
  };
  for (const cusparseSpMMAlg_t algorithm :
       {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2})
    expect(multiply(a.csr, algorithm) == CUSPARSE_STATUS_INTERNAL_ERROR, "spmm of rows without a buffer");
  for (const cusparseSpMMAlg_t algorithm :
       {CUSPARSE_SPMM_ALG_DEFAULT, CUSPARSE_SPMM_COO_ALG1, CUSPARSE_SPMM_COO_ALG3})
    expect(multiply(a.coo, algorithm) == CUSPARSE_STATUS_SUCCESS, "spmm of entries needs no buffer");
  expect(multiply(a.coo, CUSPARSE_SPMM_COO_ALG2) == CUSPARSE_STATUS_INVALID_VALUE,
         "the second spmm of entries needs a buffer");
  expect(cusparseSDDMM(g_handle, kPlain, kPlain, &kOne, b.of, b.of, &kZero, a.csr, CUDA_R_32F,
                       CUSPARSE_SDDMM_ALG_DEFAULT, nullptr) == CUSPARSE_STATUS_INVALID_VALUE,
         "sddmm without a buffer");
  expect(cusparseSparseToDense(g_handle, a.csr, b.of, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr) ==
             CUSPARSE_STATUS_INVALID_VALUE,
         "sparse2dense without a buffer");
  Array<int> places(std::vector<int>(9, 0));
  expect(cusparseXcoosortByRow(g_handle, 4, 4, 9, a.rows.device, a.columns.device, places.device, nullptr) ==
             CUSPARSE_STATUS_INVALID_VALUE,
         "coosort without a buffer");
}

// A call is work of the handle's stream: it sees what the stream wrote before, and what follows sees its result.
__global__ void fill(float* x, float value) {
  x[threadIdx.x] = value;
}
void streams() {
  cudaStream_t stream, now;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_CUSPARSE(cusparseSetStream(g_handle, stream));
  CHECK_CUSPARSE(cusparseGetStream(g_handle, &now));
  expect(now == stream, "the handle keeps its stream");
  Sample a;
  Vector x({0, 0, 0, 0}), y({0, 0, 0, 0});
  size_t bytes = 0;
  CHECK_CUSPARSE(cusparseSpMV_bufferSize(g_handle, kPlain, &kOne, a.csr, x.of, &kZero, y.of, CUDA_R_32F,
                                         CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
  Buffer buffer(bytes);
  fill<<<1, 4, 0, stream>>>(x.device, 2.0f);
  CHECK_CUSPARSE(cusparseSpMV(g_handle, kPlain, &kOne, a.csr, x.of, &kZero, y.of, CUDA_R_32F,
                              CUSPARSE_SPMV_ALG_DEFAULT, buffer.at));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  expect(y.received() == std::vector<float>{12, 8, 36, 34}, "a product behind a kernel of its stream");
  CHECK_CUSPARSE(cusparseSetStream(g_handle, nullptr));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

// What a GPU cannot tell: it would read other memory.
void show_index() {
  Sample a;
  Array<int> columns({0, 2, 3, 1, 0, 4, 3, 1, 3});
  CHECK_CUSPARSE(cusparseCsrSetPointers(a.csr, a.offsets.device, columns.device, a.values.device));
  Vector x({1, 2, 3, 4}), y({0, 0, 0, 0});
  Buffer buffer(4096);
  std::printf("%s\n", cusparseGetErrorName(cusparseSpMV(g_handle, kPlain, &kOne, a.csr, x.of, &kZero, y.of,
                                                        CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, buffer.at)));
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_CUSPARSE(cusparseCreate(&g_handle));
  int version = 0;
  CHECK_CUSPARSE(cusparseGetVersion(g_handle, &version));
  expect(version == CUSPARSE_VERSION, "the version is the header's");
  if (argc > 1 && std::strcmp(argv[1], "index") == 0) {
    show_index();
  } else if (argc > 1 && std::strcmp(argv[1], "captured") == 0) {
    CHECK_CUDA(cudaStreamCreate(&g_captured));
    CHECK_CUSPARSE(cusparseSetStream(g_handle, g_captured));
    vector_products();
    matrix_products();
    sampled_products();
    sparse_products();
    conversions();
    expect(g_graphs >= 6, "calls went through graphs");
  } else {
    vector_products();
    matrix_products();
    sampled_products();
    sparse_products();
    conversions();
    null_buffers();
    streams();
  }
  CHECK_CUSPARSE(cusparseDestroy(g_handle));
  return g_failures;
}
