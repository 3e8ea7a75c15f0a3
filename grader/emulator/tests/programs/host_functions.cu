// Host functions: they run beside the thread that enqueues them, in their stream's order, and may wait for it.
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "check.h"

__global__ void add(int* data, int value) {
  *data += value;
}
__global__ void twice(int* data) {
  *data *= 2;
}

constexpr int kMostSeconds = 40;  // SIGALRM ends a program that waits for ever

struct Fixture {
  int *device, *pinned;
  cudaStream_t a, b;
  Fixture() {
    CHECK_CUDA(cudaMalloc(&device, 2 * sizeof(int)));
    CHECK_CUDA(cudaMallocHost(&pinned, 2 * sizeof(int)));
    CHECK_CUDA(cudaMemset(device, 0, 2 * sizeof(int)));
    CHECK_CUDA(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK_CUDA(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK_CUDA(cudaDeviceSynchronize());
    pinned[0] = pinned[1] = -1;
  }
  ~Fixture() {
    CHECK_CUDA(cudaStreamDestroy(a));
    CHECK_CUDA(cudaStreamDestroy(b));
    CHECK_CUDA(cudaFree(device));
    CHECK_CUDA(cudaFreeHost(pinned));
  }
  int value(int index = 0) const {
    int host = -1;
    CHECK_CUDA(cudaMemcpy(&host, device + index, sizeof host, cudaMemcpyDeviceToHost));
    return host;
  }
};

// A host function that waits until it is told to go on.
struct Door {
  std::atomic<bool> is_entered{false}, is_open{false}, is_left{false};
  static void wait(void* p) {
    auto* door = static_cast<Door*>(p);
    door->is_entered = true;
    while (!door->is_open) usleep(100);
    door->is_left = true;
  }
  void put_into(cudaStream_t stream) { CHECK_CUDA(cudaLaunchHostFunc(stream, wait, this)); }
};

void call(void* p) {
  (*static_cast<std::function<void()>*>(p))();
}

void waits_for_what_its_enqueuer_does_later() {
  Fixture f;
  Door door;
  door.put_into(f.a);
  expect(!door.is_left, "the enqueuing thread goes on");
  add<<<1, 1, 0, f.a>>>(f.device, 3);
  CHECK_CUDA(cudaGetLastError());
  twice<<<1, 1, 0, f.a>>>(f.device);
  CHECK_CUDA(cudaMemcpyAsync(f.pinned, f.device, sizeof(int), cudaMemcpyDeviceToHost, f.a));
  CHECK_CUDA(cudaMemsetAsync(f.device, 0, sizeof(int), f.a));
  expect(cudaStreamQuery(f.a) == cudaErrorNotReady, "the stream is not done");
  expect(f.pinned[0] == -1, "nothing behind the host function has run");
  door.is_open = true;
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  expect(door.is_left, "the host function has returned");
  expect(f.pinned[0] == 6, "a kernel, a kernel and a copy in their order");
  expect(f.value() == 0, "and a fill");
  CHECK_CUDA(cudaStreamQuery(f.a));
}

void sees_what_is_before_it() {
  Fixture f;
  for (int round = 1; round <= 30; ++round) {
    int seen = -1;
    std::function<void()> look = [&] { seen = f.pinned[0]; };
    add<<<1, 1, 0, f.a>>>(f.device, 1);
    CHECK_CUDA(cudaMemcpyAsync(f.pinned, f.device, sizeof(int), cudaMemcpyDeviceToHost, f.a));
    CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &look));
    CHECK_CUDA(cudaStreamSynchronize(f.a));
    expect(seen == round, "the copy before it");
  }
}

void are_called_in_the_order_of_their_stream() {
  Fixture f;
  std::vector<int> order;
  std::vector<std::function<void()>> functions;
  for (int k = 0; k < 50; ++k) functions.emplace_back([&order, k] { order.push_back(k); });
  for (auto& function : functions) CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &function));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(order.size() == 50, "all are called");
  for (int k = 0; k < static_cast<int>(order.size()); ++k) expect(order[k] == k, "in their order");
}

void leave_other_streams_alone() {
  Fixture f;
  Door door;
  door.put_into(f.a);
  add<<<1, 1, 0, f.b>>>(f.device + 1, 7);
  CHECK_CUDA(cudaMemcpyAsync(f.pinned, f.device + 1, sizeof(int), cudaMemcpyDeviceToHost, f.b));
  CHECK_CUDA(cudaStreamSynchronize(f.b));
  expect(f.pinned[0] == 7 && !door.is_left, "another stream's work is done");
  door.is_open = true;
  CHECK_CUDA(cudaStreamSynchronize(f.a));
}

void may_wait_for_one_another() {
  Fixture f;
  Door door;
  std::function<void()> open = [&] { door.is_open = true; };
  door.put_into(f.a);
  CHECK_CUDA(cudaLaunchHostFunc(f.b, call, &open));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(door.is_left, "one waited for the other stream's");
}

void events_behind_one_are_not_done() {
  Fixture f;
  Door door;
  cudaEvent_t before, behind;
  CHECK_CUDA(cudaEventCreate(&before));
  CHECK_CUDA(cudaEventCreate(&behind));
  CHECK_CUDA(cudaEventRecord(before, f.a));
  door.put_into(f.a);
  add<<<1, 1, 0, f.a>>>(f.device, 5);
  CHECK_CUDA(cudaEventRecord(behind, f.a));
  CHECK_CUDA(cudaEventSynchronize(before));
  expect(cudaEventQuery(behind) == cudaErrorNotReady, "the event behind is not done");
  float milliseconds = -1;
  expect(cudaEventElapsedTime(&milliseconds, before, behind) == cudaErrorNotReady, "no time yet");
  CHECK_CUDA(cudaStreamWaitEvent(f.b, behind, 0));  // another stream waits, and this thread goes on
  twice<<<1, 1, 0, f.b>>>(f.device);
  CHECK_CUDA(cudaMemcpyAsync(f.pinned, f.device, sizeof(int), cudaMemcpyDeviceToHost, f.b));
  expect(cudaStreamQuery(f.b) == cudaErrorNotReady, "so the other stream is not done");
  door.is_open = true;
  CHECK_CUDA(cudaEventSynchronize(behind));
  CHECK_CUDA(cudaEventElapsedTime(&milliseconds, before, behind));
  expect(milliseconds >= 0, "a time");
  CHECK_CUDA(cudaStreamSynchronize(f.b));
  expect(f.pinned[0] == 10, "the other stream came after the event");
  CHECK_CUDA(cudaEventDestroy(before));
  CHECK_CUDA(cudaEventDestroy(behind));
}

// The default stream and those that are not cudaStreamNonBlocking wait for one another.
void order_the_default_stream() {
  Fixture f;
  cudaStream_t blocking;
  CHECK_CUDA(cudaStreamCreate(&blocking));
  std::function<void()> slow = [&] {
    usleep(20000);
    f.pinned[0] = 100;
  };
  CHECK_CUDA(cudaLaunchHostFunc(blocking, call, &slow));
  CHECK_CUDA(cudaMemcpyAsync(f.device, f.pinned, sizeof(int), cudaMemcpyHostToDevice, nullptr));
  add<<<1, 1>>>(f.device, 1);
  CHECK_CUDA(cudaMemcpyAsync(f.pinned, f.device, sizeof(int), cudaMemcpyDeviceToHost, blocking));
  CHECK_CUDA(cudaStreamSynchronize(blocking));
  expect(f.pinned[0] == 101, "the default stream behind the other, and the other behind it");
  std::function<void()> again = [&] {
    usleep(20000);
    f.pinned[0] = 200;
  };
  CHECK_CUDA(cudaLaunchHostFunc(nullptr, call, &again));
  CHECK_CUDA(cudaMemcpyAsync(f.device, f.pinned, sizeof(int), cudaMemcpyHostToDevice, blocking));
  expect(f.value() == 200, "a stream behind the default one");
  CHECK_CUDA(cudaStreamDestroy(blocking));
}

void callbacks_get_the_status() {
  Fixture f;
  struct Seen {
    cudaStream_t stream = nullptr;
    cudaError_t status = cudaErrorUnknown;
  } seen;
  const auto callback = [](cudaStream_t stream, cudaError_t status, void* p) {
    *static_cast<Seen*>(p) = {stream, status};
  };
  CHECK_CUDA(cudaStreamAddCallback(f.a, callback, &seen, 0));
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  expect(seen.stream == f.a && seen.status == cudaSuccess, "its stream, and success");
}

void may_not_wait_for_their_own_stream() {
  Fixture f;
  cudaError_t stream = cudaSuccess, device = cudaSuccess;
  std::function<void()> wait = [&] {
    stream = cudaStreamSynchronize(f.a);
    device = cudaDeviceSynchronize();
  };
  CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &wait));
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  expect(stream == cudaErrorNotPermitted && device == cudaErrorNotPermitted, "refused");
  CHECK_CUDA(cudaGetLastError());  // another thread's errors are not this one's
}

void graphs_with_one_run_beside() {
  Fixture f;
  Door door;
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, f.a>>>(f.device, 1);
  CHECK_CUDA(cudaLaunchHostFunc(f.a, Door::wait, &door));
  twice<<<1, 1, 0, f.a>>>(f.device);
  cudaGraph_t graph;
  CHECK_CUDA(cudaStreamEndCapture(f.a, &graph));
  cudaGraphExec_t exec;
  CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  expect(!door.is_left, "a launch does not wait for the host function");
  CHECK_CUDA(cudaGraphLaunch(exec, f.a));
  add<<<1, 1, 0, f.a>>>(f.device, 1000);
  door.is_open = true;
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  expect(f.value() == 1006, "both launches, then a kernel");  // ((0 + 1) * 2 + 1) * 2 + 1000
  CHECK_CUDA(cudaGraphExecDestroy(exec));
  CHECK_CUDA(cudaGraphDestroy(graph));
}

// An event that a graph records is not done before the graph's host function, and a graph waits for one.
void graphs_record_events_behind_one() {
  Fixture f;
  Door door;
  cudaEvent_t event, behind;
  CHECK_CUDA(cudaEventCreate(&event));
  CHECK_CUDA(cudaEventCreate(&behind));
  CHECK_CUDA(cudaStreamBeginCapture(f.a, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaLaunchHostFunc(f.a, Door::wait, &door));
  add<<<1, 1, 0, f.a>>>(f.device, 4);
  CHECK_CUDA(cudaEventRecordWithFlags(event, f.a, cudaEventRecordExternal));
  cudaGraph_t recording, waiting;
  CHECK_CUDA(cudaStreamEndCapture(f.a, &recording));
  CHECK_CUDA(cudaStreamBeginCapture(f.b, cudaStreamCaptureModeGlobal));
  CHECK_CUDA(cudaStreamWaitEvent(f.b, behind, cudaEventWaitExternal));
  twice<<<1, 1, 0, f.b>>>(f.device);
  CHECK_CUDA(cudaStreamEndCapture(f.b, &waiting));
  cudaGraphExec_t first, second;
  CHECK_CUDA(cudaGraphInstantiate(&first, recording, 0));
  CHECK_CUDA(cudaGraphInstantiate(&second, waiting, 0));

  CHECK_CUDA(cudaGraphLaunch(first, f.a));
  expect(cudaEventQuery(event) == cudaErrorNotReady, "the graph's event is not done");
  door.is_open = true;
  CHECK_CUDA(cudaEventSynchronize(event));
  expect(f.value() == 4, "it stands behind the graph's kernel");

  std::function<void()> slow = [&] {
    usleep(20000);
    f.pinned[0] = 50;
  };
  CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &slow));
  CHECK_CUDA(cudaMemcpyAsync(f.device, f.pinned, sizeof(int), cudaMemcpyHostToDevice, f.a));
  CHECK_CUDA(cudaEventRecord(behind, f.a));
  CHECK_CUDA(cudaGraphLaunch(second, f.b));
  CHECK_CUDA(cudaStreamSynchronize(f.b));
  expect(f.value() == 100, "a graph waits for an event behind a host function");
  for (const cudaGraphExec_t exec : {first, second}) CHECK_CUDA(cudaGraphExecDestroy(exec));
  for (const cudaGraph_t graph : {recording, waiting}) CHECK_CUDA(cudaGraphDestroy(graph));
  CHECK_CUDA(cudaEventDestroy(event));
  CHECK_CUDA(cudaEventDestroy(behind));
}

void pageable_copies_and_pools_stay_in_order() {
  Fixture f;
  std::function<void()> slow = [&] {
    usleep(10000);
    f.pinned[0] = 40;
  };
  CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &slow));
  CHECK_CUDA(cudaMemcpyAsync(f.device, f.pinned, sizeof(int), cudaMemcpyHostToDevice, f.a));
  int* more = nullptr;
  CHECK_CUDA(cudaMallocAsync(&more, sizeof(int), f.a));
  CHECK_CUDA(cudaMemcpyAsync(more, f.device, sizeof(int), cudaMemcpyDeviceToDevice, f.a));
  add<<<1, 1, 0, f.a>>>(more, 2);
  int pageable = -1;
  CHECK_CUDA(cudaMemcpyAsync(&pageable, more, sizeof(int), cudaMemcpyDeviceToHost, f.a));
  CHECK_CUDA(cudaFreeAsync(more, f.a));
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  expect(pageable == 42, "a copy out of memory of a pool, behind a host function");
}

// What a launch or a call alone tells is told by it, also where its work would be held.
void mistakes_are_told_at_once() {
  Fixture f;
  Door door;
  door.put_into(f.a);
  add<<<1, 2000, 0, f.a>>>(f.device, 1);
  expect(cudaGetLastError() != cudaSuccess, "a block too large");
  expect(cudaMemsetAsync(reinterpret_cast<void*>(8), 0, 4, f.a) == cudaErrorInvalidValue,
         "a fill of nothing");
  expect(!door.is_left, "and nothing was waited for");
  door.is_open = true;
  CHECK_CUDA(cudaStreamSynchronize(f.a));
  cudaGetLastError();
}

void many_threads_have_their_own() {
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&right] {
      Fixture f;
      int calls = 0;
      std::function<void()> count = [&] { ++calls; };
      for (int k = 0; k < 40; ++k) {
        CHECK_CUDA(cudaLaunchHostFunc(f.a, call, &count));
        add<<<1, 1, 0, f.a>>>(f.device, 1);
      }
      CHECK_CUDA(cudaStreamSynchronize(f.a));
      if (calls == 40 && f.value() == 40) ++right;
    });
  }
  for (std::thread& thread : threads) thread.join();
  expect(right == 6, "calls and kernels of every thread");
}

// What CUDA leaves to the runtime, which may also wait for ever.
void are_as_free_as_they_may_be() {
  may_wait_for_one_another();
  may_not_wait_for_their_own_stream();
}

// The fault of a kernel that was held shows at the next wait.
void fault() {
  static Door door;
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  door.put_into(stream);
  add<<<1, 1, 0, stream>>>(reinterpret_cast<int*>(8), 1);
  CHECK_CUDA(cudaGetLastError());
  door.is_open = true;
  std::printf("%d\n", cudaStreamSynchronize(stream));
}

// `own`: what is ours alone. `fault`: a kernel's fault behind a host function. `exit`: the program ends while a host function waits.
int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  alarm(kMostSeconds);
  waits_for_what_its_enqueuer_does_later();
  sees_what_is_before_it();
  are_called_in_the_order_of_their_stream();
  leave_other_streams_alone();
  events_behind_one_are_not_done();
  order_the_default_stream();
  callbacks_get_the_status();
  graphs_with_one_run_beside();
  graphs_record_events_behind_one();
  pageable_copies_and_pools_stay_in_order();
  mistakes_are_told_at_once();
  many_threads_have_their_own();
  if (what == "own") are_as_free_as_they_may_be();
  if (what == "fault") fault();
  if (what == "exit") {
    static Door door;
    door.put_into(nullptr);
    add<<<1, 1>>>(nullptr, 1);  // never reached
  }
  return g_failures;
}
