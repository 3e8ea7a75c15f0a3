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
      CHECK_CUDA(cudaMalloc(p, kBytes));
      CHECK_CUDA(cudaMemset(*p, 0, kBytes));
    }
    for (int** p : {&pinned, &pinned_too}) {
      CHECK_CUDA(cudaMallocHost(p, kBytes));
      for (int i = 0; i < kCount; ++i) (*p)[i] = i;
    }
    for (cudaStream_t* s : {&a, &b}) CHECK_CUDA(cudaStreamCreate(s));
    for (cudaStream_t* s : {&n, &m}) CHECK_CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&event));
    CHECK_CUDA(cudaEventCreate(&event_too));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  ~Streams() {
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int* p : {x, y, z}) CHECK_CUDA(cudaFree(p));
    for (int* p : {pinned, pinned_too}) CHECK_CUDA(cudaFreeHost(p));
    for (cudaStream_t s : {a, b, n, m}) CHECK_CUDA(cudaStreamDestroy(s));
    for (cudaEvent_t e : {event, event_too}) CHECK_CUDA(cudaEventDestroy(e));
  }
  void order(cudaStream_t first, cudaStream_t second) {
    CHECK_CUDA(cudaEventRecord(event, first));
    CHECK_CUDA(cudaStreamWaitEvent(second, event));
  }
};

// --- In two forms: Wrong is true of the one without an order. ---

template <bool wrong>
void read_behind_write(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER read_behind_write
  if (!wrong) s.order(s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER read_behind_write
}
template <bool wrong>
void write_behind_read(Streams& s) {
  twice<<<GRID, s.a>>>(s.x, s.y);  // EARLIER write_behind_read
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(s.x, 5);  // LATER write_behind_read
}
template <bool wrong>
void write_behind_write(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER write_behind_write
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(s.x, 6);  // LATER write_behind_write
}
template <bool wrong>
void copy_behind_non_blocking(Streams& s) {
  fill<<<GRID, s.n>>>(s.x, 5);  // EARLIER copy_behind_non_blocking
  if (!wrong) CHECK_CUDA(cudaStreamSynchronize(s.n));
  CHECK_CUDA(
      cudaMemcpy(s.host.data(), s.x, kBytes, cudaMemcpyDeviceToHost));  // LATER copy_behind_non_blocking
}
// cudaMemset of device memory returns before it is done.
template <bool wrong>
void non_blocking_behind_memset(Streams& s) {
  CHECK_CUDA(cudaMemset(s.x, 1, kBytes));  // EARLIER non_blocking_behind_memset
  if (!wrong) CHECK_CUDA(cudaStreamSynchronize(nullptr));
  twice<<<GRID, s.n>>>(s.x, s.y);  // LATER non_blocking_behind_memset
}
// So does cudaMemcpy on the device.
template <bool wrong>
void non_blocking_behind_device_copy(Streams& s) {
  CHECK_CUDA(
      cudaMemcpy(s.x, s.z, kBytes, cudaMemcpyDeviceToDevice));  // EARLIER non_blocking_behind_device_copy
  if (!wrong) s.order(nullptr, s.n);
  twice<<<GRID, s.n>>>(s.x, s.y);  // LATER non_blocking_behind_device_copy
}
template <bool wrong>
void kernel_behind_copy(Streams& s) {
  CHECK_CUDA(
      cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.a));  // EARLIER kernel_behind_copy
  twice<<<GRID, wrong ? s.b : s.a>>>(s.x, s.y);                              // LATER kernel_behind_copy
}
template <bool wrong>
void event_before_the_work(Streams& s) {
  if (wrong) s.order(s.a, s.b);
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_before_the_work
  if (!wrong) s.order(s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_before_the_work
}
template <bool wrong>
void event_of_another_stream(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_of_another_stream
  s.order(wrong ? s.n : s.a, s.b);
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_of_another_stream
}
template <bool wrong>
void event_never_recorded(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_never_recorded
  if (!wrong) CHECK_CUDA(cudaEventRecord(s.event, s.a));
  CHECK_CUDA(cudaStreamWaitEvent(s.b, s.event));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_never_recorded
}
// Who waits for an event waits for what was recorded by then.
template <bool wrong>
void event_recorded_again_too_late(Streams& s) {
  CHECK_CUDA(cudaEventRecord(s.event, s.a));
  if (wrong) CHECK_CUDA(cudaStreamWaitEvent(s.b, s.event));
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER event_recorded_again_too_late
  CHECK_CUDA(cudaEventRecord(s.event, s.a));
  if (!wrong) CHECK_CUDA(cudaStreamWaitEvent(s.b, s.event));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER event_recorded_again_too_late
}
template <bool wrong>
void host_waits_for_another_stream(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);  // EARLIER host_waits_for_another_stream
  CHECK_CUDA(cudaStreamSynchronize(wrong ? s.b : s.a));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER host_waits_for_another_stream
}
template <bool wrong>
void halves_overlap(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5, 0, kCount / 2 + (wrong ? 1 : 0));  // EARLIER halves_overlap
  fill<<<GRID, s.b>>>(s.x, 6, kCount / 2, kCount);               // LATER halves_overlap
}
template <bool wrong>
void every_second_element(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5, 0, kCount, 2);                // EARLIER every_second_element
  fill<<<GRID, s.b>>>(s.x, 6, wrong ? 512 : 1, kCount, 2);  // LATER every_second_element
}
template <bool wrong>
void scattered_read(Streams& s) {
  fill<<<GRID, s.n>>>(s.x, 5, 100, 101);  // EARLIER scattered_read
  if (!wrong) s.order(s.n, s.m);
  gather<<<GRID, s.m>>>(s.x, s.y);  // LATER scattered_read
}
template <bool wrong>
void columns_of_a_copy(Streams& s) {
  const size_t row = 32 * sizeof(int);
  const cudaMemcpyKind kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(
      cudaMemcpy2DAsync(s.x, row, s.pinned, row, row / 2, 32, kind, s.a));  // EARLIER columns_of_a_copy
  fill<<<1, 32, 0, s.b>>>(s.x, 6, wrong ? 15 : 16, kCount, 32);             // LATER columns_of_a_copy
}
template <bool wrong>
void counter_read_too_early(Streams& s) {
  count<<<GRID, s.a>>>(s.x);  // EARLIER counter_read_too_early
  if (!wrong) s.order(s.a, s.b);
  twice<<<1, 1, 0, s.b>>>(s.x, s.y);  // LATER counter_read_too_early
}
template <bool wrong>
void symbol_in_another_stream(Streams& s) {
  const cudaMemcpyKind kind = cudaMemcpyDeviceToDevice;
  CHECK_CUDA(cudaMemcpyToSymbolAsync(table, s.z, kBytes, 0, kind, s.a));  // EARLIER symbol_in_another_stream
  if (!wrong) s.order(s.a, s.b);
  look_up<<<GRID, s.b>>>(s.y);  // LATER symbol_in_another_stream
}
// The work goes on when its stream is destroyed.
template <bool wrong>
void stream_destroyed(Streams& s) {
  cudaStream_t own;
  CHECK_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  fill<<<GRID, own>>>(s.x, 5);  // EARLIER stream_destroyed
  if (!wrong) CHECK_CUDA(cudaStreamSynchronize(own));
  CHECK_CUDA(cudaStreamDestroy(own));
  twice<<<GRID, s.b>>>(s.x, s.y);  // LATER stream_destroyed
}
template <bool wrong>
void buffers_in_turn(Streams& s) {
  for (int chunk = 0; chunk < 4; ++chunk) {
    if (!wrong) CHECK_CUDA(cudaStreamWaitEvent(s.n, s.event_too));
    CHECK_CUDA(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));  // LATER buffers_in_turn
    s.order(s.n, s.m);
    twice<<<GRID, s.m>>>(s.x, s.y);  // EARLIER buffers_in_turn
    CHECK_CUDA(cudaEventRecord(s.event_too, s.m));
  }
}
template <bool wrong>
void thread_stream(Streams& s) {
  fill<<<GRID, cudaStreamPerThread>>>(s.x, 5);       // EARLIER thread_stream
  twice<<<GRID, wrong ? s.n : nullptr>>>(s.x, s.y);  // LATER thread_stream
}
template <bool wrong>
void pinned_source_changed(Streams& s) {
  CHECK_CUDA(
      cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.a));  // EARLIER pinned_source_changed
  if (!wrong) CHECK_CUDA(cudaStreamSynchronize(s.a));
  s.pinned[7] = 99;
  CHECK_CUDA(cudaStreamSynchronize(s.a));  // LATER pinned_source_changed
}
template <bool wrong>
void allocated_in_another_stream(Streams& s) {
  int* own;
  CHECK_CUDA(cudaMallocAsync(&own, kBytes, s.a));  // EARLIER allocated_in_another_stream
  if (!wrong) s.order(s.a, s.b);
  fill<<<GRID, s.b>>>(own, 5);  // LATER allocated_in_another_stream
  CHECK_CUDA(cudaFreeAsync(own, s.b));
}
template <bool wrong>
void freed_in_another_stream(Streams& s) {
  int* own;
  CHECK_CUDA(cudaMallocAsync(&own, kBytes, s.n));
  s.order(s.n, s.m);
  fill<<<GRID, s.m>>>(own, 5);  // EARLIER freed_in_another_stream
  if (!wrong) s.order(s.m, s.n);
  CHECK_CUDA(cudaFreeAsync(own, s.n));  // LATER freed_in_another_stream
}
// cudaFree waits for nothing that uses memory of cudaMallocAsync.
template <bool wrong>
void stream_ordered_memory_freed_by_the_host(Streams& s) {
  int* own;
  CHECK_CUDA(cudaMallocAsync(&own, kBytes, s.a));
  fill<<<GRID, s.a>>>(own, 5);  // EARLIER stream_ordered_memory_freed_by_the_host
  if (!wrong) CHECK_CUDA(cudaStreamSynchronize(s.a));
  CHECK_CUDA(cudaFree(own));  // LATER stream_ordered_memory_freed_by_the_host
}
template <bool wrong>
void time_read_too_early(Streams& s) {
  float milliseconds = 0;
  CHECK_CUDA(cudaEventRecord(s.event, s.a));
  fill<<<GRID, s.a>>>(s.x, 5);
  CHECK_CUDA(cudaEventRecord(s.event_too, s.a));
  if (!wrong) CHECK_CUDA(cudaEventSynchronize(s.event_too));
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, s.event, s.event_too));  // LATER time_read_too_early
}
template <bool wrong>
void graph_in_another_stream(Streams& s) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK_CUDA(cudaStreamBeginCapture(s.a, cudaStreamCaptureModeGlobal));
  fill<<<GRID, s.a>>>(s.x, 5);
  CHECK_CUDA(cudaStreamEndCapture(s.a, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  CHECK_CUDA(cudaGraphLaunch(ready, s.a));       // EARLIER graph_in_another_stream
  twice<<<GRID, wrong ? s.b : s.a>>>(s.x, s.y);  // LATER graph_in_another_stream
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaGraphExecDestroy(ready));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

// --- Right as they are. ---

void default_stream_in_between(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);
  count<<<1, 1>>>(s.z);
  twice<<<GRID, s.b>>>(s.x, s.y);
  CHECK_CUDA(cudaMemcpy(s.host.data(), s.y, kBytes, cudaMemcpyDeviceToHost));
}
// The default stream's event comes behind blocking streams.
void event_of_the_default_stream(Streams& s) {
  fill<<<GRID, s.a>>>(s.x, 5);
  s.order(nullptr, s.n);
  twice<<<GRID, s.n>>>(s.x, s.y);
}
void both_read(Streams& s) {
  twice<<<GRID, s.n>>>(s.x, s.y);
  twice<<<GRID, s.m>>>(s.x, s.z);
}
void both_count(Streams& s) {
  count<<<GRID, s.n>>>(s.x);
  count<<<GRID, s.m>>>(s.x);
}
void both_raise_a_flag(Streams& s) {
  raise_flag<<<1, 32, 0, s.n>>>(s.x);
  raise_flag<<<1, 32, 0, s.m>>>(s.x);
}
void bytes_side_by_side(Streams& s) {
  fill_bytes<<<1, 256, 0, s.n>>>(reinterpret_cast<unsigned char*>(s.x), 0);
  fill_bytes<<<1, 256, 0, s.m>>>(reinterpret_cast<unsigned char*>(s.x), 1);
}
void events_through_three_streams(Streams& s) {
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  s.order(s.m, s.a);
  twice<<<GRID, s.a>>>(s.x, s.y);
}
void asked_until_done(Streams& s) {
  fill<<<GRID, s.n>>>(s.x, 5);
  CHECK_CUDA(cudaEventRecord(s.event, s.n));
  while (cudaEventQuery(s.event) == cudaErrorNotReady) {
  }
  twice<<<GRID, s.m>>>(s.x, s.y);
  while (cudaStreamQuery(s.m) == cudaErrorNotReady) {
  }
  fill<<<GRID, s.n>>>(s.x, 5);
}
// A copy to pageable memory has ended when the call returns.
void pageable_copy(Streams& s) {
  fill<<<GRID, s.n>>>(s.x, 5);
  CHECK_CUDA(cudaMemcpyAsync(s.host.data(), s.x, kBytes, cudaMemcpyDeviceToHost, s.n));
  fill<<<GRID, s.m>>>(s.x, 6);
  CHECK_CUDA(cudaMemcpyAsync(s.y, s.host.data(), kBytes, cudaMemcpyHostToDevice, s.m));
  s.host[3] = 4;  // pageable memory was read
}
void free_in_between(Streams& s) {
  int* own;
  CHECK_CUDA(cudaMalloc(&own, kBytes));
  fill<<<GRID, s.n>>>(own, 5);
  twice<<<GRID, s.n>>>(own, s.y);
  CHECK_CUDA(cudaFree(own));
}
void pinned_buffers_in_turn(Streams& s) {
  int* buffers[] = {s.pinned, s.pinned_too};
  cudaEvent_t events[] = {s.event, s.event_too};
  for (int chunk = 0; chunk < 6; ++chunk) {
    const int k = chunk % 2;
    CHECK_CUDA(cudaEventSynchronize(events[k]));
    for (int i = 0; i < kCount; ++i) buffers[k][i] = chunk + i;
    CHECK_CUDA(cudaMemcpyAsync(s.x, buffers[k], kBytes, cudaMemcpyHostToDevice, s.n));
    CHECK_CUDA(cudaEventRecord(events[k], s.n));
    twice<<<GRID, s.n>>>(s.x, s.y);
  }
}
// What a later copy of the stream writes into the source is no change by the host.
void pinned_buffer_comes_back(Streams& s) {
  CHECK_CUDA(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  twice<<<GRID, s.n>>>(s.x, s.y);
  CHECK_CUDA(cudaMemcpyAsync(s.pinned, s.y, kBytes, cudaMemcpyDeviceToHost, s.n));
  CHECK_CUDA(cudaStreamSynchronize(s.n));
}
void kernel_writes_the_source(Streams& s) {
  CHECK_CUDA(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, nullptr));
  fill<<<GRID>>>(s.pinned, 8);
  CHECK_CUDA(cudaDeviceSynchronize());
}
void host_function_changes_the_source(Streams& s) {
  CHECK_CUDA(cudaMemcpyAsync(s.x, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  CHECK_CUDA(cudaLaunchHostFunc(
      s.n, [](void* data) { static_cast<int*>(data)[1] = 55; }, s.pinned));
  CHECK_CUDA(cudaMemcpyAsync(s.y, s.pinned, kBytes, cudaMemcpyHostToDevice, s.n));
  CHECK_CUDA(cudaStreamSynchronize(s.n));
}
// A host function tells the host that the work before it has ended.
void host_function_tells(Streams& s) {
  struct Signal {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
  } signal;
  fill<<<GRID, s.n>>>(s.x, 5);
  CHECK_CUDA(cudaLaunchHostFunc(
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
  CHECK_CUDA(cudaStreamSynchronize(s.n));
}
void event_behind_a_host_function(Streams& s) {
  CHECK_CUDA(cudaLaunchHostFunc(
      s.n, [](void*) {}, nullptr));
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  twice<<<GRID, s.m>>>(s.x, s.y);
}
void threads_that_wait(Streams& s) {
  std::thread([&] {
    fill<<<GRID, s.n>>>(s.x, 5);
    CHECK_CUDA(cudaStreamSynchronize(s.n));
  }).join();
  std::thread([&] {
    twice<<<GRID, s.m>>>(s.x, s.y);
    CHECK_CUDA(cudaStreamSynchronize(s.m));
  }).join();
  fill<<<GRID, cudaStreamPerThread>>>(s.x, 5);
}
void captured_fork_and_join(Streams& s) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK_CUDA(cudaStreamBeginCapture(s.n, cudaStreamCaptureModeGlobal));
  fill<<<GRID, s.n>>>(s.x, 5);
  s.order(s.n, s.m);
  twice<<<GRID, s.m>>>(s.x, s.y);
  twice<<<GRID, s.n>>>(s.x, s.z);
  CHECK_CUDA(cudaEventRecord(s.event_too, s.m));
  CHECK_CUDA(cudaStreamWaitEvent(s.n, s.event_too));
  CHECK_CUDA(cudaStreamEndCapture(s.n, &graph));
  CHECK_CUDA(cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  for (int k = 0; k < 3; ++k) CHECK_CUDA(cudaGraphLaunch(ready, s.n));
  s.order(s.n, s.a);
  twice<<<GRID, s.a>>>(s.y, s.x);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaGraphExecDestroy(ready));
  CHECK_CUDA(cudaGraphDestroy(graph));
}
void streams_made_anew(Streams& s) {
  for (int k = 0; k < 50; ++k) {
    cudaStream_t own;
    CHECK_CUDA(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
    fill<<<GRID, own>>>(s.x, k);
    CHECK_CUDA(k % 2 == 0 ? cudaStreamSynchronize(own) : cudaDeviceSynchronize());
    CHECK_CUDA(cudaStreamDestroy(own));
  }
}
void stream_ordered_memory(Streams& s) {
  for (int k = 0; k < 3; ++k) {
    int* own;
    CHECK_CUDA(cudaMallocAsync(&own, kBytes, s.n));
    fill<<<GRID, s.n>>>(own, 5);
    s.order(s.n, s.m);
    twice<<<GRID, s.m>>>(own, s.y);
    CHECK_CUDA(cudaFreeAsync(own, s.m));
  }
}
void managed_memory(Streams& s) {
  int* own;
  CHECK_CUDA(cudaMallocManaged(&own, kBytes));
  for (int i = 0; i < kCount; ++i) own[i] = i;
  CHECK_CUDA(cudaMemset(own, 0, 16));
  fill<<<GRID, s.n>>>(own, 5);
  CHECK_CUDA(cudaStreamSynchronize(s.n));
  own[3] = 4;
  twice<<<GRID, s.m>>>(own, s.y);
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_CUDA(cudaFree(own));
}
void chunks_in_streams(Streams& s) {
  cudaStream_t streams[] = {s.a, s.b, s.n, s.m};
  const int part = kCount / 4;
  for (int k = 0; k < 4; ++k) {
    const size_t bytes = part * sizeof(int);
    int* own = s.x + k * part;
    CHECK_CUDA(cudaMemcpyAsync(own, s.pinned + k * part, bytes, cudaMemcpyHostToDevice, streams[k]));
    twice<<<1, part, 0, streams[k]>>>(own, s.y + k * part);
    CHECK_CUDA(
        cudaMemcpyAsync(s.pinned_too + k * part, s.y + k * part, bytes, cudaMemcpyDeviceToHost, streams[k]));
  }
  for (cudaStream_t stream : streams) CHECK_CUDA(cudaStreamSynchronize(stream));
}

using Program = void (*)(Streams&);
#define FORMS(name)           \
  {                           \
#name, {                  \
      name<true>, name<false> \
    }                         \
  }
#define RIGHT(name) \
  {                 \
#name, {        \
      nullptr, name \
    }               \
  }
const std::map<std::string, std::pair<Program, Program>> programs{
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
    RIGHT(streams_made_anew),
    RIGHT(stream_ordered_memory),
    RIGHT(managed_memory),
    RIGHT(chunks_in_streams),
};

}  // namespace

// Without arguments: the names of the programs, with `both` where there are two forms.
int main(int argc, char** argv) {
  if (argc < 3) {
    for (const auto& [name, forms] : programs)
      std::printf("%s %s\n", name.c_str(), forms.first != nullptr ? "both" : "right");
    return 0;
  }
  const auto& forms = programs.at(argv[1]);
  Streams streams;
  (std::strcmp(argv[2], "wrong") == 0 ? forms.first : forms.second)(streams);
  CHECK_CUDA(cudaDeviceSynchronize());
}
