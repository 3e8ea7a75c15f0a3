// Calls of libraries in captured streams (CUDA graphs): a node of the graph does the work at each launch. It uses
// the device's memory as it is then, and what the call was given on the host as it was at the capture.
#pragma once
#include <cuda_runtime_api.h>

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace warpgrade::libraries {

// Of the libcudart that the process has; nullptr: it is not the emulator's.
void* function_of_runtime(const char* name);

bool is_captured(cudaStream_t stream);

// Adds the node. The work is given the stream in which the node runs; what fails in it fails the launch.
// `waits`: perhaps for nodes of other graphs.
cudaError_t capture(cudaStream_t stream, const std::function<cudaError_t(cudaStream_t)>& work,
                    bool waits = false);

// What a node reads of the host: the values at the capture, by where they were.
class HostValues {
 public:
  void keep(const void* at, size_t bytes) {
    const auto* from = static_cast<const unsigned char*>(at);
    kept_[at].assign(from, from + bytes);
  }
  const void* find(const void* at, size_t bytes) const {
    const auto found = kept_.find(at);
    return found == kept_.end() || found->second.size() < bytes ? nullptr : found->second.data();
  }

 private:
  std::map<const void*, std::vector<unsigned char>> kept_;
};

// A descriptor as it is at the call: the program may change or destroy its own before the node runs.
template <class Descriptor>
class Held {
 public:
  Held(const Descriptor* at) {  // NOLINT(google-explicit-constructor): stands for the pointer
    if (at != nullptr) copy_ = *at;
  }
  const Descriptor* get() const { return copy_ ? &*copy_ : nullptr; }
  const Descriptor* operator->() const { return get(); }
  const Descriptor& operator*() const { return *copy_; }
  bool operator==(std::nullptr_t) const { return !copy_; }

 private:
  std::optional<Descriptor> copy_;
};

}  // namespace warpgrade::libraries
