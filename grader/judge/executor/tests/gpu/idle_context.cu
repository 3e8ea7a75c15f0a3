// How long it takes to know that a context is idle, behind a stream that has ended. Four ways: a wait for the
// context, the same wait once more, a question to each stream, an event of the whole context (TimingGate).
// Idle streams and lines that kernels print must not count as the work. Medians of 60 runs, in us.
//   nvcc -std=c++17 -arch=native idle_context.cu -lcuda && ./a.out
#include <cuda.h>
#include <cuda_runtime.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

using Series = std::vector<double>;
constexpr int kTurns = 60;

double now_us() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e6 * t.tv_sec + 1e-3 * t.tv_nsec;
}

double median(Series all) {
  std::sort(all.begin(), all.end());
  return all.empty() ? -1 : all[all.size() / 2];
}

__global__ void spin(unsigned long long ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < ns);
}

__global__ void print(int lines) {
  if (int(threadIdx.x + blockIdx.x * blockDim.x) < lines) printf("line %d\n", threadIdx.x);
}

void work(const std::vector<cudaStream_t>& streams, int busy, int lines) {
  for (int k = 0; k < busy; ++k) spin<<<1, 1, 0, streams[k]>>>(busy > 1 ? 20000 : 100000);
  if (lines > 0) print<<<20, 100, 0, streams[0]>>>(lines);
}

void wait_for(cudaStream_t stream) {
  while (cudaStreamQuery(stream) == cudaErrorNotReady) {
  }
}

void measure(const std::vector<cudaStream_t>& streams, int busy, int lines, CUcontext context,
             cudaEvent_t event) {
  Series first, again, asked, recorded, by_event;
  for (int turn = 0; turn < kTurns; ++turn) {
    work(streams, busy, lines);
    wait_for(streams[0]);
    const double begin = now_us();
    cuCtxSynchronize();
    const double idle = now_us();
    cuCtxSynchronize();
    const double twice = now_us();
    for (cudaStream_t stream : streams) cudaStreamQuery(stream);
    first.push_back(idle - begin), again.push_back(twice - idle), asked.push_back(now_us() - twice);
    work(streams, busy, lines);
    const double before = now_us();
    if (cuCtxRecordEvent(context, event) != CUDA_SUCCESS) continue;
    recorded.push_back(now_us() - before);
    wait_for(streams[0]);
    const double ended = now_us();
    while (cudaEventQuery(event) == cudaErrorNotReady) {
    }
    by_event.push_back(now_us() - ended);
    cuCtxSynchronize();
  }
  fprintf(stderr,
          "streams %4d busy %4d lines %4d: ctx sync behind query %7.2f, again %6.2f, all queried %6.2f; ctx "
          "event: record %6.2f, behind the query %6.2f\n",
          int(streams.size()), busy, lines, median(first), median(again), median(asked), median(recorded),
          median(by_event));
}

}  // namespace

int main() {
  cudaFree(nullptr);
  CUcontext context = nullptr;
  cuCtxGetCurrent(&context);
  cudaEvent_t event;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  std::vector<cudaStream_t> streams;
  for (const size_t count : {1, 8, 32, 128, 1000}) {
    while (streams.size() < count) cudaStreamCreateWithFlags(&streams.emplace_back(), cudaStreamNonBlocking);
    for (const int lines : {0, 1, 2000}) measure(streams, 1, lines, context, event);
    if (count > 1) measure(streams, int(count), 0, context, event);
  }
}
