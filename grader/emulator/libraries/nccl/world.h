// The communicators of this process, and the calls of their ranks, which meet here.
//
// A communicator has all its ranks in this process, or one here and each other in a process of its own. Of a rank
// elsewhere the calls come with what they read. They are put beside the calls of this process's ranks; each process
// then carries out what it has to write.
//
// The emulator carries out what a stream gets when it is called. So a call waits in its thread until the ranks that
// it needs have called as well, which NVIDIA's documentation allows ("Group Calls": every NCCL call may have to
// block). When no thread of the process can go on any more, what misses is named and the calls fail.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
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
#include "nccl/peers.h"

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

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr auto kLong = std::chrono::seconds(10);

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
  std::string elsewhere;  // the place of a call in another process
  Group* group = nullptr;
  std::shared_ptr<CollectiveBridge::Calls> calls;  // with the others of its rank's group

  bool is_here() const;  // of a rank in this process
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
  std::chrono::steady_clock::time_point began{};
  bool is_of_several = false;  // ncclGroupStart was called
  size_t open = 0;
  ncclResult_t result = ncclSuccess;
  std::string why;
};

// A call of a rank in another process.
struct Told {
  Notice notice;
  Operation operation;
  Group group;
  Bytes bytes;
};

struct Clique {
  int number = 0;
  std::vector<ncclComm_t> members;  // by rank; nullptr when destroyed
  std::vector<std::deque<Operation*>> collectives;
  std::map<std::pair<int, int>, std::deque<Operation*>> sends, receives;  // by sender and receiver
  ncclResult_t failed = ncclSuccess;
  // Of one with ranks in other processes:
  std::unique_ptr<Peers> peers;
  int own_rank = 0;
  std::vector<std::shared_ptr<ncclComm>> elsewhere;  // by rank
  std::vector<std::unique_ptr<Told>> told;

  int ranks() const { return static_cast<int>(members.size()); }
  bool has_left(int rank) const;  // its process has ended, or it has destroyed its communicator
  std::string name() const;       // "communicator #1 (4 ranks)"
};

class World {
 public:
  static World& instance();

  std::string new_id();
  ncclComm_t add(const std::shared_ptr<Clique>& clique, int rank, int device);
  std::shared_ptr<Clique> new_clique(int ranks);
  bool knows(ncclComm_t comm);
  void remove(ncclComm_t comm);
  // Carries the calls out with those of other threads, or fails: the group's result.
  void run(Group& group);

 private:
  struct Meeting {
    std::vector<Joining*> ranks;
    std::unique_ptr<Peers> peers;  // of a rank that is alone in this process

    std::vector<int> there() const;
    std::vector<int> missing() const;
    bool is_alone() const { return ranks.size() == 1 && ranks[0]->ranks > 1; }
  };

  void post(Group& group);
  void join(Joining& joining);
  void refuse(Joining& joining, const std::string& why);
  void put(Operation& operation);
  void go_on(Clique& clique);
  void compare_next(Clique& clique);
  void carry_out(const std::vector<Operation*>& ranks);
  void split(const std::vector<Operation*>& ranks);
  void send(Operation& from, Operation& to);
  void done(Operation& operation);
  void fail(Clique& clique, const std::string& why);
  void fail(Group& group, const std::string& why);
  void wait(Group& group, std::unique_lock<std::mutex>& lock);
  std::set<pid_t> waiting_threads() const;
  void name_what_misses();
  void name_what_misses(const Meeting& meeting);
  void name_what_misses(Clique& clique);
  void tell_of_long_wait(const Group& group);

  // --- ranks in other processes (processes.cpp) ---
  bool has_to_wait(const Group& group) const;
  bool waits_for_processes(const Group& group) const;
  bool may_come_from_elsewhere();
  void pause(const Group& group, std::unique_lock<std::mutex>& lock);
  void serve();
  void look_for_ranks(Joining& joining, Meeting& meeting);
  void join_with(Joining& joining, Meeting& meeting, const std::vector<Hello>& others);
  void tell_others(const Operation& operation);
  void take(Clique& clique, int rank, const Notice& notice, Bytes&& bytes);
  void name_who_has_left(Clique& clique);
  static void say(Clique& clique, Notice::What what);

  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t changes_ = 0;
  int last_number_ = 0;
  std::set<ncclComm_t> comms_;
  std::map<std::string, Meeting> meetings_;  // by id
  std::set<Clique*> shared_;                 // with ranks in other processes
  std::set<Group*> waiting_;
  std::unique_ptr<StuckMark> stuck_;
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
