#include "nccl/world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <tuple>

#include "captured_work.h"
#include "left_out.h"
#include "nccl/texts.h"

namespace warpgrade::nccl {
namespace {

using Mistake = CollectiveBridge::Mistake;

bool are_alike(const Operation& a, const Operation& b) {
  return std::tie(a.kind, a.count, a.type, a.op, a.root) == std::tie(b.kind, b.count, b.type, b.op, b.root);
}

// At the line of the first one, or where it is another process's of the second one.
std::string name_mismatch(const Operation& first, const Operation& second) {
  const Operation& o = first.is_here() || !second.is_here() ? first : second;
  const Operation& other = &o == &first ? second : first;
  const std::string why = rank_text(o) + " of " + o.comm->clique->name() + " calls " + text_of(o) + ", " +
                          rank_text(other) + " calls " + text_of(other) + at(other);
  if (o.is_here()) bridge().report(Mistake::mismatch, o.called, why, kSameCalls);
  return why;
}

}  // namespace

bool Operation::is_here() const {
  return !comm->clique->peers || comm->rank == comm->clique->own_rank;
}

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
  return id;
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
  if (shared_.erase(comm->clique.get()) != 0) say(*comm->clique, Notice::What::leaves);
  comm->clique->members[static_cast<size_t>(comm->rank)] = nullptr;
  comms_.erase(comm);
  delete comm;
}

void World::run(Group& group) {
  group.thread = gettid();
  group.began = std::chrono::steady_clock::now();
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

// All that wait for this communicator fail.
void World::refuse(Joining& joining, const std::string& why) {
  bridge().report(Mistake::mismatch, joining.called, why, kSameInit);
  const std::vector<Joining*> ranks = std::move(meetings_[joining.id].ranks);
  meetings_.erase(joining.id);
  fail(*joining.group, why);
  for (const Joining* other : ranks) fail(*other->group, why);
}

void World::join(Joining& joining) {
  Meeting& meeting = meetings_[joining.id];
  for (const Joining* other : meeting.ranks) {
    if (other->ranks != joining.ranks)
      return refuse(joining, "ncclCommInitRank of rank " + std::to_string(joining.rank) + " says " +
                                 std::to_string(joining.ranks) + " ranks, that of rank " +
                                 std::to_string(other->rank) + at(other->called) + " says " +
                                 std::to_string(other->ranks));
    if (other->rank == joining.rank)
      return refuse(joining, "two calls of ncclCommInitRank are for rank " + std::to_string(joining.rank) +
                                 ", the other one" + at(other->called));
    if (other->device == joining.device)
      return refuse(joining, "ranks " + std::to_string(other->rank) + " and " + std::to_string(joining.rank) +
                                 " of one communicator are both on device " + std::to_string(joining.device));
  }
  if (meeting.peers && !meeting.peers->there().empty()) {
    libraries::say_left_out("NCCL", "ncclCommInitRank of several ranks in one process and others elsewhere");
    return refuse(joining, "ranks " + std::to_string(meeting.ranks[0]->rank) + " and " +
                               std::to_string(joining.rank) + " are in one process, rank " +
                               std::to_string(meeting.peers->there()[0].rank) +
                               " is in another: the emulator has all in one, or each in one of its own");
  }
  meeting.peers = nullptr;
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
  if (clique.peers && o.comm->rank == clique.own_rank) tell_others(o);
  if (o.is_to_one()) {
    const bool sends = o.kind == Kind::send;
    const std::pair way = sends ? std::pair{o.comm->rank, o.root} : std::pair{o.root, o.comm->rank};
    (sends ? clique.sends : clique.receives)[way].push_back(&o);
    return;
  }
  auto& own = clique.collectives[static_cast<size_t>(o.comm->rank)];
  const size_t place = own.size();
  own.push_back(&o);
  // A process may hear of the next call before it has heard of all the ones before.
  if (clique.peers && place != 0) return;
  for (const auto& others : clique.collectives) {
    if (others.size() <= place || are_alike(*others[place], o)) continue;
    return fail(clique, name_mismatch(o, *others[place]));
  }
}

void World::compare_next(Clique& clique) {
  const Operation* first = nullptr;
  for (const auto& queue : clique.collectives) {
    if (queue.empty()) continue;
    if (first != nullptr && !are_alike(*first, *queue.front()))
      return fail(clique, name_mismatch(*queue.front(), *first));
    if (first == nullptr) first = queue.front();
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
        if (one < other && one->calls && other->calls) bridge().meet(*one->calls, *other->calls);
      }
    }
    for (Operation* one : ranks) done(*one);
    if (clique.peers) compare_next(clique);
  }
  for (auto& [way, sends] : clique.sends) {
    auto& receives = clique.receives[way];
    while (clique.failed == ncclSuccess && !sends.empty() && !receives.empty()) {
      Operation &from = *sends.front(), &to = *receives.front();
      if (from.count != to.count || from.type != to.type) {
        return fail(clique, name_mismatch(to, from));
      }
      sends.pop_front();
      receives.pop_front();
      send(from, to);
    }
  }
}

void World::send(Operation& from, Operation& to) {
  if (from.from.bytes != 0 && to.host_to != nullptr)
    std::memmove(to.host_to, from.host_from, from.from.bytes);
  bridge().written(to.to);
  if (from.calls && to.calls) bridge().meet(*from.calls, *to.calls);
  done(from);
  done(to);
}

void World::carry_out(const std::vector<Operation*>& ranks) {
  const Operation& first = *ranks.front();
  if (first.kind == Kind::split) return split(ranks);
  const size_t n = ranks.size(), block = first.count * bytes_of(first.type);
  // What is written in another process is null here.
  const auto copy = [&](uint8_t* to, size_t to_block, const uint8_t* from, size_t from_block) {
    if (block != 0 && to != nullptr) std::memmove(to + to_block * block, from + from_block * block, block);
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
    std::erase(targets, nullptr);
    if (first.count != 0 && !targets.empty())
      reduce(from, targets, first.count, first.type, first.op, scalars);
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
      for (uint8_t* target : to) copy(target, 0, from[root], 0);
      break;
    case Kind::all_gather:
      for (size_t k = 0; k < n; ++k) {
        for (uint8_t* target : to) copy(target, k, from[k], 0);
      }
      break;
    case Kind::gather:
      for (size_t k = 0; k < n; ++k) copy(to[root], k, from[k], 0);
      break;
    case Kind::scatter:
      for (size_t k = 0; k < n; ++k) copy(to[k], 0, from[root], k);
      break;
    default:  // all to all
      for (size_t k = 0; k < n; ++k) {
        for (size_t j = 0; j < n; ++j) copy(to[j], k, from[k], j);
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
    if (found == meetings_.end()) continue;
    std::erase(found->second.ranks, joining.get());
    if (found->second.ranks.empty()) found->second.peers = nullptr;
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

}  // namespace warpgrade::nccl
