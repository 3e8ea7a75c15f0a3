// Every way to write an output, one a case: `n % 100` says which. test_who_wrote.py knows who writes in each.
#include <cstdlib>
#include <vector>

#include "warpgrade/vector_add.h"

namespace {

constexpr int kThreads = 256;

__global__ void nothing() {}
__global__ void nothing_of(float*) {}
__global__ void add(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void add_to(const float* b, int n, float* c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) c[i] += b[i];
}
__global__ void add_atomically(const float* a, const float* b, int n, float* c) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < n) atomicAdd(c + i, a[i] + b[i]);
}

struct Job {
  const float *a, *b;
  int n;
  float* c;
  cudaStream_t stream;
  size_t bytes() const { return n * sizeof(float); }
  int blocks() const { return (n + kThreads - 1) / kThreads; }
  std::vector<float> down(const float* from) const {
    std::vector<float> host(n);
    cudaMemcpyAsync(host.data(), from, bytes(), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    return host;
  }
  std::vector<float> answer() const {
    std::vector<float> sum = down(a);
    const std::vector<float> other = down(b);
    for (int i = 0; i < n; ++i) sum[i] += other[i];
    return sum;
  }
  void up(float* to, const std::vector<float>& from) const {
    cudaMemcpyAsync(to, from.data(), bytes(), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
  }
  void compute(float* to) const { add<<<blocks(), kThreads, 0, stream>>>(a, b, n, to); }
  // Fills memory of the host's and copies from there.
  void fill(float* host) const {
    const std::vector<float> sum = answer();
    for (int i = 0; i < n; ++i) host[i] = sum[i];
  }
  void copy(float* to, const float* from) const {
    cudaMemcpyAsync(to, from, bytes(), cudaMemcpyDefault, stream);
    cudaStreamSynchronize(stream);
  }
};

float* device_memory(const Job& job) {
  float* memory = nullptr;
  cudaMalloc(&memory, job.bytes());
  return memory;
}

// Rows of 4 cells, and the rest by another copy.
void copy_rows(const Job& job, const float* from, bool is_box) {
  const size_t row = 4 * sizeof(float), rows = job.n / 4;
  if (is_box) {
    cudaMemcpy3DParms box = {};
    box.srcPtr = make_cudaPitchedPtr(const_cast<float*>(from), row, row, rows);
    box.dstPtr = make_cudaPitchedPtr(job.c, row, row, rows);
    box.extent = make_cudaExtent(row, rows, 1);
    box.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3DAsync(&box, job.stream);
  } else {
    cudaMemcpy2DAsync(job.c, row, from, row, row, rows, cudaMemcpyHostToDevice, job.stream);
  }
  const size_t done = 4 * rows;
  if (done < static_cast<size_t>(job.n))
    cudaMemcpyAsync(job.c + done, from + done, job.bytes() - done * sizeof(float), cudaMemcpyHostToDevice,
                    job.stream);
  cudaStreamSynchronize(job.stream);
}

void launch_graph_of_a_copy(const Job& job, const float* pinned, bool kernel_behind) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(job.stream, cudaStreamCaptureModeGlobal);
  cudaMemcpyAsync(job.c, pinned, job.bytes(), cudaMemcpyHostToDevice, job.stream);
  if (kernel_behind) nothing_of<<<1, 1, 0, job.stream>>>(job.c);
  cudaStreamEndCapture(job.stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, job.stream);
  cudaStreamSynchronize(job.stream);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

void by_the_host(const Job& job, int way) {
  float* memory = nullptr;
  switch (way) {
    case 1:  // plain
      return job.up(job.c, job.answer());
    case 2:  // from pinned memory
      cudaMallocHost(&memory, job.bytes());
      job.fill(memory);
      job.copy(job.c, memory);
      cudaFreeHost(memory);
      return;
    case 3: {  // from registered memory
      std::vector<float> own(job.n + 4096);
      cudaHostRegister(own.data(), job.bytes(), cudaHostRegisterDefault);
      job.fill(own.data());
      job.copy(job.c, own.data());
      cudaHostUnregister(own.data());
      return;
    }
    case 4:  // from managed memory
      cudaMallocManaged(&memory, job.bytes());
      job.fill(memory);
      job.copy(job.c, memory);
      cudaFree(memory);
      return;
    case 5:  // rows
    case 6: {
      const std::vector<float> sum = job.answer();
      return copy_rows(job, sum.data(), way == 6);
    }
    case 7:  // rows of pinned memory
      cudaMallocHost(&memory, job.bytes());
      job.fill(memory);
      copy_rows(job, memory, false);
      cudaFreeHost(memory);
      return;
    case 8:  // by way of other device memory
    case 9:  // and a kernel between, that has nothing to do with it
      memory = device_memory(job);
      job.up(memory, job.answer());
      if (way == 9) nothing<<<1, 1, 0, job.stream>>>();
      job.copy(job.c, memory);
      cudaFree(memory);
      return;
    case 10:  // in a graph
    case 11:
      cudaMallocHost(&memory, job.bytes());
      job.fill(memory);
      launch_graph_of_a_copy(job, memory, way == 11);
      cudaFreeHost(memory);
      return;
    case 12:  // kernels around that do nothing
      nothing<<<1, 1, 0, job.stream>>>();
      job.up(job.c, job.answer());
      nothing<<<1, 1, 0, job.stream>>>();
      return;
    case 13:  // and are given the output
      nothing_of<<<1, 1, 0, job.stream>>>(job.c);
      job.up(job.c, job.answer());
      nothing_of<<<1, 1, 0, job.stream>>>(job.c);
      return;
    default:  // a kernel computes it, and the host overwrites it with the same
      job.compute(job.c);
      return job.up(job.c, job.answer());
  }
}

void by_kernels(const Job& job, int way) {
  float* memory = nullptr;
  switch (way) {
    case 51:
      return job.compute(job.c);
    case 52:  // zeros come from the host
      job.up(job.c, std::vector<float>(job.n));
      add_atomically<<<job.blocks(), kThreads, 0, job.stream>>>(job.a, job.b, job.n, job.c);
      return;
    case 53: {  // a few cells come from the host
      const std::vector<float> sum = job.answer();
      job.compute(job.c);
      cudaMemcpyAsync(job.c, sum.data(), 4 * sizeof(float), cudaMemcpyHostToDevice, job.stream);
      cudaStreamSynchronize(job.stream);
      return;
    }
    case 54:  // the kernel writes what the host has written, again
      job.up(job.c, job.answer());
      return job.compute(job.c);
    case 55:  // the host gives a start value
      job.up(job.c, job.down(job.a));
      add_to<<<job.blocks(), kThreads, 0, job.stream>>>(job.b, job.n, job.c);
      return;
    case 56:  // a kernel writes memory of the host's, which is copied
    case 57:
      way == 56 ? cudaMallocHost(&memory, job.bytes()) : cudaMallocManaged(&memory, job.bytes());
      job.compute(memory);
      job.copy(job.c, memory);
      way == 56 ? cudaFreeHost(memory) : cudaFree(memory);
      return;
    case 58:  // in other device memory, with a start value of the host's
      memory = device_memory(job);
      job.up(memory, job.down(job.a));
      add_to<<<job.blocks(), kThreads, 0, job.stream>>>(job.b, job.n, memory);
      job.copy(job.c, memory);
      cudaFree(memory);
      return;
    default:
      cudaMemsetAsync(job.c, 0, job.bytes(), job.stream);
      add_atomically<<<job.blocks(), kThreads, 0, job.stream>>>(job.a, job.b, job.n, job.c);
  }
}

}  // namespace

cudaError_t vector_add_run(const float* a, const float* b, int n, float* c, cudaStream_t stream) {
  const Job job{a, b, n, c, stream};
  const int way = n % 100;
  way < 50 ? by_the_host(job, way) : by_kernels(job, way);
  return cudaGetLastError();
}
