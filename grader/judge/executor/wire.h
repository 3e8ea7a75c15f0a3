// The memory that a host process shares with its executor: a ring of call records, a slot of replies for
// each of its threads, an area for large copies, and a window of pinned and managed memory. README.md
// describes the protocol.
//
// The host process may write all of it at any time. So the executor keeps its own state in its own memory,
// copies a record before it looks at it, and believes nothing that it reads here.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace warpgrade::executor::wire {

inline constexpr uint64_t kMagic = 0x5857'4547'4352'4150;
inline constexpr uint32_t kVersion = 2;

inline constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
inline constexpr size_t kRingOffset = 64 * kKiB, kRingBytes = 4 * kMiB;  // a power of two
inline constexpr size_t kSlotsOffset = kRingOffset + kRingBytes, kSlots = 32, kSlotBytes = 64 * kKiB;
inline constexpr size_t kBulkOffset = kSlotsOffset + kSlots * kSlotBytes, kBulkBytes = 8 * kMiB;
inline constexpr size_t kCallBytes = kBulkOffset + kBulkBytes;

// The window lies at the same address in both processes, so that pointers into it hold for the host and
// for kernels.
inline constexpr uint64_t kWindowAddress = 0x6f00'0000'0000;
inline constexpr size_t kWindowBytes = size_t{4} << 30;
inline constexpr size_t kPage = 4096;

inline constexpr size_t kAlign = 16;               // of records
inline constexpr size_t kMostRecord = 512 * kKiB;  // header and data
inline constexpr size_t kMostInline = 64 * kKiB;   // of a copy that travels in its record
inline constexpr size_t kMostName = 16 * kKiB;     // of a mangled name
inline constexpr size_t kMostParameters = 32764;   // bytes of a kernel's arguments
inline constexpr size_t kMostAttributes = 16;      // of a launch
// cudaLaunchAttributePreferredSharedMemoryCarveout, which CUDA 12.4 has no name for.
inline constexpr int kLaunchAttributePreferredCarveout = 14;
inline constexpr uint16_t kNoSlot = 0xffff;  // nobody waits for a reply

// name, arguments that it uses, what its data is, whether it may be sent without waiting for a reply
enum class Data : uint8_t { none, bytes, name };
#define WARPGRADE_WIRE_OPS(X)             \
  X(pad, 0, none, true)                   \
  X(ping, 0, none, true)                  \
  X(report, 3, name, true)                \
  X(place, 3, name, true)                 \
  X(stage, 0, bytes, true)                \
  X(add_module, 1, none, false)           \
  X(find_variable, 1, name, false)        \
  X(find_kernel, 1, name, false)          \
  X(set_attribute, 3, none, false)        \
  X(occupancy, 4, none, false)            \
  X(available_shared, 3, none, false)     \
  X(active_clusters, 6, bytes, false)     \
  X(largest_cluster, 6, bytes, false)     \
  X(launch, 6, bytes, true)               \
  X(allocate, 2, none, false)             \
  X(allocate_async, 2, none, false)       \
  X(release, 2, name, false)              \
  X(release_async, 2, none, false)        \
  X(release_all, 0, none, false)          \
  X(memory_info, 0, none, false)          \
  X(copy_in, 2, bytes, true)              \
  X(copy_in_bulk, 3, none, false)         \
  X(copy_out, 3, none, false)             \
  X(copy_out_bulk, 3, none, false)        \
  X(copy_device, 4, none, true)           \
  X(fill, 6, none, true)                  \
  X(copy_in_rows, 5, bytes, true)         \
  X(copy_in_rows_bulk, 5, none, false)    \
  X(copy_out_rows, 5, none, false)        \
  X(copy_out_rows_bulk, 5, none, false)   \
  X(copy_rows, 1, bytes, true)            \
  X(create_stream, 2, none, false)        \
  X(destroy_stream, 1, none, false)       \
  X(synchronize_stream, 1, none, false)   \
  X(query_stream, 1, none, false)         \
  X(synchronize_device, 0, none, false)   \
  X(create_event, 1, none, false)         \
  X(destroy_event, 1, none, false)        \
  X(record_event, 2, none, true)          \
  X(wait_event, 2, none, true)            \
  X(synchronize_event, 1, none, false)    \
  X(query_event, 1, none, false)          \
  X(elapsed, 2, none, false)              \
  X(make_graph, 1, none, false)           \
  X(update_graph, 2, none, false)         \
  X(upload_graph, 2, none, true)          \
  X(launch_graph, 2, none, true)          \
  X(destroy_graph, 1, none, false)        \
  X(set_stream_attribute, 2, bytes, true) \
  X(keep_pool, 1, none, true)             \
  X(reset_persisting_l2, 0, none, true)   \
  X(register_host, 2, none, false)        \
  X(unregister_host, 1, none, false)      \
  X(give_window, 1, none, true)           \
  X(add_managed, 1, name, false)          \
  X(set_limit, 2, none, false)            \
  X(get_limit, 1, none, false)            \
  X(create_image, 0, bytes, false)        \
  X(destroy_image, 2, none, false)        \
  X(command_done, 1, name, true)

enum class Op : uint16_t {
#define X(name, arguments, data, posts) name,
  WARPGRADE_WIRE_OPS(X)
#undef X
      count
};

struct OpFacts {
  const char* name;
  unsigned arguments;
  Data data;
  bool posts;
};
inline constexpr OpFacts kOps[] = {
#define X(name, arguments, data, posts) {#name, arguments, Data::data, posts},
    WARPGRADE_WIRE_OPS(X)
#undef X
};
inline constexpr size_t kOpCount = static_cast<size_t>(Op::count);
static_assert(sizeof kOps / sizeof *kOps == kOpCount);

inline constexpr size_t kMostArguments = 6;

struct Record {
  uint32_t bytes = 0;  // header and data, a multiple of kAlign
  uint16_t op = 0;
  uint16_t slot = kNoSlot;
  uint32_t sequence = 0;
  uint32_t data_bytes = 0;
  uint64_t arguments[kMostArguments] = {};
};
static_assert(sizeof(Record) == 64 && sizeof(Record) % kAlign == 0);

// A launch: arguments are kernel | stream << 32, grid.x | grid.y << 32, grid.z | block.x << 32,
// block.y | block.z << 32, dynamic shared bytes | cooperative << 32, parameter bytes | attributes << 32.
// Data: the parameters, padded to 8 bytes, then the attributes.
struct Attribute {
  uint32_t id = 0;
  uint32_t unused = 0;
  uint8_t value[64] = {};
};

// A finding of the front end: arguments are its kind, the line and the bytes of a copy; its texts (kernel,
// path, message, advice) stand one behind the other with this between them. A place: arguments are the
// line and the address of the allocation that was made there, or 0 for the call that a reply asked about (the
// third argument is 1 for the earlier one); the path.
// Third argument of a place with an address: what the host's code did there, at that line.
inline constexpr uint64_t kHostRead = 2, kHostWrote = 3;
inline constexpr char kBetweenTexts = '\x1f';

// The data of copy_rows, as of RowsCopy: both sides, then the box. The other copies of rows name one side
// of one slice (address, pitch, width, rows, stream); their bytes lie without gaps in the record, reply
// or bulk area.
struct Rows {
  uint64_t to[3] = {}, from[3] = {}, width = 0, height = 0, depth = 0;
};

// A graph is staged (Op::stage) and then made: for each node this, the numbers of the nodes that it waits for
// (uint32_t, padded to 8 bytes), and its work: the arguments and data of a launch, Rows, or Fill.
struct GraphPart {
  enum Kind : uint32_t { nothing, launch, rows, fill, kinds };
  uint32_t kind = nothing;
  uint32_t after = 0;  // how many
  uint32_t work_bytes = 0;
  uint32_t unused = 0;
};
struct Fill {
  uint64_t address = 0, pitch = 0;
  uint32_t value = 0, element_bytes = 0;
  uint64_t width = 0, height = 0;
};
inline constexpr size_t kMostGraphBytes = 256 * kMiB;

// The reply to find_kernel and set_attribute: this, then the parameters.
struct Kernel {
  uint32_t id = 0;
  uint32_t parameters = 0;
  uint32_t parameter_bytes = 0;
  int32_t max_threads = 0;
  int32_t static_shared = 0, constant_bytes = 0, local_bytes = 0, registers = 0;
  int32_t ptx_version = 0, binary_version = 0;
  int32_t max_dynamic_shared = 0, preferred_carveout = 0;
  int32_t cluster[3] = {}, wide_clusters = 0;
};
struct Parameter {
  uint32_t offset = 0, bytes = 0;
};

inline constexpr size_t kReplyBytes = kSlotBytes - 64;
struct Slot {
  std::atomic<uint32_t> done;    // sequence of the last reply
  std::atomic<uint32_t> sleeps;  // the host process waits by futex
  int32_t error;
  uint32_t data_bytes;
  uint64_t values[4];
  uint32_t wants_place;   // the host process is to tell where this call was made
  uint32_t keeps_call;    // it may be asked later
  uint64_t earlier_call;  // whose place is to be told first; 0: none
  uint8_t data[kReplyBytes];
};
static_assert(sizeof(Slot) == kSlotBytes);

// Of a call that waits for its reply; never 0.
constexpr uint64_t number_of_call(uint16_t slot, uint32_t sequence) {
  return (uint64_t{slot} + 1) << 32 | sequence;
}

// Among addresses of allocations whose places are asked for: the number of a call.
inline constexpr uint64_t kIsCall = uint64_t{1} << 63;

// What the executor asks the host process to do: plan, run, free.
struct Command {
  uint32_t number = 0;
  uint32_t unused = 0;
  uint64_t arguments[16] = {};
};

struct Control {
  uint64_t magic;
  uint32_t version;
  uint32_t spins;  // turns of a waiting thread before it sleeps
  // What a process may know of the device, written before it starts.
  char device_name[256];
  uint8_t uuid[16];
  uint64_t device_bytes;
  int32_t driver_version, least_priority, greatest_priority;
  int32_t attributes[256];
  // Device addresses: one range, or 0 and 0 when they are told allocation by allocation.
  uint64_t device_begin, device_end;
  uint32_t
      is_interpreted;  // every call waits for its answer, and allocations are remembered with their place

  alignas(64) std::atomic<uint64_t> head;  // bytes that the host process has written since it started
  alignas(64) std::atomic<uint64_t> tail;  // bytes that the executor has taken
  alignas(64) std::atomic<uint32_t> executor_sleeps;
  alignas(64) std::atomic<int32_t> sticky;
  std::atomic<int32_t> late_error;
  alignas(64) std::atomic<uint32_t> command_sequence;
  std::atomic<uint32_t> host_sleeps;
  Command command;
};
static_assert(sizeof(Control) <= kRingOffset);
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

constexpr size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace warpgrade::executor::wire
