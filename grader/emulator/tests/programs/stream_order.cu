// Commands of several streams and the host, in two forms: `wrong` leaves two of them without an order, `right`
// orders them. What orders them is what NVIDIA documents: "Stream synchronization behavior" and "API
// synchronization behavior" of the runtime API, and of the CUDA programming guide "Asynchronous Concurrent
// Execution" and "Stream-Ordered Memory Allocator".
//
// The lines of the two commands carry LATER and EARLIER with the program's name.
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "check.h"

#define OK(call) CHECK_CUDA(call)

namespace {

constexpr int kCount = 1024, kBytes = kCount * int(sizeof(int));

__global__ void fill(int* x, int value, int begin = 0, int end = kCount, int step = 1) {
  const int i = begin + int(blockIdx.x * blockDim.x + threadIdx.x) * step;
  if (i < end) x[i] = value + i;
}
__global__ void twice(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}
__global__ void gather(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * 37 % kCount];
}
__global__ void count(int* counter) {
  atomicAdd(counter, 1);
}
__global__ void raise_flag(int* flag) {
  *flag = 1;
}
__global__ void fill_bytes(unsigned char* x, int first) {
  x[2 * (blockIdx.x * blockDim.x + threadIdx.x) + first] = 7;
}
__device__ int table[kCount];
__global__ void look_up(int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = table[i];
}
#define GRID kCount / 256, 256, 0

// Streams a and b are blocking, n and m are not.
struct Streams {
  int *x, *y, *z, *pinned, *pinned_too;
  std::vector<int> host = std::vector<int>(kCount, 1);
  cudaStream_t a, b, n, m;
  cudaEvent_t event, event_too;
  Streams() {
    for (int** p : {&x, &y, &z}) {
      OK(cudaMalloc(p, kBytes));
      OK(cudaMemset(*p, 0, kBytes));
    }
    for (int** p : {&pinned, &pinned_too}) {
      OK(cudaMallocHost(p, kBytes));
      for (int i = 0; i < kCount; ++i) (*p)[i] = i;
    }
    for (cudaStream_t* s : {&a, &b}) OK(cudaStreamCreate(s));
    for (cudaStream_t* s : {&n, &m}) OK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaEventCreate(&event_too));
    OK(cudaDeviceSynchronize());
  }
  ~Streams() {
    OK(cudaDeviceSynchronize());
    for (int* p : {x, y, z}) OK(cudaFree(p));
    for (int* p : {pinned, pinned_too}) OK(cudaFreeHost(p));
    for (cudaStream_t s : {a, b, n, m}) OK(cudaStreamDestroy(s));
    for (cudaEvent_t e : {event, event_too}) OK(cudaEventDestroy(e));
  }
  void order(cudaStream_t first, cudaStream_t second) {
    OK(cudaEventRecord(event, first));
    OK(cudaStreamWaitEvent(second, event));
  }
};

// --- In two forms. ---

void read_behind_write(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER read_behind_write
  if (!wrong) s.order(s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER read_behind_write
}
void write_behind_read(Streams& s, bool wrong) {
  twice<<<GRID, s.a>>>(s.x, s.y);  // EARLIER write_behind_read
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(s.x, 5);  // LATER write_behind_read
}
void write_behind_write(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER write_behind_write
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(s.x, 6);  // LATER write_behind_write
}
void copy_behind_non_blocking(Streams& s, bool wrong) {
  fill<<<GRID, s.n>>>(s.x, 5);  // EARLIER copy_behind_non_blocking
  if (!wrong) OK(cudaStreamSynchronize(s.n));
  OK(cudaMemcpy(s.host.data(), s.x, kBytes, cudaMemcpyDeviceToHost));  // LATER copy_behind_non_blocking
}
// cudaMemset of device memory returns before it is done.
void non_blocking_behind_memset(Streams& s, bool wrong) {
  OK(cudaMemset(s.x, 1, kBytes));  // EARLIER non_blocking_behind_memset
  if (!wrong) OK(cudaStreamSynchronize(nullptr));
  twice<<<GRID, s.n>>>(s.x, s.y);  // LATER non_blocking_behind_memset
}
// So does cudaMemcpy on the device.
void non_blocking_behind_device_copy(Streams& s, bool wrong) {
  OK(cudaMemcpy(s.x, s.z, kBytes, cudaMemcpyDeviceToDevice));  // EARLIER non_blocking_behind_device_copy
  if (!wrong) s.order(nullptr, s.n);
  twice<<<GRID, s.n>>>(s.x, s.y);  // LATER non_blocking_behind_device_copy
}
void kernel_behind_copy(Streams& s, bool wrong) {
  OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.a));  // EARLIER kernel_behind_copy
  twice<<<GRID, wrong ? s.b : s.a>>>(s.x, s.y);                             // LATER kernel_behind_copy
}
void event_before_the_work(Streams& s, bool wrong) {
  if (wrong) s.order(s.a, s.b);
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_before_the_work
  if (!wrong) s.order(s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_before_the_work
}
void event_of_another_stream(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_of_another_stream
  s.order(wrong ? s.n : s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_of_another_stream
}
void event_never_recorded(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_never_recorded
  if (!wrong) OK(cudaEventRecord(s.event, s.a));
  OK(cudaStreamWaitEvent(s.b, s.event));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_never_recorded
}
// Who waits for an event waits for what was recorded by then.
void event_recorded_again_too_late(Streams& s, bool wrong) {
  OK(cudaEventRecord(s.event, s.a));
  if (wrong) OK(cudaStreamWaitEvent(s.b, s.event));
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_recorded_again_too_late
  OK(cudaEventRecord(s.event, s.a));
  if (!wrong) OK(cudaStreamWaitEvent(s.b, s.event));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_recorded_again_too_late
}
void host_waits_for_another_stream(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER host_waits_for_another_stream
  OK(cudaStreamSynchronize(wrong ? s.b : s.a));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER host_waits_for_another_stream
}
void halves_overlap(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5, 0, kCount / 2 + (wrong ? 1 : 0));  // EARLIER halves_overlap
  fill<<<GRID, s.b>>>(s.x, 6, kCount / 2, kCount);               // LATER halves_overlap
}
void every_second_element(Streams& s, bool wrong) {
  fill<<<GRID, s.a>>>(s.x, 5, 0, kCount, 2);                // EARLIER every_second_element
  fill<<<GRID, s.b>>>(s.x, 6, wrong ? 512 : 1, kCount, 2);  // LATER every_second_element
}
void scattered_read(Streams& s, bool wrong) {
  fill<<<GRID, s.n>>>(s.x, 5, 100, 101);  // EARLIER scattered_read
  if (!wrong) s.order(s.n, s.m);
  gather<<<GRID, s.m>>>(s.x, s.y);  // LATER scattered_read
}
void columns_of_a_copy(Streams& s, bool wrong) {
  const size_t row = 32 * sizeof(int);
  const cudaMemcpyKind kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy2DAsync(s.x, row, s.pinned, row, row / 2, 32, kind, s.a));  // EARLIER columns_of_a_copy
  fill<<<1, 32, 0, s.b>>>(s.x, 6, wrong ? 15 : 16, kCount, 32);            // LATER columns_of_a_copy
}
void counter_read_too_early(Streams& s, bool wrong) {
  count<<<GRID, s.a>>>(s.x);  // EARLIER counter_read_too_early
  if (!wrong) s.order(s.a, s.b);
  twice<<<1, 1, 0, s.b>>>(s.x, s.y);  // LATER counter_read_too_early
}
void symbol_in_another_stream(Streams& s, bool wrong) {
  const cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
  OK(cudaMemcpyToSymbolAsync(table, s.z, kBytes, 0, kind, s.a));  // EARLIER symbol_in_another_stream
  if (!wrong) s.order(s.a, s.b);
  look_up<<<GRID, s.b>>>(s.y);  // LATER symbol_in_another_stream
}
// The work goes on when its stream is destroyed.
void stream_destroyed(Streams& s, bool wrong) {
  cudaStream_t own;
  OK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  fill<<<GRID, own>>>(s.x, 5);  // EARLIER stream_destroyed
  if (!wrong) OK(cudaStreamSynchronize(own));
  OK(cudaStreamDestroy(own));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER stream_destroyed
}
void buffers_in_turn(Streams& s, bool wrong) {
  for (int chunk = 0; chunk < 4; ++chunk) {
    if (!wrong) OK(cudaStreamWaitEvent(s.n, s.event_too));
    OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));  // LATER buffers_in_turn
    s.order(s.n, s.m);
    twice<<<GRID, s.m>>>(s.x, s.y);  // EARLIER buffers_in_turn
    OK(cudaEventRecord(s.event_too, s.m));
  }
}
void thread_stream(Streams& s, bool wrong) {
  fill<<<GRID, cudaStreamPerThread>>>(s.x, 5);       // EARLIER thread_stream
  twice<<<GRID, wrong ? s.n : nullptr>>>(s.x, s.y);  // LATER thread_stream
}
void pinned_source_changed(Streams& s, bool wrong) {
  OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.a));  // EARLIER pinned_source_changed
  if (!wrong) OK(cudaStreamSynchronize(s.a));
  s.pinned[7] = 99;
  OK(cudaStreamSynchronize(s.a));  // LATER pinned_source_changed
}
void allocated_in_another_stream(Streams& s, bool wrong) {
  int* own;
  OK(cudaMallocAsync(&own, kBytes, s.a));  // EARLIER allocated_in_another_stream
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(own, 5);  // LATER allocated_in_another_stream
  OK(cudaFreeAsync(own, s.b));
}
void freed_in_another_stream(Streams& s, bool wrong) {
  int* own;
  OK(cudaMallocAsync(&own, kBytes, s.n));
  s.order(s.n, s.m);
  fill<<<GRID, s.m>>>(own, 5);  // EARLIER freed_in_another_stream
  if (!wrong) s.order(s.m, s.n);
  OK(cudaFreeAsync(own, s.n));  // LATER freed_in_another_stream
}
// cudaFree waits for nothing that uses memory of cudaMallocAsync.
void stream_ordered_memory_freed_by_the_host(Streams& s, bool wrong) {
  int* own;
  OK(cudaMallocAsync(&own, kBytes, s.a));
  fill<<<GRID, s.a>>>(own, 5);  // EARLIER stream_ordered_memory_freed_by_the_host
  if (!wrong) OK(cudaStreamSynchronize(s.a));
  OK(cudaFree(own));  // LATER stream_ordered_memory_freed_by_the_host
}
void time_read_too_early(Streams& s, bool wrong) {
  float milliseconds = 0;
  OK(cudaEventRecord(s.event, s.a));
  fill<<<GRID, s.a>>>(s.x, 5);
  OK(cudaEventRecord(s.event_too, s.a));
  if (!wrong) OK(cudaEventSynchronize(s.event_too));
  OK(cudaEventElapsedTime(&milliseconds, s.event, s.event_too));  // LATER time_read_too_early
}
void graph_in_another_stream(Streams& s, bool wrong) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal));
  fill<<<GRID, s.a>>>(s.x, 5);
  OK(cudaStreamEndCapture(s.a, &graph));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(cudaGraphLaunch(ready, s.a));               // EARLIER graph_in_another_stream
  twice<<<GRID, wrong ? s.b : s.a>>>(s.x, s.y);  // LATER graph_in_another_stream
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}

// Two streams of a capture become branches of the graph.
void captured_branches(Streams& s, bool wrong) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal));
  s.order(s.a, s.b);
  fill<<<GRID, s.a>>>(s.x, 5);
  if (!wrong) s.order(s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);
  s.order(s.b, s.a);
  OK(cudaStreamEndCapture(s.a, &graph));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int k = 0; k < 3; ++k) OK(cudaGraphLaunch(ready, s.a));  // EARLIER LATER captured_branches
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}
// The only stream of the program, and nodes that are added by hand.
void node_without_its_dependency(Streams& s, bool wrong) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t cleared, copied;
  cudaMemsetParams zeros{s.x, 0, 0, sizeof(int), kCount, 1};
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &zeros));
  OK(cudaGraphAddMemcpyNode1D(&copied, graph, &cleared, wrong ? 0 : 1, s.y, s.x, kBytes,
                              cudaMemcpyDeviceToDevice));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(cudaGraphLaunch(ready, nullptr));  // EARLIER LATER node_without_its_dependency
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}
// The first branch is longer: all of it is beside the second.
void end_of_a_long_branch(Streams& s, bool wrong) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(s.n, cudaStreamCaptureModeGlobal));
  s.order(s.n, s.m);
  fill<<<GRID, s.n>>>(s.z, 5);
  twice<<<GRID, s.n>>>(s.z, s.y);
  twice<<<GRID, s.n>>>(s.y, s.x);
  if (!wrong) s.order(s.n, s.m);
  count<<<1, 1, 0, s.m>>>(s.x);
  s.order(s.m, s.n);
  OK(cudaStreamEndCapture(s.n, &graph));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(cudaGraphLaunch(ready, s.n));  // EARLIER LATER end_of_a_long_branch
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}

// --- Right as they are. ---

void default_stream_in_between(Streams& s, bool) {
  fill<<<GRID, s.a>>>(s.x, 5);
  count<<<1, 1>>>(s.z);
  twice<<<GRID, s.b>>>(s.x, s.y);
  OK(cudaMemcpy(s.host.data(), s.y, kBytes, cudaMemcpyDeviceToHost));
}
// The default stream's event comes behind blocking streams.
void event_of_the_default_stream(Streams& s, bool) {
  fill<<<GRID, s.a>>>(s.x, 5);
  s.order(nullptr, s.n);
  twice<<<GRID, s.n>>>(s.x, s.y);
}
void both_read(Streams& s, bool) {
  twice<<<GRID, s.n>>>(s.x, s.y);
  twice<<<GRID, s.m>>>(s.x, s.z);
}
void both_count(Streams& s, bool) {
  count<<<GRID, s.n>>>(s.x);
  count<<<GRID, s.m>>>(s.x);
}
void both_raise_a_flag(Streams& s, bool) {
  raise_flag<<<1, 32, 0, s.n>>>(s.x);
  raise_flag<<<1, 32, 0, s.m>>>(s.x);
}
void bytes_side_by_side(Streams& s, bool) {
  fill_bytes<<<1, 256, 0, s.n>>>(reinterpret_cast<unsigned char*>(s.x), 0);
  fill_bytes<<<1, 256, 0, s.m>>>(reinterpret_cast<unsigned char*>(s.x), 1);
}
void events_through_three_streams(Streams& s, bool) {
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  s.order(s.m, s.a);
  twice<<<GRID, s.a>>>(s.x, s.y);
}
void asked_until_done(Streams& s, bool) {
  fill<<<GRID, s.n>>>(s.x, 5);
  OK(cudaEventRecord(s.event, s.n));
  while (cudaEventQuery(s.event) == cudaErrorNotReady) {
  }
  twice<<<GRID, s.m>>>(s.x, s.y);
  while (cudaStreamQuery(s.m) == cudaErrorNotReady) {
  }
  fill<<<GRID, s.n>>>(s.x, 5);
}
// A copy to pageable memory has ended when the call returns.
void pageable_copy(Streams& s, bool) {
  fill<<<GRID, s.n>>>(s.x, 5);
  OK(cudaMemcpyAsync(s.host.data(), s.x, kBytes, cudaMemcpyDeviceToHost, s.n));
  fill<<<GRID, s.m>>>(s.x, 6);
  OK(cudaMemcpyAsync(s.y, s.host.data(), kBytes, cudaMemcpyHostToDevice, s.m));
  s.host[3] = 4;  // pageable memory was read
}
void free_in_between(Streams& s, bool) {
  int* own;
  OK(cudaMalloc(&own, kBytes));
  fill<<<GRID, s.n>>>(own, 5);
  twice<<<GRID, s.n>>>(own, s.y);
  OK(cudaFree(own));
}
void pinned_buffers_in_turn(Streams& s, bool) {
  int* buffers[] = {s.pinned, s.pinned_too};
  cudaEvent_t events[] = {s.event, s.event_too};
  for (int chunk = 0; chunk < 6; ++chunk) {
    const int k = chunk % 2;
    OK(cudaEventSynchronize(events[k]));
    for (int i = 0; i < kCount; ++i) buffers[k][i] = chunk + i;
    OK(cudaMemcpyAsync(s.x, buffers[k], kBytes, cudaMemcpyHostToDevice, s.n));
    OK(cudaEventRecord(events[k], s.n));
    twice<<<GRID, s.n>>>(s.x, s.y);
  }
}
// What a later copy of the stream writes into the source is no change by the host.
void pinned_buffer_comes_back(Streams& s, bool) {
  OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  twice<<<GRID, s.n>>>(s.x, s.y);
  OK(cudaMemcpyAsync(s.pinned, s.y, kBytes, cudaMemcpyDeviceToHost, s.n));
  OK(cudaStreamSynchronize(s.n));
}
void kernel_writes_the_source(Streams& s, bool) {
  OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, nullptr));
  fill<<<GRID>>>(s.pinned, 8);
  OK(cudaDeviceSynchronize());
}
void host_function_changes_the_source(Streams& s, bool) {
  OK(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  OK(cudaLaunchHostFunc(
      s.n, [](void* data) { static_cast<int*>(data)[1] = 55; }, s.pinned));
  OK(cudaMemcpyAsync(s.y, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  OK(cudaStreamSynchronize(s.n));
}
// A host function tells the host that the work before it has ended.
void host_function_tells(Streams& s, bool) {
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  } signal;
  fill<<<GRID, s.n>>>(s.x, 5);
  OK(cudaLaunchHostFunc(
      s.n,
      [](void* data) {
        auto* told = static_cast<Signal*>(data);
        const std::lock_guard lock(told->mutex);
        told->done = true;
        told->changed.notify_all();
      },
      &signal));
  {
    std::unique_lock lock(signal.mutex);
    signal.changed.wait(lock, [&] { return signal.done; });
  }
  twice<<<GRID, s.m>>>(s.x, s.y);
  OK(cudaStreamSynchronize(s.n));
}
void event_behind_a_host_function(Streams& s, bool) {
  OK(cudaLaunchHostFunc(
      s.n, [](void*) {}, nullptr));
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  twice<<<GRID, s.m>>>(s.x, s.y);
}
void threads_that_wait(Streams& s, bool) {
  std::thread([&] {
    fill<<<GRID, s.n>>>(s.x, 5);
    OK(cudaStreamSynchronize(s.n));
  }).join();
  std::thread([&] {
    twice<<<GRID, s.m>>>(s.x, s.y);
    OK(cudaStreamSynchronize(s.m));
  }).join();
  fill<<<GRID, cudaStreamPerThread>>>(s.x, 5);
}
void captured_fork_and_join(Streams& s, bool) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  OK(cudaStreamBeginCapture(s.n, cudaStreamCaptureModeGlobal));
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  twice<<<GRID, s.m>>>(s.x, s.y);
  twice<<<GRID, s.n>>>(s.x, s.z);
  OK(cudaEventRecord(s.event_too, s.m));
  OK(cudaStreamWaitEvent(s.n, s.event_too));
  OK(cudaStreamEndCapture(s.n, &graph));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int k = 0; k < 3; ++k) OK(cudaGraphLaunch(ready, s.n));
  s.order(s.n, s.a);
  twice<<<GRID, s.a>>>(s.y, s.x);
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}
// What comes behind a graph in its stream comes behind all of its branches, and the next launch as well.
void branches_that_join_at_the_end(Streams& s, bool) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaGraphNode_t first, second;
  cudaMemsetParams low{s.x, 0, 1, sizeof(int), kCount / 2, 1};
  cudaMemsetParams high{s.x + kCount / 2, 0, 2, sizeof(int), kCount / 2, 1};
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddMemsetNode(&first, graph, nullptr, 0, &low));
  OK(cudaGraphAddMemsetNode(&second, graph, nullptr, 0, &high));
  OK(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int k = 0; k < 3; ++k) {
    OK(cudaGraphLaunch(ready, s.n));
    twice<<<GRID, s.n>>>(s.x, s.y);
  }
  s.order(s.n, s.m);
  fill<<<GRID, s.m>>>(s.x, 5);
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(ready));
  OK(cudaGraphDestroy(graph));
}
void streams_made_anew(Streams& s, bool) {
  for (int k = 0; k < 50; ++k) {
    cudaStream_t own;
    OK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    fill<<<GRID, own>>>(s.x, k);
    OK(k % 2 == 0 ? cudaStreamSynchronize(own) : cudaDeviceSynchronize());
    OK(cudaStreamDestroy(own));
  }
}
void stream_ordered_memory(Streams& s, bool) {
  for (int k = 0; k < 3; ++k) {
    int* own;
    OK(cudaMallocAsync(&own, kBytes, s.n));
    fill<<<GRID, s.n>>>(own, 5);
    s.order(s.n, s.m);
    twice<<<GRID, s.m>>>(own, s.y);
    OK(cudaFreeAsync(own, s.m));
  }
}
void managed_memory(Streams& s, bool) {
  int* own;
  OK(cudaMallocManaged(&own, kBytes));
  for (int i = 0; i < kCount; ++i) own[i] = i;
  OK(cudaMemset(own, 0, 16));
  fill<<<GRID, s.n>>>(own, 5);
  OK(cudaStreamSynchronize(s.n));
  own[3] = 4;
  twice<<<GRID, s.m>>>(own, s.y);
  OK(cudaDeviceSynchronize());
  OK(cudaFree(own));
}
void chunks_in_streams(Streams& s, bool) {
  cudaStream_t streams[] = {s.a, s.b, s.n, s.m};
  const int part = kCount / 4;
  for (int k = 0; k < 4; ++k) {
    const size_t bytes = part * sizeof(int);
    int* own = s.x + k * part;
    OK(cudaMemcpyAsync(own, s.pinned + k * part, bytes, cudaMemcpyHostToDevice, streams[k]));
    twice<<<1, part, 0, streams[k]>>>(own, s.y + k * part);
    OK(cudaMemcpyAsync(s.pinned_too + k * part, s.y + k * part, bytes, cudaMemcpyDeviceToHost, streams[k]));
  }
  for (cudaStream_t stream : streams) OK(cudaStreamSynchronize(stream));
}

struct Program {
  void (*run)(Streams&, bool wrong);
  bool has_wrong_form;
};
#define FORMS(name) \
  {                 \
#name, {        \
      name, true    \
    }               \
  }
#define RIGHT(name) \
  {                 \
#name, {        \
      name, false   \
    }               \
  }
const std::map<std::string, Program> programs{
    FORMS(read_behind_write),
    FORMS(write_behind_read),
    FORMS(write_behind_write),
    FORMS(copy_behind_non_blocking),
    FORMS(non_blocking_behind_memset),
    FORMS(non_blocking_behind_device_copy),
    FORMS(kernel_behind_copy),
    FORMS(event_before_the_work),
    FORMS(event_of_another_stream),
    FORMS(event_never_recorded),
    FORMS(event_recorded_again_too_late),
    FORMS(host_waits_for_another_stream),
    FORMS(halves_overlap),
    FORMS(every_second_element),
    FORMS(scattered_read),
    FORMS(columns_of_a_copy),
    FORMS(counter_read_too_early),
    FORMS(symbol_in_another_stream),
    FORMS(stream_destroyed),
    FORMS(buffers_in_turn),
    FORMS(thread_stream),
    FORMS(pinned_source_changed),
    FORMS(allocated_in_another_stream),
    FORMS(freed_in_another_stream),
    FORMS(stream_ordered_memory_freed_by_the_host),
    FORMS(time_read_too_early),
    FORMS(graph_in_another_stream),
    FORMS(captured_branches),
    FORMS(node_without_its_dependency),
    FORMS(end_of_a_long_branch),
    RIGHT(default_stream_in_between),
    RIGHT(event_of_the_default_stream),
    RIGHT(both_read),
    RIGHT(both_count),
    RIGHT(both_raise_a_flag),
    RIGHT(bytes_side_by_side),
    RIGHT(events_through_three_streams),
    RIGHT(asked_until_done),
    RIGHT(pageable_copy),
    RIGHT(free_in_between),
    RIGHT(pinned_buffers_in_turn),
    RIGHT(pinned_buffer_comes_back),
    RIGHT(kernel_writes_the_source),
    RIGHT(host_function_changes_the_source),
    RIGHT(host_function_tells),
    RIGHT(event_behind_a_host_function),
    RIGHT(threads_that_wait),
    RIGHT(captured_fork_and_join),
    RIGHT(branches_that_join_at_the_end),
    RIGHT(streams_made_anew),
    RIGHT(stream_ordered_memory),
    RIGHT(managed_memory),
    RIGHT(chunks_in_streams),
};

}  // namespace

// Without arguments: the names of the programs, with `both` where there are two forms.
int main(int argc, char** argv) {
  if (argc < 3) {
    for (const auto& [name, program] : programs)
      std::printf("%s %s\n", name.c_str(), program.has_wrong_form ? "both" : "right");
    return 0;
  }
  Streams streams;
  programs.at(argv[1]).run(streams, std::strcmp(argv[2], "wrong") == 0);
  OK(cudaDeviceSynchronize());
}
