// Copies between the host and a device through pinned memory, piece by piece: several threads fill or empty
// one piece while the device moves the other. CUDA's own copy of memory that is not pinned uses one thread,
// and takes longer than the kernels that the judge times.
#pragma once

#include <cstddef>
#include <memory>

namespace warpgrade {

// memcpy by so many threads (1 or more), each with whole cache lines.
void copy_by_threads(void* to, const void* from, std::size_t bytes, std::size_t threads);

class StagedCopy {
 public:
  StagedCopy();
  ~StagedCopy();
  StagedCopy(const StagedCopy&) = delete;
  StagedCopy& operator=(const StagedCopy&) = delete;

  // When they return, all is copied. Throw JudgeFault with CUDA's words.
  void to_device(void* device, const void* host, std::size_t bytes);
  void to_host(void* host, const void* device, std::size_t bytes);

 private:
  struct Pieces;
  void open();
  std::unique_ptr<Pieces> pieces_;  // with the first large copy
};

}  // namespace warpgrade
