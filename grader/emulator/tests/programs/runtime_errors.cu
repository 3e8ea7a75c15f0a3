// What the runtime returns for calls that are wrong, and what it remembers of them. An argument names a fault
// that ends the process's use of the device; it prints the error that every later call returns.
#include <cassert>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // of calls that old programs make
#include "check.h"

__global__ void fill(int* out, int n, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}
__global__ void store_misaligned(char* out) {
  *reinterpret_cast<int*>(out + 2) = 1;
}
__global__ void fail_assertion(const int* in) {
  assert(in[threadIdx.x] == 12345);
}
__global__ void trap() {
  __trap();
}
__global__ void spin(volatile int* flag) {
  while (*flag == 0) {
  }
}

__device__ int g_table[64];
__constant__ float g_weights[16];
__managed__ int g_shared_counter = 5;

// Every code that the toolkit's header defines has a name, a text and both differ from those of no code.
void names_and_texts() {
  const char* none = cudaGetErrorName(static_cast<cudaError_t>(12345));
  expect(!std::strcmp(none, "unrecognized error code"), "no such error");
  const cudaError_t some[] = {cudaErrorInvalidDevicePointer, cudaErrorPeerAccessNotEnabled,
                              cudaErrorECCUncorrectable, cudaErrorStreamCaptureIsolation,
                              cudaErrorGraphExecUpdateFailure};
  for (const cudaError_t e : some)
    expect(std::strcmp(cudaGetErrorName(e), none) != 0, "every error has a name");
  expect(!std::strcmp(cudaGetErrorName(cudaErrorStreamCaptureMerge), "cudaErrorStreamCaptureMerge"),
         "its own");
  expect(!std::strcmp(
             cudaGetErrorString(cudaErrorGraphExecUpdateFailure),
             "the graph update was not performed because it included changes which violated constraints "
             "specific to instantiated graph update"),
         "and its text");
}

void last_error_is_remembered() {
  void* p;
  expect(cudaMalloc(&p, size_t(1) << 60) == cudaErrorMemoryAllocation, "out of memory");
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "successful calls do not clear it");
  expect(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess,
         "reading it does");
}

void wrong_pointers() {
  int *device, *pinned, on_stack = 0;
  void* mapped;
  CHECK_CUDA(cudaMalloc(&device, 256));
  CHECK_CUDA(cudaMallocHost(&pinned, 256));
  expect(cudaFreeHost(device) == cudaErrorInvalidValue, "cudaFreeHost of device memory");
  expect(cudaFree(&on_stack) == cudaErrorInvalidValue, "cudaFree of host memory");
  expect(cudaHostGetDevicePointer(&mapped, &on_stack, 0) == cudaErrorInvalidValue,
         "memory that is not mapped");
  CHECK_CUDA(cudaHostGetDevicePointer(&mapped, pinned, 0));
  expect(mapped == pinned, "unified addresses");
  expect(cudaHostUnregister(&on_stack) == cudaErrorHostMemoryNotRegistered, "memory that is not registered");
  CHECK_CUDA(cudaMallocManaged(&mapped, 0));
  expect(mapped == nullptr, "managed memory of size 0 is no memory");
  CHECK_CUDA(cudaMalloc(&mapped, 0));
  expect(mapped == nullptr, "but device memory");
  CHECK_CUDA(cudaFree(nullptr));
  CHECK_CUDA(cudaFreeHost(nullptr));
  cudaGetLastError();
  CHECK_CUDA(cudaFree(device));
  CHECK_CUDA(cudaFreeHost(pinned));
}

void wrong_handles() {
  cudaStream_t stream;
  cudaEvent_t event, untimed;
  float ms;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaEventCreate(&event));
  CHECK_CUDA(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  CHECK_CUDA(cudaEventQuery(event));  // never recorded: done
  CHECK_CUDA(cudaEventSynchronize(event));
  CHECK_CUDA(cudaStreamWaitEvent(stream, event, 0));
  CHECK_CUDA(cudaEventRecord(event, stream));
  CHECK_CUDA(cudaEventRecord(untimed, stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  expect(cudaEventElapsedTime(&ms, event, untimed) == cudaErrorInvalidResourceHandle,
         "an event without times");
  expect(cudaStreamCreateWithFlags(&stream, 0xff) == cudaErrorInvalidValue, "unknown flags");
  expect(cudaEventDestroy(nullptr) == cudaErrorInvalidResourceHandle, "no event");
  expect(cudaStreamDestroy(nullptr) == cudaErrorInvalidResourceHandle, "the default stream is not destroyed");
  cudaGetLastError();
  CHECK_CUDA(cudaEventDestroy(event));
  CHECK_CUDA(cudaEventDestroy(untimed));
  CHECK_CUDA(cudaStreamDestroy(stream));
}

void symbols() {
  int host[64], back[64] = {};
  void* address;
  size_t bytes;
  for (int k = 0; k < 64; ++k) host[k] = k * k;
  CHECK_CUDA(cudaMemcpyToSymbol(g_table, host, sizeof host));
  CHECK_CUDA(cudaMemcpyFromSymbol(back, g_table, 8 * sizeof(int), 4 * sizeof(int)));
  expect(back[0] == 16 && back[7] == 121, "copies at an offset in a symbol");
  expect(cudaMemcpyToSymbol(g_table, host, sizeof host, 4) == cudaErrorInvalidValue, "beyond a symbol");
  expect(cudaGetSymbolAddress(&address, host) == cudaErrorInvalidSymbol, "no symbol");
  cudaGetLastError();
  CHECK_CUDA(cudaGetSymbolSize(&bytes, g_weights));
  expect(bytes == 64, "the size of a constant");
  CHECK_CUDA(cudaGetSymbolAddress(&address, g_table));
  fill<<<1, 64>>>(static_cast<int*>(address), 64, 3);
  CHECK_CUDA(cudaMemcpyFromSymbol(back, g_table, sizeof back));
  expect(back[63] == 3, "a symbol's address");
  g_shared_counter += 1;
  CHECK_CUDA(cudaGetSymbolAddress(&address, g_shared_counter));
  fill<<<1, 1>>>(static_cast<int*>(address), 1, 41);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(g_shared_counter == 41, "a __managed__ variable");
}

void volumes() {
  cudaPitchedPtr volume;
  const cudaExtent extent = make_cudaExtent(10 * sizeof(int), 6, 4);
  CHECK_CUDA(cudaMalloc3D(&volume, extent));
  CHECK_CUDA(cudaMemset3D(volume, 0, extent));
  std::vector<int> host(10 * 6 * 4), back(3 * 2 * 2);
  for (size_t k = 0; k < host.size(); ++k) host[k] = int(k);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(host.data(), 10 * sizeof(int), 10, 6);
  copy.dstPtr = volume;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK_CUDA(cudaMemcpy3D(&copy));
  cudaMemcpy3DParms part{};
  part.srcPtr = volume;
  part.srcPos = make_cudaPos(2 * sizeof(int), 1, 2);
  part.dstPtr = make_cudaPitchedPtr(back.data(), 3 * sizeof(int), 3, 2);
  part.extent = make_cudaExtent(3 * sizeof(int), 2, 2);
  part.kind = cudaMemcpyDeviceToHost;
  CHECK_CUDA(cudaMemcpy3D(&part));
  for (int z = 0; z < 2; ++z) {
    for (int y = 0; y < 2; ++y) {
      for (int x = 0; x < 3; ++x) {
        expect(back[size_t((z * 2 + y) * 3 + x)] == ((z + 2) * 6 + y + 1) * 10 + x + 2, "a part of a volume");
      }
    }
  }
  expect(cudaMemcpy2D(back.data(), 4, volume.ptr, volume.pitch, 8, 2, cudaMemcpyDeviceToHost) ==
             cudaErrorInvalidPitchValue,
         "rows longer than the pitch");
  expect(cudaMemcpy2D(back.data(), 4, volume.ptr, volume.pitch, 8, 1, cudaMemcpyDeviceToHost) ==
             cudaErrorInvalidValue,
         "one row longer than the pitch");
  cudaGetLastError();
  CHECK_CUDA(cudaFree(volume.ptr));
}

void pools() {
  cudaMemPool_t pool;
  CHECK_CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
  uint64_t threshold = 1 << 20, got = 0, used = 0;
  CHECK_CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
  expect(got == threshold, "a pool's threshold");
  int* p;
  CHECK_CUDA(cudaMallocAsync(&p, 4096, nullptr));
  fill<<<4, 256>>>(p, 1024, 2);
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  expect(used >= 4096, "what a pool has given");
  CHECK_CUDA(cudaFreeAsync(p, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(nullptr));
  CHECK_CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  expect(used == 0, "and has back");
  CHECK_CUDA(cudaMemPoolTrimTo(pool, 0));
}

// Occupancy with a block size that decides how much shared memory is needed.
struct SharedOfBlock {
  __host__ __device__ size_t operator()(int threads) const { return size_t(threads) * 16; }
};

void occupancy() {
  int grid = 0, block = 0;
  CHECK_CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  expect(grid > 0 && block % 32 == 0 && block <= 1024, "a block size");
  CHECK_CUDA(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, fill, SharedOfBlock(), 256));
  expect(grid > 0 && block <= 256, "a block size with shared memory and a limit");
  int device;
  CHECK_CUDA(cudaGetDevice(&device));
  expect(cudaSetDevice(1000) == cudaErrorInvalidDevice, "no such device");
  size_t stack;
  CHECK_CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  CHECK_CUDA(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  expect(stack >= 4096, "a limit");
  cudaGetLastError();
}

// Prints what later calls return.
int fault(const char* which) {
  int *memory, *flag;
  CHECK_CUDA(cudaMalloc(&memory, 1024));
  CHECK_CUDA(cudaMalloc(&flag, 4));
  CHECK_CUDA(cudaMemset(memory, 0, 1024));
  CHECK_CUDA(cudaMemset(flag, 0, 4));
  if (!std::strcmp(which, "illegal_address")) fill<<<1, 32>>>(memory + (1ll << 34), 32, 1);
  if (!std::strcmp(which, "misaligned")) store_misaligned<<<1, 1>>>(reinterpret_cast<char*>(memory));
  if (!std::strcmp(which, "assert")) fail_assertion<<<1, 32>>>(memory);
  if (!std::strcmp(which, "trap")) trap<<<1, 1>>>();
  if (!std::strcmp(which, "timeout")) spin<<<1, 1>>>(flag);
  const cudaError_t first = cudaDeviceSynchronize();
  cudaGetLastError();
  expect(cudaDeviceSynchronize() == first, "the error stays");
  expect(cudaMemset(memory, 0, 4) == first, "for every call");
  fill<<<1, 32>>>(memory, 32, 1);
  expect(cudaGetLastError() == first, "launches too");
  std::printf("%d\n", int(first));
  return g_failures;
}

// What programs for several devices ask of a machine that has one.
void one_device() {
  int count = 0, device = -1;
  char bus[32];
  CHECK_CUDA(cudaGetDeviceCount(&count));
  if (count != 1) return;
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  CHECK_CUDA(cudaDeviceGetByPCIBusId(&device, bus));
  expect(device == 0, "a device by its bus");
  int *from, *to, value = 5;
  CHECK_CUDA(cudaMalloc(&from, 4));
  CHECK_CUDA(cudaMalloc(&to, 4));
  CHECK_CUDA(cudaMemcpy(from, &value, 4, cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaMemcpyPeer(to, 0, from, 0, 4));
  value = 0;
  CHECK_CUDA(cudaMemcpy(&value, to, 4, cudaMemcpyDeviceToHost));
  expect(value == 5, "a copy from the device to itself");
  expect(cudaMemcpyPeer(to, 1, from, 0, 4) == cudaErrorInvalidDevice, "a copy to a device that is not there");
  expect(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorInvalidDevice, "a peer that is not there");
  expect(cudaSetDevice(-1) == cudaErrorInvalidDevice, "a negative device");
  cudaGetLastError();
  CHECK_CUDA(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte));
  cudaSharedMemConfig banks;
  CHECK_CUDA(cudaDeviceGetSharedMemConfig(&banks));
  expect(banks == cudaSharedMemBankSizeFourByte, "banks of four bytes");
  CHECK_CUDA(cudaFree(from));
  CHECK_CUDA(cudaFree(to));
}

int main(int argc, char** argv) {
  if (argc > 1) return fault(argv[1]);
  names_and_texts();
  last_error_is_remembered();
  wrong_pointers();
  wrong_handles();
  symbols();
  volumes();
  pools();
  occupancy();
  one_device();
  return g_failures;
}
