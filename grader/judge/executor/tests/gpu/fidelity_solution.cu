// A lab's solution with inputs of its own, run natively or through the executor: the same program both ways.
// Built once a solution with -DLAB_SPMM, -DLAB_APSP, -DLAB_HISTOGRAM, -DLAB_GCN or -DLAB_SAMPLING.
//   without an executor: reads "plan N", "prepare N", "run N", "check N", "free N" from stdin, answers with a
//   line each; with one: takes the same as commands (kinds below, case in arguments[0]) and answers with a
//   status and a text.
// A run's time is told by the executor, or here by the same class (driver/timing_gate.h).
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "judge/executor/driver/timing_gate.h"
#include "judge/executor/host_commands.h"
#include "judge/executor/tests/gpu/fidelity_commands.h"

#if defined(LAB_SPMM)
#include "warpgrade/spmm.h"
#elif defined(LAB_APSP)
#include "warpgrade/apsp.h"
#elif defined(LAB_HISTOGRAM)
#include "warpgrade/histogram.h"
#elif defined(LAB_GCN)
#include "warpgrade/gcn.h"
#elif defined(LAB_SAMPLING)
#include "warpgrade/sampling.h"
#endif

namespace {

using namespace warpgrade::executor;

cudaStream_t g_stream;
void *g_output, *g_pristine;
size_t g_output_bytes;

template <class T>
T* to_device(const std::vector<T>& values) {
  T* p = nullptr;
  if (cudaMalloc(&p, values.size() * sizeof(T)) != cudaSuccess) return nullptr;
  cudaMemcpy(p, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}

void set_output(size_t bytes) {
  g_output_bytes = bytes;
  cudaMalloc(&g_output, bytes);
  cudaMemset(g_output, 0, bytes);
}

// Moves what is allocated next to other places, both within a page and among pages.
void occupy(int pieces) {
  void* kept;
  for (int k = 0; k < pieces; ++k) {
    cudaMalloc(&kept, 64 << 10);
    cudaMalloc(&kept, 2 << 20);
  }
}

// The stream that the solution gets, behind as many idle ones: each is given one of the device's queues in
// turn, and the queue decides what a launch costs.
void make_stream(int idle) {
  for (int k = 0; k <= idle; ++k) cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking);
}

// Rows of very different lengths, as in real graphs.
struct Structure {
  int rows = 0;
  std::vector<int> offsets, columns;
  Structure(int count, int mean) : rows(count), offsets{0} {
    std::mt19937_64 random(7);
    for (int r = 0; r < count; ++r) {
      const double u = 1e-4 + static_cast<double>(random() % 10'000) / 10'000;
      const int length = std::min(2'000, static_cast<int>(0.45 * mean / std::sqrt(u)));
      for (int k = 0; k < length; ++k)
        columns.push_back(static_cast<int>(random() % static_cast<unsigned>(count)));
      std::sort(columns.end() - length, columns.end());
      offsets.push_back(static_cast<int>(columns.size()));
    }
  }
};

template <class T>
std::vector<T> random_values(size_t count, unsigned below, double scale) {
  std::mt19937 random(11);
  std::vector<T> values(count);
  for (T& v : values) v = static_cast<T>(scale * static_cast<double>(random() % below));
  return values;
}

#if defined(LAB_SPMM)
CsrMatrix g_a;
float* g_b;
SpmmPlan* g_plan;
int g_k;
cudaError_t plan(int number) {
  static const Structure s(100'000, 14);
  const int n = s.rows, nnz = static_cast<int>(s.columns.size());
  g_k = number == 1 ? 32 : 256;
  g_a = {n,
         n,
         nnz,
         to_device(s.offsets),
         to_device(s.columns),
         to_device(random_values<float>(s.columns.size(), 17, 0.1))};
  g_b = to_device(random_values<float>(size_t(n) * g_k, 19, 0.1));
  set_output(size_t(n) * g_k * sizeof(float));
  return spmm_plan(g_a, g_k, &g_plan, g_stream);
}
cudaError_t run(int) {
  return spmm_run(g_a, g_k, g_b, static_cast<float*>(g_output), g_plan, g_stream);
}
void free_plan() {
  spmm_free(g_plan);
}
#elif defined(LAB_APSP)
ApspPlan* g_plan;
int g_n;
cudaError_t plan(int number) {
  g_n = number == 1 ? 1000 : 2500;
  std::vector<int> graph = random_values<int>(size_t(g_n) * g_n, 1000, 1);
  for (size_t k = 0; k < graph.size(); ++k) graph[k] = graph[k] < 900 ? kApspInfinity : graph[k] - 899;
  for (int i = 0; i < g_n; ++i) graph[size_t(i) * g_n + i] = 0;
  g_pristine = to_device(graph);
  set_output(graph.size() * sizeof(int));
  return apsp_plan(g_n, &g_plan, g_stream);
}
cudaError_t run(int) {
  return apsp_run(g_n, static_cast<int*>(g_output), g_plan, g_stream);
}
void free_plan() {
  apsp_free(g_plan);
}
#elif defined(LAB_HISTOGRAM)
HistogramPlan* g_plan;
int* g_ids;
int g_count, g_nodes = 200'000;
cudaError_t plan(int number) {
  g_count = number == 1 ? 1'000'000 : 20'000'000;
  g_ids = to_device(random_values<int>(static_cast<size_t>(g_count), static_cast<unsigned>(g_nodes), 1));
  set_output(size_t(histogram_bins(g_nodes)) * sizeof(unsigned));
  return histogram_plan(g_count, g_nodes, &g_plan, g_stream);
}
cudaError_t run(int) {
  return histogram_run(g_ids, g_count, g_nodes, static_cast<unsigned*>(g_output), g_plan, g_stream);
}
void free_plan() {
  histogram_free(g_plan);
}
#elif defined(LAB_GCN)
GcnGraph g_graph;
double *g_x, *g_w;
GcnPlan* g_plan;
cudaError_t plan(int number) {
  const Structure s(number == 1 ? 20'000 : 100'000, 14);
  g_graph = {s.rows, static_cast<int>(s.columns.size()), to_device(s.offsets), to_device(s.columns)};
  g_x = to_device(random_values<double>(size_t(s.rows) * kGcnFeatures, 17, 0.1));
  g_w = to_device(random_values<double>(size_t(kGcnFeatures) * kGcnClasses, 13, 0.1));
  set_output(size_t(s.rows) * kGcnClasses * sizeof(double));
  return gcn_plan(g_graph, &g_plan, g_stream);
}
cudaError_t run(int) {
  return gcn_run(g_graph, g_x, g_w, static_cast<double*>(g_output), g_plan, g_stream);
}
void free_plan() {
  gcn_free(g_plan);
}
#elif defined(LAB_SAMPLING)
CsrGraph g_graph;
int* g_nodes;
SamplingPlan* g_plan;
int g_count, g_fanout;
cudaError_t plan(int number) {
  const Structure s(100'000, 14);
  g_count = number == 1 ? 20'000 : 100'000;
  g_fanout = number == 1 ? 10 : 25;
  g_graph = {s.rows, static_cast<int>(s.columns.size()), to_device(s.offsets), to_device(s.columns)};
  g_nodes = to_device(random_values<int>(static_cast<size_t>(g_count), static_cast<unsigned>(s.rows), 1));
  set_output(size_t(g_count) * g_fanout * sizeof(int));
  return sampling_plan(g_graph, g_count, g_fanout, &g_plan, g_stream);
}
cudaError_t run(int) {
  return sampling_run(g_graph, g_nodes, g_count, g_fanout, 12345, static_cast<int*>(g_output), g_plan,
                      g_stream);
}
void free_plan() {
  sampling_free(g_plan);
}
#endif

// The same input for each run: where the output is the input, too.
cudaError_t prepare() {
  if (g_pristine != nullptr)
    cudaMemcpyAsync(g_output, g_pristine, g_output_bytes, cudaMemcpyDeviceToDevice, g_stream);
  return cudaStreamSynchronize(g_stream);
}

std::string check() {
  std::vector<uint8_t> bytes(g_output_bytes);
  if (cudaMemcpy(bytes.data(), g_output, g_output_bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
    return "none";
  uint64_t hash = 1469598103934665603ull;
  for (const uint8_t b : bytes) hash = (hash ^ b) * 1099511628211ull;
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

// Everything but a timed run. `text` has what is to be told.
cudaError_t carry_out(uint32_t kind, int number, std::string& text) {
  auto begin = std::chrono::steady_clock::now();
  cudaError_t error = cudaSuccess;
  switch (kind) {
    case fidelity::kPlan:
      if (g_stream == nullptr) make_stream(fidelity::pieces_of(number));
      occupy(fidelity::pieces_of(number));
      begin = std::chrono::steady_clock::now();
      error = plan(fidelity::case_of(number));
      cudaStreamSynchronize(g_stream);
      break;
    case fidelity::kPrepare:
      error = prepare();
      break;
    case fidelity::kRun:
      return run(number);
    case fidelity::kCheck:
      text = check();
      return cudaGetLastError();
    case fidelity::kFree:
      free_plan();
      break;
    default:
      return cudaErrorInvalidValue;
  }
  const double us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  text = std::to_string(us);
  return error != cudaSuccess ? error : cudaGetLastError();
}

// Words in FIDELITY_NATIVE make the native side more like the executor, one difference each (differences.sh).
bool has_word(const char* word) {
  const char* words = std::getenv("FIDELITY_NATIVE");
  return words != nullptr &&
         (" " + std::string(words) + " ").find(" " + std::string(word) + " ") != std::string::npos;
}

// A run that waits for the device needs the gate open; the executor knows the call, here time tells.
std::string timed(TimingGate& gate, double constant, int number) {
  const CUstream streams[] = {g_stream, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
  gate.forget_earlier_runs();
  gate.close(streams);
  std::atomic<bool> is_done{false};
  const bool has_helper = !has_word("no_helper");
  std::thread helper([&] {
    if (!has_helper) return;
    const double limit = steady_us() + 1500;
    while (!is_done && steady_us() < limit) std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (!is_done) gate.open("waited");
  });
  const cudaError_t error = run(number);
  is_done = true;
  helper.join();
  const GateTimes t = gate.finish(streams, 10);
  char line[128];
  std::snprintf(line, sizeof line, "%d %d %.3f %.3f", static_cast<int>(error),
                t.is_void || t.state != CUDA_SUCCESS, t.stamps_us - constant, t.event_us);
  return line;
}

// As in the executor: the driver's context and the gate's kernels are there before the program's module.
void start_context() {
  const DriverApi& api = driver_api();
  CUdevice device = 0;
  CUcontext context = nullptr;
  require(api.cuInit_(0), "cuInit");
  require(api.cuDeviceGet_(&device, 0), "cuDeviceGet");
  require(api.cuDevicePrimaryCtxRetain_(&context, device), "cuDevicePrimaryCtxRetain");
  require(api.cuCtxSetCurrent_(context), "cuCtxSetCurrent");
}

// As in the executor: pinned memory for small copies and a registered window.
void pin_memory() {
  constexpr size_t kBounce = size_t{64} << 20, kWindow = size_t{8} << 20;
  void* bounce = nullptr;
  require(driver_api().cuMemHostAlloc_(&bounce, kBounce, CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
  void* window = std::aligned_alloc(4096, kWindow);
  std::memset(window, 0, kWindow);
  require(driver_api().cuMemHostRegister_(window, kWindow,
                                          CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
          "cuMemHostRegister");
}

int natively() {
  if (has_word("gate_first")) start_context();
  if (!has_word("gate_first") && cudaFree(nullptr) != cudaSuccess) return 2;
  if (has_word("pinned")) pin_memory();
  TimingGate gate;
  if (cudaFree(nullptr) != cudaSuccess) return 2;
  const double constant = gate.constant_us().value_or(0);
  std::printf("ready %.3f\n", constant);
  std::fflush(stdout);
  char kind[32];
  int number = 0;
  while (std::scanf("%31s %d", kind, &number) == 2) {
    const uint32_t which = fidelity::kind_of(kind);
    std::string text;
    if (which == fidelity::kRun) {
      text = timed(gate, constant, number);
    } else {
      const cudaError_t error = carry_out(which, number, text);
      text = std::to_string(static_cast<int>(error)) + " " + text;
    }
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main() {
  const auto next = reinterpret_cast<decltype(&warpgrade_executor_next_command)>(
      dlsym(RTLD_DEFAULT, "warpgrade_executor_next_command"));
  const auto done =
      reinterpret_cast<decltype(&warpgrade_executor_done)>(dlsym(RTLD_DEFAULT, "warpgrade_executor_done"));
  if (next == nullptr || done == nullptr) return natively();
  warpgrade_executor_command command;
  while (next(&command) == 0 && command.number != 0) {
    std::string text;
    const cudaError_t error = carry_out(command.number, static_cast<int>(command.arguments[0]), text);
    done(error, text.c_str());
  }
  return 0;
}
