// Every kind of launch that the executor forwards, on a GPU of compute capability 9: clusters, cooperative,
// programmatic dependent launches, priorities, access policies, graphs and what changes them. A line each,
// "name: what it was"; times are medians in us. The exit code is the number of mistakes.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <vector>

namespace cg = cooperative_groups;

namespace {

int g_mistakes = 0;

void tell(const char* name, bool ok, double us = -1) {
  g_mistakes += !ok;
  if (us >= 0) {
    std::printf("%s: %s, %.2f us\n", name, ok ? "right" : "WRONG", us);
  } else {
    std::printf("%s: %s%s%s\n", name, ok ? "right" : "WRONG", ok ? "" : ", last error ",
                ok ? "" : cudaGetErrorName(cudaGetLastError()));
  }
  std::fflush(stdout);
}
bool good(cudaError_t error) {
  if (error != cudaSuccess) std::printf("  %s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}

__global__ void add(int* values, int n, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += what;
}

// Each block reads the other's shared memory.
__global__ void exchange_in_cluster(int* out) {
  __shared__ int mine;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = 10 + static_cast<int>(cluster.block_rank());
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
  cluster.sync();
}

__global__ void sum_over_grid(int* cells, int* total) {
  const cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) cells[blockIdx.x] = 1;
  grid.sync();
  if (grid.thread_rank() == 0) {
    for (unsigned b = 0; b < gridDim.x; ++b) *total += cells[b];
  }
}

__global__ void first_part(int* value) {
  cudaTriggerProgrammaticLaunchCompletion();
  for (int k = 0; k < 1000; ++k) __nanosleep(20);
  *value = 5;
}
__global__ void second_part(int* value) {
  cudaGridDependencySynchronize();
  *value *= 3;
}

int* g_values;
cudaStream_t g_stream;
constexpr int kValues = 1024;

int value_at(int k) {
  int value = -1;
  cudaMemcpyAsync(&value, g_values + k, sizeof value, cudaMemcpyDeviceToHost, g_stream);
  return cudaStreamSynchronize(g_stream) == cudaSuccess ? value : -1;
}
void clear() {
  cudaMemsetAsync(g_values, 0, kValues * sizeof(int), g_stream);
}

template <class... Parameters, class... Arguments>
bool launch_with(const std::vector<cudaLaunchAttribute>& attributes, dim3 grid, dim3 block,
                 void (*kernel)(Parameters...), Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = g_stream;
  config.attrs = const_cast<cudaLaunchAttribute*>(attributes.data());
  config.numAttrs = static_cast<unsigned>(attributes.size());
  return good(cudaLaunchKernelEx(&config, kernel, arguments...));
}

// The numbers are the driver's: the same natively and through the executor.
void occupancy_of_clusters(cudaLaunchAttribute size) {
  cudaLaunchConfig_t config{};
  config.gridDim = 4, config.blockDim = 32;
  config.attrs = &size, config.numAttrs = 1;
  int clusters = 0, largest = 0;
  const bool ok = cudaOccupancyMaxActiveClusters(&clusters, exchange_in_cluster, &config) == cudaSuccess &&
                  cudaOccupancyMaxPotentialClusterSize(&largest, exchange_in_cluster, &config) == cudaSuccess;
  g_mistakes += !ok || clusters <= 0;
  std::printf("cluster occupancy: %d clusters at a time, %d blocks at most\n", clusters, largest);
}

void single_launches() {
  cudaLaunchAttribute a{};
  clear();
  a.id = cudaLaunchAttributeClusterDimension;
  a.val.clusterDim = {2, 1, 1};
  bool ok = launch_with({a}, 4, 32, exchange_in_cluster, g_values);
  tell("cluster", ok && value_at(0) == 11 && value_at(1) == 10 && value_at(3) == 10);
  occupancy_of_clusters(a);

  clear();
  a = {};
  a.id = cudaLaunchAttributeCooperative;
  a.val.cooperative = 1;
  ok = launch_with({a}, 64, 32, sum_over_grid, g_values, g_values + 100);
  tell("cooperative", ok && value_at(100) == 64);

  clear();
  first_part<<<1, 1, 0, g_stream>>>(g_values);
  a = {};
  a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  a.val.programmaticStreamSerializationAllowed = 1;
  ok = launch_with({a}, 1, 1, second_part, g_values);
  tell("programmatic dependent launch", ok && value_at(0) == 15);

  clear();
  a = {};
  a.id = cudaLaunchAttributePriority;
  a.val.priority = -1;
  cudaLaunchAttribute window{};
  window.id = cudaLaunchAttributeAccessPolicyWindow;
  window.val.accessPolicyWindow = {g_values, kValues * sizeof(int), 1.0f, cudaAccessPropertyPersisting,
                                   cudaAccessPropertyStreaming};
  ok = launch_with({a, window}, 4, 256, add, g_values, kValues, 4);
  tell("priority and access policy", ok && value_at(kValues - 1) == 4);
  cudaStreamAttrValue in_stream{};
  in_stream.accessPolicyWindow = window.val.accessPolicyWindow;
  ok = good(cudaStreamSetAttribute(g_stream, cudaStreamAttributeAccessPolicyWindow, &in_stream));
  add<<<4, 256, 0, g_stream>>>(g_values, kValues, 1);
  tell("access policy of a stream", ok && value_at(0) == 5);
  in_stream.accessPolicyWindow.num_bytes = 0;
  cudaStreamSetAttribute(g_stream, cudaStreamAttributeAccessPolicyWindow, &in_stream);
  tell("persisting lines reset", good(cudaCtxResetPersistingL2Cache()));
}

cudaGraph_t capture(const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  good(cudaStreamBeginCapture(g_stream, cudaStreamCaptureModeGlobal));
  work();
  good(cudaStreamEndCapture(g_stream, &graph));
  return graph;
}

double median_us(int runs, const std::function<void()>& call) {
  std::vector<double> all;
  for (int k = 0; k < runs; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    all.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

void graphs() {
  for (const int nodes : {10, 100, 1500}) {
    cudaGraph_t graph = capture([&] {
      for (int k = 0; k < nodes; ++k) add<<<4, 256, 0, g_stream>>>(g_values, kValues, 1);
    });
    cudaGraphExec_t exec;
    bool ok = good(cudaGraphInstantiate(&exec, graph, 0)) && good(cudaGraphUpload(exec, g_stream));
    clear();
    constexpr int kRuns = 50;
    const double us = median_us(kRuns, [&] {
      cudaGraphLaunch(exec, g_stream);
      cudaStreamSynchronize(g_stream);
    });
    char name[64];
    std::snprintf(name, sizeof name, "graph of %d kernels, launch and wait", nodes);
    tell(name, ok && value_at(7) == nodes * kRuns, us);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }

  // A fork, a memset, boxes, a programmatic launch, and a change of an argument.
  int* other = nullptr;
  cudaMalloc(&other, kValues * sizeof(int));
  cudaStream_t side;
  cudaEvent_t fork, join;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
  cudaGraph_t graph = capture([&] {
    cudaMemsetAsync(g_values, 0, kValues * sizeof(int), g_stream);
    cudaEventRecord(fork, g_stream);
    cudaStreamWaitEvent(side, fork, 0);
    cudaMemsetAsync(other, 0, kValues * sizeof(int), side);
    add<<<4, 256, 0, side>>>(other, kValues, 7);
    cudaEventRecord(join, side);
    first_part<<<1, 1, 0, g_stream>>>(g_values);
    cudaLaunchAttribute a{};
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
    launch_with({a}, 1, 1, second_part, g_values);
    cudaStreamWaitEvent(g_stream, join, 0);
    cudaMemcpy2DAsync(g_values + 512, 64, other, 64, 32, 8, cudaMemcpyDeviceToDevice, g_stream);
    add<<<4, 256, 0, g_stream>>>(g_values, kValues, 1);
  });
  cudaGraphExec_t exec;
  bool ok = good(cudaGraphInstantiate(&exec, graph, 0)) && good(cudaGraphLaunch(exec, g_stream));
  tell("graph of many kinds",
       ok && value_at(0) == 16 && value_at(512) == 8 && value_at(520) == 1 && value_at(528) == 8);

  size_t count = 0;
  cudaGraphGetNodes(graph, nullptr, &count);
  std::vector<cudaGraphNode_t> nodes(count);
  cudaGraphGetNodes(graph, nodes.data(), &count);
  int n = kValues, what = 100;
  void* arguments[] = {&g_values, &n, &what};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(add);
  params.gridDim = dim3(4);
  params.blockDim = dim3(256);
  params.kernelParams = arguments;
  ok = good(cudaGraphExecKernelNodeSetParams(exec, nodes.back(), &params)) &&
       good(cudaGraphLaunch(exec, g_stream));
  tell("graph with other arguments", ok && value_at(0) == 115);
  ok = good(cudaGraphNodeSetEnabled(exec, nodes.back(), 0)) && good(cudaGraphLaunch(exec, g_stream));
  tell("graph with a node switched off", ok && value_at(0) == 15);
  cudaGraphExecUpdateResultInfo info{};
  ok = good(cudaGraphExecUpdate(exec, graph, &info)) &&
       good(cudaGraphNodeSetEnabled(exec, nodes.back(), 1)) && good(cudaGraphLaunch(exec, g_stream));
  tell("graph updated", ok && value_at(0) == 16);
}

void see(void* data) {
  ++*static_cast<int*>(data);
}
void callback(cudaStream_t, cudaError_t, void* data) {
  ++*static_cast<int*>(data);
}

void host_functions() {
  int seen = 0;
  bool ok = good(cudaLaunchHostFunc(g_stream, see, &seen)) &&
            good(cudaStreamAddCallback(g_stream, callback, &seen, 0)) &&
            good(cudaStreamSynchronize(g_stream));
  tell("host functions", ok && seen == 2);
  cudaGraph_t graph = capture([&] {
    add<<<4, 256, 0, g_stream>>>(g_values, kValues, 1);
    cudaLaunchHostFunc(g_stream, see, &seen);
    add<<<4, 256, 0, g_stream>>>(g_values, kValues, 1);
  });
  cudaGraphExec_t exec;
  clear();
  ok = good(cudaGraphInstantiate(&exec, graph, 0)) && good(cudaGraphLaunch(exec, g_stream)) &&
       good(cudaStreamSynchronize(g_stream));
  tell("graph with a host function", ok && seen == 3 && value_at(0) == 2);
}

__managed__ int g_managed = 4;
__global__ void change_managed() {
  g_managed *= 2;
}

void shared_memory_kinds() {
  g_managed = 5;
  change_managed<<<1, 1, 0, g_stream>>>();
  const bool ok = good(cudaStreamSynchronize(g_stream));
  tell("managed variable", ok && g_managed == 10);
  std::vector<int> registered(100'000, 1);
  const size_t bytes = registered.size() * sizeof(int);
  int* there = nullptr;
  bool fits = good(cudaHostRegister(registered.data(), bytes, cudaHostRegisterMapped)) &&
              good(cudaHostGetDevicePointer(&there, registered.data(), 0));
  if (fits) add<<<400, 256, 0, g_stream>>>(there, static_cast<int>(registered.size()), 2);
  fits = fits && good(cudaStreamSynchronize(g_stream)) && registered[99'999] == 3;
  tell("registered memory", fits && good(cudaHostUnregister(registered.data())) && registered[0] == 3);
  int* managed = nullptr;
  good(cudaMallocManaged(&managed, 4096));
  managed[3] = 8;
  add<<<4, 256, 0, g_stream>>>(managed, 1024, 1);
  tell("managed memory", good(cudaStreamSynchronize(g_stream)) && managed[3] == 9);
}

}  // namespace

int main() {
  cudaMalloc(&g_values, kValues * sizeof(int));
  cudaStreamCreateWithFlags(&g_stream, cudaStreamNonBlocking);
  single_launches();
  graphs();
  host_functions();
  shared_memory_kinds();
  return g_mistakes;
}
