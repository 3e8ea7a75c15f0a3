// Dynamic parallelism: what kernels launch, copy and clear themselves.
//
// A grid's launches are kept until the grid has ended and then run one after the other, in the order of its
// blocks and of the calls in each: one of the orders that streams allow, and the same for any number of
// workers. A child's own launches come before its next sibling, tail launches after all others.
#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "findings/diagnostics.h"
#include "state/machine.h"

namespace warpgrade::emu {

// Values of cudaError_t.
enum class CallError : uint32_t {
  none = 0,
  invalid_value = 1,
  memory_allocation = 2,
  invalid_configuration = 9,
  depth_exceeded = 65,
  pending_count_exceeded = 69,
  invalid_device_function = 98,
  invalid_device = 101,
  invalid_resource_handle = 400,
  not_supported = 801,
};

// A kernel that kernels may launch.
struct NestedKernel {
  const Program* program =
      nullptr;  // nullptr: it cannot run, for the reason that DeviceRuntime::problem tells
  uint32_t max_dynamic_shared = 0;
  uint32_t cluster[3] = {1, 1, 1};
};

// What the device's runtime asks of the backend. Errors are values of cudaError_t.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  // Empty when no kernel has that address.
  virtual std::optional<NestedKernel> kernel(uint64_t address) const = 0;
  virtual Diagnostic problem(uint64_t address) const = 0;
  virtual CallError attribute(uint32_t what, uint32_t device, int32_t& value) const = 0;
  virtual CallError limit(uint32_t what, uint64_t& value) const = 0;
  // The bytes of a cudaFuncAttributes.
  virtual std::vector<uint8_t> describe(uint64_t address) const = 0;
  virtual CallError occupancy(uint64_t address, uint32_t threads, uint64_t shared, int32_t& blocks) const = 0;
  // Where the device finds an error's name or description.
  virtual uint64_t error_text(uint32_t error, bool name) const = 0;
  virtual int device_count() const = 0;
  virtual int version() const = 0;
};

// The place in a program at which something was asked for.
struct NestedPlace {
  const Program* program = nullptr;
  const Inst* instruction = nullptr;
  uint32_t block[3] = {}, thread[3] = {};
  std::string text() const;  // "line 12 of a.cu by parent, block (0,0,0) thread (3,0,0)"
};

struct NestedGrid {
  uint64_t kernel = 0;  // its address
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t dynamic_shared = 0;
  std::vector<uint8_t> parameters;
};

// Rows of bytes; device addresses.
struct NestedCopy {
  uint64_t to = 0, from = 0, to_pitch = 0, from_pitch = 0, width = 0, height = 1;
};
struct NestedFill {
  uint64_t to = 0, pitch = 0, width = 0, height = 1;
  uint8_t value = 0;
};

// A part of the memory that all work that waits may take, in any launch; given back at its end.
class PendingBytes {
 public:
  static constexpr uint64_t kMost = uint64_t{512} << 20;

  PendingBytes() = default;
  ~PendingBytes();
  PendingBytes(PendingBytes&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  PendingBytes& operator=(PendingBytes&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  // False where so much is not left.
  bool take(uint64_t bytes);

 private:
  uint64_t bytes_ = 0;
};

struct NestedWork {
  uint64_t block = 0, number = 0;  // of the launching block; among its launches
  bool tail = false;
  uint32_t depth = 0;  // of the grid: 0 is the host's
  NestedPlace place;
  std::variant<NestedGrid, NestedCopy, NestedFill> what;
  PendingBytes memory;

  uint64_t bytes() const;  // of this process's memory
};

inline constexpr uint32_t kDeepestNesting = 24;

// Buffers that kernels fill with the arguments of a launch: between GetParameterBuffer and LaunchDevice.
class ParameterBuffers {
 public:
  static constexpr uint64_t kMostBytes = 4096;  // of one buffer

  struct Request {
    NestedGrid grid;     // without arguments
    uint64_t bytes = 0;  // of the arguments
  };

  static ParameterBuffers& instance();

  // Takes the memory, once, before a launch that needs it; false when there is none.
  bool reserve();
  // Whatever is filled belongs to a launch that has ended.
  void reset();
  // The device address of a buffer, 0 when all are in use.
  uint64_t take(const Request& request);
  // What was asked for, with its arguments; empty when no buffer is there.
  std::optional<Request> give_back(uint64_t address);

 private:
  std::mutex mutex_;
  uint64_t begin_ = 0, next_ = 0, end_ = 0;
  int64_t alias_ = 0;
  std::map<uint64_t, Request> filled_;
  std::map<uint64_t, std::vector<uint64_t>> free_;  // by size
};

}  // namespace warpgrade::emu
