// Conditional nodes of graphs: if, else, while and select, set by kernels, one inside the other. The same
// source runs on a GPU.
#include "check.h"

#if CUDART_VERSION >= 13000  // whose cudaGraphAddNode takes data of edges

namespace {

__global__ void set(cudaGraphConditionalHandle handle, const unsigned* value) {
  if (threadIdx.x == 0) cudaGraphSetConditional(handle, *value);
}
__global__ void count_down(cudaGraphConditionalHandle handle, unsigned* left, unsigned* turns) {
  if (threadIdx.x != 0) return;
  ++*turns;
  --*left;
  cudaGraphSetConditional(handle, *left);
}
__global__ void add(unsigned* to, unsigned what) {
  if (threadIdx.x == 0) *to += what;
}

template <class... Args>
cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void (*function)(Args...), Args... args) {
  cudaKernelNodeParams p = {};
  void* arguments[] = {&args...};
  p.func = reinterpret_cast<void*>(function);
  p.gridDim = dim3(1);
  p.blockDim = dim3(32);
  p.kernelParams = arguments;
  cudaGraphNode_t node;
  CHECK_CUDA(cudaGraphAddKernelNode(&node, graph, after != nullptr ? &after : nullptr,
                                    after != nullptr ? 1 : 0, &p));
  return node;
}

cudaGraphConditionalHandle handle_of(cudaGraph_t graph, unsigned first = 0) {
  cudaGraphConditionalHandle handle;
  CHECK_CUDA(cudaGraphConditionalHandleCreate(&handle, graph, first, cudaGraphCondAssignDefault));
  return handle;
}

// The node, and its graphs in `bodies`.
cudaGraphNode_t condition(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                          cudaGraphConditionalNodeType type, unsigned size, cudaGraph_t* bodies) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node;
  CHECK_CUDA(cudaGraphAddNode(&node, graph, after != nullptr ? &after : nullptr, nullptr,
                              after != nullptr ? 1 : 0, &p));
  for (unsigned k = 0; k < size; ++k) bodies[k] = p.conditional.phGraph_out[k];
  return node;
}

void launch(cudaGraph_t graph, cudaGraphExec_t* kept = nullptr) {
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  if (kept != nullptr)
    *kept = exec;
  else
    CHECK_CUDA(cudaGraphExecDestroy(exec));
}

void chooses() {
  Managed<unsigned> value(1), sum(1);
  cudaGraph_t graph, if_bodies[2], select_bodies[3];
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  const auto first = handle_of(graph), second = handle_of(graph);
  cudaGraphNode_t last = kernel(graph, nullptr, set, first, static_cast<const unsigned*>(value.data));
  last = condition(graph, last, first, cudaGraphCondTypeIf, 2, if_bodies);
  cudaGraphNodeType type;
  CHECK_CUDA(cudaGraphNodeGetType(last, &type));
  expect(type == cudaGraphNodeTypeConditional, "the type of a conditional node");
  kernel(if_bodies[0], nullptr, add, sum.data, 1u);
  kernel(if_bodies[1], nullptr, add, sum.data, 10u);
  last = kernel(graph, last, set, second, static_cast<const unsigned*>(value.data));
  condition(graph, last, second, cudaGraphCondTypeSwitch, 3, select_bodies);
  for (unsigned k = 0; k < 3; ++k) kernel(select_bodies[k], nullptr, add, sum.data, 100u * (k + 1));
  cudaGraphExec_t exec;
  value[0] = 0;
  launch(graph, &exec);
  expect(sum[0] == 110, "else, and the first of three");
  const unsigned wants[] = {110, 201, 301, 1};
  for (unsigned v = 0; v < 4; ++v) {
    value[0] = v;
    sum[0] = 0;
    CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
    CHECK_CUDA(cudaDeviceSynchronize());
    expect(sum[0] == wants[v], "the value chooses");
  }
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

void repeats() {
  Managed<unsigned> left(1), turns(1), inner(1);
  cudaGraph_t graph, body, inside;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  const auto handle = handle_of(graph, 1);
  const cudaGraphNode_t loop = condition(graph, nullptr, handle, cudaGraphCondTypeWhile, 1, &body);
  const cudaGraphNode_t step = kernel(body, nullptr, count_down, handle, left.data, turns.data);
  // In every turn a branch of its own.
  const auto nested = handle_of(body);
  const cudaGraphNode_t decide = kernel(body, step, set, nested, static_cast<const unsigned*>(left.data));
  condition(body, decide, nested, cudaGraphCondTypeIf, 1, &inside);
  kernel(inside, nullptr, add, inner.data, 1u);
  kernel(graph, loop, add, turns.data, 1000u);
  left[0] = 7;
  cudaGraphExec_t exec;
  launch(graph, &exec);
  expect(turns[0] == 1007 && left[0] == 0, "while the value is not 0, and then what stands behind");
  expect(inner[0] == 6, "a condition inside another's graph");
  left[0] = 3;
  turns[0] = 0;
  CHECK_CUDA(cudaGraphLaunch(exec, nullptr));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(turns[0] == 1003, "each launch begins with the first value");
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

void captured() {
  Managed<unsigned> sum(1);
  cudaGraph_t graph, body;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  condition(graph, nullptr, handle_of(graph, 1), cudaGraphCondTypeIf, 1, &body);
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  add<<<1, 32, 0, stream>>>(sum.data, 5u);
  cudaGraph_t same;
  CHECK_CUDA(cudaStreamEndCapture(stream, &same));
  launch(graph);
  expect(sum[0] == 5, "a body that was captured");
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

void errors() {
  cudaGraph_t graph, other;
  CHECK_CUDA(cudaGraphCreate(&graph, 0));
  CHECK_CUDA(cudaGraphCreate(&other, 0));
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle_of(graph);
  p.conditional.type = cudaGraphCondTypeWhile;
  p.conditional.size = 2;
  cudaGraphNode_t node;
  expect(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &p) == cudaErrorInvalidValue,
         "two bodies of a loop");
  cudaGetLastError();
  for (const auto g : {graph, other}) CHECK_CUDA(cudaGraphDestroy(g));
}

}  // namespace

int main() {
  chooses();
  repeats();
  captured();
  errors();
  return g_failures;
}

#else

int main() {
  return 0;
}

#endif
