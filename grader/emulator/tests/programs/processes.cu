// Several processes on one device, in the way of NVIDIA's sample simpleIPC: memory and events of one process in
// another. Each process runs this program; they talk over pipes. The same source runs on a GPU. With an argument:
// mistakes.
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

#include "check.h"

namespace {

constexpr int kCount = 10000, kBlock = 128;

__global__ void add(int* data, int summand) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) data[i] += summand;
}

__global__ void count(int* counter) {
  atomicAdd(counter, 1);
}

void launch_add(int* data, int summand, cudaStream_t stream) {
  add<<<(kCount + kBlock - 1) / kBlock, kBlock, 0, stream>>>(data, summand);
}

// A process that runs this program with an argument, and a pipe in each direction.
struct Process {
  int to = -1, from = -1;
  pid_t id = -1;
};

Process start(const char* argument) {
  int down[2], up[2];
  if (pipe(down) != 0 || pipe(up) != 0) std::exit(101);
  Process p;
  p.id = fork();
  if (p.id == 0) {
    dup2(down[0], 0);
    dup2(up[1], 3);
    for (const int end : {down[0], down[1], up[0], up[1]})
      if (end > 3) close(end);
    execl("/proc/self/exe", "processes", argument, nullptr);
    _exit(102);
  }
  close(down[0]);
  close(up[1]);
  p.to = down[1];
  p.from = up[0];
  return p;
}

int end_of(const Process& p) {
  int status = 0;
  close(p.to);
  waitpid(p.id, &status, 0);
  close(p.from);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

template <class T>
void send(int pipe_end, const T& value) {
  if (write(pipe_end, &value, sizeof value) != ssize_t(sizeof value)) std::exit(103);
}
template <class T>
T receive(int pipe_end) {
  T value;
  if (read(pipe_end, &value, sizeof value) != ssize_t(sizeof value)) std::exit(104);
  return value;
}

struct Handles {
  cudaIpcMemHandle_t data, counter;
  cudaIpcEventHandle_t filled;
};

cudaEvent_t new_event() {
  cudaEvent_t event;
  CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
  return event;
}

void expect_all(const int* data, int want, const char* what) {
  std::vector<int> now(kCount);
  CHECK_CUDA(cudaMemcpy(now.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) {
    if (now[i] == want + i) continue;
    ++g_failures;
    std::printf("FAILED: %s at %d: got %d want %d\n", what, i, now[i], want + i);
    return;
  }
}

template <class Function>
Function* of_driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  CHECK_CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
#else
  CHECK_CUDA(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found));
#endif
  if (function == nullptr) std::exit(105);
  return reinterpret_cast<Function*>(function);
}

// The driver's functions, which know what the runtime has opened.
void open_by_driver(const Handles& handles, const int* data) {
  CUipcMemHandle memory;
  CUipcEventHandle filled;
  memcpy(&memory, &handles.data, sizeof memory);
  memcpy(&filled, &handles.filled, sizeof filled);
  CUdeviceptr address = 0;
  CUevent event = nullptr;
  expect(of_driver<CUresult(CUdeviceptr*, CUipcMemHandle, unsigned)>("cuIpcOpenMemHandle")(
             &address, memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS,
         "cuIpcOpenMemHandle");
  expect(address == reinterpret_cast<CUdeviceptr>(data), "one address for the driver and the runtime");
  expect(of_driver<CUresult(CUdeviceptr)>("cuIpcCloseMemHandle")(address) == CUDA_SUCCESS,
         "cuIpcCloseMemHandle");
  expect(
      of_driver<CUresult(CUevent*, CUipcEventHandle)>("cuIpcOpenEventHandle")(&event, filled) == CUDA_SUCCESS,
      "cuIpcOpenEventHandle");
  expect(of_driver<CUresult(CUevent)>("cuEventSynchronize")(event) == CUDA_SUCCESS, "cuEventSynchronize");
  CHECK_CUDA(cudaEventDestroy(event));
  int* own = nullptr;
  CHECK_CUDA(cudaMalloc(&own, 64));
  expect(of_driver<CUresult(CUipcMemHandle*, CUdeviceptr)>("cuIpcGetMemHandle")(
             &memory, reinterpret_cast<CUdeviceptr>(own)) == CUDA_SUCCESS,
         "cuIpcGetMemHandle");
  event = new_event();
  expect(
      of_driver<CUresult(CUipcEventHandle*, CUevent)>("cuIpcGetEventHandle")(&filled, event) == CUDA_SUCCESS,
      "cuIpcGetEventHandle");
  CHECK_CUDA(cudaEventDestroy(event));
  CHECK_CUDA(cudaFree(own));
}

// Waits for the parent's work without asking it, adds, and gives an event of its own back.
int child() {
  const auto handles = receive<Handles>(0);
  int *data = nullptr, *again = nullptr, *counter = nullptr;
  CHECK_CUDA(cudaIpcOpenMemHandle((void**)&data, handles.data, cudaIpcMemLazyEnablePeerAccess));
  CHECK_CUDA(cudaIpcOpenMemHandle((void**)&again, handles.data, cudaIpcMemLazyEnablePeerAccess));
  CHECK_CUDA(cudaIpcOpenMemHandle((void**)&counter, handles.counter, cudaIpcMemLazyEnablePeerAccess));
  expect(data == again, "a handle that is opened twice has one address");
  CHECK_CUDA(cudaIpcCloseMemHandle(again));
  cudaPointerAttributes attributes;
  CHECK_CUDA(cudaPointerGetAttributes(&attributes, data));
  expect(attributes.type == cudaMemoryTypeDevice, "opened memory is the device's");
  cudaEvent_t filled;
  CHECK_CUDA(cudaIpcOpenEventHandle(&filled, handles.filled));
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_CUDA(cudaStreamWaitEvent(stream, filled, 0));
  launch_add(data, 1000, stream);
  count<<<4, 32, 0, stream>>>(counter);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  CHECK_CUDA(cudaEventQuery(filled));
  expect_all(data, 1005, "the parent's memory in the child");
  open_by_driver(handles, data);
  cudaEvent_t added = new_event();
  CHECK_CUDA(cudaEventRecord(added, stream));
  cudaIpcEventHandle_t handle;
  CHECK_CUDA(cudaIpcGetEventHandle(&handle, added));
  send(3, handle);
  receive<char>(0);  // the parent has seen the event
  CHECK_CUDA(cudaIpcCloseMemHandle(data));
  CHECK_CUDA(cudaIpcCloseMemHandle(counter));
  CHECK_CUDA(cudaEventDestroy(filled));
  return g_failures;
}

// An array that begins in the middle of a page, behind host work that takes its time.
void parent() {
  const Process other = start("child");
  int *before = nullptr, *data = nullptr, *counter = nullptr;
  CHECK_CUDA(cudaMalloc(&before, 1000));
  CHECK_CUDA(cudaMalloc(&data, kCount * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&counter, sizeof(int)));
  CHECK_CUDA(cudaMemset(counter, 0, sizeof(int)));
  std::vector<int> first(kCount);
  for (int i = 0; i < kCount; ++i) first[i] = i;
  CHECK_CUDA(cudaMemcpy(data, first.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  Handles handles;
  CHECK_CUDA(cudaIpcGetMemHandle(&handles.data, data));
  CHECK_CUDA(cudaIpcGetMemHandle(&handles.counter, counter));
  cudaEvent_t filled = new_event();
  CHECK_CUDA(cudaIpcGetEventHandle(&handles.filled, filled));
  cudaStream_t stream;
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_CUDA(cudaLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }, nullptr));
  launch_add(data, 5, stream);
  CHECK_CUDA(cudaEventRecord(filled, stream));
  send(other.to, handles);
  const auto added_handle = receive<cudaIpcEventHandle_t>(other.from);
  cudaEvent_t added;
  CHECK_CUDA(cudaIpcOpenEventHandle(&added, added_handle));
  CHECK_CUDA(cudaEventSynchronize(added));
  launch_add(data, 20000, stream);
  CHECK_CUDA(cudaStreamSynchronize(stream));
  expect_all(data, 21005, "the parent's memory after the child");
  int counted = 0;
  CHECK_CUDA(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  expect(counted == 128, "atomics of the child");
  send(other.to, 'x');
  expect(end_of(other) == 0, "the child");
  CHECK_CUDA(cudaEventDestroy(added));
  CHECK_CUDA(cudaEventDestroy(filled));
  CHECK_CUDA(cudaStreamDestroy(stream));
  for (int* memory : {before, data, counter}) CHECK_CUDA(cudaFree(memory));
}

int give_and_end() {
  int* data = nullptr;
  cudaIpcMemHandle_t handle;
  CHECK_CUDA(cudaMalloc(&data, 64));
  CHECK_CUDA(cudaIpcGetMemHandle(&handle, data));
  send(3, handle);
  return 0;
}

void mistakes(const std::string& which) {
  int* data = nullptr;
  CHECK_CUDA(cudaMalloc(&data, 64));
  cudaIpcMemHandle_t handle;
  void* opened = nullptr;
  cudaError_t error = cudaSuccess;
  if (which == "gone") {
    const Process other = start("give_and_end");
    handle = receive<cudaIpcMemHandle_t>(other.from);
    end_of(other);
    error = cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess);  // MISTAKE gone
  } else if (which == "own") {
    CHECK_CUDA(cudaIpcGetMemHandle(&handle, data));
    error = cudaIpcOpenMemHandle(&opened, handle, cudaIpcMemLazyEnablePeerAccess);  // MISTAKE own
  } else if (which == "inside") {
    error = cudaIpcGetMemHandle(&handle, data + 1);  // MISTAKE inside
  } else if (which == "closed") {
    error = cudaIpcCloseMemHandle(data);  // MISTAKE closed
  } else if (which == "timed") {
    cudaEvent_t event;
    error = cudaEventCreateWithFlags(&event, cudaEventInterprocess);
  } else if (which == "plain") {
    cudaEvent_t event;
    cudaIpcEventHandle_t of_event;
    CHECK_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    error = cudaIpcGetEventHandle(&of_event, event);
  } else {  // the child reads behind the end
    const Process other = start("reads_beyond");
    CHECK_CUDA(cudaIpcGetMemHandle(&handle, data));
    send(other.to, handle);
    receive<char>(other.from);
    end_of(other);
  }
  std::printf("%s\n", cudaGetErrorName(error));
}

int reads_beyond() {
  int* data = nullptr;
  CHECK_CUDA(
      cudaIpcOpenMemHandle((void**)&data, receive<cudaIpcMemHandle_t>(0), cudaIpcMemLazyEnablePeerAccess));
  count<<<1, 1>>>(data + 16);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  std::fflush(stdout);
  send(3, 'x');
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "child") return child();
  if (what == "give_and_end") return give_and_end();
  if (what == "reads_beyond") return reads_beyond();
  if (!what.empty()) {
    mistakes(what);
    return 0;
  }
  parent();
  return g_failures;
}
