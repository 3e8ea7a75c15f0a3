// One call of cuSPARSE: what it reads comes from the device's memory to arrays of the host, and what it
// writes goes back. Everything is done when it returns; in a captured stream it is done whenever the graph is
// launched.
#pragma once
#include <cusparse.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "captured_work.h"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
};

namespace warpgrade::cusparse {

using Indices = std::vector<int64_t>;

// Ends a call; run() says why and makes the status the call's result.
struct Failure {
  cusparseStatus_t status;
  std::string why;
};

inline void require(bool holds, const char* why) {
  if (!holds) throw Failure{CUSPARSE_STATUS_INVALID_VALUE, why};
}
inline void require_supported(bool holds, const char* why) {
  if (!holds) throw Failure{CUSPARSE_STATUS_NOT_SUPPORTED, why};
}

// Work that wants a buffer refuses a null pointer, as NVIDIA's library does; what it says on an H100 is
// in tests/programs/cusparse_host.cu.
inline void require_buffer(const void* buffer, cusparseStatus_t status = CUSPARSE_STATUS_INVALID_VALUE) {
  if (buffer != nullptr) return;
  throw Failure{status,
                "externalBuffer is a null pointer: the call's _bufferSize function says how many bytes it "
                "wants; allocate them with cudaMalloc"};
}

// Lines of memory: a vector is one line.
struct Lines {
  int64_t count, length, pitch;  // in elements
};

class Call {
 public:
  // Thrown at the first access to the device's memory in a captured stream: what comes before is done at the call
  // as well. It checks the arguments, and reads what scalars the host has, which are kept.
  struct Rehearsed {};

  explicit Call(const cusparseContext& context)
      : context_(context), is_rehearsal_(libraries::is_captured(context.stream)) {}
  // What a node of a graph does with what its rehearsal has kept.
  Call in_graph(cudaStream_t stream) const {
    Call call = *this;
    call.context_.stream = stream;
    call.is_rehearsal_ = false;
    call.is_in_graph_ = true;
    return call;
  }

  // Of the host's memory.
  const unsigned char* on_host(const void* at, size_t bytes) const;

  bool scalars_on_device() const { return context_.pointer_mode == CUSPARSE_POINTER_MODE_DEVICE; }

  // Of the device's memory; `what` is the array's name in what a failure says.
  std::vector<unsigned char> read(const void* from, const Lines& lines, size_t element,
                                  const char* what) const;
  void write(void* to, const Lines& lines, size_t element, const void* from, const char* what) const;

  Indices read_indices(const void* from, cusparseIndexType_t type, int64_t count, const char* what) const;
  void write_indices(void* to, cusparseIndexType_t type, const Indices& indices, const char* what) const;

 private:
  void move(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t rows,
            cudaMemcpyKind kind, const char* what) const;

  cusparseContext context_;
  bool is_rehearsal_ = false, is_in_graph_ = false;
  mutable libraries::HostValues host_{};
};

size_t bytes_of(cusparseIndexType_t type);  // 0: no such type

void say(const char* function, const std::string& why);

// For work whose result the host needs: CUSPARSE_STATUS_NOT_SUPPORTED in a captured stream.
void require_no_capture(const cusparseContext& context);

// Work that needs no handle.
template <class Work>
cusparseStatus_t guarded(const char* function, Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    say(function, failure.why);
    return failure.status;
  } catch (const std::bad_alloc&) {
    return CUSPARSE_STATUS_ALLOC_FAILED;
  }
  return CUSPARSE_STATUS_SUCCESS;
}

template <class Work>
cusparseStatus_t run_at_once(const char* function, cusparseHandle_t handle, Work work) {
  return guarded(function, [&] {
    require(handle != nullptr, "the handle is a null pointer: make one with cusparseCreate");
    require_no_capture(*handle);
    work(Call(*handle));
  });
}

// `work` holds the call's arguments and its descriptors by value: in a captured stream a node of the graph keeps it.
template <class Work>
cusparseStatus_t run(const char* function, cusparseHandle_t handle, const Work& work) {
  return guarded(function, [&] {
    require(handle != nullptr, "the handle is a null pointer: make one with cusparseCreate");
    const Call call(*handle);
    try {
      return work(call);
    } catch (const Call::Rehearsed&) {
    }
    const auto in_node = [=](cudaStream_t stream) {
      const bool is_done = guarded(function, [&] { work(call.in_graph(stream)); }) == CUSPARSE_STATUS_SUCCESS;
      return is_done ? cudaSuccess : cudaErrorLaunchFailure;
    };
    if (libraries::capture(handle->stream, in_node) != cudaSuccess)
      throw Failure{CUSPARSE_STATUS_EXECUTION_FAILED, "the capture of the handle's stream has failed before"};
  });
}

// Calls that only check, and tell how large a buffer is. No call here writes to it; but a GPU does.
constexpr size_t kBufferBytes = 256;
template <class Check>
cusparseStatus_t tell_buffer(const char* function, cusparseHandle_t handle, size_t* bytes, Check check) {
  return guarded(function, [&] {
    require(handle != nullptr, "the handle is a null pointer: make one with cusparseCreate");
    require(bytes != nullptr, "bufferSize is a null pointer");
    check();
    *bytes = kBufferBytes;
  });
}

}  // namespace warpgrade::cusparse
