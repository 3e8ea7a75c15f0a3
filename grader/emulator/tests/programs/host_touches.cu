// The host's code and commands that run beside it: memory of both sides that is touched before anything has waited
// for the copy or the kernel that uses it, and the same where it has waited. The CUDA programming guide says so of
// asynchronous copies ("Asynchronous Concurrent Execution") and of managed memory ("Data Migration and Coherency",
// "GPU Exclusive Access to Managed Memory").
//
// The host's line carries TOUCH with the program's name.
#include <cstring>
#include <map>
#include <string>

#include "check.h"

#define OK(call) CHECK_CUDA(call)

namespace {

constexpr int kCount = 4096, kBytes = kCount * int(sizeof(int));

__global__ void fill(int* x, int value, int begin = 0, int end = kCount) {
  const int i = begin + int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < end) x[i] = value + i;
}
__global__ void twice(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 2 * x[i];
}
__global__ void answer(int* data, volatile int* flag) {
  data[0] = 42;
  __threadfence_system();
  *flag = 1;
}
#define GRID kCount / 256, 256, 0

struct Memory {
  int *device, *pinned, *managed, *other;
  cudaStream_t a, b;
  int sum = 0;
  Memory() {
    OK(cudaMalloc(&device, kBytes));
    OK(cudaMallocHost(&pinned, kBytes));
    OK(cudaMallocManaged(&managed, kBytes));
    OK(cudaMallocManaged(&other, kBytes));
    std::memset(pinned, 0, kBytes);
    std::memset(managed, 0, kBytes);
    OK(cudaMemset(device, 0, kBytes));
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    OK(cudaDeviceSynchronize());
  }
  ~Memory() {
    OK(cudaDeviceSynchronize());
    OK(cudaFree(device));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    OK(cudaFree(other));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
  }
};

// --- In two forms. ---

void copy_read_too_early(Memory& m, bool wrong) {
  OK(cudaMemcpyAsync(m.pinned, m.device, kBytes, cudaMemcpyDeviceToHost, m.a));
  if (!wrong) OK(cudaStreamSynchronize(m.a));
  m.sum += m.pinned[7];  // TOUCH copy_read_too_early
}
void copy_overwritten(Memory& m, bool wrong) {
  OK(cudaMemcpyAsync(m.pinned, m.device, kBytes, cudaMemcpyDeviceToHost, m.a));
  if (!wrong) OK(cudaStreamSynchronize(m.a));
  m.pinned[kCount - 1] = 3;  // TOUCH copy_overwritten
}
void another_stream_is_waited_for(Memory& m, bool wrong) {
  OK(cudaMemcpyAsync(m.pinned, m.device, kBytes / 2, cudaMemcpyDeviceToHost, m.a));
  OK(cudaMemcpyAsync(m.pinned + kCount / 2, m.device, kBytes / 2, cudaMemcpyDeviceToHost, m.b));
  OK(cudaStreamSynchronize(m.b));
  if (!wrong) OK(cudaStreamSynchronize(m.a));
  fill<<<GRID, m.b>>>(m.device, 1, kCount, kCount);
  OK(cudaMemcpyAsync(m.pinned + kCount / 2, m.device, 4, cudaMemcpyDeviceToHost, m.a));
  m.sum += m.pinned[kCount / 2 + (wrong ? 0 : 1)];  // TOUCH another_stream_is_waited_for
}
void managed_memory_read(Memory& m, bool wrong) {
  fill<<<GRID>>>(m.managed, 5);
  if (!wrong) OK(cudaDeviceSynchronize());
  m.sum += m.managed[1000];  // TOUCH managed_memory_read
}
void managed_memory_changed(Memory& m, bool wrong) {
  twice<<<GRID, m.a>>>(m.managed, m.device);
  if (!wrong) OK(cudaStreamSynchronize(m.a));
  m.managed[0] = 1;  // TOUCH managed_memory_changed
}
void kernel_writes_pinned_memory(Memory& m, bool wrong) {
  fill<<<GRID, m.a>>>(m.pinned, 5);
  if (!wrong) OK(cudaStreamSynchronize(m.a));
  std::memset(m.pinned, 0, 64);  // TOUCH kernel_writes_pinned_memory
}

// --- Right as they are. ---

// Each side its own half.
void halves(Memory& m, bool) {
  fill<<<GRID>>>(m.managed, 5, 0, kCount / 2);
  for (int i = kCount / 2; i < kCount; ++i) m.managed[i] = i;
}
void both_read(Memory& m, bool) {
  twice<<<GRID>>>(m.managed, m.device);
  for (int i = 0; i < kCount; ++i) m.sum += m.managed[i];
}
void other_memory(Memory& m, bool) {
  fill<<<GRID>>>(m.managed, 5);
  for (int i = 0; i < kCount; ++i) m.other[i] = i;
  OK(cudaDeviceSynchronize());
  m.sum += m.managed[3];
}
// The kernel says by a flag that its data is there.
void told_by_a_flag(Memory& m, bool) {
  answer<<<1, 1>>>(m.managed, m.other);
  while (*const_cast<volatile int*>(m.other) == 0) {
  }
  m.sum += m.managed[0];
}
void waited_for_by_a_copy(Memory& m, bool) {
  fill<<<GRID>>>(m.managed, 5);
  OK(cudaMemcpy(&m.sum, m.device, sizeof m.sum, cudaMemcpyDeviceToHost));
  m.sum += m.managed[3];
}

struct Program {
  void (*run)(Memory&, bool wrong);
  const char* forms;
};
const std::map<std::string, Program> programs{
    {"copy_read_too_early", {copy_read_too_early, "both"}},
    {"copy_overwritten", {copy_overwritten, "both"}},
    {"another_stream_is_waited_for", {another_stream_is_waited_for, "both"}},
    {"managed_memory_read", {managed_memory_read, "both"}},
    {"managed_memory_changed", {managed_memory_changed, "both"}},
    {"kernel_writes_pinned_memory", {kernel_writes_pinned_memory, "both"}},
    {"halves", {halves, "right"}},
    {"both_read", {both_read, "right"}},
    {"other_memory", {other_memory, "right"}},
    {"told_by_a_flag", {told_by_a_flag, "right"}},
    {"waited_for_by_a_copy", {waited_for_by_a_copy, "right"}},
};

}  // namespace

// Without arguments: the names of the programs, with `both` where there are two forms.
int main(int argc, char** argv) {
  if (argc < 3) {
    for (const auto& [name, program] : programs) std::printf("%s %s\n", name.c_str(), program.forms);
    return 0;
  }
  Memory memory;
  programs.at(argv[1]).run(memory, std::strcmp(argv[2], "wrong") == 0);
  OK(cudaDeviceSynchronize());
  return memory.sum == -1;
}
