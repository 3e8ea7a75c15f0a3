// Development bench of the lab `sampling`.
//
//   bench_sampling check NAME=LIBRARY.so ...             small graphs against the oracle; also on the
//   emulator bench_sampling time [repetitions] NAME=LIBRARY.so ...  the Reddit-sized graph, fan-outs 4, 10
//   and 1000
//
// `time` runs all submissions in turn, each after a flush of L2, and checks two runs of each in full:
// membership, uniformity, independence of rows and seeds, and that a seed gives the same samples again. It
// grades nobody. Build: tools/bench.sh.
#include <cstring>
#include <numeric>
#include <optional>

#include "sampling/far.h"
#include "sampling/gpu_check.cuh"
#include "sampling/gpu_far.cuh"
#include "sampling/oracle.h"
#include "spmm/tools/powerlaw_matrix.cuh"
#include "tools/side_by_side.cuh"
#include "warpgrade/sampling.h"

namespace bench {
namespace {

using namespace warpgrade::sampling;

constexpr int kPoison = static_cast<int>(0xFFFEDEAD);
static_assert(kNoSample == kNoNeighbour);

struct Submission {
  std::string name;
  decltype(&sampling_free) free;
  cudaError_t (*plan)(const CsrGraph*, int, int, SamplingPlan**, cudaStream_t);
  cudaError_t (*run)(const CsrGraph*, const int*, int, int, std::uint64_t, int*, SamplingPlan*, cudaStream_t);

  explicit Submission(const std::string& argument) {
    const Library library(argument);
    name = library.name();
    free = library.function<void(SamplingPlan*)>("bench_free");
    plan = library.function<std::remove_pointer_t<decltype(plan)>>("bench_plan");
    run = library.function<std::remove_pointer_t<decltype(run)>>("bench_run");
  }
};

int report(const std::string& name, const std::optional<Rejection>& rejection) {
  if (!rejection) return 0;
  std::printf("WRONG %s: %s: %s\n", name.c_str(), rejection->test.c_str(), rejection->what.c_str());
  return 1;
}

// ---- small graphs, CPU oracle ----

struct HostGraph {
  std::vector<int> row_offsets{0}, columns;
  template <typename Degree>
  HostGraph(int nodes, Degree degree) {
    for (int v = 0; v < nodes; ++v) {
      for (int e = 0; e < degree(v); ++e) columns.push_back(2 * e + v % 3);
      row_offsets.push_back(static_cast<int>(columns.size()));
    }
  }
};

int check_located(const std::string& name, const Located& run, const Located* earlier) {
  if (run.bad_cells > 0) {
    const Mismatch& m = run.first.front();
    std::printf("WRONG %s: samples[%lld,%d] got %d, not a neighbour of node %d (degree %u); %lld such\n",
                name.c_str(), static_cast<long long>(m.row), m.draw, m.got, m.node, m.degree,
                static_cast<long long>(run.bad_cells));
    return 1;
  }
  LevelCounts levels;
  count_levels(run, levels);
  int wrong = report(name, judge_levels(levels));
  std::vector<Pairing> pairings = pairings_of_a_run(run.rows, run.fanout);
  if (earlier != nullptr) {
    for (const Pairing& pairing : pairings_of_two_runs()) pairings.push_back(pairing);
  }
  for (const Pairing& pairing : pairings) {
    PairCounts counts;
    count_pairs(run, pairing.earlier_run ? *earlier : run, pairing, counts);
    wrong += report(name, judge_pairs(pairing, counts));
  }
  return wrong;
}

// The GPU's counts of the far tests, which must be those of the CPU.
struct KernelsAgainstHost : FarCounter {
  KernelsAgainstHost(const Located& run, const Located& earlier)
      : host_run(run),
        host_earlier(earlier),
        fanout(run.fanout),
        cells(static_cast<unsigned>(run.levels.size())) {
    for (const Located* located : {&run, &earlier})
      runs.push_back({upload(located->degrees), upload(located->places), upload(located->levels)});
    lags = allocate<LagCounts>(1);
    triples = allocate<TripleCounts>(1);
    best = allocate<unsigned long long>(1);
    for (unsigned*& words : bits) words = allocate<unsigned>((cells + 31) / 32);
  }
  ~KernelsAgainstHost() override {
    for (const LocatedArrays& run : runs) {
      cudaFree(run.degrees);
      cudaFree(run.places);
      cudaFree(run.levels);
    }
    for (void* memory : {static_cast<void*>(lags), static_cast<void*>(triples), static_cast<void*>(best),
                         static_cast<void*>(bits[0]), static_cast<void*>(bits[1])})
      cudaFree(memory);
  }
  template <typename T>
  T fetch(const T* device) const {
    T value;
    BENCH_CHECK(cudaGetLastError());
    BENCH_CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    return value;
  }
  void compare(const char* what, bool equal) {
    ++compared;
    if (!equal) std::printf("WRONG the kernel's count of a %s is not the CPU's\n", what);
    wrong += equal ? 0 : 1;
  }
  LagCounts lag(const Lag& lag) override {
    LagCounts expected;
    count_lag(host_run, host_earlier, lag, expected);
    BENCH_CHECK(cudaMemset(lags, 0, sizeof *lags));
    lag_kernel<<<2, kCheckThreads>>>(runs[0], runs[lag.earlier_run ? 1 : 0], fanout, lag, lags);
    const LagCounts got = fetch(lags);
    compare("lag",
            std::memcmp(got.joint, expected.joint, sizeof got.joint) == 0 && got.equal == expected.equal &&
                got.comparable == expected.comparable &&
                std::abs(got.expected_equal - expected.expected_equal) <= 1e-9 * expected.expected_equal);
    return expected;
  }
  TripleCounts triple(const Triple& triple) override {
    TripleCounts expected;
    count_triple(host_run, triple, expected);
    BENCH_CHECK(cudaMemset(triples, 0, sizeof *triples));
    triple_kernel<<<2, kCheckThreads>>>(runs[0].levels, triple, triples);
    const TripleCounts got = fetch(triples);
    compare("triple", std::memcmp(got.joint, expected.joint, sizeof got.joint) == 0);
    return expected;
  }
  std::uint64_t repeats(const RepeatSearch& search, std::uint64_t seed) override {
    const auto own = bits_of(host_run, search.plane, seed),
               other = bits_of(host_earlier, search.plane, ~seed);
    const std::uint64_t expected = search_repeats(own, search.earlier_run ? other : own, search);
    bits_kernel<<<2, kCheckThreads>>>(runs[0], fanout, cells, search.plane, seed, bits[0]);
    bits_kernel<<<2, kCheckThreads>>>(runs[1], fanout, cells, search.plane, ~seed, bits[1]);
    enqueue_repeats(bits[0], bits[search.earlier_run ? 1 : 0], search, best, nullptr);
    compare("repeat", fetch(best) == expected);
    return expected;
  }
  const Located &host_run, &host_earlier;
  unsigned fanout, cells;
  std::vector<LocatedArrays> runs;
  LagCounts* lags;
  TripleCounts* triples;
  unsigned long long* best;
  unsigned* bits[2];
  int compared = 0, wrong = 0;
};

int check_far(const std::string& name, const Located& run, const Located& earlier) {
  KernelsAgainstHost counter(run, earlier);
  int wrong = 0;
  for (const FarDepth depth : {FarDepth::kFirst, FarDepth::kSecond}) {
    const FarTests tests = far_tests(run.rows, run.fanout, 3, depth, true);
    for (const Rejection& rejection : run_far_tests(counter, tests, run.fanout, 4))
      wrong += report(name, rejection);
  }
  std::printf("%s: %d counts of far draws as on the CPU\n", name.c_str(), counter.compared - counter.wrong);
  return wrong + counter.wrong;
}

int check_small(const Submission& submission, const HostGraph& host, unsigned fanout, cudaStream_t stream) {
  const int nodes_count = static_cast<int>(host.row_offsets.size()) - 1;
  const CsrGraph graph{nodes_count, static_cast<int>(host.columns.size()), upload(host.row_offsets),
                       upload(host.columns)};
  std::vector<int> nodes(nodes_count);
  std::iota(nodes.begin(), nodes.end(), 0);
  const int* device_nodes = upload(nodes);
  std::vector<int> samples(static_cast<std::size_t>(nodes_count) * fanout);
  int* device_samples = allocate<int>(samples.size());
  SamplingPlan* plan = nullptr;
  BENCH_CHECK(submission.plan(&graph, nodes_count, static_cast<int>(fanout), &plan, stream));
  const auto run = [&](std::uint64_t seed) {
    std::fill(samples.begin(), samples.end(), kPoison);
    BENCH_CHECK(
        cudaMemcpy(device_samples, samples.data(), samples.size() * sizeof(int), cudaMemcpyHostToDevice));
    BENCH_CHECK(cudaDeviceSynchronize());
    BENCH_CHECK(submission.run(&graph, device_nodes, nodes_count, static_cast<int>(fanout), seed,
                               device_samples, plan, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
    BENCH_CHECK(
        cudaMemcpy(samples.data(), device_samples, samples.size() * sizeof(int), cudaMemcpyDeviceToHost));
    return samples;
  };
  const std::string name =
      submission.name + " " + std::to_string(nodes_count) + " x " + std::to_string(fanout);
  const GraphView view{host.row_offsets, host.columns};
  const std::vector<int> first = run(7);
  int wrong = first == run(7) ? 0 : 1;
  if (wrong > 0) std::printf("WRONG %s: the same seed gave other samples\n", name.c_str());
  const Located earlier = locate(view, nodes, fanout, first, kPoison, 1);
  wrong += check_located(name, earlier, nullptr);
  const Located later = locate(view, nodes, fanout, run(7 + (1ull << 40)), kPoison, 2);
  wrong += check_located(name, later, &earlier);
  // Every fan-out's kernels are the same: one size for rows of odd and even degree, and one too small
  // to search.
  if (fanout == 10 || fanout == 67) wrong += check_far(name, later, earlier);
  submission.free(plan);
  for (const void* memory :
       {static_cast<const void*>(graph.row_offsets), static_cast<const void*>(graph.columns),
        static_cast<const void*>(device_nodes), static_cast<const void*>(device_samples)})
    BENCH_CHECK(cudaFree(const_cast<void*>(memory)));
  return wrong;
}

int check_all(const std::vector<Submission>& submissions) {
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const HostGraph graphs[] = {HostGraph(300, [](int v) { return v % 41; }),
                              HostGraph(40, [](int v) { return v % 7 == 3 ? 5000 + v : 700 + v; }),
                              HostGraph(1, [](int) { return 40000; }), HostGraph(50, [](int) { return 0; })};
  int wrong = 0;
  for (const Submission& submission : submissions) {
    for (const HostGraph& graph : graphs) {
      for (const unsigned fanout : {1u, 4u, 10u, 67u, 128u, 1000u, 1030u})
        wrong += check_small(submission, graph, fanout, stream);
    }
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

// ---- the Reddit-sized graph, checked on the GPU ----

__global__ void differs_kernel(const int* a, const int* b, std::size_t count, unsigned* differ) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    if (a[i] != b[i]) *differ = 1;
  }
}

struct Scene {
  CsrGraph graph;
  const int* nodes;
  int count, fanout;
  std::size_t cells() const { return static_cast<std::size_t>(count) * fanout; }
};

class GpuCheck {
 public:
  explicit GpuCheck(const Scene& scene) : scene_(scene) {
    for (LocatedArrays& run : runs_)
      run = {allocate<unsigned>(scene.count), allocate<int>(scene.cells()),
             allocate<unsigned char>(scene.cells())};
    findings_ = allocate<DeviceFindings>(1);
    counts_ = allocate<PairCounts>(1);
  }
  ~GpuCheck() {
    for (const LocatedArrays& run : runs_) {
      cudaFree(run.degrees);
      cudaFree(run.places);
      cudaFree(run.levels);
    }
    cudaFree(findings_);
    cudaFree(counts_);
  }

  int check(const std::string& name, const int* samples, int which, std::uint64_t seed) {
    BENCH_CHECK(cudaMemset(findings_, 0, sizeof(DeviceFindings)));
    locate_kernel<<<kBlocks, kCheckThreads>>>(scene_.graph.row_offsets, scene_.graph.columns, scene_.nodes,
                                              scene_.count, scene_.fanout, samples, kPoison, seed,
                                              runs_[which], findings_);
    DeviceFindings findings;
    BENCH_CHECK(cudaMemcpy(&findings, findings_, sizeof findings, cudaMemcpyDeviceToHost));
    if (findings.bad_cells > 0) {
      std::printf("WRONG %s: %llu samples are no neighbours\n", name.c_str(), findings.bad_cells);
      return 1;
    }
    LevelCounts levels;
    std::memcpy(levels.counts, findings.levels, sizeof levels.counts);
    int wrong = report(name, judge_levels(levels));
    std::vector<Pairing> pairings = pairings_of_a_run(scene_.count, scene_.fanout);
    if (which == 1) {
      for (const Pairing& pairing : pairings_of_two_runs()) pairings.push_back(pairing);
    }
    for (const Pairing& pairing : pairings) wrong += check_pairs(name, pairing, which);
    return wrong;
  }

 private:
  static constexpr int kBlocks = 2048;

  int check_pairs(const std::string& name, const Pairing& pairing, int which) {
    BENCH_CHECK(cudaMemset(counts_, 0, sizeof(PairCounts)));
    if (pairing.flat_mask != 0) {
      flat_pairs_kernel<<<kBlocks, kCheckThreads>>>(runs_[which].levels, scene_.cells(), pairing.flat_mask,
                                                    counts_);
    } else {
      grid_pairs_kernel<<<kBlocks, kCheckThreads>>>(runs_[which], runs_[pairing.earlier_run ? 0 : which],
                                                    scene_.count, scene_.fanout, pairing, counts_);
    }
    PairCounts counts;
    BENCH_CHECK(cudaMemcpy(&counts, counts_, sizeof counts, cudaMemcpyDeviceToHost));
    return report(name, judge_pairs(pairing, counts));
  }

  Scene scene_;
  LocatedArrays runs_[2];
  DeviceFindings* findings_;
  PairCounts* counts_;
};

int check_full(const Submission& submission, SamplingPlan* plan, const Scene& scene, cudaStream_t stream) {
  int* samples[2] = {allocate<int>(scene.cells()), allocate<int>(scene.cells())};
  unsigned* differ = allocate<unsigned>(1);
  const auto run = [&](std::uint64_t seed, int* into) {
    BENCH_CHECK(cudaMemset(into, 0xA5, scene.cells() * sizeof(int)));
    BENCH_CHECK(cudaDeviceSynchronize());
    BENCH_CHECK(
        submission.run(&scene.graph, scene.nodes, scene.count, scene.fanout, seed, into, plan, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
  };
  GpuCheck check(scene);
  const std::string name = submission.name + " x" + std::to_string(scene.fanout);
  run(11, samples[0]);
  run(11, samples[1]);
  BENCH_CHECK(cudaMemset(differ, 0, sizeof(unsigned)));
  differs_kernel<<<1024, 256>>>(samples[0], samples[1], scene.cells(), differ);
  unsigned differs = 0;
  BENCH_CHECK(cudaMemcpy(&differs, differ, sizeof differs, cudaMemcpyDeviceToHost));
  if (differs != 0) std::printf("WRONG %s: the same seed gave other samples\n", name.c_str());
  int wrong = static_cast<int>(differs) + check.check(name, samples[0], 0, 101);
  run(11 + (1ull << 33), samples[1]);
  wrong += check.check(name, samples[1], 1, 102);
  for (int* memory : samples) BENCH_CHECK(cudaFree(memory));
  BENCH_CHECK(cudaFree(differ));
  return wrong;
}

int time_scene(const std::vector<Submission>& submissions, const Scene& scene, int repetitions,
               cudaStream_t stream, Stopwatch& watch) {
  int wrong = 0;
  int* samples = allocate<int>(scene.cells());
  std::vector<SamplingPlan*> plans(submissions.size());
  std::vector<std::vector<double>> times(submissions.size());
  for (std::size_t s = 0; s < submissions.size(); ++s) {
    BENCH_CHECK(submissions[s].plan(&scene.graph, scene.count, scene.fanout, &plans[s], stream));
    wrong += check_full(submissions[s], plans[s], scene, stream);
  }
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t s = 0; s < submissions.size(); ++s) {
      times[s].push_back(watch.milliseconds(stream, [&] {
        return submissions[s].run(&scene.graph, scene.nodes, scene.count, scene.fanout, 1000 + repetition,
                                  samples, plans[s], stream);
      }));
    }
  }
  for (std::size_t s = 0; s < submissions.size(); ++s) {
    const double ms = median(times[s]);
    std::printf("%8d x %-5d %-20s %9.4f ms  %8.2f G samples/s  least %.4f\n", scene.count, scene.fanout,
                submissions[s].name.c_str(), ms, static_cast<double>(scene.cells()) / ms / 1e6,
                *std::min_element(times[s].begin(), times[s].end()));
    submissions[s].free(plans[s]);
  }
  BENCH_CHECK(cudaFree(samples));
  return wrong;
}

int time_all(const std::vector<Submission>& submissions, int repetitions) {
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreate(&stream));
  const DeviceCsr a = make_powerlaw_matrix({"reddit", 232965, 114615892, 0.5});
  const CsrGraph graph{a.rows, static_cast<int>(a.nnz), a.row_offsets, a.columns};
  std::vector<int> nodes(a.rows);
  std::iota(nodes.begin(), nodes.end(), 0);
  const int* device_nodes = upload(nodes);
  Stopwatch watch;
  int wrong = 0;
  for (const auto& [count, fanout] :
       {std::pair(100, 4), std::pair(a.rows, 10), std::pair(a.rows, 100), std::pair(a.rows, 1000)}) {
    wrong += time_scene(submissions, {graph, device_nodes, count, fanout}, repetitions, stream, watch);
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::start<bench::Submission>(argc, argv, 21, bench::check_all, bench::time_all);
}
