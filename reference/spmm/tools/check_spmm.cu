// Checks one submission of the lab `spmm` on small matrices with every kind of row, against the oracle. Runs
// on a GPU or, with the emulated libcudart first on LD_LIBRARY_PATH, on the CPU; tools/check.sh builds it.
//
// Each case: plan; two runs with other contents of B into poisoned C; free. Exit code 0 when all cells
// are right.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "spmm/oracle.h"
#include "warpgrade/spmm.h"

namespace {

#define CHECK(call)                                                                                    \
  do {                                                                                                 \
    const cudaError_t status_ = (call);                                                                \
    if (status_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      std::exit(1);                                                                                    \
    }                                                                                                  \
  } while (0)

constexpr std::int64_t kMostCells = 20'000'000;  // of B: the emulator's hosts are small

struct Matrix {
  std::string name;
  int cols = 0;
  std::vector<int> row_offsets{0};
  std::vector<int> columns;
  std::vector<float> values;
  int rows() const { return static_cast<int>(row_offsets.size()) - 1; }
};

// `length` gives a row's number of entries; columns are uniform, so long rows have duplicates.
template <typename Length>
Matrix make_matrix(const char* name, int rows, int cols, Length length) {
  std::mt19937 random(static_cast<unsigned>(rows) * 31 + cols);
  std::uniform_int_distribution<int> column(0, cols - 1);
  std::uniform_real_distribution<float> value(-1.0f, 1.0f);
  Matrix a{name, cols};
  for (int r = 0; r < rows; ++r) {
    const auto begin = static_cast<std::ptrdiff_t>(a.columns.size());
    for (int i = 0; i < length(r); ++i) {
      a.columns.push_back(column(random));
      a.values.push_back(value(random));
    }
    std::sort(a.columns.begin() + begin, a.columns.end());
    a.row_offsets.push_back(static_cast<int>(a.columns.size()));
  }
  return a;
}

int hub_length(int row) {
  if (row % 97 == 3) return 1500 + row;
  return row % 5 == 0 ? 0 : row % 40;
}

// Short rows around the diagonal, over more columns than rows.
Matrix make_band(const char* name, int rows, int cols) {
  Matrix a = make_matrix(name, rows, 40, [](int r) { return r % 7; });
  a.cols = cols;
  for (int r = 0; r < rows; ++r) {
    const int first = static_cast<int>(std::int64_t{r} * (cols - 40) / rows);
    for (int at = a.row_offsets[r]; at < a.row_offsets[r + 1]; ++at) a.columns[at] += first;
  }
  return a;
}

std::vector<Matrix> matrices() {
  return {make_band("near the diagonal", 34'000, 120'000),
          make_matrix("short rows", 300, 200, [](int r) { return r % 9; }),
          make_matrix("empty", 40, 7, [](int) { return 0; }),
          make_matrix("one row", 1, 50, [](int) { return 2000; }),
          make_matrix("hubs", 700, 300, hub_length),
          make_matrix("long rows", 150, 400, [](int r) { return 150 + r; }),
          make_matrix("wide", 33, 5000, [](int r) { return r * 3; }),
          make_matrix("long rows, far columns", 40, 100000, [](int r) { return 600 + 5 * r; }),
          make_matrix("wider than L2", 60, 500000, [](int r) { return r % 11 == 0 ? 900 : r; })};
}

template <typename T>
T* upload(const std::vector<T>& host) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, std::max<std::size_t>(host.size(), 1) * sizeof(T)));
  CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

// The number of wrong cells; prints the first.
int compare(const Matrix& a, int k, const std::vector<float>& b, const std::vector<float>& c) {
  std::vector<double> want(c.size()), scale(c.size());
  const warpgrade::CsrView view{a.cols, a.row_offsets, a.columns, a.values};
  warpgrade::spmm_oracle(view, k, b.data(), want.data(), scale.data());
  int wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / k;
    if (std::abs(c[i] - want[i]) <= warpgrade::spmm_worst_case_error(view.row_nnz(row), scale[i])) continue;
    if (wrong++ > 0) continue;
    std::printf("WRONG %s k=%d: c[%lld,%lld] want %.9g got %.9g, row has %lld entries\n", a.name.c_str(), k,
                static_cast<long long>(row), static_cast<long long>(i % k), want[i], c[i],
                static_cast<long long>(view.row_nnz(row)));
  }
  return wrong;
}

// Every width on the first matrix, a width of every kind on the others.
std::vector<int> widths(const Matrix& a) {
  if (a.name != "short rows") return {1, 2, 6, 7, 8, 12, 32, 33, 34, 64, 66, 99, 130, 256, 516};
  std::vector<int> all(512);
  std::iota(all.begin(), all.end(), 1);
  return all;
}

int check_case(const Matrix& host, int k, cudaStream_t stream) {
  int* row_offsets = upload(host.row_offsets);
  int* columns = upload(host.columns);
  float* values = upload(host.values);
  const CsrMatrix a{host.rows(), host.cols, static_cast<int>(host.columns.size()),
                    row_offsets, columns,   values};
  std::vector<float> b(static_cast<std::size_t>(host.cols) * k), c(static_cast<std::size_t>(host.rows()) * k);
  const std::vector<float> poison(c.size(), std::numeric_limits<float>::quiet_NaN());
  float* device_b = upload(b);
  float* device_c = upload(c);
  CHECK(cudaDeviceSynchronize());  // `stream` does not wait for copies from pageable memory
  SpmmPlan* plan = nullptr;
  CHECK(spmm_plan(a, k, &plan, stream));
  int wrong = 0;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1.0f, 1.0f);
    for (float& x : b) x = value(random);
    CHECK(cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_c, poison.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    CHECK(spmm_run(a, k, device_b, device_c, plan, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    wrong += compare(host, k, b, c);
  }
  spmm_free(plan);
  for (void* buffer :
       {static_cast<void*>(row_offsets), static_cast<void*>(columns), static_cast<void*>(values),
        static_cast<void*>(device_b), static_cast<void*>(device_c)}) {
    CHECK(cudaFree(buffer));
  }
  return wrong;
}

// B of more than 2^31 floats, of which 64 rows at its end are read: only those are filled, so that a host
// that gives memory when it is touched needs little of it. -1: there is not so much memory here.
int check_far_rows_of_b(cudaStream_t stream) {
  constexpr int k = 256, used = 64;
  Matrix a = make_matrix("far", 50, used, [](int r) { return r % 9; });
  std::vector<float> b(std::size_t{used} * k), c(static_cast<std::size_t>(a.rows()) * k);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 1021) / 1021.0f - 0.5f;
  Matrix far = a;
  far.cols = (std::int64_t{1} << 31) / k + 1000;
  for (int& column : far.columns) column += far.cols - used;
  float* device_b = nullptr;
  if (cudaMalloc(&device_b, std::size_t{4} * far.cols * k) != cudaSuccess) {
    cudaGetLastError();
    return -1;
  }
  CHECK(cudaMemset(device_b, 0, k * sizeof(float)));  // row 0, which the optimized solution may read in vain
  CHECK(cudaMemcpy(device_b + (static_cast<std::int64_t>(far.cols) - used) * k, b.data(),
                   b.size() * sizeof(float), cudaMemcpyHostToDevice));
  float* device_c = upload(c);
  const CsrMatrix view{
      far.rows(),          far.cols,          static_cast<int>(far.columns.size()), upload(far.row_offsets),
      upload(far.columns), upload(far.values)};
  CHECK(cudaDeviceSynchronize());
  SpmmPlan* plan = nullptr;
  CHECK(spmm_plan(view, k, &plan, stream));
  CHECK(spmm_run(view, k, device_b, device_c, plan, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
  spmm_free(plan);
  for (const void* buffer : {static_cast<const void*>(device_b), static_cast<const void*>(device_c),
                             static_cast<const void*>(view.row_offsets),
                             static_cast<const void*>(view.columns), static_cast<const void*>(view.values)}) {
    CHECK(cudaFree(const_cast<void*>(buffer)));
  }
  return compare(a, k, b, c);
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int wrong = 0, cases = 0;
  for (const Matrix& a : matrices()) {
    for (const int k : widths(a)) {
      if (static_cast<std::int64_t>(a.cols) * k > kMostCells) continue;
      wrong += check_case(a, k, stream);
      ++cases;
    }
  }
  const int far = check_far_rows_of_b(stream);
  if (far < 0) std::printf("no memory for a B of more than 2^31 floats: that case is left out\n");
  wrong += std::max(far, 0);
  cases += far >= 0 ? 1 : 0;
  CHECK(cudaStreamDestroy(stream));
  std::printf("%d cases, %d wrong cells\n", cases, wrong);
  return wrong == 0 ? 0 : 1;
}
