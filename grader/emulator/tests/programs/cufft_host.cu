// cuFFT against sums on the host, as programs use it: a convolution, a filter in place, columns of a matrix, a
// work area of the program's own, a captured stream; and what it answers to mistakes. The same source runs on
// a GPU. With "overrun": an array that is too short. With "unordered": streams that nothing orders. With
// "left_out": what the emulator's cuFFT does not have.
// Random transforms are compared with numpy's (grader/tests/test_cufft.py).
#include <cufft.h>
#include <cufftXt.h>

#include <complex>
#include <functional>
#include <string>

#include "check.h"

#define CHECK_CUFFT(call)                                                 \
  do {                                                                    \
    const int status_ = (call);                                           \
    if (status_ != CUFFT_SUCCESS) {                                       \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, status_); \
      std::exit(100);                                                     \
    }                                                                     \
  } while (0)

namespace {

using Number = std::complex<double>;

template <class T>
struct Device {
  explicit Device(const std::vector<T>& host) : size(host.size()) {
    CHECK_CUDA(cudaMalloc(&data, size * sizeof(T)));
    CHECK_CUDA(cudaMemcpy(data, host.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Device() { cudaFree(data); }
  Device(const Device&) = delete;
  std::vector<T> received() const {
    std::vector<T> host(size);
    CHECK_CUDA(cudaMemcpy(host.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }
  T* data = nullptr;
  size_t size;
};

float sample(int i, int salt) {
  return float(int(bits_of(i, salt) % 2001) - 1000) / 500.0f;
}

std::vector<cufftComplex> samples(int n, int salt) {
  std::vector<cufftComplex> values(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) values[size_t(i)] = {sample(i, salt), sample(i, salt + 1)};
  return values;
}

// The definition: element k of the transform of n numbers.
Number transformed(int n, int k, int sign, const std::function<Number(int)>& at) {
  Number sum = 0;
  for (int j = 0; j < n; ++j) sum += at(j) * std::polar(1.0, sign * 2 * M_PI * (int64_t(j) * k % n) / n);
  return sum;
}

Number wide(cufftComplex z) {
  return {z.x, z.y};
}

void expect_near(const char* name, int k, Number got, Number want, double scale) {
  if (std::abs(got - want) <= 2e-6 * scale) return;
  ++g_failures;
  std::printf("FAILED: %s at %d: got %.9g%+.9gi want %.9g%+.9gi\n", name, k, got.real(), got.imag(),
              want.real(), want.imag());
}

// a = a * b * factor, element by element.
__global__ void multiply(cufftComplex* a, const cufftComplex* b, int n, float factor) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const cufftComplex p = a[i], q = b[i];
  a[i] = {(p.x * q.x - p.y * q.y) * factor, (p.x * q.y + p.y * q.x) * factor};
}

// A signal and a filter, padded with zeros, are multiplied between the transforms.
void convolves() {
  constexpr int n = 60, taps = 11, padded = n + taps - 1;
  std::vector<cufftComplex> signal = samples(n, 1), filter = samples(taps, 3);
  signal.resize(padded);
  filter.resize(padded);
  Device<cufftComplex> a(signal), b(filter);
  cufftHandle plan;
  CHECK_CUFFT(cufftPlan1d(&plan, padded, CUFFT_C2C, 1));
  CHECK_CUFFT(cufftExecC2C(plan, a.data, a.data, CUFFT_FORWARD));
  CHECK_CUFFT(cufftExecC2C(plan, b.data, b.data, CUFFT_FORWARD));
  multiply<<<1, 96>>>(a.data, b.data, padded, 1.0f / padded);
  CHECK_CUFFT(cufftExecC2C(plan, a.data, a.data, CUFFT_INVERSE));
  CHECK_CUFFT(cufftDestroy(plan));
  const std::vector<cufftComplex> got = a.received();
  for (int i = 0; i < padded; ++i) {
    Number want = 0;
    for (int j = 0; j < taps; ++j) {
      if (i - j >= 0 && i - j < n) want += wide(signal[size_t(i - j)]) * wide(filter[size_t(j)]);
    }
    expect_near("a convolution", i, wide(got[size_t(i)]), want, 100);
  }
}

// Real numbers in rows that are padded to the complex ones' length, there and back.
void transforms_in_place() {
  constexpr int rows = 6, columns = 9, half = columns / 2 + 1, pitch = 2 * half;
  std::vector<cufftReal> image(rows * pitch, -77.0f);
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < columns; ++c) image[size_t(r * pitch + c)] = sample(r * columns + c, 5);
  }
  Device<cufftReal> a(image);
  auto* spectrum = reinterpret_cast<cufftComplex*>(a.data);
  cufftHandle forward, inverse;
  CHECK_CUFFT(cufftPlan2d(&forward, rows, columns, CUFFT_R2C));
  CHECK_CUFFT(cufftPlan2d(&inverse, rows, columns, CUFFT_C2R));
  CHECK_CUFFT(cufftExecR2C(forward, a.data, spectrum));
  std::vector<cufftReal> got = a.received();
  for (int k = 0; k < rows * half; ++k) {
    const Number want = transformed(rows, k / half, -1, [&](int r) {
      return transformed(columns, k % half, -1, [&](int c) { return Number(image[size_t(r * pitch + c)]); });
    });
    expect_near("a spectrum in place", k, {got[size_t(2 * k)], got[size_t(2 * k + 1)]}, want, 50);
  }
  CHECK_CUFFT(cufftExecC2R(inverse, spectrum, a.data));
  got = a.received();
  for (int i = 0; i < rows * columns; ++i) {
    const size_t at = size_t(i / columns * pitch + i % columns);
    expect_near("there and back", i, got[at] / (rows * columns), image[at], 10);
  }
  CHECK_CUFFT(cufftDestroy(forward));
  CHECK_CUFFT(cufftDestroy(inverse));
}

// The columns of a matrix are a batch of transforms that lie between one another; the last column stays.
void transforms_columns() {
  int rows = 12, width = 5;
  const int columns = 4;
  const std::vector<cufftComplex> matrix = samples(rows * width, 7);
  Device<cufftComplex> a(matrix);
  cufftHandle plan;
  CHECK_CUFFT(cufftPlanMany(&plan, 1, &rows, &rows, width, 1, &rows, width, 1, CUFFT_C2C, columns));
  CHECK_CUFFT(cufftExecC2C(plan, a.data, a.data, CUFFT_INVERSE));
  CHECK_CUFFT(cufftDestroy(plan));
  const std::vector<cufftComplex> got = a.received();
  for (int i = 0; i < rows * width; ++i) {
    const int column = i % width;
    const Number want =
        column == columns ? wide(matrix[size_t(i)]) : transformed(rows, i / width, 1, [&](int r) {
          return wide(matrix[size_t(r * width + column)]);
        });
    expect_near("a column", i, wide(got[size_t(i)]), want, column == columns ? 0 : 50);
  }
}

// The program has the work area, and a stream of its own.
void takes_a_work_area() {
  constexpr int n = 32;
  const std::vector<cufftComplex> values = samples(n, 9);
  Device<cufftComplex> a(values);
  cufftHandle plan;
  size_t bytes = 0, again = 0;
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUFFT(cufftCreate(&plan));
  CHECK_CUFFT(cufftSetAutoAllocation(plan, 0));
  CHECK_CUFFT(cufftMakePlan1d(plan, n, CUFFT_C2C, 1, &bytes));
  CHECK_CUFFT(cufftGetSize(plan, &again));
  expect(bytes == again, "the size of the work area");
  Device<char> area(std::vector<char>(bytes + 1));
  CHECK_CUFFT(cufftSetWorkArea(plan, area.data));
  CHECK_CUFFT(cufftSetStream(plan, stream));
  CHECK_CUFFT(cufftXtExec(plan, a.data, a.data, CUFFT_FORWARD));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  const std::vector<cufftComplex> got = a.received();
  for (int k = 0; k < n; ++k) {
    const Number want = transformed(n, k, -1, [&](int j) { return wide(values[size_t(j)]); });
    expect_near("with a work area", k, wide(got[size_t(k)]), want, 50);
  }
  CHECK_CUFFT(cufftDestroy(plan));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

// Captured transforms run with each launch of the graph. The plan is used beside it.
void is_captured() {
  constexpr int n = 21;
  const std::vector<cufftComplex> values = samples(n, 11);
  Device<cufftComplex> a(values), b(values);
  cufftHandle plan;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUFFT(cufftPlan1d(&plan, n, CUFFT_C2C, 1));
  CHECK_CUFFT(cufftSetStream(plan, stream));
  CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK_CUFFT(cufftExecC2C(plan, a.data, b.data, CUFFT_FORWARD));
  CHECK_CUFFT(cufftExecC2C(plan, b.data, b.data, CUFFT_INVERSE));
  CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));
  expect(b.received()[3].x == values[3].x, "a captured transform does nothing yet");
  CHECK_CUDA(cudaGraphLaunch(executable, stream));
  CHECK_CUDA(cudaGraphLaunch(executable, stream));
  CHECK_CUFFT(cufftExecC2C(plan, b.data, b.data, CUFFT_FORWARD));
  CHECK_CUFFT(cufftExecC2C(plan, b.data, b.data, CUFFT_INVERSE));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  const std::vector<cufftComplex> got = b.received();
  for (int k = 0; k < n; ++k)
    expect_near("captured", k, wide(got[size_t(k)]) / double(n * n), wide(values[size_t(k)]), 50);
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUFFT(cufftDestroy(plan));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

void expect_status(const char* name, int got, int want) {
  if (got == want) return;
  ++g_failures;
  std::printf("FAILED: %s: got %d want %d\n", name, got, want);
}

// As the documentation has it.
void answers_mistakes() {
  Device<cufftComplex> a(samples(8, 13));
  cufftHandle plan, other;
  size_t bytes = 0;
  int zero = 0;
  expect_status("a size of 0", cufftPlan1d(&plan, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
  expect_status("a negative size", cufftPlan2d(&plan, 8, -8, CUFFT_R2C), CUFFT_INTERNAL_ERROR);
  expect_status("a batch of 0", cufftPlan1d(&plan, 8, CUFFT_C2C, 0), CUFFT_INVALID_SIZE);
  expect_status("no handle", cufftPlan1d(nullptr, 8, CUFFT_C2C, 1), CUFFT_INVALID_VALUE);
  expect_status("no rank", cufftPlanMany(&plan, 0, &zero, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1),
                CUFFT_INVALID_VALUE);
  expect_status("no type", cufftPlan1d(&plan, 8, cufftType(3), 1), CUFFT_INVALID_TYPE);
  expect_status("no plan", cufftExecC2C(4711, a.data, a.data, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
  CHECK_CUFFT(cufftCreate(&other));
  expect_status("a plan not made", cufftExecC2C(other, a.data, a.data, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
  CHECK_CUFFT(cufftSetAutoAllocation(other, 0));
  CHECK_CUFFT(cufftMakePlan1d(other, 1009, CUFFT_C2C, 1, &bytes));
  expect_status("made twice", cufftMakePlan1d(other, 8, CUFFT_C2C, 1, &bytes), CUFFT_INVALID_PLAN);
  // A plan that wants none runs without: so did this one on an H100.
  expect_status("no work area", cufftExecC2C(other, a.data, a.data, CUFFT_FORWARD),
                bytes > 0 ? CUFFT_NO_WORKSPACE : CUFFT_SUCCESS);
  CHECK_CUFFT(cufftDestroy(other));
  expect_status("destroyed twice", cufftDestroy(other), CUFFT_INVALID_PLAN);
  CHECK_CUFFT(cufftPlan1d(&plan, 8, CUFFT_C2C, 1));
  expect_status("no direction", cufftExecC2C(plan, a.data, a.data, 0), CUFFT_INVALID_VALUE);
  expect_status("no output", cufftExecC2C(plan, a.data, nullptr, CUFFT_FORWARD), CUFFT_EXEC_FAILED);
  CHECK_CUFFT(cufftDestroy(plan));
}

int overruns() {
  Device<cufftComplex> a(samples(64, 15)), b(samples(63, 17));
  cufftHandle plan;
  CHECK_CUFFT(cufftPlan1d(&plan, 64, CUFFT_C2C, 1));
  std::printf("%d\n", cufftExecC2C(plan, a.data, b.data, CUFFT_FORWARD));  // MISTAKE overrun
  return 0;
}

// Nothing orders the transform behind the kernel that writes its input, nor the copy of its output behind it.
int forgets_an_order() {
  constexpr int n = 64;
  Device<cufftComplex> a(samples(n, 19)), b(samples(n, 21));
  cudaStream_t writes, transforms;
  CHECK_CUDA(cudaStreamCreateWithFlags(&writes, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamCreateWithFlags(&transforms, cudaStreamNonBlocking));
  cufftHandle plan;
  CHECK_CUFFT(cufftPlan1d(&plan, n, CUFFT_C2C, 1));
  CHECK_CUFFT(cufftSetStream(plan, transforms));
  CHECK_CUDA(cudaDeviceSynchronize());
  multiply<<<1, n, 0, writes>>>(a.data, b.data, n, 1.0f);
  CHECK_CUFFT(cufftExecC2C(plan, a.data, b.data, CUFFT_FORWARD));  // MISTAKE unordered
  CHECK_CUDA(cudaMemcpyAsync(a.data, b.data, sizeof *a.data, cudaMemcpyDefault, writes));  // MISTAKE early
  CHECK_CUDA(cudaDeviceSynchronize());
  return 0;
}

int leaves_out() {
  cufftHandle plan;
  CHECK_CUFFT(cufftCreate(&plan));
  int devices[] = {0, 0};
  std::printf("%d\n", cufftXtSetGPUs(plan, 2, devices));
  long long n = 8;
  size_t bytes = 0;
  std::printf("%d\n", cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 0, CUDA_C_16F, nullptr, 1, 0, CUDA_C_16F,
                                          1, &bytes, CUDA_C_16F));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "overrun") return overruns();
  if (mode == "unordered") return forgets_an_order();
  if (mode == "left_out") return leaves_out();
  convolves();
  transforms_in_place();
  transforms_columns();
  takes_a_work_area();
  is_captured();
  answers_mistakes();
  return g_failures;
}
