// Development bench of the lab `spmm`: times several submissions, side by side, on thirteen power-law
// matrices, or on the .npz files of a folder.
//
//   bench_spmm [--graphs a,b] [--matrices FOLDER] [--k 32,256 | 1:512] [--budget-ms 60] [--repetitions 31]
//   [--classes SEED] [--permute SEED] [--scale 0.01] [--json FILE] NAME=LIBRARY.so ...
//
// --classes takes meshes, roads, stencils and dense social graphs (class_matrices.h) instead, drawn with that
// seed.
// --permute also times each graph with its nodes renamed at random, as NAME.permuted (square ones). --scale makes power-law
// matrices (and flushes) of that share of their size, to try a command out.
// --repetitions asks for so many whatever they take; else the budget decides, between 3 and 31. --json
// appends a line a case to FILE, with every sample: what `make bench-peers` reads (reports/README.md has the
// format). The first submission is the baseline of the ratios. Every repetition runs all submissions in turn,
// each after a flush of L2 (write twice its size, then read it). Output is checked in fp64 on sampled rows,
// the longest among them, after poisoning with NaN; every cell must be finite. It grades nobody: the judge
// does.
//
// Build: tools/bench.sh does; -DBENCH_GRAPHS_HEADER='"file.cuh"' takes the matrices from another
// generator.
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>

#include "class_matrices.h"
#include "npz_matrix.cuh"
#include "permuted_matrix.cuh"
#include "powerlaw_matrix.cuh"
#include "warpgrade/spmm.h"
#ifdef BENCH_GRAPHS_HEADER
#include BENCH_GRAPHS_HEADER
#endif

namespace bench {
namespace {

struct Submission {
  std::string name;
  decltype(&spmm_free) free;
  cudaError_t (*plan)(const CsrMatrix*, int, SpmmPlan**, cudaStream_t);
  cudaError_t (*run)(const CsrMatrix*, int, const float*, float*, SpmmPlan*, cudaStream_t);

  explicit Submission(const std::string& argument) {
    const Library library(argument);
    name = library.name();
    free = library.function<std::remove_pointer_t<decltype(free)>>("bench_spmm_free");
    plan = library.function<std::remove_pointer_t<decltype(plan)>>("bench_spmm_plan");
    run = library.function<std::remove_pointer_t<decltype(run)>>("bench_spmm_run");
  }
};

struct Options {
  std::vector<std::string> graphs;  // empty: all
  std::vector<int> widths = {32, 256};
  double budget_ms = 60.0;        // of kernel time, a submission and case
  int repetitions = 0;            // 0: as many as the budget allows
  std::string json;               // a file to append to; empty: none
  std::string matrices;           // a folder of .npz files instead of the power-law matrices; empty: none
  std::int64_t classes = -1;      // seed of the matrices of class_matrices.h; -1: the power-law matrices
  std::int64_t permutation = -1;  // seed of a second time for each graph, nodes renamed; -1: none
  double scale = 1.0;             // of the power-law matrices' nodes and entries
  std::vector<Submission> submissions;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

// The number behind an option, whole where T is.
template <typename T>
T number_of(const char* option, const std::string& text) {
  std::istringstream stream(text);
  T number{};
  if (stream >> number && stream.peek() == std::istringstream::traits_type::eof()) return number;
  throw std::runtime_error(std::string("want a number after ") + option + ", got " + text);
}

// Throws where a graph is asked for that is not there: nothing would be measured.
void check_graphs(const std::vector<std::string>& wanted, const std::vector<std::string>& known) {
  std::string list;
  for (const std::string& graph : known) list += (list.empty() ? "" : ", ") + graph;
  for (const std::string& graph : wanted) {
    if (std::find(known.begin(), known.end(), graph) == known.end())
      throw std::runtime_error("no graph " + graph + "; there are " + list);
  }
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--graphs") == 0 && has_value) {
      options.graphs = split(argv[++i]);
    } else if (std::strcmp(argv[i], "--k") == 0 && has_value) {
      options.widths.clear();
      for (const std::string& range : split(argv[++i])) {
        const std::size_t colon = range.find(':');
        const int first = number_of<int>("--k", range.substr(0, colon));
        const int last = colon == std::string::npos ? first : number_of<int>("--k", range.substr(colon + 1));
        for (int k = first; k <= last; ++k) options.widths.push_back(k);
      }
    } else if (std::strcmp(argv[i], "--budget-ms") == 0 && has_value) {
      options.budget_ms = number_of<double>("--budget-ms", argv[++i]);
    } else if (std::strcmp(argv[i], "--repetitions") == 0 && has_value) {
      options.repetitions = number_of<int>("--repetitions", argv[++i]);
    } else if (std::strcmp(argv[i], "--matrices") == 0 && has_value) {
      options.matrices = argv[++i];
    } else if (std::strcmp(argv[i], "--classes") == 0 && has_value) {
      options.classes = number_of<std::int64_t>("--classes", argv[++i]);
    } else if (std::strcmp(argv[i], "--permute") == 0 && has_value) {
      options.permutation = number_of<std::int64_t>("--permute", argv[++i]);
    } else if (std::strcmp(argv[i], "--scale") == 0 && has_value) {
      options.scale = number_of<double>("--scale", argv[++i]);
    } else if (std::strcmp(argv[i], "--json") == 0 && has_value) {
      options.json = argv[++i];
    } else {
      options.submissions.emplace_back(argv[i]);
    }
  }
  if (options.submissions.empty()) throw std::runtime_error("name at least one submission: NAME=LIBRARY.so");
  return options;
}

// Errors over the worst-case bound of an fp32 sum, and cells that are not finite, in sampled rows.
__global__ void check_rows_kernel(CsrMatrix a, int k, const float* b, const float* c, const int* rows,
                                  int* bad) {
  const std::int64_t row = rows[blockIdx.x];
  for (int j = threadIdx.x; j < k; j += blockDim.x) {
    double sum = 0.0, abs_sum = 0.0;
    for (int e = a.row_offsets[row]; e < a.row_offsets[row + 1]; ++e) {
      const double product =
          static_cast<double>(a.values[e]) * b[static_cast<std::int64_t>(a.columns[e]) * k + j];
      sum += product;
      abs_sum += fabs(product);
    }
    const double length = a.row_offsets[row + 1] - a.row_offsets[row];
    const double bound = 0x1p-24 * (8.0 + 2.0 * sqrt(length)) * abs_sum + 1e-30;
    if (!(fabs(c[row * k + j] - sum) <= bound)) atomicAdd(bad, 1);
  }
}
__global__ void count_nonfinite_kernel(std::int64_t count, const float* c, int* bad) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    if (!isfinite(c[i])) atomicAdd(bad, 1);
  }
}

std::vector<int> sample_rows(const CsrMatrix& a) {
  std::vector<int> offsets(a.rows + 1);
  BENCH_CHECK(
      cudaMemcpy(offsets.data(), a.row_offsets, offsets.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int longest = 0;
  for (int r = 1; r < a.rows; ++r) {
    if (offsets[r + 1] - offsets[r] > offsets[longest + 1] - offsets[longest]) longest = r;
  }
  std::vector<int> rows = {0, a.rows - 1, longest};
  for (int i = 0; i < 1500; ++i) rows.push_back(static_cast<int>(mix(i) % a.rows));
  return rows;
}

class Case {
 public:
  Case(const CsrMatrix& a, int k, double flush_share, cudaStream_t stream)
      : a_(a), k_(k), stream_(stream), watch_(flush_share) {
    c_count_ = static_cast<std::int64_t>(a.rows) * k;
    const std::int64_t b_count = static_cast<std::int64_t>(a.cols) * k;
    b_ = allocate<float>(b_count);
    c_ = allocate<float>(c_count_);
    bad_ = allocate<int>(1);
    draw_dense_kernel<<<4096, 256>>>(b_count, b_);
    BENCH_CHECK(cudaDeviceSynchronize());
  }
  ~Case() {
    for (void* buffer : {static_cast<void*>(b_), static_cast<void*>(c_), static_cast<void*>(bad_)})
      cudaFree(buffer);
  }

  // Milliseconds of one run on a flushed L2.
  double time(const Submission& submission, SpmmPlan* plan) {
    return watch_.milliseconds(stream_, [&] { return submission.run(&a_, k_, b_, c_, plan, stream_); });
  }

  // Cells of C that are wrong in the sampled rows or not finite anywhere, after one run into poisoned memory.
  int count_bad(const Submission& submission, SpmmPlan* plan, const std::vector<int>& rows) {
    int* device_rows = upload(rows);
    int bad = 0;
    BENCH_CHECK(cudaMemsetAsync(c_, 0xff, c_count_ * sizeof(float), stream_));
    BENCH_CHECK(cudaMemsetAsync(bad_, 0, sizeof(int), stream_));
    BENCH_CHECK(submission.run(&a_, k_, b_, c_, plan, stream_));
    check_rows_kernel<<<static_cast<unsigned>(rows.size()), 256, 0, stream_>>>(a_, k_, b_, c_, device_rows,
                                                                               bad_);
    count_nonfinite_kernel<<<4096, 256, 0, stream_>>>(c_count_, c_, bad_);
    BENCH_CHECK(cudaMemcpyAsync(&bad, bad_, sizeof(int), cudaMemcpyDeviceToHost, stream_));
    BENCH_CHECK(cudaStreamSynchronize(stream_));
    BENCH_CHECK(cudaFree(device_rows));
    return bad;
  }

 private:
  CsrMatrix a_;
  int k_;
  cudaStream_t stream_;
  std::int64_t c_count_ = 0;
  float *b_ = nullptr, *c_ = nullptr;
  int* bad_ = nullptr;
  Stopwatch watch_;
};

struct Planned {
  SpmmPlan* plan = nullptr;
  float plan_ms = 0.0f;
  int repetitions = 0;
  int bad = 0;
  std::vector<double> samples;
};

// The plan is timed on its second making: the first one also loads the module.
Planned make_plan(const Submission& submission, const CsrMatrix& a, int k, cudaStream_t stream) {
  Planned planned;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0) submission.free(planned.plan);
    cudaEvent_t start, stop;
    BENCH_CHECK(cudaEventCreate(&start));
    BENCH_CHECK(cudaEventCreate(&stop));
    BENCH_CHECK(cudaDeviceSynchronize());
    BENCH_CHECK(cudaEventRecord(start, stream));
    BENCH_CHECK(submission.plan(&a, k, &planned.plan, stream));
    BENCH_CHECK(cudaEventRecord(stop, stream));
    BENCH_CHECK(cudaEventSynchronize(stop));
    BENCH_CHECK(cudaEventElapsedTime(&planned.plan_ms, start, stop));
    BENCH_CHECK(cudaEventDestroy(start));
    BENCH_CHECK(cudaEventDestroy(stop));
  }
  return planned;
}

// One line: the case, the device, and every submission with its samples in the order they were taken, so that
// samples of the same index are a pair.
void append_json(const char* graph, const CsrMatrix& a, int k, const Options& options,
                 const std::vector<Planned>& all) {
  std::FILE* file = std::fopen(options.json.c_str(), "a");
  if (file == nullptr) throw std::runtime_error("cannot append to " + options.json);
  cudaDeviceProp device;
  int driver = 0;
  BENCH_CHECK(cudaGetDeviceProperties(&device, 0));
  BENCH_CHECK(cudaDriverGetVersion(&driver));
  std::fprintf(
      file,
      R"({"schema":"warpgrade.bench.v1","lab":"spmm","device":"%s","cuda_driver":%d,"graph":"%s","rows":%d,)"
      R"("cols":%d,"nnz":%d,"k":%d,"submissions":[)",
      device.name, driver, graph, a.rows, a.cols, a.nnz, k);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::fprintf(file, R"(%s{"name":"%s","plan_ms":%.6g,"wrong_cells":%d,"samples_ms":[)", i == 0 ? "" : ",",
                 options.submissions[i].name.c_str(), all[i].plan_ms, all[i].bad);
    for (std::size_t j = 0; j < all[i].samples.size(); ++j) {
      std::fprintf(file, "%s%.6g", j == 0 ? "" : ",", all[i].samples[j]);
    }
    std::fputs("]}", file);
  }
  std::fputs("]}\n", file);
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + options.json);
}

void run_case(const char* graph, const CsrMatrix& a, int k, const Options& options,
              const std::vector<int>& rows, cudaStream_t stream) {
  Case bench(a, k, options.scale, stream);
  std::vector<Planned> all;
  int most = 0;
  for (const Submission& submission : options.submissions) {
    Planned planned = make_plan(submission, a, k, stream);
    planned.bad = bench.count_bad(submission, planned.plan, rows);
    const double first_ms = bench.time(submission, planned.plan);
    planned.repetitions = options.repetitions > 0
                              ? options.repetitions
                              : std::clamp(static_cast<int>(options.budget_ms / first_ms), 3, 31);
    most = std::max(most, planned.repetitions);
    all.push_back(planned);
  }
  for (int repetition = 0; repetition < most; ++repetition) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (repetition >= all[i].repetitions) continue;
      all[i].samples.push_back(bench.time(options.submissions[i], all[i].plan));
    }
  }
  const double baseline_ms = median(all[0].samples);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double median_ms = median(all[i].samples);
    std::printf("%-13s %4d %-22s %9.4f ms %6.2fx plan %8.3f ms  %s\n", graph, k,
                options.submissions[i].name.c_str(), median_ms, baseline_ms / median_ms, all[i].plan_ms,
                all[i].bad == 0 ? "ok" : ("WRONG cells: " + std::to_string(all[i].bad)).c_str());
    options.submissions[i].free(all[i].plan);
  }
  std::fflush(stdout);
  if (!options.json.empty()) append_json(graph, a, k, options, all);
}

int scaled_nodes(int nodes, const Options& options) {
  return options.scale < 1.0 ? std::max(64, static_cast<int>(nodes * options.scale)) : nodes;
}

DeviceCsr make_matrix(PowerlawShape shape, const Options& options) {
  shape.nodes = scaled_nodes(shape.nodes, options);
  if (options.scale < 1.0)
    shape.entries = static_cast<std::int64_t>(static_cast<double>(shape.entries) * options.scale);
#ifdef BENCH_GRAPHS_HEADER
  for (PowerlawSpec spec : kPowerlawGraphs) {
    if (std::strcmp(spec.name, shape.name) != 0) continue;
    spec.n = shape.nodes;
    spec.nnz = shape.entries;
    const PowerlawGraph g = make_powerlaw_graph(spec);
    return {g.n, g.n, g.nnz, g.row_offsets, g.columns, g.values};
  }
#endif
  return make_powerlaw_matrix(shape);
}

// With values that depend on the place alone.
DeviceCsr upload_matrix(const HostCsr& host) {
  std::vector<float> values(host.columns.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(unit(mix(i)) - 0.5);
  return {host.rows,
          host.cols,
          static_cast<int>(host.columns.size()),
          upload(host.row_offsets),
          upload(host.columns),
          upload(values)};
}

bool is_wanted(const Options& options, const std::string& graph) {
  const auto& wanted = options.graphs;
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), graph) != wanted.end();
}

void run_widths(const std::string& graph, const DeviceCsr& matrix, const Options& options,
                cudaStream_t stream) {
  BENCH_CHECK(cudaDeviceSynchronize());
  const CsrMatrix a{matrix.rows, matrix.cols, matrix.nnz, matrix.row_offsets, matrix.columns, matrix.values};
  const std::vector<int> rows = sample_rows(a);
  for (const int k : options.widths) run_case(graph.c_str(), a, k, options, rows, stream);
}

void run_matrix(const std::string& graph, const DeviceCsr& matrix, const Options& options,
                cudaStream_t stream) {
  run_widths(graph, matrix, options, stream);
  if (options.permutation >= 0 && matrix.rows == matrix.cols) {
    const DeviceCsr permuted = permute_matrix(matrix, static_cast<std::uint64_t>(options.permutation));
    run_widths(graph + ".permuted", permuted, options, stream);
    free_matrix(permuted);
  }
  free_matrix(matrix);
}

void run(const Options& options) {
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::vector<std::string> known;
  if (!options.matrices.empty()) {
    for (const std::filesystem::path& file : npz_files(options.matrices))
      known.push_back(file.stem().string());
  } else if (options.classes >= 0) {
    for (const MatrixClass& kind : kMatrixClasses) known.emplace_back(kind.name);
  } else {
    for (const PowerlawShape& shape : kShapes) known.emplace_back(shape.name);
  }
  check_graphs(options.graphs, known);
  if (!options.matrices.empty()) {
    for (const std::filesystem::path& file : npz_files(options.matrices)) {
      const std::string graph = file.stem().string();
      if (is_wanted(options, graph)) run_matrix(graph, read_npz_matrix(file), options, stream);
    }
    return;
  }
  if (options.classes >= 0) {
    for (const MatrixClass& kind : kMatrixClasses) {
      if (!is_wanted(options, kind.name)) continue;
      const HostCsr host =
          make_class_matrix(kind, static_cast<std::uint64_t>(options.classes), options.scale);
      run_matrix(kind.name, upload_matrix(host), options, stream);
    }
    return;
  }
  for (const PowerlawShape& shape : kShapes) {
    if (is_wanted(options, shape.name)) run_matrix(shape.name, make_matrix(shape, options), options, stream);
  }
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  try {
    bench::run(bench::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_spmm: %s\n", error.what());
    return 1;
  }
  return 0;
}
