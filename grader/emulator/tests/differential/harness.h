// What every generated program of the differential suite shares: inputs, launches, and the file of values.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <vector>

namespace differential {

constexpr int kThreads = 256;
constexpr int kScratchWords = 1024;

enum class Kind { u16, u32, u64, f16, bf16, f32, f64, turn };

using Kernel = void (*)(const uint64_t*, uint64_t*, uint64_t*);

struct Case {
  const char* name;
  const char* compare;
  const char* source_hash;
  Kernel kernel;
  Kind inputs[3];
};

inline void check(cudaError_t error, const char* kernel) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", kernel, cudaGetErrorString(error));
  std::exit(2);
}

inline uint64_t random_word(uint64_t counter) {
  uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// Zeros, denormals, the least and greatest finite numbers, infinities, NaN, halves (ties) and the ends of
// the integers.
constexpr uint64_t kInteger[] = {
    0,      1,      2,      3,          31,         32,         33,         0x7f,       0x80,       0xff,
    0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, ~0ull >> 1, 1ull << 63, ~0ull};
constexpr uint64_t kF16[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x7bff, 0xfbff,
                             0x7c00, 0xfc00, 0x7fff, 0x3800, 0x3c00, 0xbc00, 0x3e00, 0x4100};
constexpr uint64_t kBf16[] = {0,      0x8000, 1,      0x8001, 0x7f,   0x80,   0x7f7f, 0xff7f,
                              0x7f80, 0xff80, 0x7fff, 0x3f00, 0x3f80, 0xbf80, 0x3fc0, 0x4020};
constexpr uint64_t kF32[] = {0,          0x80000000, 1,          0x80000001, 0x7fffff,   0x800000,
                             0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fffffff, 0x3f000000,
                             0xbf000000, 0x3f800000, 0xbf800000, 0x3fc00000, 0x40200000, 0x4effffff,
                             0x4f000000, 0xcf000000, 0x5f000000};
constexpr uint64_t kF64[] = {0,
                             1ull << 63,
                             1,
                             0x000fffffffffffff,
                             0x0010000000000000,
                             0x7fefffffffffffff,
                             0xffefffffffffffff,
                             0x7ff0000000000000,
                             0xfff0000000000000,
                             0x7ff8000000000000,
                             0x3fe0000000000000,
                             0xbfe0000000000000,
                             0x3ff0000000000000,
                             0xbff0000000000000,
                             0x3ff8000000000000,
                             0x4004000000000000,
                             0x41dfffffffc00000,
                             0x43e0000000000000};

template <size_t N>
uint64_t special(const uint64_t (&table)[N], uint64_t r) {
  return table[r % N];
}

inline float angle(uint64_t r) {
  return (static_cast<float>(r & 0xffffff) / 0x800000 - 1.0f) * 3.14159f;
}

// Half of the values are special; half of the random floats have exponents near one, where rounding shows.
inline uint64_t input(Kind kind, uint64_t counter) {
  const uint64_t r = random_word(counter);
  const bool is_special = (r >> 62) < 2;
  const bool is_near = (r >> 62) == 2;
  const uint64_t bits = random_word(~counter);
  switch (kind) {
    case Kind::u16:
      return (is_special ? special(kInteger, r) : bits) & 0xffff;
    case Kind::u32:
      return (is_special ? special(kInteger, r) : bits) & 0xffffffff;
    case Kind::u64:
      return is_special ? special(kInteger, r) : bits;
    case Kind::f16:
      return is_special ? special(kF16, r) : is_near ? (bits & 0x8fff) | 0x3000 : bits & 0xfbff;
    case Kind::bf16:
      return is_special ? special(kBf16, r) : is_near ? (bits & 0x81ff) | 0x3e00 : bits & 0xff7f;
    case Kind::f32:
      return is_special ? special(kF32, r) : is_near ? (bits & 0x81ffffff) | 0x3e000000 : bits & 0xff7fffff;
    case Kind::f64:
      return is_special ? special(kF64, r)
             : is_near  ? (bits & 0x803fffffffffffff) | 0x3fc0000000000000
                        : bits & 0xffefffffffffffff;
    case Kind::turn: {
      const float value = angle(r);
      uint32_t word;
      static_assert(sizeof word == sizeof value);
      __builtin_memcpy(&word, &value, sizeof word);
      return word;
    }
  }
  return 0;
}

inline void run(const Case& c, std::FILE* file) {
  std::vector<uint64_t> in(3 * kThreads), out(kThreads);
  for (int i = 0; i < 3 * kThreads; ++i) in[i] = input(c.inputs[i / kThreads], i);
  uint64_t *device_in, *device_out, *scratch;
  const size_t in_bytes = in.size() * sizeof(uint64_t), out_bytes = out.size() * sizeof(uint64_t);
  check(cudaMalloc(&device_in, in_bytes), c.name);
  check(cudaMalloc(&device_out, out_bytes), c.name);
  check(cudaMalloc(&scratch, kScratchWords * sizeof(uint64_t)), c.name);
  check(cudaMemcpy(device_in, in.data(), in_bytes, cudaMemcpyHostToDevice), c.name);
  check(cudaMemset(device_out, 0, out_bytes), c.name);
  check(cudaMemset(scratch, 0, kScratchWords * sizeof(uint64_t)), c.name);
  c.kernel<<<1, kThreads>>>(device_in, device_out, scratch);
  const cudaError_t launched = cudaGetLastError();
  if (launched ==
      cudaErrorNotSupported) {  // the emulator has named the instruction; the other kernels still count
    std::fprintf(file, "%s %s %s unsupported\n", c.name, c.compare, c.source_hash);
  } else {
    check(launched, c.name);
    check(cudaMemcpy(out.data(), device_out, out_bytes, cudaMemcpyDeviceToHost), c.name);
    std::fprintf(file, "%s %s %s", c.name, c.compare, c.source_hash);
    for (int i = 0; i < kThreads; ++i) {
      std::fprintf(file, " %llx", static_cast<unsigned long long>(out[i]));
    }
    std::fprintf(file, " |");
    for (const uint64_t word : in) std::fprintf(file, " %llx", static_cast<unsigned long long>(word));
    std::fprintf(file, "\n");
  }
  check(cudaFree(device_in), c.name);
  check(cudaFree(device_out), c.name);
  check(cudaFree(scratch), c.name);
}

template <size_t N>
int run_all(const Case (&cases)[N], int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(
        stderr,
        "usage: %s VALUES\n  writes each kernel's name, comparison, source hash, outputs and inputs\n",
        argv[0]);
    return 2;
  }
  std::FILE* file = std::fopen(argv[1], "w");
  if (!file) {
    std::fprintf(stderr, "cannot write %s: name a file in a folder that exists\n", argv[1]);
    return 2;
  }
  cudaDeviceProp device;
  int driver = 0, runtime = 0;
  check(cudaGetDeviceProperties(&device, 0), "device");
  check(cudaDriverGetVersion(&driver), "driver");
  check(cudaRuntimeGetVersion(&runtime), "runtime");
  std::fprintf(file, "# %s, driver API %d, runtime %d\n", device.name, driver, runtime);
  for (const Case& c : cases) run(c, file);
  return std::fclose(file) == 0 ? 0 : 2;
}

}  // namespace differential
