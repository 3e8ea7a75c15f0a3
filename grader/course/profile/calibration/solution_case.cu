// A lab's solution with inputs of its own, as a shared library for solutions.cpp: `measured_case` prepares
// one case and runs it. Compiled beside the solution's sources with -DLAB_<LAB>.
//
// Inputs follow the rules of the case that a judge times, where the name is a judge's. Cases whose names
// begin with `drawn` are this file's own: rows as unequal as those of real graphs, drawn from a fixed seed.
// SpMM's matrix can be read from a file instead: MATRIX_FILE in the environment names it.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#if defined(LAB_APSP)
#include "apsp/inputs.h"
#include "warpgrade/apsp.h"
#elif defined(LAB_GCN)
#include "warpgrade/gcn.h"
#elif defined(LAB_HISTOGRAM)
#include "histogram/inputs.h"
#include "warpgrade/histogram.h"
#elif defined(LAB_REDUCTION)
#include "warpgrade/reduction.h"
#elif defined(LAB_SAMPLING)
#include "warpgrade/sampling.h"
#elif defined(LAB_SPMM)
#include "warpgrade/spmm.h"
#elif defined(LAB_SCAN)
#include "warpgrade/scan.h"
#elif defined(LAB_SORT)
#include "warpgrade/sort.h"
#elif defined(LAB_TRANSPOSE)
#include "warpgrade/transpose.h"
#endif

namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

template <class T>
T* allocate(size_t count) {
  T* p = nullptr;
  check(cudaMalloc(&p, count * sizeof(T)), "cudaMalloc");
  return p;
}

template <class T>
T* to_device(const std::vector<T>& values) {
  T* p = allocate<T>(values.size());
  check(cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  return p;
}

// values[i] = make(i), on the device.
template <class T, class Make>
__global__ void fill_kernel(T* values, size_t count, Make make) {
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    values[i] = static_cast<T>(make(i));
}
template <class T, class Make>
T* filled(size_t count, Make make) {
  T* p = allocate<T>(count);
  fill_kernel<<<1056, 256>>>(p, count, make);
  check(cudaDeviceSynchronize(), "fill");
  return p;
}

// Well mixed 32 bits of i (the finalizer of MurmurHash3, 64 bits).
struct Mixed {
  __host__ __device__ uint64_t operator()(uint64_t i) const {
    i = (i + 1) * 0x9E3779B97F4A7C15ull;
    i = (i ^ (i >> 33)) * 0xFF51AFD7ED558CCDull;
    i = (i ^ (i >> 33)) * 0xC4CEB9FE1A85EC53ull;
    return (i ^ (i >> 33)) >> 32;
  }
};
struct [[maybe_unused]] Number {  // in [0, 1)
  __host__ __device__ double operator()(uint64_t i) const { return Mixed{}(i) / 4294967296.0; }
};
struct Below {
  uint64_t bound;
  __host__ __device__ int operator()(uint64_t i) const { return static_cast<int>(Mixed{}(i)*bound >> 32); }
};

// A square matrix of 100,000 rows with 14 entries a row in the mean and at most 2,000. With MATRIX_FILE in
// the environment, that file's: 32-bit integers, the number of rows, the offsets, the columns.
struct DrawnRows {
  std::vector<int> offsets{0}, columns;
  int rows() const { return static_cast<int>(offsets.size()) - 1; }
  int entries() const { return static_cast<int>(columns.size()); }
  DrawnRows() {
    const char* file = std::getenv("MATRIX_FILE");
    file != nullptr ? read(file) : draw();
  }

 private:
  static void read_into(std::ifstream& in, std::vector<int>& values) {
    in.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(int)));
    if (!in) throw std::runtime_error("MATRIX_FILE: cannot read it, or it is too short");
  }
  void read(const char* file) {
    std::ifstream in(file, std::ios::binary);
    std::vector<int> rows(1);
    read_into(in, rows);
    offsets.resize(static_cast<size_t>(rows[0]) + 1);
    read_into(in, offsets);
    columns.resize(static_cast<size_t>(offsets.back()));
    read_into(in, columns);
  }
  void draw() {
    constexpr int kRows = 100'000, kMean = 14, kMost = 2'000;
    std::mt19937_64 random(7);
    for (int r = 0; r < kRows; ++r) {
      const double u = 1e-4 + static_cast<double>(random() % 10'000) / 10'000;
      const int length = std::min(kMost, static_cast<int>(0.45 * kMean / std::sqrt(u)));
      for (int k = 0; k < length; ++k) columns.push_back(static_cast<int>(random() % kRows));
      std::sort(columns.end() - length, columns.end());
      offsets.push_back(entries());
    }
  }
};

#if defined(LAB_APSP)
struct Edge {
  warpgrade::apsp::DrawnGraph drawn;
  __device__ int operator()(uint64_t i) const {
    return warpgrade::apsp::edge_at(drawn, static_cast<int>(i / drawn.n), static_cast<int>(i % drawn.n));
  }
};
class Case {
 public:
  explicit Case(const std::string& name) : n_(name == "complete-timed-100" ? 100 : 1000) {
    const int n = n_;
    const auto drawn = warpgrade::apsp::drawn_graph(warpgrade::apsp::Pattern::kComplete, 7, n);
    graph_ = filled<int>(size_t(n) * n, Edge{drawn});
    check(apsp_plan(n, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return apsp_run(n_, graph_, plan_, nullptr); }

 private:
  int n_, *graph_ = nullptr;
  ApspPlan* plan_ = nullptr;
};
#elif defined(LAB_HISTOGRAM)
using warpgrade::histogram::Pattern;
struct Id {
  Pattern pattern;
  int nodes;
  __device__ int operator()(uint64_t i) const { return warpgrade::histogram::id_at(pattern, 7, i, nodes); }
};
class Case {
 public:
  explicit Case(const std::string& name) : count_(name == "uniform-8M" ? kFewIds : kIds) {
    const bool uniform = name.starts_with("uniform");
    ids_ = filled<int>(count_, Id{uniform ? Pattern::kUniform : Pattern::kLastBin, kNodes});
    counts_ = allocate<unsigned>(histogram_bins(kNodes));
    check(histogram_plan(count_, kNodes, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return histogram_run(ids_, count_, kNodes, counts_, plan_, nullptr); }

 private:
  static constexpr int kIds = 232'965'000, kFewIds = 8'388'608, kNodes = 232'965;
  int count_, *ids_ = nullptr;
  unsigned* counts_ = nullptr;
  HistogramPlan* plan_ = nullptr;
};
#elif defined(LAB_GCN)
class Case {
 public:
  explicit Case(const std::string& name) : name_(name) {
    if (name == "drawn-aggregate") {
      const DrawnRows drawn;
      graph_ = {drawn.rows(), drawn.entries(), to_device(drawn.offsets), to_device(drawn.columns)};
    } else {  // of web-Stanford's size; the operators that are run do not look at it
      const std::vector<int> offsets(kVertices + 1, 0);
      graph_ = {kVertices, 0, to_device(offsets), to_device(std::vector<int>(1, 0))};
    }
    const size_t v = graph_.vertices;
    in_ = filled<double>(v * (name == "xw-web" ? kGcnFeatures : kGcnClasses), Number{});
    w_ = filled<double>(size_t(kGcnFeatures) * kGcnClasses, Number{});
    out_ = allocate<double>(v * kGcnClasses);
    check(gcn_plan(graph_, &plan_, nullptr), "plan");
  }
  cudaError_t run() {
    if (name_ == "xw-web") return gcn_transform(graph_.vertices, in_, w_, out_, plan_, nullptr);
    if (name_ == "softmax-web") return gcn_log_softmax(graph_.vertices, in_, out_, plan_, nullptr);
    return gcn_aggregate(graph_, in_, out_, plan_, nullptr);
  }

 private:
  static constexpr int kVertices = 281'903;
  std::string name_;
  GcnGraph graph_{};
  double *in_ = nullptr, *w_ = nullptr, *out_ = nullptr;
  GcnPlan* plan_ = nullptr;
};
#elif defined(LAB_REDUCTION)
class Case {
 public:
  explicit Case(const std::string&) {
    x_ = filled<float>(kCount, Number{});
    y_ = filled<int>(kCount, Mixed{});
    sum_ = allocate<float>(1);
    total_ = allocate<long long>(1);
    check(reduction_plan(kCount, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return reduction_run(x_, y_, kCount, sum_, total_, plan_, nullptr); }

 private:
  static constexpr int kCount = 1 << 20;
  float *x_ = nullptr, *sum_ = nullptr;
  int* y_ = nullptr;
  long long* total_ = nullptr;
  ReductionPlan* plan_ = nullptr;
};
#elif defined(LAB_SAMPLING)
class Case {
 public:
  explicit Case(const std::string&) {
    const DrawnRows drawn;
    graph_ = {drawn.rows(), drawn.entries(), to_device(drawn.offsets), to_device(drawn.columns)};
    std::vector<int> all(drawn.rows());
    std::iota(all.begin(), all.end(), 0);
    nodes_ = to_device(all);
    samples_ = allocate<int>(size_t(drawn.rows()) * kFanout);
    check(sampling_plan(graph_, drawn.rows(), kFanout, &plan_, nullptr), "plan");
  }
  cudaError_t run() {
    return sampling_run(graph_, nodes_, graph_.nodes, kFanout, 12345, samples_, plan_, nullptr);
  }

 private:
  static constexpr int kFanout = 10;
  CsrGraph graph_{};
  int *nodes_ = nullptr, *samples_ = nullptr;
  SamplingPlan* plan_ = nullptr;
};
#elif defined(LAB_SPMM)
class Case {
 public:
  explicit Case(const std::string& name) : k_(name == "drawn-k256" ? 256 : 32) {
    const DrawnRows drawn;
    const int n = drawn.rows();
    a_ = {n,
          n,
          drawn.entries(),
          to_device(drawn.offsets),
          to_device(drawn.columns),
          filled<float>(drawn.entries(), Number{})};
    b_ = filled<float>(size_t(n) * k_, Number{});
    c_ = allocate<float>(size_t(n) * k_);
    check(spmm_plan(a_, k_, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return spmm_run(a_, k_, b_, c_, plan_, nullptr); }

 private:
  int k_;
  CsrMatrix a_{};
  float *b_ = nullptr, *c_ = nullptr;
  SpmmPlan* plan_ = nullptr;
};
#elif defined(LAB_SCAN)
class Case {
 public:
  explicit Case(const std::string&) {
    in_ = filled<int>(kCount, Below{1001});
    out_ = allocate<int>(kCount);
    check(scan_plan(kCount, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return scan_run(in_, kCount, out_, plan_, nullptr); }

 private:
  static constexpr int kCount = 1'000'000;
  int *in_ = nullptr, *out_ = nullptr;
  ScanPlan* plan_ = nullptr;
};
#elif defined(LAB_SORT)
class Case {
 public:
  explicit Case(const std::string&) {
    keys_ = filled<unsigned>(kCount, Mixed{});
    sorted_ = allocate<unsigned>(kCount);
    check(sort_plan(kCount, &plan_, nullptr), "plan");
  }
  cudaError_t run() { return sort_run(keys_, kCount, sorted_, plan_, nullptr); }

 private:
  static constexpr int kCount = 1 << 20;
  unsigned *keys_ = nullptr, *sorted_ = nullptr;
  SortPlan* plan_ = nullptr;
};
#elif defined(LAB_TRANSPOSE)
class Case {
 public:
  explicit Case(const std::string& name) : side_(name == "square-8192" ? 8192 : 1024) {
    in_ = filled<float>(size_t(side_) * side_, Number{});
    out_ = allocate<float>(size_t(side_) * side_);
  }
  cudaError_t run() { return transpose_run(in_, side_, side_, out_, nullptr); }

 private:
  int side_;
  float *in_ = nullptr, *out_ = nullptr;
};
#endif

}  // namespace

// Prepares the case, then runs it `turns` times; `begin` is called between. What is allocated is not freed:
// the process ends soon. Returns whether all went well; else `problem` has what did not.
extern "C" bool measured_case(const char* name, int turns, void (*begin)(), char* problem, size_t length) {
  try {
    Case prepared(name);
    begin();
    for (int turn = 0; turn < turns; ++turn) {
      check(prepared.run(), "run");
      check(cudaDeviceSynchronize(), "run");
    }
    return true;
  } catch (const std::exception& error) {
    std::string(error.what()).copy(problem, length - 1);
    return false;
  }
}
