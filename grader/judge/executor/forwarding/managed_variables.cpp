#include "judge/executor/forwarding/managed_variables.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace warpgrade::executor {

cudaError_t ManagedVariables::add(uint64_t device, uint8_t* host, uint64_t bytes, const Read& read) {
  Variable variable{device, host, std::vector<uint8_t>(bytes)};
  if (const cudaError_t error = read(device, variable.known.data(), bytes); error != cudaSuccess)
    return error;
  std::memcpy(host, variable.known.data(), bytes);
  std::lock_guard lock(mutex_);
  all_.push_back(std::move(variable));
  ++count_;
  return cudaSuccess;
}

// From the first byte that changed to the last.
cudaError_t ManagedVariables::to_device(const Write& write) {
  std::lock_guard lock(mutex_);
  for (Variable& v : all_) {
    if (std::memcmp(v.host, v.known.data(), v.known.size()) == 0) continue;
    const std::vector<uint8_t> now(v.host, v.host + v.known.size());
    const auto first = std::mismatch(now.begin(), now.end(), v.known.begin());
    const auto last = std::mismatch(now.rbegin(), now.rend(), v.known.rbegin());
    if (first.first == now.end()) continue;
    const auto begin = first.first - now.begin();
    const auto count = static_cast<uint64_t>((now.rend() - last.first) - begin);
    const cudaError_t error =
        write(v.device + static_cast<uint64_t>(begin), &now[static_cast<size_t>(begin)], count);
    if (error != cudaSuccess) return error;
    v.known = now;
  }
  return cudaSuccess;
}

cudaError_t ManagedVariables::to_host(const Read& read) {
  std::lock_guard lock(mutex_);
  for (Variable& v : all_) {
    std::vector<uint8_t> now(v.known.size());
    if (const cudaError_t error = read(v.device, now.data(), now.size()); error != cudaSuccess) return error;
    for (size_t k = 0; k < now.size(); ++k) {
      if (now[k] != v.known[k]) v.host[k] = now[k];
    }
    v.known = std::move(now);
  }
  return cudaSuccess;
}

}  // namespace warpgrade::executor
