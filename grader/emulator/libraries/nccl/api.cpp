// NCCL's functions: they check their arguments, and give their calls to the world.
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "captured_work.h"
#include "left_out.h"
#include "nccl/world.h"

namespace warpgrade::nccl {
namespace {

struct Failure {
  ncclResult_t code;
  std::string why;
};

void require(bool fulfilled, ncclResult_t code, const std::string& why) {
  if (!fulfilled) throw Failure{code, why};
}
void require(bool fulfilled, const std::string& why) {
  require(fulfilled, ncclInvalidArgument, why);
}
void require_done(cudaError_t error, const char* what) {
  require(error == cudaSuccess, ncclUnhandledCudaError, std::string(what) + ": " + cudaGetErrorString(error));
}

struct OfThread {
  int depth = 0;
  std::unique_ptr<Group> group;
  std::vector<Operation> captured{};  // of captured streams
  ncclResult_t first_error = ncclSuccess;
};
thread_local OfThread t_group;
thread_local std::string t_last_error;

// A mistake is told at its line, but for one that a finding of the memory has named.
template <class Call>
ncclResult_t answer(const char* name, Call&& call) {
  try {
    call();
    return ncclSuccess;
  } catch (const Failure& failure) {
    t_last_error = std::string(name) + ": " + failure.why;
    if (failure.code == ncclInvalidArgument || failure.code == ncclInvalidUsage)
      bridge().report(CollectiveBridge::Mistake::mismatch, bridge().here(), t_last_error,
                      "NVIDIA's documentation of the function says what it takes.");
    if (t_group.depth > 0 && t_group.first_error == ncclSuccess) t_group.first_error = failure.code;
    return failure.code;
  }
}

void run(Group& group) {
  World::instance().run(group);
  if (group.result == ncclSuccess) return;
  t_last_error = group.why;
}

// In a group the call is kept; its result is that of ncclGroupEnd.
ncclResult_t give(const std::function<void(Group&)>& add) {
  if (t_group.depth > 0) {
    add(*t_group.group);
    return ncclSuccess;
  }
  Group group;
  add(group);
  run(group);
  return group.result;
}

ncclResult_t give(Operation operation) {
  return give(
      [&](Group& group) { group.operations.push_back(std::make_unique<Operation>(std::move(operation))); });
}

void require_comm(ncclComm_t comm) {
  require(comm != nullptr && World::instance().knows(comm),
          comm == nullptr ? "its communicator is null" : "its communicator is none, or was destroyed");
}

void require_config(const ncclConfig_t* config) {
  require(config == nullptr || config->magic == 0xcafebeef,
          "its configuration was not made by NCCL_CONFIG_INITIALIZER");
}

ncclResult_t join(const char* name, ncclComm_t* made, int ranks, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t checked = answer(name, [&] {
    require(made != nullptr, "the place for the communicator is null");
    require(ranks > 0 && rank >= 0 && rank < ranks,
            "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + " ranks");
    require_config(config);
    auto joining = std::make_unique<Joining>();
    joining->made = made;
    joining->id.assign(id.internal, sizeof id.internal);
    joining->ranks = ranks;
    joining->rank = rank;
    joining->called = bridge().here();
    require_done(cudaGetDevice(&joining->device), "cudaGetDevice");
    result = give([&](Group& group) { group.joining.push_back(std::move(joining)); });
  });
  return checked != ncclSuccess ? checked : result;
}

// How many blocks of `count` elements a call reads and writes.
struct Blocks {
  size_t from = 1, to = 1;
};

Blocks blocks_of(Kind kind, size_t ranks, bool is_root) {
  switch (kind) {
    case Kind::all_reduce:
      return {1, 1};
    case Kind::reduce:
      return {1, is_root ? size_t{1} : 0};
    case Kind::broadcast:
      return {is_root ? size_t{1} : 0, 1};
    case Kind::all_gather:
      return {1, ranks};
    case Kind::reduce_scatter:
      return {ranks, 1};
    case Kind::all_to_all:
      return {ranks, ranks};
    case Kind::gather:
      return {1, is_root ? ranks : 0};
    case Kind::scatter:
      return {is_root ? ranks : 0, 1};
    case Kind::send:
      return {1, 0};
    default:
      return {0, 1};
  }
}

struct Arguments {
  Kind kind;
  const char* name;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count;
  ncclDataType_t type;
  ncclComm_t comm;
  cudaStream_t stream;
  ncclRedOp_t op = ncclSum;
  bool reduces = false;
  int root = -1;
};

void take_operation(Operation& o, ncclRedOp_t op) {
  require(can_reduce(o.type), std::string("the emulator reduces no ") + name_of(o.type));
  require(op >= 0, "the operation " + std::to_string(op) + " is none");
  o.op = op;
  if (op < ncclNumOps) return;
  const auto found = o.comm->operations.find(op);
  require(found != o.comm->operations.end(),
          "the operation " + std::to_string(op) + " is none of the communicator's");
  require(found->second.type == o.type, "the operation was made for another type of elements");
  o.op = ncclNumOps;
  o.scalar = found->second.scalar;
  o.scalar_in_device = found->second.in_device;
}

// Finds the memory of a call that is about to run.
void find_memory(Operation& o) {
  const int device = o.comm->device;
  require_done(bridge().prepare(o.stream, device), "its stream");
  const std::string who = std::string(o.name) + " of rank " + std::to_string(o.comm->rank);
  if (o.from.bytes != 0) require_done(bridge().view(o.from, device, who, o.host_from), "its sendbuff");
  if (o.to.bytes != 0) require_done(bridge().view(o.to, device, who, o.host_to), "its recvbuff");
  if (o.scalar_in_device == nullptr) return;
  uint8_t* host = nullptr;
  const size_t bytes = bytes_of(o.type);
  require_done(bridge().view({reinterpret_cast<uint64_t>(o.scalar_in_device), bytes}, device, o.name, host),
               "the operation's scalar");
  std::memcpy(o.scalar.data(), host, bytes);
}

// What a node of a graph does: the calls of one rank that its thread gave together.
cudaError_t run_in_graph(const std::vector<Operation>& calls, cudaStream_t stream) {
  Group group;
  group.is_of_several = calls.size() > 1;
  const ncclResult_t checked = answer(calls.front().name, [&] {
    for (const Operation& call : calls) {
      require_comm(call.comm);
      Operation o = call;
      o.stream = stream;
      find_memory(o);
      group.operations.push_back(std::make_unique<Operation>(std::move(o)));
    }
  });
  if (checked == ncclSuccess) run(group);
  return checked == ncclSuccess && group.result == ncclSuccess ? cudaSuccess : cudaErrorLaunchFailure;
}

unsigned long long capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  require_done(cudaStreamGetCaptureInfo(stream, &status, &id), "its stream");
  return id;
}

// A node for each stream. In one graph the emulator runs one node at a time: one that waits for another rank's would
// wait for ever.
void capture(const std::vector<Operation>& calls) {
  std::map<cudaStream_t, std::vector<Operation>> streams;
  std::map<unsigned long long, cudaStream_t> captures;
  for (const Operation& call : calls) {
    streams[call.stream].push_back(call);
    const auto [at, is_new] = captures.emplace(capture_of(call.stream), call.stream);
    if (is_new || at->second == call.stream) continue;
    libraries::say_left_out("NCCL", "a group of several streams that one capture makes a graph of");
    throw Failure{ncclUnhandledCudaError, "one graph has several of the group's streams"};
  }
  for (const auto& [stream, of_stream] : streams) {
    const std::vector<Operation> kept = of_stream;
    require_done(libraries::capture(
                     stream, [kept](cudaStream_t in_graph) { return run_in_graph(kept, in_graph); }, true),
                 "its stream");
  }
}

// In place is one place alone: other overlaps would be overwritten while they are read.
void require_apart(const Operation& o, size_t block) {
  const auto end = [](const CollectiveBridge::Bytes& b) { return b.address + b.bytes; };
  if (o.from.bytes == 0 || o.to.bytes == 0 || o.from.address >= end(o.to) || o.to.address >= end(o.from))
    return;
  const size_t offset = block * static_cast<size_t>(o.comm->rank);
  const bool is_in_place = o.kind == Kind::all_gather || o.kind == Kind::gather
                               ? o.from.address == o.to.address + offset
                           : o.kind == Kind::reduce_scatter || o.kind == Kind::scatter
                               ? o.to.address == o.from.address + offset
                               : o.kind != Kind::all_to_all && o.from.address == o.to.address;
  require(is_in_place, "its buffers overlap, and not as an operation in place: " +
                           std::string(o.kind == Kind::all_gather || o.kind == Kind::gather
                                           ? "sendbuff has to be recvbuff + rank * count"
                                       : o.kind == Kind::reduce_scatter || o.kind == Kind::scatter
                                           ? "recvbuff has to be sendbuff + rank * count"
                                       : o.kind == Kind::all_to_all ? "there is none"
                                                                    : "sendbuff has to be recvbuff"));
}

ncclResult_t call(const Arguments& a) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t checked = answer(a.name, [&] {
    require_comm(a.comm);
    const auto ranks = static_cast<size_t>(a.comm->clique->ranks());
    const size_t element = bytes_of(a.type);
    require(element != 0, "the type " + std::to_string(a.type) + " is none");
    Operation o;
    o.kind = a.kind;
    o.name = a.name;
    o.comm = a.comm;
    o.count = a.count;
    o.type = a.type;
    o.stream = a.stream;
    o.root = a.root;
    o.called = bridge().here();
    const bool has_root = a.kind == Kind::reduce || a.kind == Kind::broadcast || a.kind == Kind::gather ||
                          a.kind == Kind::scatter || o.is_to_one();
    require(!has_root || (a.root >= 0 && a.root < static_cast<int>(ranks)),
            "rank " + std::to_string(a.root) + " of " + std::to_string(ranks) + " ranks");
    if (a.reduces) take_operation(o, a.op);
    const Blocks blocks = blocks_of(a.kind, ranks, a.root == a.comm->rank);
    const size_t block = a.count * element;
    require(a.count <= (size_t{1} << 48) / element / ranks, "its count is " + std::to_string(a.count));
    o.from = {reinterpret_cast<uint64_t>(a.from), block * blocks.from};
    o.to = {reinterpret_cast<uint64_t>(a.to), block * blocks.to};
    require((o.from.bytes == 0 || a.from != nullptr) && (o.to.bytes == 0 || a.to != nullptr),
            "a buffer is null");
    require_apart(o, block);
    if (libraries::is_captured(a.stream)) {
      if (t_group.depth == 0) return capture({o});
      t_group.captured.push_back(std::move(o));
      return;
    }
    find_memory(o);
    result = give(std::move(o));
  });
  return checked != ncclSuccess ? checked : result;
}

}  // namespace
}  // namespace warpgrade::nccl

using namespace warpgrade::nccl;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  return answer("ncclGetVersion", [&] {
    require(version != nullptr, "the place for the version is null");
    *version = NCCL_VERSION_CODE;
  });
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return answer("ncclGetUniqueId", [&] {
    require(id != nullptr, "the place for the id is null");
    std::memcpy(id->internal, World::instance().new_id().data(), sizeof id->internal);
  });
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return join("ncclCommInitRank", comm, ranks, id, rank, nullptr);
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return join("ncclCommInitRankConfig", comm, ranks, id, rank, config);
}
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int devices, const int* list) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t checked = answer("ncclCommInitAll", [&] {
    require(comms != nullptr && devices > 0, "the array of communicators is null or has no element");
    int there = 0;
    require_done(cudaGetDeviceCount(&there), "cudaGetDeviceCount");
    const std::string id = World::instance().new_id();
    std::set<int> used;
    Group group;
    group.is_of_several = true;
    for (int k = 0; k < devices; ++k) {
      const int device = list != nullptr ? list[k] : k;
      require(device >= 0 && device < there, "device " + std::to_string(device) + " of " +
                                                 std::to_string(there) +
                                                 " (WARPEMU_DEVICES says how many the emulator has)");
      require(used.insert(device).second, ncclInvalidUsage,
              "device " + std::to_string(device) + " is listed twice");
      group.joining.push_back(
          std::make_unique<Joining>(Joining{&comms[k], id, devices, k, device, bridge().here(), nullptr}));
    }
    run(group);
    result = group.result;
  });
  return checked != ncclSuccess ? checked : result;
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  ncclResult_t result = ncclSuccess;
  const ncclResult_t checked = answer("ncclCommSplit", [&] {
    require_comm(comm);
    require_config(config);
    require(made != nullptr, "the place for the communicator is null");
    if (comm->clique->peers) {
      warpgrade::libraries::say_left_out("NCCL",
                                         "ncclCommSplit of a communicator with ranks in several processes");
      throw Failure{ncclSystemError, "the communicator has ranks in several processes"};
    }
    require(color >= 0 || color == NCCL_SPLIT_NOCOLOR, "the color is " + std::to_string(color));
    Operation o;
    o.kind = Kind::split;
    o.name = "ncclCommSplit";
    o.comm = comm;
    o.color = color;
    o.key = key;
    o.made = made;
    o.called = bridge().here();
    result = give(std::move(o));
  });
  return checked != ncclSuccess ? checked : result;
}
// Calls have been carried out when they return.
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return answer("ncclCommFinalize", [&] { require_comm(comm); });
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  return answer("ncclCommDestroy", [&] {
    require_comm(comm);
    World::instance().remove(comm);
  });
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return ncclCommDestroy(comm);
}
const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* kTexts[] = {"no error",
                                    "a call of CUDA failed",
                                    "a call of the system failed",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "another process has ended, or the network failed",
                                    "the operation is in progress"};
  return result >= 0 && result <= ncclInProgress ? kTexts[result] : "unknown result";
}
const char* ncclGetLastError(ncclComm_t) {
  return t_last_error.c_str();
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return answer("ncclCommGetAsyncError", [&] {
    require_comm(comm);
    require(error != nullptr, "the place for the error is null");
    *error = comm->clique->failed;
  });
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer("ncclCommCount", [&] {
    require_comm(comm);
    require(count != nullptr, "the place for the count is null");
    *count = comm->clique->ranks();
  });
}
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return answer("ncclCommCuDevice", [&] {
    require_comm(comm);
    require(device != nullptr, "the place for the device is null");
    *device = comm->device;
  });
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer("ncclCommUserRank", [&] {
    require_comm(comm);
    require(rank != nullptr, "the place for the rank is null");
    *rank = comm->rank;
  });
}
// What makes a GPU's copies faster has no effect.
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buffer, size_t, void** handle) {
  return answer("ncclCommRegister", [&] {
    require_comm(comm);
    require(handle != nullptr, "the place for the handle is null");
    *handle = buffer;
  });
}
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void*) {
  return answer("ncclCommDeregister", [&] { require_comm(comm); });
}
ncclResult_t ncclMemAlloc(void** pointer, size_t bytes) {
  return answer("ncclMemAlloc", [&] { require_done(cudaMalloc(pointer, bytes), "cudaMalloc"); });
}
ncclResult_t ncclMemFree(void* pointer) {
  return answer("ncclMemFree", [&] { require_done(cudaFree(pointer), "cudaFree"); });
}
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return answer("ncclRedOpCreatePreMulSum", [&] {
    require_comm(comm);
    require(op != nullptr && scalar != nullptr, "a pointer is null");
    require(bytes_of(type) != 0 && can_reduce(type), "the emulator reduces no such type");
    ncclComm::Scaled made{type, {}, nullptr};
    if (residence == ncclScalarDevice) {
      made.in_device = scalar;
    } else {
      std::memcpy(made.scalar.data(), scalar, bytes_of(type));
    }
    int number = ncclNumOps;
    while (comm->operations.contains(number)) ++number;
    comm->operations[number] = made;
    *op = static_cast<ncclRedOp_t>(number);
  });
}
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return answer("ncclRedOpDestroy", [&] {
    require_comm(comm);
    require(comm->operations.erase(op) == 1, "the operation is none of the communicator's");
  });
}
ncclResult_t ncclGroupStart() {
  if (t_group.depth++ == 0) {
    t_group.group = std::make_unique<Group>();
    t_group.group->is_of_several = true;
    t_group.first_error = ncclSuccess;
  }
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (t_group.depth == 0)
    return answer("ncclGroupEnd",
                  [] { require(false, ncclInvalidUsage, "there is no ncclGroupStart before it"); });
  if (--t_group.depth > 0) return ncclSuccess;
  const std::unique_ptr<Group> group = std::move(t_group.group);
  const std::vector<Operation> captured = std::exchange(t_group.captured, {});
  if (t_group.first_error != ncclSuccess) return t_group.first_error;
  if (const ncclResult_t result = answer("ncclGroupEnd", [&] { capture(captured); }); result != ncclSuccess)
    return result;
  run(*group);
  return group->result;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return call({Kind::all_reduce, "ncclAllReduce", send, receive, count, type, comm, stream, op, true});
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream) {
  return call({Kind::reduce, "ncclReduce", send, receive, count, type, comm, stream, op, true, root});
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return call(
      {Kind::broadcast, "ncclBroadcast", send, receive, count, type, comm, stream, ncclSum, false, root});
}
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return call(
      {Kind::broadcast, "ncclBcast", buffer, buffer, count, type, comm, stream, ncclSum, false, root});
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return call({Kind::all_gather, "ncclAllGather", send, receive, count, type, comm, stream});
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  return call(
      {Kind::reduce_scatter, "ncclReduceScatter", send, receive, count, type, comm, stream, op, true});
}
ncclResult_t ncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return call({Kind::all_to_all, "ncclAlltoAll", send, receive, count, type, comm, stream});
}
ncclResult_t ncclGather(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return call({Kind::gather, "ncclGather", send, receive, count, type, comm, stream, ncclSum, false, root});
}
ncclResult_t ncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  return call({Kind::scatter, "ncclScatter", send, receive, count, type, comm, stream, ncclSum, false, root});
}
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call({Kind::send, "ncclSend", send, nullptr, count, type, comm, stream, ncclSum, false, peer});
}
ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call({Kind::receive, "ncclRecv", nullptr, receive, count, type, comm, stream, ncclSum, false, peer});
}

// The names of a profiler's layer mean the same.
#define WARPGRADE_ALSO(name) extern __typeof__(name) p##name __attribute__((alias(#name)));
WARPGRADE_ALSO(ncclGetVersion)
WARPGRADE_ALSO(ncclGetUniqueId)
WARPGRADE_ALSO(ncclCommInitRank)
WARPGRADE_ALSO(ncclCommInitRankConfig)
WARPGRADE_ALSO(ncclCommInitAll)
WARPGRADE_ALSO(ncclCommSplit)
WARPGRADE_ALSO(ncclCommFinalize)
WARPGRADE_ALSO(ncclCommDestroy)
WARPGRADE_ALSO(ncclCommAbort)
WARPGRADE_ALSO(ncclGetErrorString)
WARPGRADE_ALSO(ncclGetLastError)
WARPGRADE_ALSO(ncclCommGetAsyncError)
WARPGRADE_ALSO(ncclCommCount)
WARPGRADE_ALSO(ncclCommCuDevice)
WARPGRADE_ALSO(ncclCommUserRank)
WARPGRADE_ALSO(ncclCommRegister)
WARPGRADE_ALSO(ncclCommDeregister)
WARPGRADE_ALSO(ncclMemAlloc)
WARPGRADE_ALSO(ncclMemFree)
WARPGRADE_ALSO(ncclRedOpCreatePreMulSum)
WARPGRADE_ALSO(ncclRedOpDestroy)
WARPGRADE_ALSO(ncclGroupStart)
WARPGRADE_ALSO(ncclGroupEnd)
WARPGRADE_ALSO(ncclAllReduce)
WARPGRADE_ALSO(ncclReduce)
WARPGRADE_ALSO(ncclBroadcast)
WARPGRADE_ALSO(ncclBcast)
WARPGRADE_ALSO(ncclAllGather)
WARPGRADE_ALSO(ncclReduceScatter)
WARPGRADE_ALSO(ncclAlltoAll)
WARPGRADE_ALSO(ncclGather)
WARPGRADE_ALSO(ncclScatter)
WARPGRADE_ALSO(ncclSend)
WARPGRADE_ALSO(ncclRecv)
#undef WARPGRADE_ALSO

}  // extern "C"
