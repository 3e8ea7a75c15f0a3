// Holds the GPU back for a moment while the host enqueues the timed work, so that the events around it see
// the work and not the launches' latency.
#pragma once

#include <cuda_runtime.h>

namespace warpgrade::runner {

// Enqueues about 20 us of waiting that fills every multiprocessor's thread slots: nothing enqueued behind it,
// on any stream, begins before it ends. Nothing on the emulator, whose launches are synchronous.
class Gate {
 public:
  Gate();
  void close(cudaStream_t stream);

  // Enqueues a wait of `ns` that does nothing else.
  void wait(unsigned long long ns, cudaStream_t stream);

 private:
  int blocks_ = 0;
};

}  // namespace warpgrade::runner
