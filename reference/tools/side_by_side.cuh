// What the development benches of the labs share: submissions as shared libraries, an L2 flush, medians, and
// the command line `check|time`.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#define BENCH_CHECK(call)                                                                              \
  do {                                                                                                 \
    const cudaError_t status_ = (call);                                                                \
    if (status_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      std::exit(2);                                                                                    \
    }                                                                                                  \
  } while (0)

namespace bench {

class Library {
 public:
  // NAME=FILE.so
  explicit Library(const std::string& argument) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) throw std::runtime_error("want NAME=LIBRARY.so, got " + argument);
    name_ = argument.substr(0, equals);
    handle_ = dlopen(argument.c_str() + equals + 1, RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  const std::string& name() const { return name_; }
  template <typename Function>
  Function* function(const char* symbol) const {
    void* found = dlsym(handle_, symbol);
    if (found == nullptr) throw std::runtime_error(name_ + ": no symbol " + symbol + "; link exports.cu");
    return reinterpret_cast<Function*>(found);
  }

 private:
  std::string name_;
  void* handle_ = nullptr;
};

static __global__ void flush_kernel(unsigned* words, std::size_t count, bool write) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  unsigned sum = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += step) {
    if (write)
      words[i] = static_cast<unsigned>(i);
    else
      sum += words[i];
  }
  if (sum == 0x12345678u) words[0] = sum;
}

// Times one thing after a flush of L2: write twice its size, then read it.
class Stopwatch {
 public:
  Stopwatch() : Stopwatch(1) {}
  // Flushes this share of that size, up to all of it: to try a bench out on the emulator.
  explicit Stopwatch(double share) {
    int device = 0, l2 = 0;
    BENCH_CHECK(cudaGetDevice(&device));
    BENCH_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
    count_ = static_cast<std::size_t>(2.0 * l2 * std::min(share, 1.0)) / sizeof(unsigned);
    BENCH_CHECK(cudaMalloc(&words_, std::max<std::size_t>(count_, 1) * sizeof(unsigned)));
    BENCH_CHECK(cudaEventCreate(&start_));
    BENCH_CHECK(cudaEventCreate(&stop_));
  }
  ~Stopwatch() {
    cudaFree(words_);
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <typename Work>
  double milliseconds(cudaStream_t stream, Work work) {
    flush_kernel<<<1024, 256, 0, stream>>>(words_, count_, true);
    flush_kernel<<<1024, 256, 0, stream>>>(words_, count_, false);
    BENCH_CHECK(cudaEventRecord(start_, stream));
    BENCH_CHECK(work());
    BENCH_CHECK(cudaEventRecord(stop_, stream));
    BENCH_CHECK(cudaStreamSynchronize(stream));
    float time = 0;
    BENCH_CHECK(cudaEventElapsedTime(&time, start_, stop_));
    return time;
  }

 private:
  unsigned* words_ = nullptr;
  std::size_t count_ = 0;
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

template <typename T>
T* upload(const std::vector<T>& host) {
  T* device = nullptr;
  BENCH_CHECK(cudaMalloc(&device, std::max<std::size_t>(host.size(), 1) * sizeof(T)));
  BENCH_CHECK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  BENCH_CHECK(cudaDeviceSynchronize());
  return device;
}

template <typename T>
T* allocate(std::size_t count) {
  T* device = nullptr;
  BENCH_CHECK(cudaMalloc(&device, std::max<std::size_t>(count, 1) * sizeof(T)));
  return device;
}

// `bench check NAME=LIBRARY.so ...` or `bench time [repetitions] NAME=LIBRARY.so ...`; the exit code.
template <typename Submission>
int start(int argc, char** argv, int repetitions, int (*check_all)(const std::vector<Submission>&),
          int (*time_all)(const std::vector<Submission>&, int)) {
  const bool timed = argc > 1 && std::strcmp(argv[1], "time") == 0;
  int first = 2;
  if (timed && argc > 2 && std::strchr(argv[2], '=') == nullptr) repetitions = std::atoi(argv[first++]);
  if (argc <= first || repetitions < 1 || (!timed && std::strcmp(argv[1], "check") != 0)) {
    std::fprintf(stderr, "want: %s check|time [repetitions] NAME=LIBRARY.so ...\n", argv[0]);
    return 1;
  }
  std::vector<Submission> submissions;
  for (int i = first; i < argc; ++i) submissions.emplace_back(argv[i]);
  return timed ? time_all(submissions, repetitions) : check_all(submissions);
}

}  // namespace bench
