// Several devices: each has memory, variables, streams and events of its own; peer access opens the memory of
// another one to kernels, copies need none. With fewer than two devices only what one can show. With an
// argument: one mistake, at the line that carries MISTAKE <argument>; prints the error that the program sees.
#include "check.h"

__device__ int per_device = 5;
__managed__ int shared_counter = 0;

__global__ void scale(float* to, const float* from, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i] * factor;
}
__global__ void add_to_variables(int n) {
  per_device += n;
  atomicAdd_system(&shared_counter, n);
}
__global__ void reads_peer(float* to, const float* from) {
  to[threadIdx.x] = from[threadIdx.x];  // MISTAKE reads_peer
}
__global__ void writes_peer(float* to) {
  to[threadIdx.x] = 1;  // MISTAKE writes_peer
}

constexpr int kCount = 10000;

float* allocate(int device, float first) {
  CHECK_CUDA(cudaSetDevice(device));
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i) values[i] = first + static_cast<float>(i % 100);
  float* memory;
  CHECK_CUDA(cudaMalloc(&memory, kCount * sizeof(float)));
  CHECK_CUDA(cudaMemcpy(memory, values.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
  return memory;
}

bool holds(const float* memory, float first, float factor = 1) {
  std::vector<float> values(kCount);
  CHECK_CUDA(cudaMemcpy(values.data(), memory, kCount * sizeof(float), cudaMemcpyDefault));
  for (int i = 0; i < kCount; ++i) {
    if (values[i] != (first + static_cast<float>(i % 100)) * factor) return false;
  }
  return true;
}

void any_number_of_devices(int count) {
  int device = -1, can = -1;
  CHECK_CUDA(cudaGetDevice(&device));
  expect(device == 0, "the first device is the current one");
  expect(cudaSetDevice(count) == cudaErrorInvalidDevice, "a device that is not there");
  expect(cudaSetDevice(-1) == cudaErrorInvalidDevice, "a negative device");
  expect(cudaDeviceEnablePeerAccess(0, 0) != cudaSuccess, "a device is not its own peer");
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, 0, 0));
  expect(can == 0, "a device has no access to itself as a peer");
  cudaGetLastError();
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp properties;
    char bus[32];
    int same = -1;
    CHECK_CUDA(cudaGetDeviceProperties(&properties, d));
    CHECK_CUDA(cudaDeviceGetPCIBusId(bus, sizeof bus, d));
    CHECK_CUDA(cudaDeviceGetByPCIBusId(&same, bus));
    expect(same == d && properties.totalGlobalMem > 0, "properties of each device");
  }
}

void memory_and_copies() {
  float *a = allocate(0, 1), *b = allocate(1, 1000);
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, b));
  expect(attributes.device == 1 && attributes.type == cudaMemoryTypeDevice, "memory belongs to a device");
  size_t before = 0, after = 0, total = 0;
  CHECK_CUDA(cudaMemGetInfo(&before, &total));
  float* large;
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaMalloc(&large, 256 << 20));
  CHECK_CUDA(cudaSetDevice(1));
  CHECK_CUDA(cudaMemGetInfo(&after, &total));
  expect(before == after, "memory of one device is none of another's");
  CHECK_CUDA(cudaFree(large));  // from any device
  CHECK_CUDA(cudaMemcpyPeer(a, 0, b, 1, kCount * sizeof(float)));
  expect(holds(a, 1000), "cudaMemcpyPeer");
  scale<<<40, 256>>>(b, b, kCount, 2);
  CHECK_CUDA(cudaMemcpy(a, b, kCount * sizeof(float), cudaMemcpyDefault));
  expect(holds(a, 1000, 2), "cudaMemcpyDefault between devices");
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_CUDA(cudaMemcpyPeerAsync(a, 0, b, 1, kCount / 2 * sizeof(float), stream));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaStreamDestroy(stream));
  cudaMemcpy3DPeerParms box{};
  box.srcPtr = make_cudaPitchedPtr(b, 400, 100, 100);
  box.dstPtr = make_cudaPitchedPtr(a, 400, 100, 100);
  box.srcDevice = 1;
  box.dstDevice = 0;
  box.extent = make_cudaExtent(400, 100, 1);
  CHECK_CUDA(cudaMemset(b, 0, kCount * sizeof(float)));
  CHECK_CUDA(cudaMemcpy3DPeer(&box));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(holds(a, 0, 0), "cudaMemcpy3DPeer");
  expect(cudaMemcpyPeer(a, 0, b, 99, 4) == cudaErrorInvalidDevice, "a copy from a device that is not there");
  cudaGetLastError();
  CHECK_CUDA(cudaFree(a));
  CHECK_CUDA(cudaFree(b));
}

void peer_access() {
  int can = 0;
  CHECK_CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (can == 0) return std::puts("these devices have no peer access"), void();
  float *a = allocate(0, 1), *b = allocate(1, 1000);
  CHECK_CUDA(cudaSetDevice(0));
  expect(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled, "peer access is off at first");
  CHECK_CUDA(cudaDeviceEnablePeerAccess(1, 0));
  expect(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled, "peer access is on already");
  expect(cudaDeviceEnablePeerAccess(1, 7) == cudaErrorInvalidValue, "flags of peer access");
  cudaGetLastError();
  scale<<<40, 256>>>(a, b, kCount, 3);  // reads the other device's memory
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(holds(a, 1000, 3), "a kernel reads a peer's memory");
  scale<<<40, 256>>>(b, b, kCount, 0.5f);  // and writes it
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(holds(b, 1000, 0.5f), "a kernel writes a peer's memory");
  CHECK_CUDA(cudaDeviceDisablePeerAccess(1));
  int supported = 0;
  CHECK_CUDA(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrAccessSupported, 0, 1));
  expect(supported == 1, "attributes of peers");
  CHECK_CUDA(cudaFree(a));
  CHECK_CUDA(cudaFree(b));
}

void variables() {
  int value = 0;
  for (const int device : {0, 1}) {
    CHECK_CUDA(cudaSetDevice(device));
    add_to_variables<<<1, 1>>>(10 * (device + 1));
    CHECK_CUDA(cudaGetLastError());
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  for (const int device : {0, 1}) {
    CHECK_CUDA(cudaSetDevice(device));
    CHECK_CUDA(cudaMemcpyFromSymbol(&value, per_device, sizeof value));
    expect(value == 5 + 10 * (device + 1), "each device has variables of its own");
  }
  expect(shared_counter == 30, "managed variables are every device's");
}

void streams_and_events() {
  cudaStream_t streams[2];
  cudaEvent_t events[2];
  int device = -1;
  for (int d = 0; d < 2; ++d) {
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaStreamCreateWithFlags(&streams[d], cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&events[d]));
  }
  CHECK_CUDA(cudaStreamGetDevice(streams[0], &device));
  expect(device == 0, "a stream belongs to its device");
  float *a = allocate(0, 3), *b = allocate(1, 7);
  scale<<<40, 256, 0, streams[0]>>>(a, a, kCount, 5);
#if CUDART_VERSION >= 13000
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaStreamSynchronize(streams[0]));
  expect(holds(a, 3, 5), "a launch into another device's stream runs on that device");
#else
  expect(cudaGetLastError() == cudaErrorInvalidResourceHandle, "a launch into another device's stream");
#endif
  expect(cudaEventRecord(events[0], streams[1]) == cudaErrorInvalidResourceHandle,
         "an event of another device");
  cudaGetLastError();
  scale<<<40, 256, 0, streams[1]>>>(b, b, kCount, 2);
  CHECK_CUDA(cudaEventRecord(events[1], streams[1]));
  CHECK_CUDA(cudaStreamWaitEvent(streams[0], events[1], 0));  // across devices
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaEventRecord(events[0], streams[0]));
  CHECK_CUDA(cudaEventSynchronize(events[0]));
  float ms = 0;
  expect(cudaEventElapsedTime(&ms, events[0], events[1]) == cudaErrorInvalidResourceHandle,
         "times of two devices");
  cudaGetLastError();
  expect(holds(b, 7, 2), "a stream waits for another device's event");
  CHECK_CUDA(cudaFree(a));
  CHECK_CUDA(cudaFree(b));
  for (int d = 0; d < 2; ++d) {
    CHECK_CUDA(cudaStreamDestroy(streams[d]));
    CHECK_CUDA(cudaEventDestroy(events[d]));
  }
}

// A sum on every device at once, as a program for several GPUs does it, and their pools.
void all_devices(int count) {
  std::vector<float*> parts(count), from_pool(count);
  std::vector<cudaStream_t> streams(count);
  for (int d = 0; d < count; ++d) {
    parts[d] = allocate(d, static_cast<float>(d));
    CHECK_CUDA(cudaStreamCreate(&streams[d]));
    CHECK_CUDA(cudaMallocAsync(&from_pool[d], kCount * sizeof(float), streams[d]));
    scale<<<40, 256, 0, streams[d]>>>(from_pool[d], parts[d], kCount, 4);
  }
  for (int d = 0; d < count; ++d) {
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaStreamSynchronize(streams[d]));
    expect(holds(from_pool[d], static_cast<float>(d), 4), "work on every device");
    cudaPointerAttributes attributes;
    CHECK_CUDA(cudaPointerGetAttributes(&attributes, from_pool[d]));
    expect(attributes.device == d, "a pool belongs to its device");
    CHECK_CUDA(cudaFreeAsync(from_pool[d], streams[d]));
    CHECK_CUDA(cudaStreamDestroy(streams[d]));
    CHECK_CUDA(cudaFree(parts[d]));
  }
}

int make(const char* mistake) {
  float *a = allocate(0, 1), *b = allocate(1, 2);
  CHECK_CUDA(cudaSetDevice(0));
  if (!std::strcmp(mistake, "reads_peer")) reads_peer<<<1, 32>>>(a, b);
  if (!std::strcmp(mistake, "writes_peer")) writes_peer<<<1, 32>>>(b);
  std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return make(argv[1]);
  int count = 0;
  CHECK_CUDA(cudaGetDeviceCount(&count));
  any_number_of_devices(count);
  if (count < 2) {
    std::puts("one device: what takes two was not tried");
    return g_failures;
  }
  memory_and_copies();
  peer_access();
  variables();
  streams_and_events();
  all_devices(count);
  for (int d = 0; d < count; ++d) {
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaDeviceSynchronize());
  }
  return g_failures;
}
