// Helpers that course submissions written to the older SpMM class interface expect: error checks, a counted
// cudaMalloc, and the standard headers with `using namespace std`. New code uses warpgrade/spmm.h instead.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

// Ends the process: in a graded run that is the verdict `runtime_error`, with this line as the evidence.
#ifndef FatalError
#define FatalError(message)                                                            \
  do {                                                                                 \
    std::cerr << __FILE__ << ":" << __LINE__ << ": fatal: " << (message) << std::endl; \
    std::exit(EXIT_FAILURE);                                                           \
  } while (0)
#endif

inline void legacy_check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  std::cerr << file << ":" << line << ": " << call << " returned " << cudaGetErrorName(status) << ": "
            << cudaGetErrorString(status) << std::endl;
  std::exit(EXIT_FAILURE);
}
#ifndef checkCudaErrors
#define checkCudaErrors(call) legacy_check_cuda((call), #call, __FILE__, __LINE__)
#endif

#ifndef CEIL
#define CEIL(a, b) (((a) + (b)-1) / (b))
#endif

// cudaMalloc that keeps count, so that a submission can print what it holds.
inline std::size_t& legacy_allocated_bytes() {
  static std::size_t bytes = 0;
  return bytes;
}
template <typename T>
cudaError_t cudaMalloc2(T** pointer, std::size_t bytes) {
  const cudaError_t status = cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
  if (status == cudaSuccess) legacy_allocated_bytes() += bytes;
  return status;
}
