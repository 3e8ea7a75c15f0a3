// Times one submission of the lab gcn on a generated graph, cold, and checks each operator against
// plain kernels.
//
//   bench_gcn [--vertices V] [--nnz N] [--skew S] [--repetitions R]
//
// Prints a line an operator: median, 5th and 95th percentile of the event time in microseconds, the floor
// (compulsory bytes at 4.8 TB/s, an H200's memory), and the greatest error over the bound 1e-12 * (|X| |W|)
// and kin. Exit code 1 when a result is wrong. The graph has `nnz` power-law entries and a self-loop a
// vertex; 2 x L2 is written and read before each repetition.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "tools/side_by_side.cuh"
#include "warpgrade/gcn.h"

using bench::allocate;
using bench::upload;

namespace {

constexpr double kPeakBytesPerUs = 4.8e6;

struct Options {
  int vertices = 281903;
  long nnz = 2312497;
  double skew = 0.6;
  int repetitions = 31;
};

struct HostGraph {
  std::vector<int> offsets, columns;
};

HostGraph make_graph(const Options& options) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  const int v = options.vertices;
  std::vector<double> cumulated(v);
  double sum = 0;
  std::vector<double> weights(v);
  for (double& weight : weights) sum += weight = std::pow(uniform(random) + 1e-6, -options.skew);
  double running = 0;
  for (int i = 0; i < v; ++i) cumulated[i] = running += weights[i] / sum;
  HostGraph graph;
  graph.offsets.push_back(0);
  std::vector<int> row;
  for (int i = 0; i < v; ++i) {
    const auto degree = static_cast<long>(weights[i] / sum * options.nnz + uniform(random));
    row.assign(1, i);
    for (long e = 0; e < degree; ++e) {
      const auto at = std::lower_bound(cumulated.begin(), cumulated.end(), uniform(random));
      row.push_back(std::min(v - 1, static_cast<int>(at - cumulated.begin())));
    }
    std::sort(row.begin(), row.end());
    graph.columns.insert(graph.columns.end(), row.begin(), row.end());
    graph.offsets.push_back(static_cast<int>(graph.columns.size()));
  }
  return graph;
}

// Numbers by splitmix64, defined here once more: nvcc builds the bench without the project's other folders.
__global__ void fill_kernel(size_t count, double* to, unsigned long long seed) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    unsigned long long z = (i + seed) * 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    to[i] = static_cast<double>((z ^ z >> 31) >> 11) / (1ull << 52) - 1.0;
  }
}

// ---- What is right, with the sum of magnitudes that errors are measured against.

__global__ void want_transform_kernel(int v, const double* x, const double* w, double* y, double* size) {
  const size_t cell = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (cell >= size_t(v) * 16) return;
  double sum = 0, magnitude = 0;
  for (int f = 0; f < 128; ++f) {
    const double term = x[cell / 16 * 128 + f] * w[f * 16 + cell % 16];
    sum += term;
    magnitude += fabs(term);
  }
  y[cell] = sum;
  size[cell] = magnitude;
}

__global__ void want_aggregate_kernel(GcnGraph graph, const double* y, double* z, double* size) {
  const size_t cell = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  if (cell >= size_t(graph.vertices) * 16) return;
  const int row = cell / 16, begin = graph.row_offsets[row], end = graph.row_offsets[row + 1];
  double sum = 0, magnitude = 0;
  for (int e = begin; e < end; ++e) {
    const int j = graph.columns[e], degree = graph.row_offsets[j + 1] - graph.row_offsets[j];
    const double term =
        degree == 0 ? 0 : y[size_t(j) * 16 + cell % 16] / sqrt(double(end - begin)) / sqrt(double(degree));
    sum += term;
    magnitude += fabs(term);
  }
  z[cell] = sum;
  size[cell] = magnitude;
}

__global__ void want_log_softmax_kernel(int v, const double* z, double* o, double* size) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= v) return;
  double largest = -INFINITY, sum = 0;
  for (int c = 0; c < 16; ++c) largest = fmax(largest, z[row * size_t(16) + c]);
  for (int c = 0; c < 16; ++c) sum += exp(z[row * size_t(16) + c] - largest);
  for (int c = 0; c < 16; ++c) {
    o[row * size_t(16) + c] = z[row * size_t(16) + c] - largest - log(sum);
    size[row * size_t(16) + c] = fabs(z[row * size_t(16) + c]) + fabs(largest) + 3;
  }
}

__global__ void worst_error_kernel(size_t count, const double* want, const double* size, const double* got,
                                   double* worst) {
  double most = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    const double error = fabs(got[i] - want[i]) / (1e-12 * size[i] + 1e-300);
    most = error <= most ? most : isnan(error) ? INFINITY : error;
  }
  atomicMax(reinterpret_cast<unsigned long long*>(worst),
            static_cast<unsigned long long>(__double_as_longlong(most)));
}

struct Bench {
  Options options;
  GcnGraph graph;
  cudaStream_t stream = nullptr;
  double *x, *w, *y, *z, *want, *size, *out, *worst;
  bench::Stopwatch watch;
  bool right = true;

  size_t cells() const { return size_t(graph.vertices) * 16; }

  void measure(const char* name, double floor_bytes, const std::function<cudaError_t()>& call) {
    std::vector<double> times;
    for (int r = 0; r < options.repetitions + 3; ++r) {
      BENCH_CHECK(cudaMemsetAsync(out, 0xff, sizeof(double) * cells(), stream));
      const double ms = watch.milliseconds(stream, call);
      if (r >= 3) times.push_back(ms * 1e3);
    }
    std::sort(times.begin(), times.end());
    BENCH_CHECK(cudaMemsetAsync(worst, 0, sizeof(double), stream));
    worst_error_kernel<<<1056, 256, 0, stream>>>(cells(), want, size, out, worst);
    double error = 0;
    BENCH_CHECK(cudaMemcpy(&error, worst, sizeof error, cudaMemcpyDeviceToHost));
    right &= error <= 1;
    const size_t n = times.size();
    std::printf("%-12s %9.2f us  [%8.2f, %8.2f]  floor %7.2f us  %s (error / bound %.3g)\n", name,
                bench::median(times), times[n / 20], times[n - 1 - n / 20], floor_bytes / kPeakBytesPerUs,
                error <= 1 ? "ok" : "WRONG", error);
  }
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--vertices") options.vertices = std::atoi(argv[i + 1]);
    if (name == "--nnz") options.nnz = std::atol(argv[i + 1]);
    if (name == "--skew") options.skew = std::atof(argv[i + 1]);
    if (name == "--repetitions") options.repetitions = std::atoi(argv[i + 1]);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  Bench b;
  b.options = read_options(argc, argv);
  const HostGraph host = make_graph(b.options);
  const int v = b.options.vertices, nnz = static_cast<int>(host.columns.size());
  int longest = 0;
  for (int i = 0; i < v; ++i) longest = std::max(longest, host.offsets[i + 1] - host.offsets[i]);
  std::printf("%d vertices, %d entries, longest row %d\n", v, nnz, longest);
  b.graph = {v, nnz, upload(host.offsets), upload(host.columns)};
  BENCH_CHECK(cudaStreamCreate(&b.stream));
  b.x = allocate<double>(size_t(v) * 128);
  b.w = allocate<double>(128 * 16);
  for (double** p : {&b.y, &b.z, &b.want, &b.size, &b.out}) *p = allocate<double>(b.cells());
  b.worst = allocate<double>(1);
  fill_kernel<<<1056, 256, 0, b.stream>>>(size_t(v) * 128, b.x, 1);
  fill_kernel<<<8, 256, 0, b.stream>>>(128 * 16, b.w, 1ull << 40);

  GcnPlan* plan = nullptr;
  BENCH_CHECK(gcn_plan(b.graph, &plan, b.stream));
  BENCH_CHECK(cudaStreamSynchronize(b.stream));
  const int blocks = static_cast<int>((b.cells() + 255) / 256);
  const double cell_bytes = 8.0 * b.cells(), graph_bytes = 4.0 * nnz + 4.0 * v;

  want_transform_kernel<<<blocks, 256, 0, b.stream>>>(v, b.x, b.w, b.want, b.size);
  b.measure("transform", 1024.0 * v + cell_bytes,
            [&] { return gcn_transform(v, b.x, b.w, b.out, plan, b.stream); });
  BENCH_CHECK(cudaMemcpyAsync(b.y, b.want, sizeof(double) * b.cells(), cudaMemcpyDeviceToDevice, b.stream));
  want_aggregate_kernel<<<blocks, 256, 0, b.stream>>>(b.graph, b.y, b.want, b.size);
  b.measure("aggregate", 2 * cell_bytes + graph_bytes,
            [&] { return gcn_aggregate(b.graph, b.y, b.out, plan, b.stream); });
  BENCH_CHECK(cudaMemcpyAsync(b.z, b.want, sizeof(double) * b.cells(), cudaMemcpyDeviceToDevice, b.stream));
  want_log_softmax_kernel<<<v / 256 + 1, 256, 0, b.stream>>>(v, b.z, b.want, b.size);
  b.measure("log_softmax", 2 * cell_bytes, [&] { return gcn_log_softmax(v, b.z, b.out, plan, b.stream); });
  b.measure("run", 1024.0 * v + cell_bytes + graph_bytes,
            [&] { return gcn_run(b.graph, b.x, b.w, b.out, plan, b.stream); });
  gcn_free(plan);
  BENCH_CHECK(cudaDeviceSynchronize());
  return b.right ? 0 : 1;
}
