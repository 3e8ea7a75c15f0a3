// Every number of a repetition is drawn, computed anew and compared on the GPU: in double-double, 2^-104, so
// that the judge's own error is lost in bounds of some 2^-50. Of each case's first numbers the oracle is
// asked as well.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "judge/judging/cuda_memory.h"
#include "judge/labs/gcn/checks.h"
#include "judge/labs/gcn/double_double.h"

namespace warpgrade::gcn {
namespace {

constexpr int kThreads = 256, kBlocks = 4096;

// reference/gcn/oracle.cpp's.
constexpr double kUnit = 0x1p-53, kUnderflow = 0x1p-1074;
constexpr double kFactorRoundings = 12, kShiftRoundings = 4, kLogOfSumRoundings = 32;

// A matrix [vertices, 16] as the oracle keeps it.
struct SumArrays {
  double *values, *magnitudes, *bounds;
};

struct DeviceSums {
  DeviceArray<double> values, magnitudes, bounds;
  DeviceSums() = default;
  explicit DeviceSums(std::size_t cells) : values(cells), magnitudes(cells), bounds(cells) {}
  SumArrays arrays() const { return {values.get(), magnitudes.get(), bounds.get()}; }
};

struct DeviceGraph {
  int vertices;
  const int *row_offsets, *columns;
};

struct DeviceFindings {
  unsigned wrong;
  unsigned long long max_error_over_bound;  // bits of a double that is not negative: they compare as it does
};

__device__ std::size_t first_index() {
  return std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t index_step() {
  return std::size_t(gridDim.x) * blockDim.x;
}
__device__ double sum_bound(double terms, double magnitude) {
  return terms * kUnit * magnitude + terms * kUnderflow;
}

__global__ void draw_kernel(Numbers kind, std::uint64_t seed, std::size_t count, int columns,
                            double* numbers) {
  for (std::size_t i = first_index(); i < count; i += index_step())
    numbers[i] = number_at(kind, seed, i, columns);
}

__global__ void transform_kernel(int vertices, const double* x, const double* w, SumArrays y) {
  for (std::size_t cell = first_index(); cell < std::size_t(vertices) * kClasses; cell += index_step()) {
    const double* row = x + cell / kClasses * kFeatures;
    const double* column = w + cell % kClasses;
    DoubleDouble sum;
    double magnitude = 0;
    for (int f = 0; f < kFeatures; ++f) {
      sum = add(sum, two_product(row[f], column[f * kClasses]));
      magnitude += fabs(row[f] * column[f * kClasses]);
    }
    y.values[cell] = sum.high;
    y.magnitudes[cell] = magnitude;
    y.bounds[cell] = sum_bound(kFeatures + 1, magnitude);
  }
}

// An input: exact, so its bounds are 0.
__global__ void take_kernel(std::size_t cells, const double* numbers, SumArrays y) {
  for (std::size_t cell = first_index(); cell < cells; cell += index_step()) {
    y.values[cell] = numbers[cell];
    y.magnitudes[cell] = fabs(numbers[cell]);
    y.bounds[cell] = 0;
  }
}

__global__ void factors_kernel(DeviceGraph graph, DoubleDouble* factors) {
  for (std::size_t v = first_index(); v < graph.vertices; v += index_step())
    factors[v] = inverse_root(graph.row_offsets[v + 1] - graph.row_offsets[v]);
}

__global__ void aggregate_kernel(DeviceGraph graph, const DoubleDouble* factors, SumArrays y, SumArrays z) {
  for (std::size_t cell = first_index(); cell < std::size_t(graph.vertices) * kClasses;
       cell += index_step()) {
    const std::size_t row = cell / kClasses, column = cell % kClasses;
    const int begin = graph.row_offsets[row], end = graph.row_offsets[row + 1];
    const DoubleDouble own = factors[row];
    DoubleDouble sum;
    double magnitude = 0, inherited = 0;
    for (int e = begin; e < end; ++e) {
      const DoubleDouble factor = multiply(own, factors[graph.columns[e]]);
      const std::size_t from = std::size_t(graph.columns[e]) * kClasses + column;
      sum = add(sum, multiply(factor, {y.values[from], 0}));
      magnitude += factor.high * y.magnitudes[from];
      inherited += factor.high * y.bounds[from];
    }
    z.values[cell] = sum.high;
    z.magnitudes[cell] = magnitude;
    z.bounds[cell] = sum_bound(end - begin + kFactorRoundings, magnitude) + inherited;
  }
}

// A thread a row. Z's cells become O's.
__global__ void log_softmax_kernel(int vertices, SumArrays z) {
  for (std::size_t v = first_index(); v < vertices; v += index_step()) {
    double* values = z.values + v * kClasses;
    double* bounds = z.bounds + v * kClasses;
    double largest = values[0], inherited = bounds[0];
    for (int c = 1; c < kClasses; ++c) {
      largest = fmax(largest, values[c]);
      inherited = fmax(inherited, bounds[c]);
    }
    DoubleDouble sum;
    for (int c = 0; c < kClasses; ++c) sum = add(sum, exponential(two_sum(values[c], -largest)));
    const DoubleDouble log_of_sum = logarithm(sum);
    for (int c = 0; c < kClasses; ++c) {
      const double magnitude = fabs(values[c]) + fabs(largest);
      bounds[c] += kUnit * kShiftRoundings * magnitude + kUnit * kLogOfSumRoundings + inherited;
      values[c] = add(two_sum(values[c], -largest), negate(log_of_sum)).high;
    }
  }
}

// As gcn::within.
__global__ void compare_kernel(std::size_t cells, const double* got, SumArrays want,
                               DeviceFindings* findings) {
  double over = 0;
  for (std::size_t cell = first_index(); cell < cells; cell += index_step()) {
    const double error = fabs(got[cell] - want.values[cell]), bound = want.bounds[cell];
    if (isfinite(got[cell]) && error <= bound) {
      if (bound > 0) over = fmax(over, error / bound);
    } else {
      findings->wrong = 1;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2)
    over = fmax(over, __shfl_xor_sync(0xffffffffu, over, distance));
  if (threadIdx.x % 32 == 0)
    atomicMax(&findings->max_error_over_bound, static_cast<unsigned long long>(__double_as_longlong(over)));
}

class CudaChecks : public Checks {
 public:
  CudaChecks(ArrayBuffers& buffers, const Shape& shape, int vertices)
      : buffers_(buffers),
        shape_(shape),
        vertices_(vertices),
        cells_(std::size_t(vertices) * kClasses),
        y_(cells_),
        z_(cells_),
        factors_(vertices),
        findings_(1) {}

  void use_graph(const HostGraph& graph) override {
    graph_ = graph.view();
    device_graph_ = {vertices_, static_cast<const int*>(buffers_.input(kRowOffsets)),
                     static_cast<const int*>(buffers_.input(kColumns))};
    factors_kernel<<<kBlocks, kThreads>>>(device_graph_, factors_.get());
    WARPGRADE_CUDA(cudaGetLastError());
  }

  void trust() override { seen_by_oracle_ = true; }

  void draw(std::uint64_t seed) override {
    const std::size_t count = first_numbers(shape_.op, vertices_), weights = weight_numbers(shape_.op);
    draw_kernel<<<kBlocks, kThreads>>>(shape_.numbers, seed, count, first_columns(shape_.op), first());
    buffers_.publish(kFirst);
    if (weights > 0) {
      draw_kernel<<<kBlocks, kThreads>>>(weights_beside(shape_.numbers), seed + 1, weights, kClasses,
                                         static_cast<double*>(buffers_.input(kWeights)));
      buffers_.publish(kWeights);
    }
    compute();
    if (!seen_by_oracle_) check_against_oracle();
    seen_by_oracle_ = true;
  }

  void take(std::span<const double> numbers, std::span<const double> weights) override {
    buffers_.copy_in(first(), numbers.data(), numbers.size_bytes());
    buffers_.publish(kFirst);
    if (!weights.empty()) {
      buffers_.copy_in(buffers_.input(kWeights), weights.data(), weights.size_bytes());
      buffers_.publish(kWeights);
    }
    compute();
    check_against_oracle();
  }

  Comparison compare_output() override {
    const auto* got = static_cast<const double*>(buffers_.output());
    WARPGRADE_CUDA(cudaMemset(findings_.get(), 0, sizeof(DeviceFindings)));
    compare_kernel<<<kBlocks, kThreads>>>(cells_, got, result(), findings_.get());
    WARPGRADE_CUDA(cudaGetLastError());
    DeviceFindings findings;
    WARPGRADE_CUDA(cudaMemcpy(&findings, findings_.get(), sizeof findings, cudaMemcpyDeviceToHost));
    if (findings.wrong != 0) return compare(graph_, downloaded(), download(got, cells_));
    Comparison comparison;
    static_assert(sizeof comparison.max_error_over_bound == sizeof findings.max_error_over_bound);
    std::memcpy(&comparison.max_error_over_bound, &findings.max_error_over_bound, sizeof(double));
    return comparison;
  }

 private:
  double* first() { return static_cast<double*>(buffers_.input(kFirst)); }
  SumArrays result() const { return shape_.op == Operator::kTransform ? y_.arrays() : z_.arrays(); }

  void compute() {
    const bool multiplies = weight_numbers(shape_.op) > 0;
    if (multiplies) {
      transform_kernel<<<kBlocks, kThreads>>>(
          vertices_, first(), static_cast<const double*>(buffers_.input(kWeights)), y_.arrays());
    } else {
      const DeviceSums& to = shape_.op == Operator::kAggregate ? y_ : z_;
      take_kernel<<<kBlocks, kThreads>>>(cells_, first(), to.arrays());
    }
    if (shape_.op == Operator::kAggregate || shape_.op == Operator::kWhole)
      aggregate_kernel<<<kBlocks, kThreads>>>(device_graph_, factors_.get(), y_.arrays(), z_.arrays());
    if (shape_.op == Operator::kLogSoftmax || shape_.op == Operator::kWhole)
      log_softmax_kernel<<<kBlocks, kThreads>>>(vertices_, z_.arrays());
    WARPGRADE_CUDA(cudaGetLastError());
    WARPGRADE_CUDA(cudaDeviceSynchronize());
  }

  std::vector<double> download(const double* numbers, std::size_t count) {
    std::vector<double> host(count);
    buffers_.copy_out(host.data(), numbers, count * sizeof(double));
    return host;
  }

  Expected downloaded() { return {download(result().values, cells_), download(result().bounds, cells_)}; }

  // The kernels above are trusted because they are seen to agree with the oracle: to its own rounding, far
  // within a bound.
  void check_against_oracle() {
    const std::vector<double> numbers = download(first(), first_numbers(shape_.op, vertices_));
    const std::size_t weights = weight_numbers(shape_.op);
    const std::vector<double> w =
        weights > 0 ? download(static_cast<const double*>(buffers_.input(kWeights)), weights)
                    : std::vector<double>();
    require_agreement(expect(shape_.op, graph_, numbers, w), downloaded());
  }

  ArrayBuffers& buffers_;
  Shape shape_;
  int vertices_;
  std::size_t cells_;
  Graph graph_;
  DeviceGraph device_graph_{};
  DeviceSums y_, z_;
  DeviceArray<DoubleDouble> factors_;
  DeviceArray<DeviceFindings> findings_;
  bool seen_by_oracle_ = false;
};

}  // namespace

std::unique_ptr<Checks> make_cuda_checks(ArrayBuffers& buffers, const Shape& shape, int vertices) {
  return std::make_unique<CudaChecks>(buffers, shape, vertices);
}

}  // namespace warpgrade::gcn
