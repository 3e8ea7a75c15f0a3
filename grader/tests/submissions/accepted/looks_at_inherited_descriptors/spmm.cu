// Looks for descriptors of files that it did not open: the judge's records, its log, another runner's
// buffers. If there is one it refuses to work. Gain: a way around every view of the file system.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "honest.cuh"

static bool inherits_files() {
  for (int fd = 3; fd < 1024; ++fd) {
    char link[64], path[512] = {};
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) <= 0) continue;
    const char* const own[] = {"socket:",   "/memfd:", "anon_inode:", "pipe:",  "/dev/nvidia",
                               "/dev/null", "/proc/",  "/dev/shm/",   "/dmabuf"};
    bool known = false;
    for (const char* prefix : own) known = known || strncmp(path, prefix, strlen(prefix)) == 0;
    if (!known) return fprintf(stderr, "descriptor %d is %s\n", fd, path), true;
  }
  return false;
}
static const bool kInherits = inherits_files();

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (kInherits) return cudaErrorUnknown;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
