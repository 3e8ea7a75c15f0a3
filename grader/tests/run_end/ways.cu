// Every way to leave work behind a run, or to order it before the run's end, one a case: `n % 100` says which.
// test_run_end.py knows which are left. What orders them is what NVIDIA documents: "Stream synchronization
// behavior" and "API synchronization behavior" of the runtime API.
#include <thread>

#include "warpgrade/vector_add.h"

namespace {

constexpr int kThreads = 256;

__global__ void add(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void nothing() {}

struct Job {
  const float *a, *b;
  int n;
  float* c;
  cudaStream_t stream;
  void compute(cudaStream_t in) const { add<<<(n + kThreads - 1) / kThreads, kThreads, 0, in>>>(a, b, n, c); }
};

// Streams and events live as long as the program.
cudaStream_t own() {
  static cudaStream_t stream = [] {
    cudaStream_t made;
    cudaStreamCreate(&made);
    return made;
  }();
  return stream;
}
cudaStream_t free_stream() {
  static cudaStream_t stream = [] {
    cudaStream_t made;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}
cudaEvent_t event() {
  static cudaEvent_t made = [] {
    cudaEvent_t event;
    cudaEventCreate(&event);
    return event;
  }();
  return made;
}
void order(cudaStream_t first, cudaStream_t second) {
  cudaEventRecord(event(), first);
  cudaStreamWaitEvent(second, event());
}
float* scratch(size_t bytes) {
  float* memory;
  cudaMalloc(&memory, bytes);
  return memory;
}

// Launches it as a graph in `in`.
void as_graph(const Job& job, cudaStream_t in) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  cudaStreamBeginCapture(free_stream(), cudaStreamCaptureModeThreadLocal);
  job.compute(free_stream());
  cudaStreamEndCapture(free_stream(), &graph);
  cudaGraphInstantiate(&ready, graph, nullptr, nullptr, 0);
  cudaGraphLaunch(ready, in);
}

void leave(const Job& job, int way) {
  static float* memory = scratch(4096 * sizeof(float));
  const size_t bytes = job.n * sizeof(float);
  switch (way) {
    case 1:
      return job.compute(own());
    case 2:
      return job.compute(free_stream());
    case 3:  // the event comes before the work
      order(own(), job.stream);
      return job.compute(own());
    case 4:  // the event is another stream's
      job.compute(own());
      return order(free_stream(), job.stream);
    case 5:  // a copy behind the kernel
      job.compute(job.stream);
      order(job.stream, own());
      cudaMemcpyAsync(memory, job.c, bytes, cudaMemcpyDeviceToDevice, own());
      cudaMemcpyAsync(job.c, memory, bytes, cudaMemcpyDeviceToDevice, own());
      return;
    case 6:  // work on memory of the program's own is left as well
      job.compute(job.stream);
      cudaMemsetAsync(memory, 0, bytes, own());
      return;
    case 7:
      return as_graph(job, own());
    case 8: {  // the work goes on when its stream is destroyed
      cudaStream_t made;
      cudaStreamCreate(&made);
      job.compute(made);
      cudaStreamDestroy(made);
      return;
    }
    case 9:
      return job.compute(cudaStreamPerThread);
    default:  // a non-blocking stream does not wait for the default one, nor that for it
      job.compute(free_stream());
      nothing<<<1, 1>>>();
  }
}

void finish(const Job& job, int way) {
  switch (way) {
    case 51:
      return job.compute(job.stream);
    case 52:
      job.compute(own());
      return order(own(), job.stream);
    case 53:
      job.compute(free_stream());
      cudaStreamSynchronize(free_stream());
      return;
    case 54:  // `stream` waits for the default stream
      return job.compute(nullptr);
    case 55:  // which waits for blocking ones
      job.compute(own());
      nothing<<<1, 1>>>();
      return;
    case 56:
      job.compute(free_stream());
      cudaDeviceSynchronize();
      return;
    case 57:
      job.compute(free_stream());
      cudaEventRecord(event(), free_stream());
      cudaEventSynchronize(event());
      return;
    case 58:
      job.compute(free_stream());
      while (cudaStreamQuery(free_stream()) == cudaErrorNotReady) {
      }
      return;
    case 59:
      return as_graph(job, job.stream);
    case 60: {  // cudaFree waits for the device
      float* memory = scratch(4096);
      job.compute(free_stream());
      cudaFree(memory);
      return;
    }
    case 61: {  // a copy to the host ends with the call, and waits for blocking streams
      float first;
      job.compute(own());
      cudaMemcpy(&first, job.c, sizeof first, cudaMemcpyDeviceToHost);
      return;
    }
    default:  // another thread waits
      std::thread([&] {
        job.compute(free_stream());
        cudaStreamSynchronize(free_stream());
      }).join();
  }
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  const Job job{a, b, n, c, stream};
  const int way = n % 100;
  way < 50 ? leave(job, way) : finish(job, way);
  return cudaGetLastError();
}
