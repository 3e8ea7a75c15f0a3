// The emulator's own entry points: memory shared through a memfd, exact bounds, read-only imports, counters.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

using Import = int (*)(int, uint64_t, uint64_t, const char*, int, void**);
using Release = int (*)(void*);
using Drain = size_t (*)(char*, size_t);

template <class F>
F entry(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name));
}

__global__ void scale(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2;
}
__global__ void strided(const float* in, float* out, int stride) {
  out[threadIdx.x] = in[threadIdx.x * stride];
}

int main(int argc, char** argv) {
  const auto import = entry<Import>("warpemu_import_memory");
  const auto release = entry<Release>("warpemu_release_memory");
  const auto drain = entry<Drain>("warpemu_drain_diagnostics");
  const auto counters = entry<Drain>("warpemu_drain_counters");
  const int fd = memfd_create("shared", 0);
  expect(ftruncate(fd, 3 * 4096) == 0, "ftruncate");
  auto* host = static_cast<float*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  for (int k = 0; k < 3072; ++k) host[k] = float(k);
  void *in, *out, *bad;
  expect(import(fd, 256, 400, "input", 1, &in) == 0, "import of part of a page");
  expect(import(fd, 4096, 400, "output", 0, &out) == 0, "import of another page");
  expect(reinterpret_cast<uintptr_t>(in) % 256 == 0 && reinterpret_cast<uintptr_t>(out) % 4096 == 0,
         "alignment");
  expect(import(fd, 8192, 8192, "too large", 0, &bad) == cudaErrorInvalidValue,
         "a range behind the end of the file");
  scale<<<1, 128>>>(static_cast<float*>(in), static_cast<float*>(out), 100);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int k = 0; k < 100; ++k) expect(host[1024 + k] == 2 * host[64 + k], "the other side sees the results");

  static char text[1 << 14];
  if (argc > 1 && !std::strcmp(argv[1], "counters")) {
    counters(text, sizeof text);
    strided<<<1, 32>>>(static_cast<float*>(in), static_cast<float*>(out), 3);
    CHECK_CUDA(cudaDeviceSynchronize());
    counters(text, sizeof text);
    std::printf("%s", text);
    return g_failures;
  }
  if (argc > 1 && !std::strcmp(argv[1], "read_only")) {
    scale<<<1, 128>>>(static_cast<float*>(out), static_cast<float*>(in), 100);  // writes the input
  } else {
    scale<<<1, 128>>>(static_cast<float*>(in), static_cast<float*>(out),
                      101);  // one past the end, on the same page
  }
  expect(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "a fault");
  char tiny[40];
  expect(drain(tiny, sizeof tiny) == 0 && tiny[0] == 0, "a buffer that is too small keeps the line");
  expect(drain(text, sizeof text) == std::strlen(text) && text[0] == '{', "drained lines");
  std::printf("%s", text);
  expect(drain(text, sizeof text) == 0, "nothing twice");
  expect(release(in) == 0 && release(in) == cudaErrorInvalidValue, "release, once");
  return g_failures;
}
