// Runs solutions of one lab on one case, so that a profiler counts one launch of each of their kernels: the
// second launch of each kernel with each grid, as counted from the solution's first run.
//
//   solutions LAB CASE NAME=LIBRARY.so...
//
// Each library is a solution with solution_case.cu. Under `ncu --profile-from-start off` the launches lie
// between cudaProfilerStart and cudaProfilerStop. For each a JSON line in their order: lab, case, submission,
// grid, block. On the emulator (WARPEMU_CHECKS=levels) what all of the solution's launches counted follows.
// Exit code 1: a solution failed, which a line on stderr tells; the others have run.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace {

using Shape = std::array<unsigned, 6>;

// Which launches are to be counted, and where they belong.
struct Watch {
  bool on = false;
  std::string lab, name, submission;
  std::map<std::pair<const void*, Shape>, int> launches;
};
Watch g_watch;
bool g_inside;  // a launch function of the runtime may call another

void print_shape(const Shape& s) {
  std::printf(
      "{\"lab\":\"%s\",\"case\":\"%s\",\"submission\":\"%s\",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]}\n",
      g_watch.lab.c_str(), g_watch.name.c_str(), g_watch.submission.c_str(), s[0], s[1], s[2], s[3], s[4],
      s[5]);
  std::fflush(stdout);
}

template <class Launch>
cudaError_t watched(const void* kernel, dim3 grid, dim3 block, Launch launch) {
  const Shape shape{grid.x, grid.y, grid.z, block.x, block.y, block.z};
  if (!g_watch.on || g_inside || ++g_watch.launches[{kernel, shape}] != 2) return launch();
  g_inside = true;
  print_shape(shape);
  cudaProfilerStart();
  const cudaError_t error = launch();
  cudaProfilerStop();
  g_inside = false;
  return error;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The runtime's own functions, which libraries find here first. `<<<>>>` calls the first since CUDA 13,
// else the second.
extern "C" {
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  static auto* const real = next<decltype(__cudaLaunchKernel)>("__cudaLaunchKernel");
  return watched(kernel, grid, block, [&] { return real(kernel, grid, block, arguments, shared, stream); });
}
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  static auto* const real = next<decltype(cudaLaunchKernel)>("cudaLaunchKernel");
  return watched(kernel, grid, block, [&] { return real(kernel, grid, block, arguments, shared, stream); });
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
  static auto* const real = next<decltype(cudaLaunchKernelExC)>("cudaLaunchKernelExC");
  return watched(kernel, config->gridDim, config->blockDim, [&] { return real(config, kernel, arguments); });
}
}

namespace {

using Drain = size_t (*)(char*, size_t);
Drain g_drain;
std::vector<char> g_text(4 << 20);

void begin() {
  if (g_drain != nullptr) g_drain(g_text.data(), g_text.size());  // what prepared the case
  g_watch.launches.clear();
  g_watch.on = true;
}

bool run(const std::string& file) {
  using Run = bool (*)(const char*, int, void (*)(), char*, size_t);
  const int turns = g_drain == nullptr ? 2 : 1;  // the emulator counts one run from a cold second level
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  char problem[512] = "it has no measured_case; link solution_case.cu";
  const auto run = library == nullptr ? nullptr : reinterpret_cast<Run>(dlsym(library, "measured_case"));
  const bool well = run != nullptr && run(g_watch.name.c_str(), turns, begin, problem, sizeof problem);
  g_watch.on = false;
  if (!well)
    std::fprintf(stderr, "solutions: %s %s %s: %s\n", g_watch.lab.c_str(), g_watch.name.c_str(),
                 g_watch.submission.c_str(), library == nullptr ? dlerror() : problem);
  if (!well || g_drain == nullptr) return well;
  g_drain(g_text.data(), g_text.size());
  std::printf("{\"counted\":\"%s\"}\n%s", g_watch.submission.c_str(), g_text.data());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: solutions LAB CASE NAME=LIBRARY.so...\n");
    return 2;
  }
  g_watch.lab = argv[1];
  g_watch.name = argv[2];
  g_drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_counters"));
  int failed = 0;
  for (int k = 3; k < argc; ++k) {
    const std::string argument = argv[k];
    const size_t equals = argument.find('=');
    g_watch.submission = argument.substr(0, equals);
    failed += !run(argument.substr(equals == std::string::npos ? argument.size() : equals + 1));
  }
  return failed == 0 ? 0 : 1;
}
