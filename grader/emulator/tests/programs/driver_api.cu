// The driver API as courses' samples use it: devices, contexts, modules, launches, memory, streams, events,
// and the runtime beside it. The kernels are in the program and, as PTX, in a file beside it.
#include <unistd.h>

#include <thread>

#include "driver_check.h"

struct Pair {
  char first;
  double second;
};

__device__ int g_counter = 7;
__constant__ float g_factor = 2.0f;

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void scale(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= g_factor;
}
extern "C" __global__ void count() {
  atomicAdd(&g_counter, 1);
}
extern "C" __global__ void mixed(char a, short b, int c, double d, Pair p, double* out) {
  if (threadIdx.x == 0) *out = a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * p.first + 6.0 * p.second;
}
extern "C" __global__ void reverse(int* data, int n) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
extern "C" __global__ void leaves_memory(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) data[i] = 1.0f;  // MISTAKE leaves_memory
}
template <class T>
__global__ void fill_with(T* data, T value) {
  data[threadIdx.x] = value;
}
template __global__ void fill_with<int>(int*, int);

namespace {

constexpr int kCount = 1000;

std::vector<float> ramp(int n, float step) {
  std::vector<float> values(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<size_t>(i)] = step * float(i);
  return values;
}

void devices() {
  int count = 0, version = 0, major = 0, minor = 0, threads = 0;
  char name[256] = "";
  size_t bytes = 0;
  CUuuid uuid{};
  CHECK_DRIVER(cuDriverGetVersion(&version));
  CHECK_DRIVER(cuDeviceGetCount(&count));
  CHECK_DRIVER(cuDeviceGetName(name, sizeof name, 0));
  CHECK_DRIVER(cuDeviceTotalMem(&bytes, 0));
  CHECK_DRIVER(cuDeviceGetUuid(&uuid, 0));
  CHECK_DRIVER(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
  CHECK_DRIVER(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
  CHECK_DRIVER(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0));
  cudaDeviceProp properties;
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  expect(count >= 1 && version >= 12000, "a device and a version");
  expect(std::string(name) == properties.name, "the runtime's name of the device");
  expect(bytes == properties.totalGlobalMem, "the runtime's memory");
  expect(std::memcmp(&uuid, &properties.uuid, sizeof uuid) == 0, "the runtime's UUID");
  expect(major == properties.major && minor == properties.minor && threads == 1024, "attributes");
}

void vector_addition(CUmodule module) {
  const std::vector<float> a = ramp(kCount, 1.0f), b = ramp(kCount, 0.5f);
  CUdeviceptr x = upload(a), y = upload(b), z = 0;
  CHECK_DRIVER(cuMemAlloc(&z, kCount * sizeof(float)));
  int n = kCount;
  void* arguments[] = {&x, &y, &z, &n};
  CHECK_DRIVER(cuLaunchKernel(find_kernel(module, "add"), (kCount + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr,
                              arguments, nullptr));
  CHECK_DRIVER(cuCtxSynchronize());
  const std::vector<float> c = download<float>(z, kCount);
  bool right = true;
  for (size_t i = 0; i < kCount; ++i) right = right && c[i] == a[i] + b[i];
  expect(right, "the sum of two vectors");
  for (const CUdeviceptr memory : {x, y, z}) CHECK_DRIVER(cuMemFree(memory));
}

void arguments_one_by_one_and_packed(CUmodule module) {
  const CUfunction function = find_kernel(module, "mixed");
  CUdeviceptr out = upload(std::vector<double>(1, 0.0));
  char a = 1;
  short b = 2;
  int c = 3;
  double d = 4.5;
  Pair p{5, 6.25};
  const double want = a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * p.first + 6.0 * p.second;
  void* arguments[] = {&a, &b, &c, &d, &p, &out};
  CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  expect(download<double>(out, 1)[0] == want, "arguments of several sizes");

  // Each at a multiple of its alignment.
  alignas(16) char buffer[64] = {};
  size_t offset = 0;
  const auto put = [&](const void* value, size_t bytes, size_t align) {
    offset = (offset + align - 1) / align * align;
    std::memcpy(buffer + offset, value, bytes);
    offset += bytes;
  };
  a = 2;
  put(&a, sizeof a, 1);
  put(&b, sizeof b, 2);
  put(&c, sizeof c, 4);
  put(&d, sizeof d, 8);
  put(&p, sizeof p, 8);
  put(&out, sizeof out, 8);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &offset,
                   CU_LAUNCH_PARAM_END};
  CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  expect(download<double>(out, 1)[0] == want + 1, "arguments in a buffer");
  size_t at = 0, bytes = 0;
  CHECK_DRIVER(cuFuncGetParamInfo(function, 4, &at, &bytes));
  expect(at == 16 && bytes == sizeof(Pair), "where a parameter lies");
  CHECK_DRIVER(cuMemFree(out));
}

void variables(CUmodule module) {
  CUdeviceptr counter = 0, factor = 0;
  size_t bytes = 0;
  CHECK_DRIVER(cuModuleGetGlobal(&counter, &bytes, module, "g_counter"));
  expect(bytes == sizeof(int) && download<int>(counter, 1)[0] == 7, "a variable's first value");
  CHECK_DRIVER(cuLaunchKernel(find_kernel(module, "count"), 2, 1, 1, 50, 1, 1, 0, nullptr, nullptr, nullptr));
  expect(download<int>(counter, 1)[0] == 107, "a variable that a kernel counts in");
  const float three = 3.0f;
  CHECK_DRIVER(cuModuleGetGlobal(&factor, nullptr, module, "g_factor"));
  CHECK_DRIVER(cuMemcpyHtoD(factor, &three, sizeof three));
  CUdeviceptr data = upload(ramp(10, 1.0f));
  int n = 10;
  void* arguments[] = {&data, &n};
  CHECK_DRIVER(
      cuLaunchKernel(find_kernel(module, "scale"), 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  expect(download<float>(data, 10)[9] == 27.0f, "a constant that the host sets");
  CHECK_DRIVER(cuMemFree(data));
  // Each module has variables of its own.
  CUmodule other = load_module();
  CUdeviceptr its = 0;
  CHECK_DRIVER(cuModuleGetGlobal(&its, nullptr, other, "g_counter"));
  expect(its != counter && download<int>(its, 1)[0] == 7, "the variable of another module");
  CHECK_DRIVER(cuModuleUnload(other));
}

void ways_to_load() {
  CUmodule module = nullptr;
  for (const char* ending : {".ptx", ".fatbin"}) {
    CHECK_DRIVER(cuModuleLoad(&module, path_of(ending).c_str()));
    vector_addition(module);
    CHECK_DRIVER(cuModuleUnload(module));
    const std::string bytes = read_file(path_of(ending));
    CHECK_DRIVER(cuModuleLoadData(&module, bytes.c_str()));
    vector_addition(module);
    CHECK_DRIVER(cuModuleUnload(module));
  }
  const std::string ptx = read_file(path_of(".ptx"));
  char info[4096] = "x", error[4096] = "x";
  CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {info, reinterpret_cast<void*>(sizeof info), error, reinterpret_cast<void*>(sizeof error),
                    reinterpret_cast<void*>(4)};
  CHECK_DRIVER(cuModuleLoadDataEx(&module, ptx.c_str(), 5, options, values));
  expect(error[0] == '\0', "no errors are logged");
  unsigned count = 0;
  CHECK_DRIVER(cuModuleGetFunctionCount(&count, module));
  std::vector<CUfunction> functions(count);
  CHECK_DRIVER(cuModuleEnumerateFunctions(functions.data(), count, module));
  bool has_add = false;
  for (const CUfunction function : functions) {
    const char* name = nullptr;
    CHECK_DRIVER(cuFuncGetName(&name, function));
    has_add = has_add || std::string(name) == "add";
    CUmodule owner = nullptr;
    CHECK_DRIVER(cuFuncGetModule(&owner, function));
    expect(owner == module, "the function's module");
  }
  expect(count == 7 && has_add, "the functions of a module");
  CHECK_DRIVER(cuModuleUnload(module));
}

void linked_texts() {
  const char* const kPart =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .func (.param .u32 r) twice(.param .u32 x)\n{ .reg .u32 %a; ld.param.u32 %a, [x]; add.u32 "
      "%a, %a, %a;\n"
      "st.param.u32 [r], %a; ret; }\n";
  const char* const kMain =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".extern .func (.param .u32 r) twice(.param .u32 x);\n"
      ".visible .entry store_twice(.param .u64 p, .param .u32 v)\n{ .reg .u64 %p; .reg .u32 %v;\n"
      "ld.param.u64 %p, [p]; ld.param.u32 %v, [v];\n"
      "{ .param .u32 a; .param .u32 b; st.param.u32 [a], %v; call (b), twice, (a); ld.param.u32 %v, [b]; }\n"
      "cvta.to.global.u64 %p, %p; st.global.u32 [%p], %v; ret; }\n";
  CUlinkState link = nullptr;
  CHECK_DRIVER(cuLinkCreate(0, nullptr, nullptr, &link));
  CHECK_DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kPart), std::strlen(kPart) + 1, "part",
                             0, nullptr, nullptr));
  CHECK_DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char*>(kMain), std::strlen(kMain) + 1, "main",
                             0, nullptr, nullptr));
  void* image = nullptr;
  size_t bytes = 0;
  CUmodule module = nullptr;
  CHECK_DRIVER(cuLinkComplete(link, &image, &bytes));
  CHECK_DRIVER(cuModuleLoadData(&module, image));
  CHECK_DRIVER(cuLinkDestroy(link));
  CUdeviceptr out = upload(std::vector<unsigned>(1, 0));
  unsigned value = 21;
  void* arguments[] = {&out, &value};
  CHECK_DRIVER(
      cuLaunchKernel(find_kernel(module, "store_twice"), 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  expect(bytes != 0 && download<unsigned>(out, 1)[0] == 42, "a function of another text");
  CHECK_DRIVER(cuMemFree(out));
  CHECK_DRIVER(cuModuleUnload(module));
}

void libraries() {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  unsigned count = 0;
  const std::string ptx = read_file(path_of(".ptx"));
  CHECK_DRIVER(cuLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_DRIVER(cuLibraryGetKernelCount(&count, library));
  CHECK_DRIVER(cuLibraryGetKernel(&kernel, library, "add"));
  CHECK_DRIVER(cuKernelGetFunction(&function, kernel));
  CHECK_DRIVER(cuLibraryGetModule(&module, library));
  expect(count == 7, "the kernels of a library");
  vector_addition(module);
  int threads = 0;
  CHECK_DRIVER(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  expect(threads == 1024, "an attribute of a kernel");
  CHECK_DRIVER(cuLibraryUnload(library));
}

void attributes_and_occupancy(CUmodule module) {
  const CUfunction function = find_kernel(module, "reverse");
  int value = 0, blocks = 0, grid = 0, block = 0, optin = 0;
  CHECK_DRIVER(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
  expect(value == 1024, "threads a block");
  CHECK_DRIVER(cuDeviceGetAttribute(&optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
  CHECK_DRIVER(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin));
  CHECK_DRIVER(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
  expect(value == optin, "dynamic shared memory that was asked for");
  CHECK_DRIVER(cuFuncSetCacheConfig(function, CU_FUNC_CACHE_PREFER_SHARED));
  CHECK_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 256, 0));
  expect(blocks > 0, "blocks a multiprocessor");
  CHECK_DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0));
  expect(grid > 0 && block > 0 && block <= 1024, "a block size");
  CHECK_DRIVER(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 96));
  expect(block <= 96, "a block size within a limit");
}

void other_launches(CUmodule module) {
  std::vector<int> values(256);
  for (int i = 0; i < 256; ++i) values[size_t(i)] = i;
  CUdeviceptr data = upload(values);
  int n = 256;
  void* arguments[] = {&data, &n};
  const CUfunction function = find_kernel(module, "reverse");
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 256;
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = 256 * sizeof(int);
  CHECK_DRIVER(cuLaunchKernelEx(&config, function, arguments, nullptr));
  expect(download<int>(data, 256)[0] == 255, "a launch by its configuration");
  CHECK_DRIVER(
      cuLaunchCooperativeKernel(function, 1, 1, 1, 256, 1, 1, 256 * sizeof(int), nullptr, arguments));
  expect(download<int>(data, 256)[0] == 0, "a cooperative launch");
  CHECK_DRIVER(cuMemFree(data));
}

void contexts(CUcontext primary) {
  CUcontext current = nullptr, made = nullptr, popped = nullptr;
  CUdevice device = -1;
  unsigned version = 0, flags = 0;
  int active = 0;
#if CUDA_VERSION >= 13000
  CHECK_DRIVER(cuCtxCreate(&made, nullptr, CU_CTX_SCHED_AUTO, 0));
#else
  CHECK_DRIVER(cuCtxCreate(&made, CU_CTX_SCHED_AUTO, 0));
#endif
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  CHECK_DRIVER(cuCtxGetDevice(&device));
  CHECK_DRIVER(cuCtxGetApiVersion(made, &version));
  expect(current == made && made != primary && device == 0 && version >= 3020,
         "a context that was made is current");
  size_t stack = 0;
  CHECK_DRIVER(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  CHECK_DRIVER(cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
  expect(stack >= 4096, "a limit");
  CHECK_DRIVER(cuCtxPushCurrent(primary));
  CHECK_DRIVER(cuCtxPopCurrent(&popped));
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  expect(popped == primary && current == made, "contexts are a stack");
  CUmodule module = load_module();
  vector_addition(module);
  CHECK_DRIVER(cuCtxDestroy(made));
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  expect(current == primary, "the context below");
  CHECK_DRIVER(cuDevicePrimaryCtxGetState(0, &flags, &active));
  expect(active == 1, "the primary context is active");
  // Another thread begins without a context.
  std::thread([&] {
    CUcontext its = primary;
    CHECK_DRIVER(cuCtxGetCurrent(&its));
    expect(its == nullptr, "a thread begins without a context");
    CHECK_DRIVER(cuCtxSetCurrent(primary));
    CUmodule own = load_module();
    vector_addition(own);
    CHECK_DRIVER(cuModuleUnload(own));
  }).join();
}

void CUDA_CB note_callback(CUstream, CUresult result, void* data) {
  *static_cast<int*>(data) += result == CUDA_SUCCESS ? 1 : 100;
}
void CUDA_CB note_host_function(void* data) {
  *static_cast<int*>(data) += 10;
}

void streams_and_events(CUmodule module) {
  CUstream stream = nullptr;
  CUevent start = nullptr, end = nullptr;
  CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_DRIVER(cuEventCreate(&start, CU_EVENT_DEFAULT));
  CHECK_DRIVER(cuEventCreate(&end, CU_EVENT_DEFAULT));
  CUdeviceptr data = 0;
  float* host = nullptr;
  int n = kCount, calls = 0;
  CHECK_DRIVER(cuMemAllocHost(reinterpret_cast<void**>(&host), kCount * sizeof(float)));
  CHECK_DRIVER(cuMemAlloc(&data, kCount * sizeof(float)));
  for (int i = 0; i < kCount; ++i) host[i] = float(i);
  CHECK_DRIVER(cuEventRecord(start, stream));
  CHECK_DRIVER(cuMemcpyHtoDAsync(data, host, kCount * sizeof(float), stream));
  void* arguments[] = {&data, &n};
  CHECK_DRIVER(
      cuLaunchKernel(find_kernel(module, "scale"), 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
  CHECK_DRIVER(cuMemcpyDtoHAsync(host, data, kCount * sizeof(float), stream));
  CHECK_DRIVER(cuStreamAddCallback(stream, note_callback, &calls, 0));
  CHECK_DRIVER(cuLaunchHostFunc(stream, note_host_function, &calls));
  CHECK_DRIVER(cuEventRecord(end, stream));
  CHECK_DRIVER(cuStreamWaitEvent(stream, start, 0));
  CHECK_DRIVER(cuStreamSynchronize(stream));
  expect(cuStreamQuery(stream) == CUDA_SUCCESS && cuEventQuery(end) == CUDA_SUCCESS, "all is done");
  float milliseconds = -1;
  CHECK_DRIVER(cuEventElapsedTime(&milliseconds, start, end));
  expect(milliseconds >= 0, "a time");
  expect(calls == 11, "a callback and a host function");
  expect(host[7] == 7 * 3.0f, "what a stream did");  // the factor that was set before
  CUcontext context = nullptr, current = nullptr;
  CHECK_DRIVER(cuStreamGetCtx(stream, &context));
  CHECK_DRIVER(cuCtxGetCurrent(&current));
  expect(context == current, "the stream's context");
  CHECK_DRIVER(cuEventDestroy(start));
  CHECK_DRIVER(cuEventDestroy(end));
  CHECK_DRIVER(cuStreamDestroy(stream));
  CHECK_DRIVER(cuMemFreeHost(host));
  CHECK_DRIVER(cuMemFree(data));
}

void CUDA_CB sleep_a_little(void*) {
  usleep(20000);
}

// A module's kernel that is held behind a host function still runs when the module is unloaded; a wrong fill
// fails at once.
void work_behind_a_host_function() {
  const CUmodule module = load_module();
  CUstream stream = nullptr;
  CUdeviceptr data = 0;
  CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_DRIVER(cuMemAlloc(&data, 10 * sizeof(float)));
  const std::vector<float> values = ramp(10, 1.0f);
  CHECK_DRIVER(cuMemcpyHtoD(data, values.data(), 10 * sizeof(float)));
  int n = 10;
  void* arguments[] = {&data, &n};
  const CUfunction scale = find_kernel(module, "scale");
  CHECK_DRIVER(cuLaunchHostFunc(stream, sleep_a_little, nullptr));
  CHECK_DRIVER(cuLaunchKernel(scale, 1, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr));
  expect(cuMemsetD32Async(CUdeviceptr{8}, 0, 1, stream) == CUDA_ERROR_INVALID_VALUE, "a fill of nothing");
  expect(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY, "the kernel waits");
  CHECK_DRIVER(cuModuleUnload(module));
  std::vector<float> scaled(10);
  CHECK_DRIVER(cuStreamSynchronize(stream));
  CHECK_DRIVER(cuMemcpyDtoH(scaled.data(), data, 10 * sizeof(float)));
  expect(scaled[7] != values[7], "the kernel of the unloaded module");
  CHECK_DRIVER(cuMemFree(data));
  CHECK_DRIVER(cuStreamDestroy(stream));
}

// One program, both interfaces: memory, streams and kernels of one are the other's.
void beside_the_runtime(CUmodule module) {
  float* memory = nullptr;
  CHECK_CUDA(cudaMalloc(&memory, 10 * sizeof(float)));
  const std::vector<float> values = ramp(10, 1.0f);
  CHECK_DRIVER(cuMemcpyHtoD(reinterpret_cast<CUdeviceptr>(memory), values.data(), 10 * sizeof(float)));
  int n = 10;
  void* arguments[] = {&memory, &n};
  cudaStream_t stream = nullptr;
  CHECK_CUDA(cudaStreamCreate(&stream));
  CHECK_DRIVER(
      cuLaunchKernel(find_kernel(module, "scale"), 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  CHECK_CUDA(cudaStreamSynchronize(stream));
  float out[10];
  CHECK_CUDA(cudaMemcpy(out, memory, sizeof out, cudaMemcpyDeviceToHost));
  expect(out[9] == 27.0f, "the runtime's memory and stream in the driver");
  // The program's own kernel.
  cudaFunction_t function = nullptr;
  CHECK_CUDA(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(scale)));
  CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  CHECK_CUDA(cudaMemcpy(out, memory, sizeof out, cudaMemcpyDeviceToHost));
  expect(out[9] == 54.0f, "a kernel of the program in the driver");
  cudaKernel_t kernel = nullptr;
  CHECK_CUDA(cudaGetKernel(&kernel, reinterpret_cast<const void*>(scale)));
  const char* name = nullptr;
  CHECK_DRIVER(cuKernelGetName(&name, reinterpret_cast<CUkernel>(kernel)));
  expect(std::string(name) == "scale", "the name of a kernel of the program");
  expect(cuMemAlloc(nullptr, 1) == CUDA_ERROR_INVALID_VALUE && cudaGetLastError() == cudaSuccess,
         "the driver's errors are not the runtime's");
  CHECK_CUDA(cudaStreamDestroy(stream));
  CHECK_DRIVER(cuMemFree(reinterpret_cast<CUdeviceptr>(memory)));
}

#if CUDART_VERSION >= 12080
void libraries_of_the_runtime() {
  cudaLibrary_t library = nullptr;
  cudaKernel_t kernel = nullptr;
  const std::string ptx = read_file(path_of(".ptx"));
  CHECK_CUDA(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_CUDA(cudaLibraryGetKernel(&kernel, library, "count"));
  CHECK_CUDA(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(3), dim3(5), nullptr, 0, nullptr));
  void* counter = nullptr;
  size_t bytes = 0;
  int value = 0;
  CHECK_CUDA(cudaLibraryGetGlobal(&counter, &bytes, library, "g_counter"));
  CHECK_CUDA(cudaMemcpy(&value, counter, bytes, cudaMemcpyDeviceToHost));
  expect(value == 22, "a library of the runtime");
  CHECK_CUDA(cudaLibraryUnload(library));
}
#endif

void addresses_of_functions() {
  using Allocate = CUresult (*)(CUdeviceptr*, size_t);
  void* found = nullptr;
  CUdriverProcAddressQueryResult status;
  CHECK_DRIVER(cuGetProcAddress("cuMemAlloc", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  expect(status == CU_GET_PROC_ADDRESS_SUCCESS && found != nullptr, "an address of the driver");
  CUdeviceptr memory = 0;
  CHECK_DRIVER(reinterpret_cast<Allocate>(found)(&memory, 64));
  CHECK_DRIVER(cuMemFree(memory));
  cuGetProcAddress("cuNoSuchFunction", &found, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  expect(found == nullptr && status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "no such function");
  cuGetProcAddress("cuLibraryLoadData", &found, 11000, CU_GET_PROC_ADDRESS_DEFAULT, &status);
  expect(found == nullptr && status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT, "a newer function");
  cudaDriverEntryPointQueryResult of_runtime;
#if CUDART_VERSION >= 12050
  CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuMemAlloc", &found, 12000, cudaEnableDefault, &of_runtime));
#else
  CHECK_CUDA(cudaGetDriverEntryPoint("cuMemAlloc", &found, cudaEnableDefault, &of_runtime));
#endif
  expect(of_runtime == cudaDriverEntryPointSuccess && found != nullptr, "an address that the runtime finds");
  CHECK_DRIVER(reinterpret_cast<Allocate>(found)(&memory, 64));
  CHECK_DRIVER(cuMemFree(memory));
}

void names_of_errors() {
  const char *name = nullptr, *text = nullptr;
  CHECK_DRIVER(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
  CHECK_DRIVER(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text));
  expect(std::string(name) == "CUDA_ERROR_OUT_OF_MEMORY" && std::string(text) == "out of memory",
         "an error's name");
  expect(cuGetErrorName(static_cast<CUresult>(12345), &name) == CUDA_ERROR_INVALID_VALUE && name == nullptr,
         "the name of no error");
}

// A fault of a kernel that the driver launched: told at its line, and kept.
int fault(CUmodule module) {
  CUdeviceptr data = 0;
  CHECK_DRIVER(cuMemAlloc(&data, 100 * sizeof(float)));
  int n = 100;
  void* arguments[] = {&data, &n};
  CHECK_DRIVER(cuLaunchKernel(find_kernel(module, "leaves_memory"), 1, 1, 1, 128, 1, 1, 0, nullptr, arguments,
                              nullptr));
  const CUresult first = cuCtxSynchronize();
  std::printf("%d %d\n", int(first), int(cuMemFree(data)));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  g_program = argv[0];
  const CUcontext primary = start_driver();
  CUmodule module = load_module();
  if (argc > 1) return fault(module);
  devices();
  vector_addition(module);
  arguments_one_by_one_and_packed(module);
  variables(module);
  ways_to_load();
  linked_texts();
  libraries();
  attributes_and_occupancy(module);
  other_launches(module);
  contexts(primary);
  streams_and_events(module);
  work_behind_a_host_function();
  beside_the_runtime(module);
#if CUDART_VERSION >= 12080
  libraries_of_the_runtime();
#endif
  addresses_of_functions();
  names_of_errors();
  CHECK_DRIVER(cuModuleUnload(module));
  CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
  return g_failures;
}
