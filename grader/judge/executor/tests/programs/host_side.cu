// What the host's side of the executor adds: many threads, shared pages, device pointers in host code. The
// argument names the part; the exit code is the number of mistakes.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace {

std::atomic<int> g_mistakes{0};

void expect(bool ok, const char* what) {
  if (ok) return;
  ++g_mistakes;
  std::printf("FAILED: %s\n", what);
}
void good(cudaError_t error, const char* what) {
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  expect(error == cudaSuccess, what);
}

__global__ void add(int* values, int n, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += what;
}

// Each thread has a stream and memory of its own.
void work(int number) {
  constexpr int n = 1000;
  std::vector<int> values(n, number), back(n);
  int* device = nullptr;
  cudaStream_t stream;
  good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  good(cudaMalloc(&device, n * sizeof(int)), "memory");
  for (int turn = 0; turn < 20; ++turn) {
    good(cudaMemcpyAsync(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream),
         "a copy in");
    add<<<(n + 127) / 128, 128, 0, stream>>>(device, n, turn);
    good(cudaMemcpyAsync(back.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost, stream), "a copy out");
    good(cudaStreamSynchronize(stream), "a wait");
    for (const int value : back) {
      if (value != number + turn) return expect(false, "a thread's values");
    }
  }
  good(cudaFree(device), "a free");
  good(cudaStreamDestroy(stream), "a stream's end");
}

// More than there are slots for replies.
void threads() {
  std::vector<std::thread> all;
  for (int k = 0; k < 40; ++k) all.emplace_back(work, k);
  for (std::thread& t : all) t.join();
}

void shared_pages() {
  constexpr size_t kBytes = 3 << 20;  // more than travels in a record
  char *pinned = nullptr, *managed = nullptr, *device = nullptr;
  good(cudaMallocHost(&pinned, kBytes), "pinned memory");
  good(cudaMallocManaged(&managed, kBytes), "managed memory");
  good(cudaMalloc(&device, 20 << 20), "device memory");
  std::memset(pinned, 1, kBytes);
  std::memset(managed, 0, kBytes);
  add<<<1, 32>>>(reinterpret_cast<int*>(pinned), 32, 1);
  good(cudaMemcpyAsync(managed, pinned, kBytes, cudaMemcpyDefault, nullptr), "from pinned to managed");
  good(cudaDeviceSynchronize(), "a wait");
  expect(pinned[0] == 2 && pinned[1] == 1 && managed[0] == 2 && managed[kBytes - 1] == 1,
         "the same bytes on both sides");
  std::vector<char> large(20 << 20, 5), back(20 << 20, 0);  // more than the area for large copies
  good(cudaMemcpy(device, large.data(), large.size(), cudaMemcpyHostToDevice), "a large copy in");
  good(cudaMemcpy(back.data(), device, back.size(), cudaMemcpyDeviceToHost), "a large copy out");
  expect(back == large, "a large copy");
  good(cudaFreeHost(pinned), "a free");
  good(cudaMallocHost(&pinned, kBytes), "pinned memory again");
  expect(pinned[0] == 0, "pages that were given back are empty");
  good(cudaFree(managed), "a free");
  good(cudaFreeHost(pinned), "a free");
  good(cudaFree(device), "a free");
}

// A posted call that goes wrong shows later.
void late_errors() {
  int* device = nullptr;
  good(cudaMalloc(&device, 64), "memory");
  expect(cudaMemcpy(device, &device, 65, cudaMemcpyHostToDevice) == cudaErrorInvalidValue,
         "a copy beyond the end");
  expect(cudaMemset(device, 0, 65) == cudaErrorInvalidValue, "a fill beyond the end");
  expect(cudaFree(device + 1) == cudaErrorInvalidValue, "a free inside");
  cudaGetLastError();
  good(cudaFree(device), "a free");
}

void dereference() {
  volatile int* device = nullptr;
  good(cudaMalloc(const_cast<int**>(&device), 64), "memory");
  std::fflush(stdout);
  device[3] = 1;
}

// Boxes of pitched memory, every way: small ones travel in a record, larger ones in the area for
// large copies.
void rows(size_t width, size_t height, size_t depth) {
  cudaPitchedPtr device, second;
  const cudaExtent extent = make_cudaExtent(width, height, depth);
  const size_t host_pitch = width + 13, slice = height + 2, bytes = host_pitch * slice * depth;
  std::vector<unsigned char> from(bytes), to(bytes, 0);
  for (size_t k = 0; k < bytes; ++k) from[k] = static_cast<unsigned char>(k * 7 + k / 251);
  good(cudaMalloc3D(&device, extent), "a volume");
  good(cudaMalloc3D(&second, extent), "a second volume");
  const auto copy = [&](cudaPitchedPtr target, cudaPitchedPtr source, cudaMemcpyKind kind, const char* what) {
    cudaMemcpy3DParms p{};
    p.dstPtr = target;
    p.srcPtr = source;
    p.extent = extent;
    p.kind = kind;
    good(cudaMemcpy3D(&p), what);
  };
  copy(device, make_cudaPitchedPtr(from.data(), host_pitch, width, slice), cudaMemcpyHostToDevice, "in");
  copy(second, device, cudaMemcpyDeviceToDevice, "between");
  copy(make_cudaPitchedPtr(to.data(), host_pitch, width, slice), second, cudaMemcpyDeviceToHost, "out");
  size_t wrong = 0;
  for (size_t z = 0; z < depth; ++z) {
    for (size_t y = 0; y < height; ++y) {
      const size_t at = (z * slice + y) * host_pitch;
      wrong += std::memcmp(&from[at], &to[at], width) != 0 || to[at + width] != 0;
    }
  }
  expect(wrong == 0, "rows of a volume");
  good(cudaMemcpy2D(to.data(), host_pitch, device.ptr, device.pitch, width, height, cudaMemcpyDeviceToHost),
       "a copy of rows");
  if (height > 1) {
    cudaGetLastError();
    expect(cudaMemcpy2D(device.ptr, device.pitch, to.data(), host_pitch, width, height * depth + 1,
                        cudaMemcpyHostToDevice) == cudaErrorInvalidValue,
           "rows beyond the end");
    cudaGetLastError();
  }
  good(cudaFree(device.ptr), "a free");
  good(cudaFree(second.ptr), "a free");
}

void boxes() {
  rows(1, 1, 1);
  rows(100, 7, 3);
  rows(700, 600, 2);
  rows(3'000'000, 5, 1);
  rows(4, 1, 9);
}

__global__ void times(int* values, int n, int what) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] *= what;
}

struct Seen {
  const int* pinned;
  int value = 0, calls = 0;
};
void see(void* data) {
  auto* seen = static_cast<Seen*>(data);
  seen->value = seen->pinned[0];
  ++seen->calls;
}

// Captured: kernels, a fork and its join, copies of pageable and pinned memory, a host function between them.
void graphs() {
  constexpr int n = 1000;
  int *device = nullptr, *other = nullptr, *pinned = nullptr;
  std::vector<int> first(n, 3), last(n, 0);
  good(cudaMalloc(&device, n * sizeof(int)), "memory");
  good(cudaMalloc(&other, n * sizeof(int)), "memory");
  good(cudaMallocHost(&pinned, n * sizeof(int)), "pinned memory");
  cudaStream_t stream, side;
  cudaEvent_t fork, join;
  good(cudaStreamCreate(&stream), "a stream");
  good(cudaStreamCreate(&side), "a stream");
  good(cudaEventCreate(&fork), "an event");
  good(cudaEventCreate(&join), "an event");
  Seen seen{pinned};
  cudaGraph_t graph;
  good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
  cudaMemcpyAsync(device, first.data(), n * sizeof(int), cudaMemcpyHostToDevice, stream);  // pageable
  add<<<(n + 127) / 128, 128, 0, stream>>>(device, n, 1);                                  // 4
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(side, fork, 0);
  cudaMemsetAsync(other, 0, n * sizeof(int), side);
  add<<<(n + 127) / 128, 128, 0, side>>>(other, n, 7);  // 7
  cudaEventRecord(join, side);
  times<<<(n + 127) / 128, 128, 0, stream>>>(device, n, 5);  // 20
  cudaStreamWaitEvent(stream, join, 0);
  cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, see, &seen);
  cudaMemcpyAsync(device, other, n * sizeof(int), cudaMemcpyDeviceToDevice, stream);
  times<<<(n + 127) / 128, 128, 0, stream>>>(device, n, 3);                               // 21
  cudaMemcpyAsync(last.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost, stream);  // pageable
  good(cudaStreamEndCapture(stream, &graph), "its end");
  cudaGraphExec_t exec;
  good(cudaGraphInstantiate(&exec, graph, 0), "an executable graph");
  good(cudaGraphUpload(exec, stream), "an upload");
  for (int k = 1; k <= 3; ++k) {
    std::fill(first.begin(), first.end(), 3 * k);  // read when the graph runs
    good(cudaGraphLaunch(exec, stream), "a launch");
    good(cudaStreamSynchronize(stream), "a wait");
    expect(seen.value == (3 * k + 1) * 5 && seen.calls == k, "what the host function saw");
    expect(last[0] == 21 && last[n - 1] == 21, "the graph's result");
  }
  // Inside another graph, and changed there.
  cudaGraph_t parent;
  cudaGraphNode_t child, after;
  good(cudaGraphCreate(&parent, 0), "a graph");
  good(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, graph), "a child");
  int count = n, what = 100;
  void* arguments[] = {&device, &count, &what};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(add);
  params.gridDim = dim3((n + 127) / 128);
  params.blockDim = dim3(128);
  params.kernelParams = arguments;
  good(cudaGraphAddKernelNode(&after, parent, &child, 1, &params), "a kernel behind it");
  cudaGraphExec_t whole;
  good(cudaGraphInstantiate(&whole, parent, 0), "an executable graph");
  const auto run = [&](int expected, const char* name) {
    good(cudaGraphLaunch(whole, stream), "a launch");
    good(cudaMemcpyAsync(last.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost, stream), "a copy");
    good(cudaStreamSynchronize(stream), "a wait");
    expect(last[0] == expected && last[n - 1] == expected, name);
  };
  run(121, "a child graph and what is behind it");
  what = 1000;
  good(cudaGraphExecKernelNodeSetParams(whole, after, &params), "other arguments");
  run(1021, "other arguments");
  good(cudaGraphNodeSetEnabled(whole, after, 0), "a node switched off");
  run(21, "a node switched off");
  good(cudaGraphNodeSetEnabled(whole, after, 1), "a node switched on");
  run(1021, "a node switched on");
  good(cudaGraphExecDestroy(whole), "an end");
  good(cudaGraphExecDestroy(exec), "an end");
  good(cudaGraphDestroy(parent), "an end");
  good(cudaGraphDestroy(graph), "an end");
}

// Many launches of one graph are one record each.
void graph_launches() {
  constexpr int kNodes = 50, kLaunches = 200;
  int* device = nullptr;
  good(cudaMalloc(&device, sizeof(int)), "memory");
  good(cudaMemset(device, 0, sizeof(int)), "a fill");
  cudaStream_t stream;
  good(cudaStreamCreate(&stream), "a stream");
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  good(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "a capture");
  for (int k = 0; k < kNodes; ++k) add<<<1, 1, 0, stream>>>(device, 1, 1);
  good(cudaStreamEndCapture(stream, &graph), "its end");
  good(cudaGraphInstantiate(&exec, graph, 0), "an executable graph");
  for (int k = 0; k < kLaunches; ++k) good(cudaGraphLaunch(exec, stream), "a launch");
  int value = 0;
  good(cudaMemcpyAsync(&value, device, sizeof value, cudaMemcpyDeviceToHost, stream), "a copy");
  good(cudaStreamSynchronize(stream), "a wait");
  expect(value == kNodes * kLaunches, "all launches");
}

// A graph that names memory which is gone does not run.
void graph_of_freed_memory() {
  char *device = nullptr, *again = nullptr;
  good(cudaMalloc(&device, 1 << 20), "memory");
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  cudaMemsetParams fill{};
  fill.dst = device;
  fill.elementSize = 1;
  fill.width = 1 << 20;
  fill.height = 1;
  good(cudaGraphCreate(&graph, 0), "a graph");
  good(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill), "a node");
  good(cudaGraphInstantiate(&exec, graph, 0), "an executable graph");
  good(cudaGraphLaunch(exec, nullptr), "a launch");
  good(cudaDeviceSynchronize(), "a wait");
  good(cudaFree(device), "a free");
  const cudaError_t at_launch = cudaGraphLaunch(exec, nullptr), at_wait = cudaDeviceSynchronize();
  expect(at_launch == cudaErrorInvalidValue || at_wait == cudaErrorInvalidValue,
         "a launch of a graph whose memory is gone");
  cudaGetLastError();
  good(cudaMalloc(&again, 16), "memory after it");
}

// Memory of the program's own, from malloc and from its data: the same bytes for host code, kernels
// and copies.
int g_data[5000];
void registered() {
  constexpr int n = 300'000;
  std::vector<int> values(n);
  for (int k = 0; k < n; ++k) values[k] = k;
  for (int turn = 0; turn < 3; ++turn) {
    const int before = values[n - 1];
    good(cudaHostRegister(values.data(), n * sizeof(int), cudaHostRegisterMapped), "a registration");
    expect(values[0] == 10 * turn && values[n - 1] == before, "content stays");
    expect(cudaHostRegister(values.data() + 10, 40, 0) == cudaErrorHostMemoryAlreadyRegistered,
           "a second time");
    cudaGetLastError();
    int* on_device = nullptr;
    good(cudaHostGetDevicePointer(&on_device, values.data(), 0), "the device's pointer");
    add<<<(n + 255) / 256, 256>>>(on_device, n, 10);
    good(cudaDeviceSynchronize(), "a wait");
    expect(values[0] == 10 * (turn + 1) && values[n - 1] == before + 10, "what the kernel wrote");
    int* device = nullptr;
    good(cudaMalloc(&device, n * sizeof(int)), "memory");
    good(cudaMemcpyAsync(device, values.data(), n * sizeof(int), cudaMemcpyHostToDevice, nullptr), "a copy");
    good(cudaMemsetAsync(device, 0, 4, nullptr), "a fill");
    good(cudaMemcpy(g_data, device, 16, cudaMemcpyDeviceToHost), "a copy");
    expect(g_data[0] == 0 && g_data[1] == values[1], "a copy from registered memory");
    good(cudaFree(device), "a free");
    good(cudaHostUnregister(values.data()), "its end");
    expect(values[n - 1] == before + 10, "content stays after it");
  }
  good(cudaHostRegister(g_data + 3, 4096 * sizeof(int), 0), "a registration of the program's data");
  g_data[3] = 5;
  int* data_on_device = nullptr;
  good(cudaHostGetDevicePointer(&data_on_device, g_data + 3, 0), "the device's pointer");
  add<<<1, 32>>>(data_on_device, 32, 1);
  good(cudaDeviceSynchronize(), "a wait");
  expect(g_data[3] == 6, "the program's data");
  good(cudaHostUnregister(g_data + 3), "its end");
  expect(cudaHostUnregister(g_data + 3) == cudaErrorHostMemoryNotRegistered, "twice");
}

void registered_stack() {
  int on_stack[100] = {};
  expect(cudaHostRegister(on_stack, sizeof on_stack, 0) == cudaErrorNotSupported, "memory of the stack");
}

__managed__ int g_managed[3] = {1, 2, 3};
__managed__ double g_managed_large[1000];
__global__ void change_managed(int* through_pointer) {
  g_managed[0] += 10;
  g_managed_large[threadIdx.x] += 1;
  if (through_pointer != nullptr) through_pointer[2] = 77;
}

void managed_variables() {
  expect(g_managed[0] == 1 && g_managed[1] == 2, "first values");
  g_managed[1] = 20;
  change_managed<<<1, 1>>>(nullptr);
  good(cudaDeviceSynchronize(), "a wait");
  expect(g_managed[0] == 11 && g_managed[1] == 20, "both sides' changes");
  g_managed[0] = 5;
  g_managed_large[999] = 2.5;
  change_managed<<<1, 1000>>>(g_managed);
  cudaStream_t stream;
  good(cudaStreamCreate(&stream), "a stream");
  good(cudaStreamSynchronize(nullptr), "a wait");
  expect(g_managed[0] >= 15 && g_managed[2] == 77, "through a pointer");
  expect(g_managed_large[999] == 3.5 && g_managed_large[0] == 2, "many values");
  int copied[3] = {};
  good(cudaMemcpyFromSymbol(copied, g_managed, sizeof copied), "a copy from the symbol");
  expect(copied[1] == 20, "the symbol's value");
}

__global__ void spin_for_ever(volatile int* word) {
  while (*word == 0) {
  }
}

void endless() {
  int* word = nullptr;
  good(cudaMalloc(&word, 4), "memory");
  good(cudaMemset(word, 0, 4), "a fill");
  spin_for_ever<<<1, 1>>>(word);
  cudaDeviceSynchronize();
  std::printf("the kernel ended\n");
}

}  // namespace

int main(int, char** words) {
  if (!std::strcmp(words[1], "threads")) threads();
  if (!std::strcmp(words[1], "shared_pages")) shared_pages();
  if (!std::strcmp(words[1], "late_errors")) late_errors();
  if (!std::strcmp(words[1], "dereference")) dereference();
  if (!std::strcmp(words[1], "boxes")) boxes();
  if (!std::strcmp(words[1], "registered")) registered();
  if (!std::strcmp(words[1], "registered_stack")) registered_stack();
  if (!std::strcmp(words[1], "managed_variables")) managed_variables();
  if (!std::strcmp(words[1], "graphs")) graphs();
  if (!std::strcmp(words[1], "graph_launches")) graph_launches();
  if (!std::strcmp(words[1], "graph_of_freed_memory")) graph_of_freed_memory();
  if (!std::strcmp(words[1], "endless")) endless();
  return g_mistakes;
}
