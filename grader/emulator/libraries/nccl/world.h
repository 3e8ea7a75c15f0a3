// The communicators of this process, and the calls of their ranks, which meet here.
//
// The emulator carries out what a stream gets when it is called. So a call waits in its thread until the ranks that
// it needs have called as well, which NVIDIA's documentation allows ("Group Calls": every NCCL call may have to
// block). When no thread of the process can go on any more, what misses is named and the calls fail.
#pragma once
#include <sys/types.h>

#include <array>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/collective_bridge.h"
#include "nccl/elements.h"

namespace warpgrade::nccl {

using emu::CallPlace;
using emu::CollectiveBridge;

// Looked up while the program runs: it is linked with NVIDIA's libcudart, which has none.
CollectiveBridge& bridge();

enum class Kind : uint8_t {
  all_reduce,
  reduce,
  broadcast,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter,
  split,
  send,
  receive
};

struct Group;

// A call of a rank.
struct Operation {
  Kind kind = Kind::all_reduce;
  const char* name = "";
  ncclComm_t comm = nullptr;
  CollectiveBridge::Bytes from, to;  // what it reads and writes; none: nothing
  uint8_t *host_from = nullptr, *host_to = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;  // ncclNumOps: with the scalar
  Scalar scalar{};
  const void* scalar_in_device = nullptr;  // where it lies when the call runs
  int root = -1;                           // or the peer
  cudaStream_t stream = nullptr;
  int color = 0, key = 0;  // of a split
  ncclComm_t* made = nullptr;
  CallPlace called;
  Group* group = nullptr;
  std::shared_ptr<CollectiveBridge::Calls> calls;  // with the others of its rank's group

  bool is_to_one() const { return kind == Kind::send || kind == Kind::receive; }
};

struct Joining {
  ncclComm_t* made = nullptr;
  std::string id;
  int ranks = 0, rank = 0, device = 0;
  CallPlace called;
  Group* group = nullptr;
};

// What a thread gives at once: the calls between ncclGroupStart and ncclGroupEnd, or one call.
struct Group {
  std::vector<std::unique_ptr<Operation>> operations;
  std::vector<std::unique_ptr<Joining>> joining;
  pid_t thread = 0;
  bool is_of_several = false;  // ncclGroupStart was called
  size_t open = 0;
  ncclResult_t result = ncclSuccess;
  std::string why;
};

struct Clique {
  int number = 0;
  std::vector<ncclComm_t> members;  // by rank; nullptr when destroyed
  std::vector<std::deque<Operation*>> collectives;
  std::map<std::pair<int, int>, std::deque<Operation*>> sends, receives;  // by sender and receiver
  ncclResult_t failed = ncclSuccess;

  int ranks() const { return static_cast<int>(members.size()); }
  std::string name() const;  // "communicator #1 (4 ranks)"
};

class World {
 public:
  static World& instance();

  std::string new_id();
  bool is_own(const std::string& id) const;
  ncclComm_t add(const std::shared_ptr<Clique>& clique, int rank, int device);
  std::shared_ptr<Clique> new_clique(int ranks);
  bool knows(ncclComm_t comm);
  void remove(ncclComm_t comm);
  // Carries the calls out with those of other threads, or fails: the group's result.
  void run(Group& group);

 private:
  struct Meeting {
    std::vector<Joining*> ranks;
  };

  void post(Group& group);
  void join(Joining& joining);
  void put(Operation& operation);
  void go_on(Clique& clique);
  void carry_out(const std::vector<Operation*>& ranks);
  void split(const std::vector<Operation*>& ranks);
  void send(Operation& from, Operation& to);
  void done(Operation& operation);
  void fail(Clique& clique, const std::string& why);
  void fail(Group& group, const std::string& why);
  void wait(Group& group, std::unique_lock<std::mutex>& lock);
  std::set<pid_t> waiting_threads() const;
  void name_what_misses();
  void name_what_misses(Clique& clique);

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t changes_ = 0;
  int last_number_ = 0;
  std::set<ncclComm_t> comms_;
  std::map<std::string, Meeting> meetings_;  // by id
  std::set<std::string> ids_;
  std::set<Group*> waiting_;
};

}  // namespace warpgrade::nccl

struct ncclComm {
  std::shared_ptr<warpgrade::nccl::Clique> clique;
  int rank = 0, device = 0;
  // Of ncclRedOpCreatePreMulSum: a scalar, or where it lies when the call runs.
  struct Scaled {
    ncclDataType_t type;
    warpgrade::nccl::Scalar scalar;
    const void* in_device;
  };
  std::map<int, Scaled> operations;
};
