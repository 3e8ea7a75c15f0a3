// Development bench of the lab `apsp`.
//
//   bench_apsp check NAME=LIBRARY.so ...                small graphs against the oracle; also on the emulator
//   bench_apsp time [repetitions] NAME=LIBRARY.so ...   complete graphs of 100 to 10000 nodes, weights to
//   100,000
//                                                       and (light) to 32,766
//
// `time` runs all submissions in turn, each after a flush of L2; every result is compared on the GPU, cell
// by cell, with the first submission's. What takes longer than a second runs once. It grades nobody.
// Build: tools/bench.sh.
#include "apsp/inputs.h"
#include "apsp/oracle.h"
#include "tools/side_by_side.cuh"
#include "warpgrade/apsp.h"

namespace bench {
namespace {

using namespace warpgrade::apsp;
static_assert(kInfinity == kApspInfinity);

constexpr double kSlowMs = 1000;

struct Submission {
  std::string name;
  decltype(&apsp_free) free;
  decltype(&apsp_plan) plan;
  decltype(&apsp_run) run;

  explicit Submission(const std::string& argument) {
    const Library library(argument);
    name = library.name();
    free = library.function<std::remove_pointer_t<decltype(free)>>("bench_free");
    plan = library.function<std::remove_pointer_t<decltype(plan)>>("bench_plan");
    run = library.function<std::remove_pointer_t<decltype(run)>>("bench_run");
  }
};

__global__ void draw_kernel(DrawnGraph drawn, int* graph) {
  const int n = drawn.n;
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t cells = static_cast<std::size_t>(n) * n;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < cells; i += step)
    graph[i] = edge_at(drawn, static_cast<int>(i / n), static_cast<int>(i % n));
}

__global__ void compare_kernel(const int* got, const int* want, std::size_t cells, unsigned* wrong) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < cells;
       i += step) {
    if (got[i] != want[i]) atomicAdd(wrong, 1u);
  }
}

int check_one(const Submission& submission, Pattern pattern, int n, cudaStream_t stream) {
  ApspPlan* plan = nullptr;
  BENCH_CHECK(submission.plan(n, &plan, stream));
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const DrawnGraph drawn = drawn_graph(pattern, seed, n);
    std::vector<int> graph(static_cast<std::size_t>(n) * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) graph[static_cast<std::size_t>(i) * n + j] = edge_at(drawn, i, j);
    }
    int* device = upload(graph);
    solve(graph, n, 4);
    BENCH_CHECK(submission.run(n, device, plan, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
    std::vector<int> got(graph.size());
    BENCH_CHECK(cudaMemcpy(got.data(), device, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
    BENCH_CHECK(cudaFree(device));
    if (got == graph) continue;
    ++wrong;
    std::printf("WRONG %s pattern %d n = %d\n", submission.name.c_str(), static_cast<int>(pattern), n);
  }
  submission.free(plan);
  return wrong;
}

// Graphs at the edge of what 16 bits hold: 32,766 is the longest length, 32,767 stands for "no path".
struct Boundary {
  const char* name;
  int n;
  int complete;  // weight of every edge; 0: none
  int path;      // weight of the edges from each node to the next; 0: none
  int special;   // weight of the edge from node 3 to node 1; 0: none
};
constexpr Boundary kBoundaries[] = {
    {"every edge 32,766", 140, 32766, 0, 0},
    {"every edge 32,767", 140, 32767, 0, 0},
    {"one edge 32,767 that no path betters", 130, 32766, 0, 32767},
    {"one edge far longer than 16 bits, bettered by two", 130, 20000, 0, 1 << 21},
    {"one edge missing, two of 16,383 in its place", 130, 16383, 0, kInfinity},
    {"one edge missing, two of 20,000 in its place", 130, 20000, 0, kInfinity},
    {"a path: longest and heaviest add up to 32,766", 129, 0, 254, 0},
    {"a path: longest and heaviest add up to 32,767", 151, 0, 217, 0},
    {"a path whose ends are 32,767 apart", 218, 0, 151, 0},
    {"a path whose ends are 32,768 apart", 257, 0, 128, 0},
    {"a path of nothing", 300, 0, 0, 0},
    {"two islands", 260, 0, 3, kInfinity},
};

int edge_of(const Boundary& b, int i, int j) {
  if (i == j) return 0;
  if (i == 3 && j == 1 && b.special != 0) return b.special;
  if (j == i + 1 && b.path != 0 && !(b.special == kInfinity && i == b.n / 2)) return b.path;
  return b.complete != 0 ? b.complete : kInfinity;
}

int check_boundary(const Submission& submission, const Boundary& boundary, cudaStream_t stream) {
  const int n = boundary.n;
  std::vector<int> graph(static_cast<std::size_t>(n) * n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) graph[static_cast<std::size_t>(i) * n + j] = edge_of(boundary, i, j);
  }
  ApspPlan* plan = nullptr;
  BENCH_CHECK(submission.plan(n, &plan, stream));
  int* device = upload(graph);
  BENCH_CHECK(submission.run(n, device, plan, stream));
  BENCH_CHECK(cudaStreamSynchronize(stream));
  solve(graph, n, 4);
  std::vector<int> got(graph.size());
  BENCH_CHECK(cudaMemcpy(got.data(), device, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  BENCH_CHECK(cudaFree(device));
  submission.free(plan);
  if (got == graph) return 0;
  std::printf("WRONG %s: %s\n", submission.name.c_str(), boundary.name);
  return 1;
}

int check_all(const std::vector<Submission>& submissions) {
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int wrong = 0;
  for (const Submission& submission : submissions) {
    for (const Pattern pattern :
         {Pattern::kComplete, Pattern::kSparse, Pattern::kIslands, Pattern::kRing, Pattern::kLight}) {
      for (const int n : {1, 31, 64, 100, 129, 257}) wrong += check_one(submission, pattern, n, stream);
    }
    for (const Boundary& boundary : kBoundaries) wrong += check_boundary(submission, boundary, stream);
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

struct Bench {
  int *graph, *want;
  unsigned* wrong;
  cudaStream_t stream;
  Stopwatch watch;
};

// The times of one submission at one n; the first submission's result is what the others are compared with.
std::vector<double> time_one(Bench& bench, const Submission& submission, Pattern pattern, int n,
                             int repetitions, bool first, unsigned& wrong) {
  const std::size_t cells = static_cast<std::size_t>(n) * n;
  ApspPlan* plan = nullptr;
  BENCH_CHECK(submission.plan(n, &plan, bench.stream));
  std::vector<double> times;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    draw_kernel<<<2048, 256>>>(drawn_graph(pattern, 70 + n, n), bench.graph);
    BENCH_CHECK(cudaDeviceSynchronize());
    times.push_back(bench.watch.milliseconds(
        bench.stream, [&] { return submission.run(n, bench.graph, plan, bench.stream); }));
    if (times.back() > kSlowMs) break;
  }
  submission.free(plan);
  if (first) BENCH_CHECK(cudaMemcpy(bench.want, bench.graph, cells * sizeof(int), cudaMemcpyDeviceToDevice));
  BENCH_CHECK(cudaMemset(bench.wrong, 0, sizeof(unsigned)));
  compare_kernel<<<2048, 256>>>(bench.graph, bench.want, cells, bench.wrong);
  BENCH_CHECK(cudaMemcpy(&wrong, bench.wrong, sizeof wrong, cudaMemcpyDeviceToHost));
  return times;
}

int time_all(const std::vector<Submission>& submissions, int repetitions) {
  constexpr int kSizes[] = {100, 1000, 2500, 5000, 7500, 10000};
  std::vector<std::pair<int, Pattern>> cases;
  for (const int n : kSizes) cases.emplace_back(n, Pattern::kComplete);
  for (const int n : kSizes) cases.emplace_back(n, Pattern::kLight);
  constexpr std::size_t kMostCells = 10000ull * 10000;
  Bench bench{.graph = allocate<int>(kMostCells),
              .want = allocate<int>(kMostCells),
              .wrong = allocate<unsigned>(1),
              .stream = nullptr,
              .watch = {}};
  BENCH_CHECK(cudaStreamCreate(&bench.stream));
  unsigned all_wrong = 0;
  for (const auto& [n, pattern] : cases) {
    for (std::size_t s = 0; s < submissions.size(); ++s) {
      unsigned wrong = 0;
      const std::vector<double> times =
          time_one(bench, submissions[s], pattern, n, repetitions, s == 0, wrong);
      const double ms = median(times);
      std::printf("%s n %5d  %-10s %10.4f ms  least %10.4f  %6.2f T/s%s\n",
                  pattern == Pattern::kLight ? "light   " : "complete", n, submissions[s].name.c_str(), ms,
                  *std::min_element(times.begin(), times.end()), 1e-9 * n * n * n / ms,
                  wrong == 0 ? "" : "  WRONG");
      all_wrong += wrong;
    }
  }
  std::printf("%u cells wrong\n", all_wrong);
  return all_wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::start<bench::Submission>(argc, argv, 7, bench::check_all, bench::time_all);
}
