// The kernels of a timed run: those that overwrite what an earlier run may have left on the device, the gate
// that holds everything back, and the one that reads the clock at the end.
#include <cstdint>

namespace {

__device__ uint64_t now() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
  return t;
}

}  // namespace

// Shared with timed_run.cpp (TimingPage): memory of the host.
struct Page {
  volatile uint32_t opened;  // the host: number of the gate that may open
  volatile uint64_t start;   // the gate: the clock's value at which it ends
  volatile uint64_t end;     // the last kernel: the clock when all else had ended
};

// Fills every thread slot of the device (the launch says how many blocks), so that no other kernel starts.
// Block 0 waits for the host, then decides on a start that lies `ahead` ns in the future and tells the host,
// who copies it before anything else can run. All blocks end at that value of the clock.
extern "C" __global__ void __launch_bounds__(1024)
    warpgrade_gate(Page* page, volatile uint64_t* start, uint32_t number, uint64_t ahead, uint64_t limit) {
  if (threadIdx.x == 0) {
    if (blockIdx.x == 0) {
      const uint64_t begin = now();
      while (page->opened != number && now() - begin <= limit) {
      }
      const uint64_t t = now() + ahead;
      *start = t;
      __threadfence();
      page->start = t;
      __threadfence_system();
    }
    uint64_t t;
    while ((t = *start) == 0) {
#if __CUDA_ARCH__ >= 700  // Pascal cannot sleep and asks on
      __nanosleep(50);
#endif
    }
    while (now() < t) {
    }
  }
  __syncthreads();
}

extern "C" __global__ void warpgrade_end(Page* page) {
  page->end = now();
  __threadfence_system();
}

// The smallest step of the clock, in ns.
extern "C" __global__ void warpgrade_clock_step(uint64_t* step) {
  uint64_t least = ~uint64_t{0}, before = now();
  for (int k = 0; k < 20000; ++k) {
    const uint64_t t = now();
    if (t != before && t - before < least) least = t - before;
    before = t;
  }
  *step = least;
}

// Reads what was just written: after a flush that only writes, the next kernel pays for the write-backs.
extern "C" __global__ void warpgrade_read(const uint32_t* words, uint64_t count, uint32_t* sink) {
  const uint64_t stride = uint64_t{gridDim.x} * blockDim.x;
  uint32_t sum = 0;
  for (uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) sum += words[i];
  if (sum == 0x12345678) *sink = sum;
}

// Overwrites the shared memory of all multiprocessors, and most of their registers. The launch gives each
// block so much shared memory that a multiprocessor is full; all blocks wait for each other, so that each
// multiprocessor has its own. `arrived` is 0 before; after `limit` ns they end in any case.
extern "C" __global__ void __launch_bounds__(1024, 1)
    warpgrade_wipe(uint32_t* arrived, uint32_t bytes, uint32_t value, uint64_t limit) {
  extern __shared__ volatile uint32_t words[];
  for (uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = value;
  // Read before the barrier and written behind it: there are so many registers at once.
  constexpr int kRegisters = 56;
  uint32_t registers[kRegisters];
#pragma unroll
  for (int k = 0; k < kRegisters; ++k) registers[k] = words[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kRegisters; ++k) words[k] = registers[k];
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    const uint64_t begin = now();
    while (*reinterpret_cast<volatile uint32_t*>(arrived) < gridDim.x && now() - begin < limit) {
    }
  }
}

// For calibration: works for a given time.
extern "C" __global__ void warpgrade_spin(uint64_t ns) {
  const uint64_t begin = now();
  while (now() - begin < ns) {
  }
}
