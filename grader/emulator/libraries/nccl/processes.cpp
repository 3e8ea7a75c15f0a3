// Ranks of a communicator that live in other processes.
#include <algorithm>
#include <cstring>

#include "nccl/texts.h"
#include "nccl/world.h"

namespace warpgrade::nccl {
namespace {

constexpr auto kTurn = std::chrono::milliseconds(5);

// What a call reads goes to those that write what comes of it.
bool is_read_by(const Operation& o, int rank) {
  const bool has_one_reader = o.kind == Kind::reduce || o.kind == Kind::gather;
  return o.from.bytes != 0 && (!has_one_reader || rank == o.root);
}

Bytes message_of(Notice notice, const uint8_t* from, size_t bytes) {
  notice.bytes = bytes;
  Bytes message(sizeof notice + bytes);
  std::memcpy(message.data(), &notice, sizeof notice);
  if (bytes != 0) std::memcpy(message.data() + sizeof notice, from, bytes);
  return message;
}

bool has_unsent(const Group& group) {
  return std::any_of(group.operations.begin(), group.operations.end(), [](const auto& operation) {
    const auto& peers = operation->comm->clique->peers;
    return peers && !peers->is_sent();
  });
}

}  // namespace

bool Clique::has_left(int rank) const {
  return members[static_cast<size_t>(rank)] == nullptr || (peers && peers->has_ended(rank));
}

// What this process's ranks said has to be on its way as well: nobody sends it later.
bool World::has_to_wait(const Group& group) const {
  if (group.result != ncclSuccess) return false;
  return group.open != 0 || has_unsent(group);
}

bool World::waits_for_processes(const Group& group) const {
  if (std::any_of(group.operations.begin(), group.operations.end(),
                  [](const auto& operation) { return operation->comm->clique->peers != nullptr; }))
    return true;
  return std::any_of(group.joining.begin(), group.joining.end(), [&](const auto& joining) {
    const auto found = meetings_.find(joining->id);
    return found != meetings_.end() && found->second.is_alone();
  });
}

// Asked when no thread of this process can go on. After 10 s nothing small is on its way any more.
bool World::may_come_from_elsewhere() {
  const auto now = std::chrono::steady_clock::now();
  bool waits = false;
  for (const Group* group : waiting_) {
    if (!has_to_wait(*group) || !waits_for_processes(*group)) continue;
    if (now - group->began < kLong || has_unsent(*group)) return true;
    waits = true;
  }
  if (!waits) return false;
  if (!stuck_) stuck_ = std::make_unique<StuckMark>();
  return is_any_process_going();
}

// For a tenth of a second, or until this thread can go on.
void World::pause(const Group& group, std::unique_lock<std::mutex>& lock) {
  if (!waits_for_processes(group)) {
    changed_.wait_for(lock, kLook);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + kLook;
  for (serve(); has_to_wait(group) && std::chrono::steady_clock::now() < end; serve()) {
    std::vector<pollfd> waits;
    for (const auto& [id, meeting] : meetings_) {
      if (meeting.peers) meeting.peers->add_to(waits);
    }
    for (const Clique* clique : shared_) clique->peers->add_to(waits);
    lock.unlock();
    poll(waits.data(), waits.size(), static_cast<int>(kTurn.count()));
    lock.lock();
  }
}

// Takes what other processes have said.
void World::serve() {
  std::vector<Joining*> alone;
  for (const auto& [id, meeting] : meetings_) {
    if (meeting.is_alone()) alone.push_back(meeting.ranks[0]);
  }
  for (Joining* joining : alone) {
    const auto found = meetings_.find(joining->id);
    if (found != meetings_.end() && found->second.is_alone()) look_for_ranks(*joining, found->second);
  }
  for (Clique* clique : shared_) {
    clique->peers->receive([&](int rank, const Notice& notice, Bytes&& bytes) {
      take(*clique, rank, notice, std::move(bytes));
    });
    go_on(*clique);
    name_who_has_left(*clique);
    std::erase_if(clique->told, [](const auto& told) {
      return told->group.open == 0 || told->group.result != ncclSuccess;
    });
  }
}

void World::look_for_ranks(Joining& joining, Meeting& meeting) {
  if (!meeting.peers) {
    Hello own;
    own.ranks = joining.ranks;
    own.rank = joining.rank;
    own.device = joining.device;
    own.place = line_of(bridge().place(joining.called));
    meeting.peers = std::make_unique<Peers>(joining.id, own);
  }
  Peers& peers = *meeting.peers;
  if (peers.is_claimed())
    return refuse(joining, "two calls of ncclCommInitRank are for rank " + std::to_string(joining.rank) +
                               ", the other one in another process");
  peers.look();
  const std::optional<Hello> other = peers.disagrees();
  if (other && other->rank == joining.rank)
    return refuse(joining, "two calls of ncclCommInitRank are for rank " + std::to_string(joining.rank) +
                               ", the other one at " + other->place.data());
  if (other)
    return refuse(joining, "ncclCommInitRank of rank " + std::to_string(joining.rank) + " says " +
                               std::to_string(joining.ranks) + " ranks, that of rank " +
                               std::to_string(other->rank) + " at " + other->place.data() + " says " +
                               std::to_string(other->ranks));
  if (const std::optional<int> rank = peers.given_up()) {
    const std::vector<int> missing = meeting.missing();
    const std::string why = "ncclCommInitRank of a communicator of " + std::to_string(joining.ranks) +
                            " ranks hangs: rank " + std::to_string(*rank) +
                            " called it, and its call has failed or its process has ended" +
                            (missing.empty() ? "" : "; " + ranks_text(missing) + " never called it");
    bridge().report(CollectiveBridge::Mistake::hang, joining.called, why, kSameInit);
    return fail(*joining.group, why);
  }
  const std::vector<Hello> others = peers.there();
  for (const Hello& one : others) {
    if (one.device == joining.device)
      return refuse(joining, "ranks " + std::to_string(one.rank) + " and " + std::to_string(joining.rank) +
                                 " of one communicator are both on device " + std::to_string(joining.device));
  }
  if (static_cast<int>(others.size()) + 1 == joining.ranks) join_with(joining, meeting, others);
}

void World::join_with(Joining& joining, Meeting& meeting, const std::vector<Hello>& others) {
  const auto clique = new_clique(joining.ranks);
  clique->peers = std::move(meeting.peers);
  clique->peers->all_are_there();
  clique->own_rank = joining.rank;
  clique->elsewhere.resize(clique->members.size());
  for (const Hello& other : others) {
    const auto rank = static_cast<size_t>(other.rank);
    // The communicator of this process alone keeps the clique.
    const std::shared_ptr<Clique> unowned(std::shared_ptr<Clique>(), clique.get());
    clique->elsewhere[rank] = std::make_shared<ncclComm>(ncclComm{unowned, other.rank, other.device, {}});
    clique->members[rank] = clique->elsewhere[rank].get();
  }
  *joining.made = add(clique, joining.rank, joining.device);
  shared_.insert(clique.get());
  say(*clique, Notice::What::joined);
  --joining.group->open;
  meetings_.erase(joining.id);
  ++changes_;
  changed_.notify_all();
}

void World::tell_others(const Operation& o) {
  const Clique& clique = *o.comm->clique;
  Notice notice;
  notice.kind = static_cast<uint8_t>(o.kind);
  notice.is_of_several = o.group->is_of_several;
  std::strncpy(notice.name.data(), o.name, notice.name.size() - 1);
  notice.count = o.count;
  notice.type = o.type;
  notice.op = o.op;
  notice.scalar = o.scalar;
  notice.root = o.root;
  notice.place = line_of(bridge().place(o.called));
  std::shared_ptr<const Bytes> with_bytes, without;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    if (rank == clique.own_rank || (o.is_to_one() && rank != o.root)) continue;
    auto& message = is_read_by(o, rank) ? with_bytes : without;
    if (!message)
      message = std::make_shared<const Bytes>(
          message_of(notice, o.host_from, is_read_by(o, rank) ? o.from.bytes : 0));
    clique.peers->send(rank, message);
  }
}

void World::take(Clique& clique, int rank, const Notice& notice, Bytes&& bytes) {
  if (notice.what == Notice::What::leaves) clique.members[static_cast<size_t>(rank)] = nullptr;
  if (notice.what != Notice::What::call) return;
  auto told = std::make_unique<Told>();
  told->notice = notice;
  told->bytes = std::move(bytes);
  Operation& o = told->operation;
  o.kind = static_cast<Kind>(notice.kind);
  o.name = told->notice.name.data();
  o.comm = clique.elsewhere[static_cast<size_t>(rank)].get();
  o.host_from = told->bytes.empty() ? nullptr : told->bytes.data();
  o.from.bytes = told->bytes.size();
  o.count = notice.count;
  o.type = notice.type;
  o.op = notice.op;
  o.scalar = notice.scalar;
  o.root = notice.root;
  o.elsewhere = notice.place.data();
  o.group = &told->group;
  told->group.open = 1;
  told->group.is_of_several = notice.is_of_several;
  clique.told.push_back(std::move(told));
  put(o);
}

// Its calls come before the end of its connection: what misses now never comes.
void World::name_who_has_left(Clique& clique) {
  if (clique.failed != ncclSuccess) return;
  bool misses = false;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    misses |= clique.has_left(rank) && clique.collectives[static_cast<size_t>(rank)].empty() &&
              !clique.collectives[static_cast<size_t>(clique.own_rank)].empty();
  }
  for (const auto* queues : {&clique.sends, &clique.receives}) {
    for (const auto& [way, queue] : *queues)
      misses |= !queue.empty() && queue.front()->is_here() && clique.has_left(queue.front()->root);
  }
  if (misses) name_what_misses(clique);
}

void World::say(Clique& clique, Notice::What what) {
  Notice notice;
  notice.what = what;
  const auto message = std::make_shared<const Bytes>(message_of(notice, nullptr, 0));
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    if (rank != clique.own_rank) clique.peers->send(rank, message);
  }
}

}  // namespace warpgrade::nccl
