// Looks for a way to the GPU around its CUDA runtime: a device node, a driver, a socket beside the one to
// the executor. If there is one it refuses to work: accepted proves that there is none.
// Gain: the GPU without the executor: times, limits and other people's memory.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "honest.cuh"

static bool opens_a_node() {
  char path[64];
  for (int n = 0; n < 16; ++n) {
    snprintf(path, sizeof path, "/dev/nvidia%d", n);
    if (access(path, F_OK) == 0) return true;
  }
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-modeset", "/dev/nvidia-caps", "/dev/dri"})
    if (access(node, F_OK) == 0) return true;
  return false;
}

static bool driver_is_there() {
  char line[1024];
  bool is_mapped = false;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != nullptr && !is_mapped && fgets(line, sizeof line, maps) != nullptr)
    is_mapped = strstr(line, "libcuda.so") != nullptr;
  if (maps != nullptr) fclose(maps);
  return is_mapped || access("/run/warpgrade/cuda/libcuda.so.1", F_OK) == 0;
}

static int sockets() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    char link[64], path[256] = {};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    count += readlink(link, path, sizeof path - 1) > 0 && strncmp(path, "socket:", 7) == 0;
  }
  return count;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (opens_a_node() || driver_is_there() || sockets() > 1) return cudaErrorUnknown;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
