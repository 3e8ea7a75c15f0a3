// Helpers that course submissions written to the older SpMM class interface expect: error checks, a counted
// cudaMalloc, clocks, the graph and its sizes, and the standard headers with `using namespace std`. New code
// uses warpgrade/spmm.h instead.
#pragma once

#include <cuda_runtime.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <queue>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

using namespace std;  // older submissions rely on it

// A square sparse matrix in CSR form. All arrays are device memory and belong to the submission's process
// alone: it may reorder them in place.
struct CSR {
  CSR() = default;
  CSR(int vertices, int edges, int* dev_ptr, int* dev_idx, float* dev_val)
      : num_v(vertices), num_e(edges), ptr(dev_ptr), idx(dev_idx), val(dev_val) {}

  int num_v = 0;
  int num_e = 0;
  int* ptr = nullptr;    // [num_v + 1]
  int* idx = nullptr;    // [num_e]
  float* val = nullptr;  // [num_e]
};

inline int kNumV = 0;  // rows of the matrix
inline int kNumE = 0;  // stored entries
inline int kLen = 0;   // columns of the dense operand (feat_in)

// Ends the process: in a graded run that is the verdict `runtime_error`, with this line as the evidence.
#ifndef FatalError
#define FatalError(message)                                                            \
  do {                                                                                 \
    std::cerr << __FILE__ << ":" << __LINE__ << ": fatal: " << (message) << std::endl; \
    std::exit(EXIT_FAILURE);                                                           \
  } while (0)
#endif

inline void legacy_check_status(int status, const char* call, const char* file, int line) {
  if (status == 0) return;
  std::cerr << file << ":" << line << ": " << call << " returned "
            << cudaGetErrorName(static_cast<cudaError_t>(status)) << ": "
            << cudaGetErrorString(static_cast<cudaError_t>(status)) << std::endl;
  std::exit(EXIT_FAILURE);
}
#ifndef checkCudaErrors
#define checkCudaErrors(call) legacy_check_status(static_cast<int>(call), #call, __FILE__, __LINE__)
#endif

#ifndef CEIL
#define CEIL(a, b) (((a) + (b)-1) / (b))
#endif

// cudaMalloc that keeps count, so that a submission can print what it holds. Nothing is allocated for
// no bytes.
inline std::size_t total_size = 0;
template <typename T>
cudaError_t cudaMalloc2(T** pointer, std::size_t bytes) {
  if (bytes == 0) return cudaSuccess;
  const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
  if (status == cudaSuccess) total_size += bytes;
  return status;
}

// Pointers that safeFree leaves alone.
inline vector<void*> registered_ptr;
template <typename T>
void registerPtr(T pointer) {
  registered_ptr.push_back((void*)(pointer));
}
template <typename T>
void safeFree(T*& pointer) {
  for (void* kept : registered_ptr) {
    if (kept == (void*)pointer) return;
  }
  if (pointer != nullptr) cudaFree(pointer);
  pointer = nullptr;
}

inline bool fexist(const std::string& name) {
  return access(name.c_str(), F_OK) == 0;
}

#ifndef timestamp
#define timestamp(name) auto name = std::chrono::system_clock::now()
#endif
inline double getDuration(std::chrono::time_point<std::chrono::system_clock> from,
                          std::chrono::time_point<std::chrono::system_clock> to) {
  return std::chrono::duration<double>(to - from).count();
}
// Seconds that the work takes until the device is idle.
inline double getCUDATime(const std::function<void()>& work) {
  checkCudaErrors(cudaDeviceSynchronize());
  const auto begin = std::chrono::system_clock::now();
  work();
  checkCudaErrors(cudaDeviceSynchronize());
  return getDuration(begin, std::chrono::system_clock::now());
}
inline double getAverageTimeWithWarmUp(const std::function<void()>& work) {
  work();
  return getCUDATime(work);
}
