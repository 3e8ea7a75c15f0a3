// Whom calls wait for, and what is said of ranks that never call.
#include <algorithm>
#include <cstdio>

#include "nccl/still_threads.h"
#include "nccl/texts.h"
#include "nccl/world.h"

namespace warpgrade::nccl {
namespace {

using Mistake = CollectiveBridge::Mistake;
using std::chrono::steady_clock;

// Of a collective, or of a message: the other rank. Where ranks have left, those alone.
std::vector<int> missing_for(const Operation& o) {
  const Clique& clique = *o.comm->clique;
  if (o.is_to_one()) return {o.root};
  std::vector<int> missing, gone;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    if (!clique.collectives[static_cast<size_t>(rank)].empty()) continue;
    missing.push_back(rank);
    if (clique.peers && clique.has_left(rank)) gone.push_back(rank);
  }
  return gone.empty() ? missing : gone;
}

}  // namespace

std::vector<int> World::Meeting::there() const {
  std::vector<int> found;
  for (const Joining* one : ranks) found.push_back(one->rank);
  if (peers) {
    for (const Hello& one : peers->there()) found.push_back(one.rank);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int> World::Meeting::missing() const {
  const std::vector<int> here = there();
  std::vector<int> found;
  for (int rank = 0; rank < ranks[0]->ranks; ++rank) {
    if (!std::binary_search(here.begin(), here.end(), rank)) found.push_back(rank);
  }
  return found;
}

std::set<pid_t> World::waiting_threads() const {
  std::set<pid_t> threads;
  for (const Group* group : waiting_) {
    if (group->open != 0 && group->result == ncclSuccess) threads.insert(group->thread);
  }
  return threads;
}

void World::wait(Group& group, std::unique_lock<std::mutex>& lock) {
  bool is_told = false;
  std::optional<std::map<pid_t, uint64_t>> before;
  uint64_t changes = 0;
  while (true) {
    if (has_to_wait(group)) pause(group, lock);
    if (!has_to_wait(group)) {
      stuck_ = nullptr;
      return;
    }
    // Twice the same: nobody has run in between, and nobody ever will.
    const auto now = still_threads(waiting_threads());
    if (!now || now != before || changes != changes_) stuck_ = nullptr;
    if (now && before && *now == *before && changes == changes_ && !may_come_from_elsewhere()) {
      name_what_misses();
      if (group.result == ncclSuccess) fail(group, "other ranks never call");
      continue;
    }
    before = now;
    changes = changes_;
    if (is_told || steady_clock::now() - group.began < kLong) continue;
    is_told = true;
    tell_of_long_wait(group);
  }
}

void World::tell_of_long_wait(const Group& group) {
  const bool joins = group.operations.empty();
  const CallPlace& called = joins ? group.joining.front()->called : group.operations.front()->called;
  std::vector<int> missing;
  if (joins) {
    const auto found = meetings_.find(group.joining.front()->id);
    if (found != meetings_.end()) missing = found->second.missing();
  } else {
    missing = missing_for(*group.operations.front());
  }
  std::fprintf(stderr, "emulator: %s%s has waited 10 s for %s, and goes on waiting\n",
               joins ? "ncclCommInitRank" : group.operations.front()->name, at(called).c_str(),
               missing.empty() ? "other ranks" : ranks_text(missing).c_str());
}

void World::name_what_misses() {
  std::set<Clique*> cliques;
  for (const Group* group : waiting_) {
    for (const auto& operation : group->operations) cliques.insert(operation->comm->clique.get());
  }
  std::vector<const Meeting*> meetings;
  for (const auto& [id, meeting] : meetings_) meetings.push_back(&meeting);
  for (const Meeting* meeting : meetings) {
    if (!meeting->ranks.empty()) name_what_misses(*meeting);
  }
  for (Clique* clique : cliques) name_what_misses(*clique);
}

void World::name_what_misses(const Meeting& meeting) {
  const std::vector<int> there = meeting.there();
  const Joining& first = *meeting.ranks[0];
  const std::string why = "ncclCommInitRank of a communicator of " + std::to_string(first.ranks) +
                          " ranks hangs: " + ranks_text(meeting.missing()) + " never called it; " +
                          ranks_text(there) + " did, and no thread of the program can go on";
  const bool is_alone = meeting.is_alone() && !first.group->is_of_several;
  bridge().report(
      Mistake::hang, first.called, why,
      is_alone ? "Call it in a process or a thread for each rank, or for all ranks of a thread between "
                 "ncclGroupStart and ncclGroupEnd."
               : "Every rank of 0 to ranks - 1 calls ncclCommInitRank. All are in one process, or each is in "
                 "one of its own.");
  const std::vector<Joining*> ranks = meeting.ranks;
  for (const Joining* one : ranks) fail(*one->group, why);
}

void World::name_what_misses(Clique& clique) {
  if (clique.failed != ncclSuccess) return;
  std::string first_why;
  const auto tell = [&](const CallPlace& called, const std::string& why, bool alone) {
    bridge().report(Mistake::hang, called, why, alone && !clique.peers ? kGroup : kSameCalls);
    if (first_why.empty()) first_why = why;
  };
  // What a rank that misses waits for in their place.
  const auto excuse = [&](int rank) -> std::string {
    if (clique.members[static_cast<size_t>(rank)] == nullptr) return " (it has destroyed its communicator)";
    if (clique.has_left(rank)) return " (its process has ended)";
    for (const auto* queues : {&clique.sends, &clique.receives}) {
      for (const auto& [way, queue] : *queues) {
        for (const Operation* o : queue) {
          if (o->comm->rank == rank) return " (it waits in " + text_of(*o) + at(*o) + ")";
        }
      }
    }
    const auto& queue = clique.collectives[static_cast<size_t>(rank)];
    return queue.empty() ? "" : " (it waits in " + text_of(*queue.front()) + at(*queue.front()) + ")";
  };
  const std::string end = clique.peers ? "" : ", and no thread of the program can go on";
  std::vector<int> there;
  const Operation* mine = nullptr;
  for (int rank = 0; rank < clique.ranks(); ++rank) {
    const auto& queue = clique.collectives[static_cast<size_t>(rank)];
    if (queue.empty()) continue;
    there.push_back(rank);
    if (mine == nullptr && queue.front()->is_here()) mine = queue.front();
  }
  if (mine != nullptr) {
    const Operation& o = *mine;
    const std::vector<int> missing = missing_for(o);
    std::string others;
    for (const int rank : missing) others += excuse(rank);
    tell(o.called,
         text_of(o) + " of " + clique.name() + " hangs: " + ranks_text(missing) + " never called it" +
             others + "; " + ranks_text(there) + " did" + end,
         !o.group->is_of_several);
  }
  for (const auto* queues : {&clique.sends, &clique.receives}) {
    for (const auto& [way, queue] : *queues) {
      if (queue.empty() || !queue.front()->is_here()) continue;
      const Operation& o = *queue.front();
      const char* other = o.kind == Kind::send ? "ncclRecv from" : "ncclSend to";
      tell(o.called,
           "rank " + std::to_string(o.comm->rank) + " of " + clique.name() + " hangs in " + text_of(o) +
               ": rank " + std::to_string(o.root) + " has no " + other + " rank " +
               std::to_string(o.comm->rank) + excuse(o.root) + end,
           !o.group->is_of_several);
    }
  }
  if (!first_why.empty()) fail(clique, first_why);
}

}  // namespace warpgrade::nccl
