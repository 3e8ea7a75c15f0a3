// What the clock of a timed run relies on: a plain kernel behind programmatic launches begins after the work
// has ended. The stamp (driver/timing_kernels.cu, warpgrade_end) is such a kernel behind the join of all
// streams. Here kernels let their dependents start at once and work on for 200 us; empty kernels behind them
// are launched programmatically and do not wait; then comes the stamp. The CUDA Programming Guide promises no
// more than the order of a stream (section "Programmatic Dependent Launch and Synchronization"), so each
// architecture is tried. So are kernels that only launch the work, in each of the device's streams: a grid has
// ended when its children have (section "Dynamic Parallelism").
//   nvcc -std=c++17 -arch=native -rdc=true end_of_work.cu && ./a.out        exit code 0: always; 1: the stamp
//   came early
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRuns = 300, kWorkUs = 200;

struct Stamps {
  unsigned long long last_end, stamp;
  unsigned done, seen;
};

__device__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

__global__ void work(Stamps* stamps) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  const unsigned long long begin = now();
  while (now() - begin < kWorkUs * 1000ull) {
  }
  if (threadIdx.x != 0) return;
  atomicMax(&stamps->last_end, now());
  __threadfence();
  atomicAdd(&stamps->done, 1);
}

// The device's streams; `chain`: each of eight kernels is the tail of the one before it, and has a child.
enum class Children { none, plain, forgotten, tail, chain };

__global__ void parent(Stamps* stamps, int blocks, Children children, int generation) {
  const cudaStream_t stream = children == Children::plain  ? nullptr
                              : children == Children::tail ? cudaStreamTailLaunch
                                                           : cudaStreamFireAndForget;
  if (children != Children::chain || generation == 1) {
    work<<<blocks, 128, 0, stream>>>(stamps);
    return;
  }
  work<<<blocks / 8, 128, 0, stream>>>(stamps);
  const int rest = blocks - blocks / 8;
  parent<<<1, 1, 0, cudaStreamTailLaunch>>>(stamps, rest, children, generation - 1);
}

__global__ void empty() {}

__global__ void stamp(Stamps* stamps) {
  stamps->stamp = now();
  stamps->seen = *reinterpret_cast<volatile unsigned*>(&stamps->done);
}

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(2);
}

struct Way {
  const char* name;
  int blocks, empties, streams;
  bool programmatic, graph;
  Children children = Children::none;
};

void enqueue(const Way& way, Stamps* stamps, cudaStream_t stream) {
  if (way.children != Children::none)
    parent<<<1, 1, 0, stream>>>(stamps, way.blocks, way.children, 8);
  else
    work<<<way.blocks, 128, 0, stream>>>(stamps);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(32);
  launch.stream = stream;
  launch.attrs = &attribute;
  launch.numAttrs = way.programmatic ? 1 : 0;
  for (int k = 0; k < way.empties; ++k) check(cudaLaunchKernelEx(&launch, empty), "launching");
}

cudaGraphExec_t graph_of(const Way& way, Stamps* stamps, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capturing");
  enqueue(way, stamps, stream);
  check(cudaStreamEndCapture(stream, &graph), "capturing");
  check(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  return executable;
}

// The stamp lies behind the events of all streams, as TimingGate::finish puts it.
void run_once(const Way& way, Stamps* stamps, cudaStream_t* streams, cudaGraphExec_t* graphs,
              cudaStream_t own, cudaEvent_t join) {
  for (int s = 0; s < way.streams; ++s) {
    if (way.graph)
      check(cudaGraphLaunch(graphs[s], streams[s]), "cudaGraphLaunch");
    else
      enqueue(way, stamps, streams[s]);
    check(cudaEventRecord(join, streams[s]), "cudaEventRecord");
    check(cudaStreamWaitEvent(own, join, 0), "cudaStreamWaitEvent");
  }
  stamp<<<1, 1, 0, own>>>(stamps);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

int early_stamps(const Way& way, Stamps* stamps, cudaStream_t* streams, cudaStream_t own, cudaEvent_t join) {
  cudaGraphExec_t graphs[4] = {};
  for (int s = 0; way.graph && s < way.streams; ++s) graphs[s] = graph_of(way, stamps, streams[s]);
  int early = 0;
  double least_ns = 1e12;
  for (int run = 0; run < kRuns; ++run) {
    check(cudaMemset(stamps, 0, sizeof *stamps), "cudaMemset");
    run_once(way, stamps, streams, graphs, own, join);
    Stamps seen;
    check(cudaMemcpy(&seen, stamps, sizeof seen, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const unsigned all = static_cast<unsigned>(way.blocks * way.streams);
    early += seen.seen != all || seen.stamp < seen.last_end ? 1 : 0;
    const double gap_ns = static_cast<double>(seen.stamp) - static_cast<double>(seen.last_end);
    least_ns = gap_ns < least_ns ? gap_ns : least_ns;
  }
  for (int s = 0; way.graph && s < way.streams; ++s) cudaGraphExecDestroy(graphs[s]);
  std::printf("%-44s the stamp came early in %d of %d runs; least %.0f ns behind the work\n", way.name, early,
              kRuns, least_ns);
  return early;
}

}  // namespace

int main() {
  constexpr Way kWays[] = {{"plain launches", 64, 1, 1, false, false},
                           {"programmatic", 64, 1, 1, true, false},
                           {"programmatic, eight empty kernels", 64, 8, 1, true, false},
                           {"programmatic, all multiprocessors", 2048, 1, 1, true, false},
                           {"programmatic in a graph", 64, 1, 1, true, true},
                           {"programmatic in a graph, eight empty kernels", 64, 8, 1, true, true},
                           {"programmatic in four streams", 16, 2, 4, true, false},
                           {"programmatic in four streams' graphs", 16, 2, 4, true, true},
                           {"children", 64, 1, 1, false, false, Children::plain},
                           {"children that nobody waits for", 64, 1, 1, false, false, Children::forgotten},
                           {"a tail", 64, 1, 1, false, false, Children::tail},
                           {"tails with children", 64, 1, 1, false, false, Children::chain},
                           {"tails with children in four streams", 64, 1, 4, false, false, Children::chain},
                           {"tails with children, programmatic", 64, 8, 1, true, false, Children::chain}};
  Stamps* stamps;
  check(cudaMalloc(&stamps, sizeof *stamps), "cudaMalloc");
  cudaStream_t streams[4], own;
  for (cudaStream_t& stream : streams)
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  check(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), "a stream");
  cudaEvent_t join;
  check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "an event");
  cudaDeviceProp device;
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  std::printf("%s, sm_%d%d\n", device.name, device.major, device.minor);
  int early = 0;
  for (const Way& way : kWays) {
    if (way.programmatic && device.major < 9) continue;  // there are no such launches
    early += early_stamps(way, stamps, streams, own, join);
  }
  return early == 0 ? 0 : 1;
}
