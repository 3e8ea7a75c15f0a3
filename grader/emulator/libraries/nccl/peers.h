// One rank's connections with the ranks of its communicator that live in other processes of this machine.
//
// Each rank listens on a name of Linux's abstract sockets, which is made of the communicator's id and the rank. The
// name is no file: it is gone when its process ends, and the others see the end of the connection.
#pragma once
#include <poll.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nccl/elements.h"

namespace warpgrade::nccl {

using Line = std::array<char, 256>;  // "ring.cu:31", cut where it is longer
Line line_of(const std::string& text);

// What a rank says first.
struct Hello {
  std::array<char, 16> protocol{"warpgrade nccl1"};
  int ranks = 0, rank = 0, device = 0;
  Line place{};  // of its ncclCommInitRank
};

struct Notice {
  enum class What : uint8_t {
    joined,
    call,
    leaves
  };  // it has all ranks; a call; it destroys its communicator
  What what = What::call;
  uint8_t kind = 0;  // of the call, as all below
  bool is_of_several = false;
  std::array<char, 32> name{};
  size_t count = 0;
  ncclDataType_t type = ncclInt8;
  ncclRedOp_t op = ncclSum;
  Scalar scalar{};
  int root = -1;
  Line place{};
  size_t bytes = 0;  // that follow: what the call reads
};

using Bytes = std::vector<uint8_t>;

// While it stands, the other processes of this machine see that no thread of this one can go on.
class StuckMark {
 public:
  StuckMark();
  ~StuckMark();
  StuckMark(const StuckMark&) = delete;
  StuckMark& operator=(const StuckMark&) = delete;

 private:
  int socket_ = -1;
};
// Whether a process that has loaded NCCL is not marked so: it may yet call. One of another user cannot be seen.
bool is_any_process_going();

class Peers {
 public:
  Peers(const std::string& id, const Hello& own);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // --- until all ranks are there ---
  void look();
  bool is_claimed() const { return is_claimed_; }  // another process has this rank
  std::vector<Hello> there() const;                // the other ranks
  std::optional<Hello> disagrees() const { return disagrees_; }
  std::optional<int> given_up() const { return given_up_; }  // a rank that was there
  void all_are_there();

  // --- then ---
  void send(int rank, const std::shared_ptr<const Bytes>& message);
  void receive(const std::function<void(int rank, const Notice&, Bytes&&)>& take);
  bool is_sent() const;  // nothing is left to send, but to ranks that have ended
  bool has_ended(int rank) const;

  void add_to(std::vector<pollfd>& waits) const;

 private:
  struct Connection {
    int socket = -1;
    std::optional<Hello> hello;
    Notice notice;
    size_t got = 0;  // of the notice and its bytes
    Bytes bytes;
    std::deque<std::shared_ptr<const Bytes>> outgoing;
    size_t sent = 0;  // of the first one

    void close();
    bool get(void* to, size_t size, size_t& got);
    bool get_message();
    void put();
  };

  void connect(int rank);
  void accept();
  void greet(Connection& connection);
  void hear(std::unique_ptr<Connection>& stranger);
  void stop_listening();

  std::string id_;
  Hello own_;
  int listener_ = -1;
  bool is_claimed_ = false, is_complete_ = false;
  std::vector<std::unique_ptr<Connection>> ranks_;
  std::vector<std::unique_ptr<Connection>> strangers_;  // not greeted yet
  std::optional<Hello> disagrees_;
  std::optional<int> given_up_;
};

}  // namespace warpgrade::nccl
