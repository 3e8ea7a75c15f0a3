#include "nccl/world.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>

#include "captured_work.h"
#include "nccl/still_threads.h"

namespace warpgrade::nccl {
namespace {

using Mistake = CollectiveBridge::Mistake;
using std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(100);
constexpr auto kLong = std::chrono::seconds(10);
constexpr const char* kSameCalls =
    "Every rank of a communicator makes the same calls in the same order, with the same count, type, "
    "operation and "
    "root; a send and its receive have the same count and type.";
constexpr const char* kGroup =
    "Every rank has to call it. Where one thread has several ranks, put their calls between ncclGroupStart "
    "and "
    "ncclGroupEnd, so that none waits for the next one.";

// "ncclAllReduce of 100 float32 with ncclSum"
std::string text_of(const Operation& o) {
  if (o.kind == Kind::split) return o.name;
  std::string text = std::string(o.name) + " of " + std::to_string(o.count) + " " + name_of(o.type);
  constexpr const char* kOperations[] = {"ncclSum", "ncclProd", "ncclMax",
                                         "ncclMin", "ncclAvg",  "a scaled sum"};
  if (o.kind == Kind::all_reduce || o.kind == Kind::reduce || o.kind == Kind::reduce_scatter)
    text += std::string(" with ") + kOperations[o.op];
  if (o.kind == Kind::send) return text + " to rank " + std::to_string(o.root);
  if (o.kind == Kind::receive) return text + " from rank " + std::to_string(o.root);
  return o.root < 0 ? text : text + " with root " + std::to_string(o.root);
}

std::string at(const CallPlace& called) {
  const std::string place = bridge().place(called);
  return place.empty() ? "" : " at " + place;
}

std::string rank_text(const Operation& o) {
  return "rank " + std::to_string(o.comm->rank);
}

// "ranks 0, 2 and 3"
std::string ranks_text(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t k = 0; k < ranks.size(); ++k)
    text += (k == 0 ? "" : k + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[k]);
  return text;
}

bool are_alike(const Operation& a, const Operation& b) {
  return std::tie(a.kind, a.count, a.type, a.op, a.root) == std::tie(b.kind, b.count, b.type, b.op, b.root);
}

}  // namespace

std::string Clique::name() const {
  return "communicator #" + std::to_string(number) + " (" + std::to_string(ranks()) + " ranks)";
}

CollectiveBridge& bridge() {
  static CollectiveBridge& found = []() -> CollectiveBridge& {
    void* function = libraries::function_of_runtime("warpemu_collective_bridge");
    if (function == nullptr) {
      std::fputs("emulator: its libnccl needs its libcudart beside it: build with -cudart shared\n", stderr);
      std::exit(1);
    }
    return reinterpret_cast<decltype(&warpemu_collective_bridge)>(function)();
  }();
  return found;
}

World& World::instance() {
  static auto* world = new World;  // never destroyed: programs call NCCL in their own static destructors
  return *world;
}

std::string World::new_id() {
  std::string id(NCCL_UNIQUE_ID_BYTES, '\0');
  std::random_device random;
  for (size_t k = 0; k + 4 <= id.size(); k += 4) {
    const unsigned word = random();
    std::memcpy(&id[k], &word, 4);
  }
  const std::lock_guard lock(mutex_);
  ids_.insert(id);
  return id;
}

bool World::is_own(const std::string& id) const {
  return ids_.contains(id);
}

std::shared_ptr<Clique> World::new_clique(int ranks) {
  auto clique = std::make_shared<Clique>();
  clique->number = ++last_number_;
  clique->members.resize(static_cast<size_t>(ranks));
  clique->collectives.resize(static_cast<size_t>(ranks));
  return clique;
}

ncclComm_t World::add(const std::shared_ptr<Clique>& clique, int rank, int device) {
  auto* comm = new ncclComm{clique, rank, device, {}};
  clique->members[static_cast<size_t>(rank)] = comm;
  comms_.insert(comm);
  return comm;
}

bool World::knows(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  return comms_.contains(comm);
}

void World::remove(ncclComm_t comm) {
  const std::lock_guard lock(mutex_);
  comm->clique->members[static_cast<size_t>(comm->rank)] = nullptr;
  comms_.erase(comm);
  delete comm;
}

void World::run(Group& group) {
  group.thread = gettid();
  group.open = group.operations.size() + group.joining.size();
  if (group.open == 0) return;
  std::unique_lock lock(mutex_);
  waiting_.insert(&group);
  post(group);
  wait(group, lock);
  waiting_.erase(&group);
  std::set<CollectiveBridge::Calls*> ended;
  for (const auto& operation : group.operations) {
    if (operation->calls && ended.insert(operation->calls.get()).second) bridge().end(*operation->calls);
  }
}

void World::post(Group& group) {
  for (const auto& joining : group.joining) {
    joining->group = &group;
    join(*joining);
  }
  // In the order of the calls: so are findings told.
  std::vector<ncclComm_t> comms;
  std::map<ncclComm_t, std::vector<CollectiveBridge::Part>> parts;
  for (const auto& operation : group.operations) {
    operation->group = &group;
    if (operation->kind == Kind::split) continue;
    CollectiveBridge::Part part{operation->stream,
                                operation->comm->device,
                                std::string(operation->name) + " of " + rank_text(*operation),
                                operation->called,
                                {},
                                {}};
    if (operation->from.bytes != 0) part.reads.push_back(operation->from);
    if (operation->to.bytes != 0) part.writes.push_back(operation->to);
    auto& of_comm = parts[operation->comm];
    if (of_comm.empty()) comms.push_back(operation->comm);
    of_comm.push_back(std::move(part));
  }
  std::map<ncclComm_t, std::shared_ptr<CollectiveBridge::Calls>> calls;
  for (const ncclComm_t comm : comms) calls[comm] = bridge().begin(parts[comm]);
  for (const auto& operation : group.operations) {
    if (operation->kind != Kind::split) operation->calls = calls[operation->comm];
  }
  std::set<Clique*> touched;
  for (const auto& operation : group.operations) {
    put(*operation);
    touched.insert(operation->comm->clique.get());
  }
  for (Clique* clique : touched) go_on(*clique);
}

void World::join(Joining& joining) {
  Meeting& meeting = meetings_[joining.id];
  const auto refuse = [&](const std::string& why) {
    bridge().report(
        Mistake::mismatch, joining.called, why,
        "Each rank of 0 to ranks - 1 calls ncclCommInitRank once, with the same id and number of ranks, and "
        "on a device of its own.");
    const std::vector<Joining*> ranks = meeting.ranks;
    meetings_.erase(joining.id);
    fail(*joining.group, why);
    for (const Joining* other : ranks) fail(*other->group, why);
  };
  for (const Joining* other : meeting.ranks) {
    if (other->ranks != joining.ranks)
      return refuse("ncclCommInitRank of rank " + std::to_string(joining.rank) + " says " +
                    std::to_string(joining.ranks) + " ranks, that of rank " + std::to_string(other->rank) +
                    at(other->called) + " says " + std::to_string(other->ranks));
    if (other->rank == joining.rank)
      return refuse("two calls of ncclCommInitRank are for rank " + std::to_string(joining.rank) +
                    ", the other one" + at(other->called));
    if (other->device == joining.device)
      return refuse("ranks " + std::to_string(other->rank) + " and " + std::to_string(joining.rank) +
                    " of one communicator are both on device " + std::to_string(joining.device));
  }
  meeting.ranks.push_back(&joining);
  if (static_cast<int>(meeting.ranks.size()) < joining.ranks) return;
  const auto clique = new_clique(joining.ranks);
  for (Joining* one : meeting.ranks) {
    *one->made = add(clique, one->rank, one->device);
    --one->group->open;
  }
  meetings_.erase(joining.id);
  ++changes_;
  changed_.notify_all();
}

void World::put(Operation& o) {
  Clique& clique = *o.comm->clique;
  if (clique.failed != ncclSuccess) return fail(*o.group, clique.name() + " has failed before");
  if (o.is_to_one()) {
    const bool sends = o.kind == Kind::send;
    const std::pair way = sends ? std::pair{o.comm->rank, o.root} : std::pair{o.root, o.comm->rank};
    (sends ? clique.sends : clique.receives)[way].push_back(&o);
    return;
  }
  auto& own = clique.collectives[static_cast<size_t>(o.comm->rank)];
  const size_t place = own.size();
  own.push_back(&o);
  for (const auto& others : clique.collectives) {
    if (others.size() <= place || are_alike(*others[place], o)) continue;
    const Operation& other = *others[place];
    const std::string why = rank_text(o) + " of " + clique.name() + " calls " + text_of(o) + ", " +
                            rank_text(other) + " calls " + text_of(other) + at(other.called);
    bridge().report(Mistake::mismatch, o.called, why, kSameCalls);
    return fail(clique, why);
  }
}

void World::go_on(Clique& clique) {
  const auto is_there = [](const auto& queue) { return !queue.empty(); };
  while (clique.failed == ncclSuccess &&
         std::all_of(clique.collectives.begin(), clique.collectives.end(), is_there)) {
    std::vector<Operation*> ranks;
    for (auto& queue : clique.collectives) {
      ranks.push_back(queue.front());
      queue.pop_front();
    }
    carry_out(ranks);
    for (Operation* one : ranks) {
      for (Operation* other : ranks) {
        if (one < other && one->calls) bridge().meet(*one->calls, *other->calls);
      }
    }
    for (Operation* one : ranks) done(*one);
  }
  for (auto& [way, sends] : clique.sends) {
    auto& receives = clique.receives[way];
    while (clique.failed == ncclSuccess && !sends.empty() && !receives.empty()) {
      Operation &from = *sends.front(), &to = *receives.front();
      if (from.count != to.count || from.type != to.type) {
        const std::string why = rank_text(to) + " of " + clique.name() + " calls " + text_of(to) + ", " +
                                rank_text(from) + " calls " + text_of(from) + at(from.called);
        bridge().report(Mistake::mismatch, to.called, why, kSameCalls);
        return fail(clique, why);
      }
      sends.pop_front();
      receives.pop_front();
      send(from, to);
    }
  }
}

void World::send(Operation& from, Operation& to) {
  if (from.from.bytes != 0) std::memmove(to.host_to, from.host_from, from.from.bytes);
  bridge().written(to.to);
  bridge().meet(*from.calls, *to.calls);
  done(from);
  done(to);
}

void World::carry_out(const std::vector<Operation*>& ranks) {
  const Operation& first = *ranks.front();
  if (first.kind == Kind::split) return split(ranks);
  const size_t n = ranks.size(), block = first.count * bytes_of(first.type);
  const auto copy = [&](uint8_t* to, const uint8_t* from) {
    if (block != 0) std::memmove(to, from, block);
  };
  const auto root = static_cast<size_t>(std::max(first.root, 0));
  std::vector<const uint8_t*> from;
  std::vector<uint8_t*> to;
  std::vector<Scalar> scalars;
  for (const Operation* o : ranks) {
    from.push_back(o->host_from);
    to.push_back(o->host_to);
    scalars.push_back(o->scalar);
  }
  const auto reduced = [&](std::vector<uint8_t*> targets) {
    if (first.count != 0) reduce(from, targets, first.count, first.type, first.op, scalars);
  };
  switch (first.kind) {
    case Kind::all_reduce:
      reduced(to);
      break;
    case Kind::reduce:
      reduced({to[root]});
      break;
    case Kind::reduce_scatter:
      for (size_t k = 0; k < n; ++k) {
        reduced({to[k]});
        for (const uint8_t*& source : from) source += block;
      }
      break;
    case Kind::broadcast:
      for (uint8_t* target : to) copy(target, from[root]);
      break;
    case Kind::all_gather:
      for (size_t k = 0; k < n; ++k) {
        for (uint8_t* target : to) copy(target + k * block, from[k]);
      }
      break;
    case Kind::gather:
      for (size_t k = 0; k < n; ++k) copy(to[root] + k * block, from[k]);
      break;
    case Kind::scatter:
      for (size_t k = 0; k < n; ++k) copy(to[k], from[root] + k * block);
      break;
    default:  // all to all
      for (size_t k = 0; k < n; ++k) {
        for (size_t j = 0; j < n; ++j) copy(to[j] + k * block, from[k] + j * block);
      }
  }
  for (const Operation* o : ranks) bridge().written(o->to);
}

// Ranks of one color become a communicator, in the order of their keys, then of their ranks.
void World::split(const std::vector<Operation*>& ranks) {
  std::map<int, std::vector<Operation*>> colors;
  for (Operation* o : ranks) {
    *o->made = nullptr;
    if (o->color != NCCL_SPLIT_NOCOLOR) colors[o->color].push_back(o);
  }
  for (auto& [color, members] : colors) {
    std::stable_sort(members.begin(), members.end(),
                     [](const Operation* a, const Operation* b) { return a->key < b->key; });
    const auto clique = new_clique(static_cast<int>(members.size()));
    for (size_t k = 0; k < members.size(); ++k) {
      *members[k]->made = add(clique, static_cast<int>(k), members[k]->comm->device);
    }
  }
}

void World::done(Operation& operation) {
  --operation.group->open;
  ++changes_;
  changed_.notify_all();
}

void World::fail(Group& group, const std::string& why) {
  if (group.result != ncclSuccess) return;
  group.result = ncclInvalidUsage;
  group.why = why;
  for (const auto& joining : group.joining) {
    const auto found = meetings_.find(joining->id);
    if (found != meetings_.end()) std::erase(found->second.ranks, joining.get());
  }
  for (const auto& operation : group.operations) fail(*operation->comm->clique, why);
  ++changes_;
  changed_.notify_all();
}

// Its calls end, and with them all that their groups wait for.
void World::fail(Clique& clique, const std::string& why) {
  if (clique.failed != ncclSuccess) return;
  clique.failed = ncclInvalidUsage;
  std::set<Group*> groups;
  const auto take = [&](std::deque<Operation*>& queue) {
    for (const Operation* o : queue) groups.insert(o->group);
    queue.clear();
  };
  for (auto& queue : clique.collectives) take(queue);
  for (auto& [way, queue] : clique.sends) take(queue);
  for (auto& [way, queue] : clique.receives) take(queue);
  for (Group* group : groups) fail(*group, why);
}

std::set<pid_t> World::waiting_threads() const {
  std::set<pid_t> threads;
  for (const Group* group : waiting_) {
    if (group->open != 0 && group->result == ncclSuccess) threads.insert(group->thread);
  }
  return threads;
}

void World::wait(Group& group, std::unique_lock<std::mutex>& lock) {
  const auto began = steady_clock::now();
  bool is_told = false;
  std::optional<std::map<pid_t, uint64_t>> before;
  uint64_t changes = 0;
  while (group.open != 0 && group.result == ncclSuccess) {
    changed_.wait_for(lock, kLook);
    if (group.open == 0 || group.result != ncclSuccess) return;
    // Twice the same: nobody has run in between, and nobody ever will.
    const auto now = still_threads(waiting_threads());
    if (now && before && *now == *before && changes == changes_) {
      name_what_misses();
      if (group.result == ncclSuccess) fail(group, "other ranks never call");
      return;
    }
    before = now;
    changes = changes_;
    if (is_told || steady_clock::now() - began < kLong) continue;
    is_told = true;
    const bool joins = group.operations.empty();
    const CallPlace& called = joins ? group.joining.front()->called : group.operations.front()->called;
    std::fprintf(stderr, "emulator: %s%s has waited 10 s for other ranks, and goes on waiting\n",
                 joins ? "ncclCommInitRank" : group.operations.front()->name, at(called).c_str());
  }
}

void World::name_what_misses() {
  std::set<Clique*> cliques;
  for (const Group* group : waiting_) {
    for (const auto& operation : group->operations) cliques.insert(operation->comm->clique.get());
  }
  const auto meetings = meetings_;
  for (const auto& [id, meeting] : meetings) {
    if (meeting.ranks.empty()) continue;
    std::vector<int> there, missing;
    for (const Joining* one : meeting.ranks) there.push_back(one->rank);
    for (int rank = 0; rank < meeting.ranks[0]->ranks; ++rank) {
      if (std::find(there.begin(), there.end(), rank) == there.end()) missing.push_back(rank);
    }
    std::sort(there.begin(), there.end());
    const std::string why = "ncclCommInitRank of a communicator of " +
                            std::to_string(meeting.ranks[0]->ranks) + " ranks hangs: " + ranks_text(missing) +
                            " never called it; " + ranks_text(there) +
                            " did, and no thread of the program can go on";
    const bool is_alone = meeting.ranks.size() == 1 && !meeting.ranks[0]->group->is_of_several;
    bridge().report(
        Mistake::hang, meeting.ranks[0]->called, why,
        is_alone
            ? "Call it in a thread for each rank, or for all ranks of a thread between ncclGroupStart and "
              "ncclGroupEnd. The emulator has no ranks in other processes."
            : "Every rank of 0 to ranks - 1 calls ncclCommInitRank.");
    for (const Joining* one : meeting.ranks) fail(*one->group, why);
  }
  for (Clique* clique : cliques) name_what_misses(*clique);
}

void World::name_what_misses(Clique& clique) {
  if (clique.failed != ncclSuccess) return;
  std::string first_why;
  const auto tell = [&](const CallPlace& called, const std::string& why, bool alone) {
    bridge().report(Mistake::hang, called, why, alone ? kGroup : kSameCalls);
    if (first_why.empty()) first_why = why;
  };
  // What a rank that misses waits for in their place.
  const auto excuse = [&](int rank) -> std::string {
    if (clique.members[static_cast<size_t>(rank)] == nullptr) return " (it has destroyed its communicator)";
    for (const auto* queues : {&clique.sends, &clique.receives}) {
      for (const auto& [way, queue] : *queues) {
        for (const Operation* o : queue) {
          if (o->comm->rank == rank) return " (it waits in " + text_of(*o) + at(o->called) + ")";
        }
      }
    }
    const auto& queue = clique.collectives[static_cast<size_t>(rank)];
    return queue.empty() ? "" : " (it waits in " + text_of(*queue.front()) + at(queue.front()->called) + ")";
  };
  std::vector<int> there, missing;
  for (int rank = 0; rank < clique.ranks(); ++rank)
    (clique.collectives[static_cast<size_t>(rank)].empty() ? missing : there).push_back(rank);
  if (!there.empty()) {
    const Operation& o = *clique.collectives[static_cast<size_t>(there.front())].front();
    std::string others;
    for (const int rank : missing) others += excuse(rank);
    tell(o.called,
         text_of(o) + " of " + clique.name() + " hangs: " + ranks_text(missing) + " never called it" +
             others + "; " + ranks_text(there) + " did, and no thread of the program can go on",
         !o.group->is_of_several);
  }
  for (const auto* queues : {&clique.sends, &clique.receives}) {
    for (const auto& [way, queue] : *queues) {
      if (queue.empty()) continue;
      const Operation& o = *queue.front();
      const char* other = o.kind == Kind::send ? "ncclRecv from" : "ncclSend to";
      tell(o.called,
           "rank " + std::to_string(o.comm->rank) + " of " + clique.name() + " hangs in " + text_of(o) +
               ": rank " + std::to_string(o.root) + " has no " + other + " rank " +
               std::to_string(o.comm->rank) + excuse(o.root) + ", and no thread of the program can go on",
           !o.group->is_of_several);
    }
  }
  if (!first_why.empty()) fail(clique, first_why);
}

}  // namespace warpgrade::nccl
