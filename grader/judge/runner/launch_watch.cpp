#include "launch_watch.h"

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>

// The adaptor of an older interface defines it.
extern "C" {
extern int warpgrade_notes_unread_errors __attribute__((weak));
}

namespace warpgrade::runner {
namespace {

// Not of one thread: a submission may launch from threads of its own.
std::atomic<bool> watched{false};
std::atomic<unsigned> on_default_stream{0};

}  // namespace

void watch_launches(bool watching) {
  if (watching) on_default_stream = 0;
  watched = watching;
}

unsigned default_stream_launches() {
  return on_default_stream;
}

bool is_older_interface() {
  return &warpgrade_notes_unread_errors != nullptr && warpgrade_notes_unread_errors != 0;
}

}  // namespace warpgrade::runner

// <<<>>> calls this first; ld's --wrap leads the call here.
extern "C" {

unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                            struct CUstream_st* stream);

unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes,
                                            struct CUstream_st* stream) {
  using namespace warpgrade::runner;
  if (watched && (stream == nullptr || stream == cudaStreamLegacy)) ++on_default_stream;
  return __real___cudaPushCallConfiguration(grid, block, shared_bytes, stream);
}

}  // extern "C"
