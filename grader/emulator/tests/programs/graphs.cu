// Graphs: captured from streams, built by hand, updated, and what capture forbids.
#include "check.h"

__global__ void add(int* data, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += value;
}
__global__ void twice(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= 2;
}

constexpr int kN = 300;

struct Fixture {
  int *data, *other;
  cudaStream_t a, b;
  Fixture() {
    CHECK_CUDA(cudaMalloc(&data, kN * sizeof(int)));
    CHECK_CUDA(cudaMalloc(&other, kN * sizeof(int)));
    CHECK_CUDA(cudaMemset(data, 0, kN * sizeof(int)));
    CHECK_CUDA(cudaMemset(other, 0, kN * sizeof(int)));
    CHECK_CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK_CUDA(cudaDeviceSynchronize());  // these streams do not wait for the default one, which clears
  }
  ~Fixture() {
    CHECK_CUDA(cudaStreamDestroy(a));
    CHECK_CUDA(cudaStreamDestroy(b));
    CHECK_CUDA(cudaFree(data));
    CHECK_CUDA(cudaFree(other));
  }
  int value(const int* p) const {
    std::vector<int> host(kN);
    CHECK_CUDA(cudaDeviceSynchronize());
    CHECK_CUDA(cudaMemcpy(host.data(), p, kN * sizeof(int), cudaMemcpyDeviceToHost));
    for (int v : host) expect(v == host[0], "all elements are the same");
    return host[0];
  }
};

void count_call(void* p) {
  ++*static_cast<int*>(p);
}

void captured_work_runs_at_launch() {
  Fixture f;
  int called = 0;
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaMemsetAsync(f.data, 0, kN * sizeof(int), f.a));
  for (int k = 1; k <= 3; ++k) add<<<3, 128, 0, f.a>>>(f.data, kN, k);  // 1 + 2 + 3: arguments are copied
  twice<<<3, 128, 0, f.a>>>(f.data, kN);
  CHECK_CUDA(cudaMemcpyAsync(f.other, f.data, kN * sizeof(int), cudaMemcpyDeviceToDevice, f.a));
  CHECK_CUDA(cudaLaunchHostFunc(f.a, count_call, &called));
  cudaStreamCaptureStatus status;
  CHECK_CUDA(cudaStreamIsCapturing(f.a, &status));
  expect(status == cudaStreamCaptureStatusActive, "the stream is capturing");
  cudaGraph_t graph;
  CHECK_CUDA(cudaStreamEndCapture(f.a, &graph));
  CHECK_CUDA(cudaStreamIsCapturing(f.a, &status));
  expect(status == cudaStreamCaptureStatusNone, "the capture is over");
  expect(f.value(f.other) == 0 && called == 0, "captured work does not run");
  size_t nodes = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  expect(nodes == 7, "a node for each call");
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphDestroy(graph));
  for (int round = 1; round <= 3; ++round) {
    CHECK_CUDA(cudaGraphLaunch(exec, f.a));
    CHECK_CUDA(cudaStreamSynchronize(f.a));
    expect(f.value(f.other) == 12 && called == round, "each launch runs everything in order");
  }
  CHECK_CUDA(cudaGraphExecDestroy(exec));
}

void streams_fork_and_join() {
  Fixture f;
  cudaEvent_t fork, join;
  CHECK_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  add<<<3, 128, 0, f.a>>>(f.data, kN, 5);
  CHECK_CUDA(cudaEventRecord(fork, f.a));
  CHECK_CUDA(cudaStreamWaitEvent(f.b, fork, 0));
  add<<<3, 128, 0, f.b>>>(f.other, kN, 7);
  twice<<<3, 128, 0, f.a>>>(f.data, kN);
  CHECK_CUDA(cudaEventRecord(join, f.b));
  CHECK_CUDA(cudaStreamWaitEvent(f.a, join, 0));
  twice<<<3, 128, 0, f.a>>>(f.other, kN);
  cudaGraph_t graph;
  CHECK_CUDA(cudaStreamEndCapture(f.a, &graph));
  size_t nodes = 0, roots = 0;
  CHECK_CUDA(cudaGraphGetNodes(graph, nullptr, &nodes));
  CHECK_CUDA(cudaGraphGetRootNodes(graph, nullptr, &roots));
  expect(nodes == 4 && roots == 1, "the shape of a fork and join");
#if CUDART_VERSION >= 13000
  size_t edges = 0;
  CHECK_CUDA(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  expect(edges == 4, "the edges of a fork and join");
#endif
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.b));
  expect(f.value(f.data) == 10 && f.value(f.other) == 14, "both branches ran");
  expect(cudaEventQuery(fork) == cudaErrorInvalidValue,
         "an event of a capture that has ended cannot be asked");
  cudaGetLastError();
  CHECK_CUDA(cudaEventRecord(fork, f.a));
  CHECK_CUDA(cudaEventSynchronize(fork));
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaEventDestroy(fork));
  CHECK_CUDA(cudaEventDestroy(join));
}

// Begins a capture, lets `mistake` happen, and says how the capture ended.
template <class Mistake>
cudaError_t end_after(const Fixture& f, cudaStreamCaptureMode mode, Mistake mistake) {
  CHECK_CUDA(cudaStreamBeginCapture(f.a, mode));
  add<<<3, 128, 0, f.a>>>(f.data, kN, 1);
  mistake();
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(f.a, &graph);
  expect((error == cudaSuccess) == (graph != nullptr), "a graph only when the capture succeeded");
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();
  return error;
}

void capture_forbids_waiting() {
  Fixture f;
  cudaEvent_t event;
  CHECK_CUDA(cudaEventCreate(&event));
  const auto global = cudaStreamCaptureModeGlobal, relaxed = cudaStreamCaptureModeRelaxed;
  expect(end_after(f, global,
                   [&] {
                     expect(cudaStreamSynchronize(f.a) == cudaErrorStreamCaptureUnsupported,
                            "synchronize in a capture");
                     expect(cudaStreamQuery(f.a) == cudaErrorStreamCaptureUnsupported,
                            "asking in a capture that is invalid already");
                   }) == cudaErrorStreamCaptureInvalidated,
         "waiting for the stream");
  expect(end_after(f, global,
                   [&] {
                     expect(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported,
                            "device synchronize");
                   }) == cudaErrorStreamCaptureInvalidated,
         "waiting for the device");
  expect(end_after(f, global,
                   [&] {
                     int* p;
                     expect(cudaMalloc(&p, 4) == cudaErrorStreamCaptureUnsupported,
                            "cudaMalloc in a global capture");
                   }) == cudaErrorStreamCaptureInvalidated,
         "allocating");
  expect(end_after(f, relaxed,
                   [&] {
                     int* p;
                     CHECK_CUDA(cudaMalloc(&p, 4));
                     CHECK_CUDA(cudaFree(p));
                   }) == cudaSuccess,
         "allocating in a relaxed capture");
  expect(end_after(f, global,
                   [&] {
                     CHECK_CUDA(cudaEventRecord(event, f.a));
                     expect(cudaEventSynchronize(event) == cudaErrorCapturedEvent,
                            "waiting for a captured event");
                   }) == cudaErrorStreamCaptureInvalidated,
         "waiting for an event of the capture");
  CHECK_CUDA(cudaEventRecord(event, f.b));
  expect(end_after(f, global,
                   [&] {
                     expect(cudaStreamWaitEvent(f.a, event, 0) == cudaErrorStreamCaptureIsolation,
                            "an outside event");
                   }) == cudaErrorStreamCaptureInvalidated,
         "depending on work outside of the capture");
  expect(f.value(f.data) == 0, "nothing of an invalid capture ran");
  CHECK_CUDA(cudaEventDestroy(event));
}

void captures_must_be_whole() {
  Fixture f;
  cudaEvent_t event;
  cudaGraph_t graph;
  cudaStream_t blocking;
  CHECK_CUDA(cudaEventCreate(&event));
  expect(end_after(f, cudaStreamCaptureModeGlobal,
                   [&] {
                     CHECK_CUDA(cudaEventRecord(event, f.a));
                     CHECK_CUDA(cudaStreamWaitEvent(f.b, event, 0));
                     add<<<3, 128, 0, f.b>>>(f.other, kN, 1);
                   }) == cudaErrorStreamCaptureUnjoined,
         "a branch that was not joined");
  expect(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal) == cudaErrorStreamCaptureUnsupported,
         "the default stream cannot be captured");
  expect(cudaStreamEndCapture(f.a, &graph) == cudaErrorIllegalState, "no capture to end");
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  expect(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal) == cudaErrorIllegalState,
         "a capture within a capture");
  CHECK_CUDA(cudaStreamEndCapture(f.a, &graph));
  CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaStreamCreate(&blocking));
  CHECK_CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  add<<<3, 128>>>(f.data, kN, 1);
  expect(cudaGetLastError() == cudaErrorStreamCaptureImplicit,
         "the default stream would wait for the capture");
  expect(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated && graph == nullptr,
         "which invalidates it");
  cudaGetLastError();
  CHECK_CUDA(cudaStreamDestroy(blocking));
  CHECK_CUDA(cudaEventDestroy(event));
}

// Whether the stream that joined is destroyed before its work is joined to the origin, or behind that, or with
// work that nobody joins.
enum class Destroyed { before_the_join, behind_the_join, unjoined };

void streams_may_be_destroyed_in_a_capture(Destroyed when) {
  Fixture f;
  cudaStream_t branch;
  cudaEvent_t fork, join;
  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamCreateWithFlags(&branch, cudaStreamNonBlocking));
  CHECK_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaEventRecord(fork, f.a));
  CHECK_CUDA(cudaStreamWaitEvent(branch, fork, 0));
  add<<<3, 128, 0, branch>>>(f.data, kN, 21);
  CHECK_CUDA(cudaEventRecord(join, branch));
  if (when == Destroyed::before_the_join) CHECK_CUDA(cudaStreamDestroy(branch));
  if (when != Destroyed::unjoined) CHECK_CUDA(cudaStreamWaitEvent(f.a, join, 0));
  if (when != Destroyed::before_the_join) CHECK_CUDA(cudaStreamDestroy(branch));
  CHECK_CUDA(cudaEventDestroy(fork));
  CHECK_CUDA(cudaEventDestroy(join));
  twice<<<3, 128, 0, f.a>>>(f.data, kN);
  const cudaError_t error = cudaStreamEndCapture(f.a, &graph);
  if (when == Destroyed::unjoined) {
    expect(error == cudaErrorStreamCaptureUnjoined && graph == nullptr, "a destroyed branch without a join");
    cudaGetLastError();
    return;
  }
  CHECK_CUDA(error);
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.data) == 42, "the work of a stream that was destroyed in the capture");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

struct HandMade {
  cudaGraph_t graph;
  cudaGraphNode_t clear, kernel, copy, host, empty;
};

// clear -> kernel -> copy -> host, and an empty node after clear.
HandMade build(const Fixture& f, int value, int* called) {
  HandMade g{};
  CHECK_CUDA(cudaGraphCreate(&g.graph, 0));
  cudaMemsetParams clear{};
  clear.dst = f.data;
  clear.elementSize = 4;
  clear.value = 0x01020304;
  clear.width = kN;
  clear.height = 1;
  CHECK_CUDA(cudaGraphAddMemsetNode(&g.clear, g.graph, nullptr, 0, &clear));
  CHECK_CUDA(cudaGraphAddEmptyNode(&g.empty, g.graph, &g.clear, 1));
  int n = kN;
  int* data = f.data;
  void* arguments[] = {&data, &n, &value};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = dim3(3);
  kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CHECK_CUDA(cudaGraphAddKernelNode(&g.kernel, g.graph, &g.clear, 1, &kernel));
  CHECK_CUDA(cudaGraphAddMemcpyNode1D(&g.copy, g.graph, &g.kernel, 1, f.other, f.data, kN * sizeof(int),
                                      cudaMemcpyDeviceToDevice));
  cudaHostNodeParams host{count_call, called};
  CHECK_CUDA(cudaGraphAddHostNode(&g.host, g.graph, &g.copy, 1, &host));
  return g;
}

void graphs_built_by_hand_can_be_changed() {
  Fixture f;
  int called = 0;
  const HandMade g = build(f, 6, &called);
  cudaGraphNodeType type;
  CHECK_CUDA(cudaGraphNodeGetType(g.copy, &type));
  expect(type == cudaGraphNodeTypeMemcpy, "a node's type");
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, g.graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.other) == 0x01020304 + 6 && called == 1, "memset, kernel, copy and host node");

  cudaKernelNodeParams params{};
  CHECK_CUDA(cudaGraphKernelNodeGetParams(g.kernel, &params));
  expect(params.gridDim.x == 3 && *static_cast<int*>(params.kernelParams[2]) == 6,
         "a kernel node's parameters");
  int value = 100, n = kN;
  int* data = f.data;
  void* arguments[] = {&data, &n, &value};
  params.kernelParams = arguments;
  CHECK_CUDA(cudaGraphExecKernelNodeSetParams(exec, g.kernel, &params));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.other) == 0x01020304 + 100, "a kernel's parameters can be replaced");

  const HandMade changed = build(f, 1000, &called);
  cudaGraphExecUpdateResultInfo info;
  CHECK_CUDA(cudaGraphExecUpdate(exec, changed.graph, &info));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.other) == 0x01020304 + 1000, "a whole update");
  cudaGraphNode_t more;
  CHECK_CUDA(cudaGraphAddEmptyNode(&more, changed.graph, nullptr, 0));
  expect(cudaGraphExecUpdate(exec, changed.graph, &info) == cudaErrorGraphExecUpdateFailure &&
             info.result == cudaGraphExecUpdateErrorTopologyChanged,
         "another shape is refused");
  cudaGetLastError();
  CHECK_CUDA(cudaGraphNodeSetEnabled(exec, g.kernel, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.other) == 0x01020304, "a node can be switched off");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(changed.graph));
  CHECK_CUDA(cudaGraphDestroy(g.graph));
}

void clones_and_children() {
  Fixture f;
  int called = 0;
  const HandMade g = build(f, 1, &called);
  cudaGraph_t clone, parent;
  cudaGraphNode_t in_clone, child;
  CHECK_CUDA(cudaGraphClone(&clone, g.graph));
  CHECK_CUDA(cudaGraphNodeFindInClone(&in_clone, g.host, clone));
  CHECK_CUDA(cudaGraphDestroyNode(in_clone));
  size_t of_clone = 0, of_original = 0;
  CHECK_CUDA(cudaGraphGetNodes(clone, nullptr, &of_clone));
  CHECK_CUDA(cudaGraphGetNodes(g.graph, nullptr, &of_original));
  expect(of_clone == 4 && of_original == 5, "a clone stands alone");
  CHECK_CUDA(cudaGraphCreate(&parent, 0));
  CHECK_CUDA(cudaGraphAddChildGraphNode(&child, parent, nullptr, 0, clone));
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, parent, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.other) == 0x01020304 + 1 && called == 0, "a graph within a graph");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(parent));
  CHECK_CUDA(cudaGraphDestroy(clone));
#if CUDART_VERSION >= 13000
  CHECK_CUDA(cudaGraphAddDependencies(g.graph, &g.empty, &g.copy, nullptr, 1));
  size_t before = 0;
  CHECK_CUDA(cudaGraphNodeGetDependencies(g.copy, nullptr, nullptr, &before));
  expect(before == 2, "added dependencies");
#endif
  CHECK_CUDA(cudaGraphDestroy(g.graph));
}

__device__ int g_put;
__global__ void put() {
  g_put += 7;
}

int put_since() {
  int value = 0;
  const int zero = 0;
  CHECK_CUDA(cudaMemcpyFromSymbol(&value, g_put, sizeof value));
  CHECK_CUDA(cudaMemcpyToSymbol(g_put, &zero, sizeof zero));
  return value;
}

void kernels_without_parameters_take_no_list() {
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(put);
  params.gridDim = params.blockDim = dim3(1);
  CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  CHECK_CUDA(cudaGraphKernelNodeGetParams(node, &params));
  CHECK_CUDA(cudaGraphKernelNodeSetParams(node, &params));
  int nodes = 1;
#if CUDART_VERSION >= 12020
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.func = reinterpret_cast<void*>(put);
  any.kernel.gridDim = any.kernel.blockDim = dim3(1);
#if CUDART_VERSION >= 13000
  CHECK_CUDA(cudaGraphAddNode(&node, graph, &node, nullptr, 1, &any));
#else
  CHECK_CUDA(cudaGraphAddNode(&node, graph, &node, 1, &any));
#endif
  nodes = 2;
#endif
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &params));
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  expect(put_since() == 7 * nodes, "kernel nodes without a list of arguments");
  const void* function = reinterpret_cast<const void*>(put);
  cudaLaunchConfig_t config{};
  config.gridDim = config.blockDim = dim3(1);
  CHECK_CUDA(cudaLaunchKernel(function, dim3(1), dim3(1), nullptr, 0, nullptr));
  CHECK_CUDA(cudaLaunchCooperativeKernel(function, dim3(1), dim3(1), nullptr, 0, nullptr));
  CHECK_CUDA(cudaLaunchKernelExC(&config, function, nullptr));
  expect(put_since() == 21, "launches without a list of arguments");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

// The driver's CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END.
void kernel_nodes_take_arguments_in_one_buffer() {
  Fixture f;
  struct {
    int* data;
    int n, value;
  } packed = {f.data, kN, 9};
  size_t bytes = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &bytes, nullptr};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(add);
  params.gridDim = dim3(3);
  params.blockDim = dim3(128);
  params.extra = extra;
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
  bytes = sizeof(int*);
  expect(cudaGraphKernelNodeSetParams(node, &params) == cudaErrorInvalidValue, "a buffer that is too short");
  cudaGetLastError();
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(f.value(f.data) == 9, "arguments in one buffer");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

int main() {
  captured_work_runs_at_launch();
  streams_fork_and_join();
  capture_forbids_waiting();
  captures_must_be_whole();
  graphs_built_by_hand_can_be_changed();
  clones_and_children();
  for (const auto when : {Destroyed::before_the_join, Destroyed::behind_the_join, Destroyed::unjoined})
    streams_may_be_destroyed_in_a_capture(when);
  kernels_without_parameters_take_no_list();
  kernel_nodes_take_arguments_in_one_buffer();
  return g_failures;
}
