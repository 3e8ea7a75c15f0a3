// Development bench of the lab `histogram`.
//
//   bench_histogram check NAME=LIBRARY.so ...                small inputs; also on the emulator
//   bench_histogram time [repetitions] NAME=LIBRARY.so ...   233 M ids of 232,965 nodes, by pattern
//
// `time` runs all submissions in turn, each after a flush of L2. Counts are compared with global atomics,
// cell by cell, in every repetition. It grades nobody. Build: tools/bench.sh.
#include "histogram/inputs.h"
#include "histogram/oracle.h"
#include "tools/side_by_side.cuh"
#include "warpgrade/histogram.h"

namespace bench {
namespace {

using namespace warpgrade::histogram;
static_assert(kBinWidth == kNodesPerBin);

struct Submission {
  std::string name;
  decltype(&histogram_free) free;
  decltype(&histogram_plan) plan;
  decltype(&histogram_run) run;

  explicit Submission(const std::string& argument) {
    const Library library(argument);
    name = library.name();
    free = library.function<std::remove_pointer_t<decltype(free)>>("bench_free");
    plan = library.function<std::remove_pointer_t<decltype(plan)>>("bench_plan");
    run = library.function<std::remove_pointer_t<decltype(run)>>("bench_run");
  }
};

struct NamedPattern {
  const char* name;
  Pattern pattern;
};
constexpr NamedPattern kPatterns[] = {{"uniform", Pattern::kUniform},    {"power-law", Pattern::kPowerLaw},
                                      {"first bin", Pattern::kFirstBin}, {"last bin", Pattern::kLastBin},
                                      {"half last", Pattern::kHalfLast}, {"one bin", Pattern::kOneBin}};

__global__ void draw_kernel(Pattern pattern, std::uint64_t seed, int count, int nodes, int* ids) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    ids[i] = id_at(pattern, seed, i, nodes);
}

__global__ void count_kernel(const int* ids, int count, unsigned* counts) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step)
    atomicAdd(&counts[ids[i] / kBinWidth], 1u);
}

int compare(const std::string& name, const std::vector<unsigned>& want, const std::vector<unsigned>& got) {
  for (std::size_t b = 0; b < want.size(); ++b) {
    if (got[b] == want[b]) continue;
    std::printf("WRONG %s: counts[%zu] want %u got %u\n", name.c_str(), b, want[b], got[b]);
    return 1;
  }
  return 0;
}

std::vector<unsigned> download(const unsigned* counts, int bins) {
  std::vector<unsigned> host(bins);
  BENCH_CHECK(cudaMemcpy(host.data(), counts, bins * sizeof(unsigned), cudaMemcpyDeviceToHost));
  return host;
}

int check_small(const Submission& submission, const NamedPattern& pattern, int count, int nodes,
                cudaStream_t stream) {
  const int bins = histogram_bins(nodes);
  unsigned* counts = allocate<unsigned>(bins);
  HistogramPlan* plan = nullptr;
  BENCH_CHECK(submission.plan(count, nodes, &plan, stream));
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    std::vector<int> ids(count);
    for (int i = 0; i < count; ++i) ids[i] = id_at(pattern.pattern, seed, i, nodes);
    int* device_ids = upload(ids);
    BENCH_CHECK(cudaMemset(counts, 0xA5, bins * sizeof(unsigned)));
    BENCH_CHECK(cudaDeviceSynchronize());
    BENCH_CHECK(submission.run(device_ids, count, nodes, counts, plan, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
    wrong += compare(
        submission.name + " " + pattern.name + " " + std::to_string(count) + " of " + std::to_string(nodes),
        warpgrade::histogram::count(ids, nodes), download(counts, bins));
    BENCH_CHECK(cudaFree(device_ids));
  }
  submission.free(plan);
  BENCH_CHECK(cudaFree(counts));
  return wrong;
}

int check_all(const std::vector<Submission>& submissions) {
  cudaStream_t stream = nullptr;
  BENCH_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int wrong = 0;
  for (const Submission& submission : submissions) {
    for (const NamedPattern& pattern : kPatterns) {
      for (const auto& [count, nodes] :
           {std::pair(0, 100), std::pair(1, 1), std::pair(37, 40), std::pair(10007, 999),
            std::pair(70000, 232965), std::pair(30001, 3000000)})
        wrong += check_small(submission, pattern, count, nodes, stream);
    }
  }
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

struct Bench {
  int count, nodes;
  int* ids;
  unsigned *counts, *want;
  cudaStream_t stream;
  Stopwatch watch;
};

int time_pattern(Bench& bench, const std::vector<Submission>& submissions,
                 const std::vector<HistogramPlan*>& plans, const NamedPattern& pattern, int repetitions) {
  int wrong = 0;
  const int bins = histogram_bins(bench.nodes);
  std::vector<std::vector<double>> times(submissions.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    draw_kernel<<<2048, 256>>>(pattern.pattern, 50 + repetition, bench.count, bench.nodes, bench.ids);
    BENCH_CHECK(cudaMemset(bench.want, 0, bins * sizeof(unsigned)));
    count_kernel<<<2048, 256>>>(bench.ids, bench.count, bench.want);
    const std::vector<unsigned> want = download(bench.want, bins);
    for (std::size_t s = 0; s < submissions.size(); ++s) {
      BENCH_CHECK(cudaMemset(bench.counts, 0xA5, bins * sizeof(unsigned)));
      BENCH_CHECK(cudaDeviceSynchronize());
      times[s].push_back(bench.watch.milliseconds(bench.stream, [&] {
        return submissions[s].run(bench.ids, bench.count, bench.nodes, bench.counts, plans[s], bench.stream);
      }));
      wrong += compare(submissions[s].name + " " + pattern.name, want, download(bench.counts, bins));
    }
  }
  for (std::size_t s = 0; s < submissions.size(); ++s) {
    const double ms = median(times[s]);
    std::printf("%-10s %-20s %9.4f ms  %6.2f TB/s  least %.4f\n", pattern.name, submissions[s].name.c_str(),
                ms, 4e-9 * bench.count / ms, *std::min_element(times[s].begin(), times[s].end()));
  }
  return wrong;
}

int time_all(const std::vector<Submission>& submissions, int repetitions) {
  Bench bench{.count = 232965000,
              .nodes = 232965,
              .ids = nullptr,
              .counts = nullptr,
              .want = nullptr,
              .stream = nullptr,
              .watch = {}};
  bench.ids = allocate<int>(bench.count);
  bench.counts = allocate<unsigned>(histogram_bins(bench.nodes));
  bench.want = allocate<unsigned>(histogram_bins(bench.nodes));
  BENCH_CHECK(cudaStreamCreate(&bench.stream));
  std::vector<HistogramPlan*> plans(submissions.size());
  for (std::size_t s = 0; s < submissions.size(); ++s)
    BENCH_CHECK(submissions[s].plan(bench.count, bench.nodes, &plans[s], bench.stream));
  int wrong = 0;
  for (const NamedPattern& pattern : kPatterns)
    wrong += time_pattern(bench, submissions, plans, pattern, repetitions);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::start<bench::Submission>(argc, argv, 11, bench::check_all, bench::time_all);
}
