// NCCL in captured streams, as its user guide has it ("Using NCCL with CUDA Graphs": kernels before and behind
// ncclAllReduce, in one graph for each rank): a thread for each rank, or one for all. A ring of sends and receives goes
// through a group of one rank. The sums are those of plain loops on the host. With an argument: one mistake, at the
// line that carries MISTAKE <argument>.

#include <string>
#include <thread>

#include "check.h"
#include "nccl_check.h"

namespace {

constexpr int kCount = 100, kLaunches = 3;
int g_ranks = 0;

__global__ void add(float* x, float value) {
  x[threadIdx.x] += value;
}
__global__ void blend(const float* sum, const float* received, float* x) {
  x[threadIdx.x] = sum[threadIdx.x] / 4 + received[threadIdx.x];
}

// What one rank has on its device.
struct Rank {
  int number = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  float *x = nullptr, *sum = nullptr, *received = nullptr;
  cudaGraphExec_t exec = nullptr;

  void choose_device() const { CHECK_CUDA(cudaSetDevice(number)); }
  void allocate() {
    choose_device();
    CHECK_CUDA(cudaStreamCreate(&stream));
    for (float** p : {&x, &sum, &received}) CHECK_CUDA(cudaMalloc(p, kCount * sizeof(float)));
    for (float* p : {x, received}) CHECK_CUDA(cudaMemsetAsync(p, 0, kCount * sizeof(float), stream));
  }
  void begin() {
    choose_device();
    CHECK_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    add<<<1, kCount, 0, stream>>>(x, float(number + 1));
  }
  void all_reduce() const {
    CHECK_NCCL(ncclAllReduce(x, sum, kCount, ncclFloat, ncclSum, comm, stream));  // MISTAKE missing
  }
  void ring() const {
    CHECK_NCCL(ncclSend(x, kCount, ncclFloat, (number + 1) % g_ranks, comm, stream));
    CHECK_NCCL(ncclRecv(received, kCount, ncclFloat, (number + g_ranks - 1) % g_ranks, comm, stream));
  }
  void end() {
    choose_device();
    blend<<<1, kCount, 0, stream>>>(sum, received, x);
    cudaGraph_t graph;
    CHECK_CUDA(cudaStreamEndCapture(stream, &graph));
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphDestroy(graph));
  }
  void launch() const {
    choose_device();
    CHECK_CUDA(cudaGraphLaunch(exec, stream));
  }
  void wait() const {
    choose_device();
    CHECK_CUDA(cudaStreamSynchronize(stream));
  }
  void expect_value(float want) const {
    std::vector<float> got(kCount);
    choose_device();
    CHECK_CUDA(cudaMemcpyAsync(got.data(), x, kCount * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK_CUDA(cudaStreamSynchronize(stream));
    for (const float value : got) {
      if (value == want) continue;
      std::printf("rank %d has %g, expected %g\n", number, value, want);
      return expect(false, "steps of a graph with collectives");
    }
  }
  void release() {
    choose_device();
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    for (float* p : {x, sum, received}) CHECK_CUDA(cudaFree(p));
    CHECK_CUDA(cudaStreamDestroy(stream));
    CHECK_NCCL(ncclCommDestroy(comm));
  }
};

using Ranks = std::vector<Rank>;

Ranks made() {
  Ranks ranks(static_cast<size_t>(g_ranks));
  std::vector<ncclComm_t> comms(ranks.size());
  CHECK_NCCL(ncclCommInitAll(comms.data(), g_ranks, nullptr));
  for (size_t k = 0; k < ranks.size(); ++k) {
    ranks[k].number = int(k);
    ranks[k].comm = comms[k];
    ranks[k].allocate();
  }
  return ranks;
}

// The values of x by rank, after all launches.
std::vector<float> expected() {
  std::vector<float> x(static_cast<size_t>(g_ranks));
  for (int launch = 0; launch < kLaunches; ++launch) {
    float sum = 0;
    for (int r = 0; r < g_ranks; ++r) sum += x[r] += float(r + 1);
    std::vector<float> next;
    for (int r = 0; r < g_ranks; ++r) next.push_back(sum / 4 + x[(r + g_ranks - 1) % g_ranks]);
    x = next;
  }
  return x;
}

void check_and_release(Ranks& ranks) {
  const std::vector<float> want = expected();
  for (Rank& rank : ranks) {
    rank.expect_value(want[size_t(rank.number)]);
    rank.release();
  }
}

void a_thread_for_each_rank() {
  Ranks ranks = made();
  std::vector<std::thread> threads;
  for (Rank& rank : ranks) {
    threads.emplace_back([&rank] {
      rank.begin();
      rank.all_reduce();
      CHECK_NCCL(ncclGroupStart());
      rank.ring();
      CHECK_NCCL(ncclGroupEnd());
      rank.end();
      for (int launch = 0; launch < kLaunches; ++launch) rank.launch();
      rank.wait();
    });
  }
  for (std::thread& t : threads) t.join();
  check_and_release(ranks);
}

void one_thread_for_all_ranks() {
  Ranks ranks = made();
  for (Rank& rank : ranks) rank.begin();
  CHECK_NCCL(ncclGroupStart());
  for (const Rank& rank : ranks) rank.all_reduce();
  CHECK_NCCL(ncclGroupEnd());
  CHECK_NCCL(ncclGroupStart());
  for (const Rank& rank : ranks) rank.ring();
  CHECK_NCCL(ncclGroupEnd());
  for (Rank& rank : ranks) rank.end();
  for (int launch = 0; launch < kLaunches; ++launch) {
    for (const Rank& rank : ranks) rank.launch();
  }
  check_and_release(ranks);
}

int make(const std::string& mistake) {
  Ranks ranks = made();
  if (mistake == "one_graph") {
    cudaEvent_t forked;
    ranks[0].begin();
    CHECK_CUDA(cudaEventCreate(&forked));
    CHECK_CUDA(cudaEventRecord(forked, ranks[0].stream));
    CHECK_CUDA(cudaStreamWaitEvent(ranks[1].stream, forked, 0));
    CHECK_NCCL(ncclGroupStart());
    for (const Rank& rank : ranks) rank.all_reduce();
    std::printf("result %d\n", ncclGroupEnd());
    return 0;
  }
  for (Rank& rank : ranks) rank.begin();
  CHECK_NCCL(ncclGroupStart());
  for (const Rank& rank : ranks) rank.all_reduce();
  CHECK_NCCL(ncclGroupEnd());
  for (Rank& rank : ranks) rank.end();
  const size_t launched = mistake == "missing" ? 1 : ranks.size();
  for (size_t k = 0; k < launched; ++k) ranks[k].launch();
  ranks[0].choose_device();
  if (mistake == "no_order") {
    cudaStream_t other;
    CHECK_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CHECK_CUDA(cudaMemsetAsync(ranks[0].sum, 0, 4, other));  // MISTAKE no_order
  }
  std::printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(ranks[0].stream)));
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK_CUDA(cudaGetDeviceCount(&g_ranks));
  if (argc > 1) return make(argv[1]);
  a_thread_for_each_rank();
  one_thread_for_all_ranks();
  return g_failures;
}
