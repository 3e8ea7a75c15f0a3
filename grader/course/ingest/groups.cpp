#include "course/ingest/groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "judge/compile/submission.h"

namespace warpgrade {
namespace {

// What ids of a group begin with, where it has none yet.
std::string stem_of(const Roster& roster, const Group& group) {
  return safe_submission_id(group.team.empty() ? roster.students()[group.attempts[0].student].id
                                               : group.team);
}

// What the ids of rolling hand-ins begin with, from the group's first attempt on.
std::string rolling_stem(const Roster& roster, const Group& group) {
  for (const Attempt& attempt : group.attempts)
    if (const std::size_t at = attempt.submission.rfind(".attempt-"); at != std::string::npos)
      return attempt.submission.substr(0, at);
  return stem_of(roster, group);
}

// Where an attempt without a time stands among the others of its group.
int place_of(const Attempt& attempt, bool any_numbered) {
  if (attempt.corrects > 0) return attempt.corrects;
  if (attempt.number > 0) return attempt.number;
  if (attempt.raw.number > 0) return attempt.raw.number;
  return any_numbered ? std::numeric_limits<int>::max() : 0;  // what came later is behind what was there
}

void order_one(Group& group) {
  const bool timed = std::all_of(group.attempts.begin(), group.attempts.end(),
                                 [](const Attempt& attempt) { return attempt.raw.submitted_at.has_value(); });
  int number = 0;
  for (const Attempt& attempt : group.attempts) number = std::max(number, attempt.number);
  const bool any_numbered = number > 0;
  std::stable_sort(group.attempts.begin(), group.attempts.end(), [&](const Attempt& a, const Attempt& b) {
    if (timed && *a.raw.submitted_at != *b.raw.submitted_at) return *a.raw.submitted_at < *b.raw.submitted_at;
    return place_of(a, any_numbered) < place_of(b, any_numbered);
  });
  for (Attempt& attempt : group.attempts) {
    if (attempt.number > 0) continue;
    number = std::max(number + 1, attempt.raw.number);
    attempt.number = number;
  }
}

// Attempts that may count: taken, and not corrected by another one.
std::vector<Attempt*> taken_of(Group& group) {
  std::set<int> corrected;
  for (const Attempt& attempt : group.attempts)
    if (attempt.corrects > 0 && !attempt.refusal) corrected.insert(attempt.corrects);
  std::vector<Attempt*> taken;
  for (Attempt& attempt : group.attempts)
    if (!attempt.refusal && !corrected.contains(attempt.number)) taken.push_back(&attempt);
  return taken;
}

}  // namespace

Group& Groups::of(const Roster& roster, std::size_t student, const std::set<std::size_t>& members) {
  const std::string team = roster.students()[student].team;
  std::string key = "student " + std::to_string(student);
  if (!team.empty()) {
    key = "team " + team;
  } else if (members.size() > 1) {
    key = fmt::format("members {}", fmt::join(members, "+"));
  }
  Group& group = groups_[key];
  group.members.insert(members.begin(), members.end());
  if (!team.empty()) {
    group.team = team;
    for (std::size_t i = 0; i < roster.students().size(); ++i)
      if (roster.students()[i].team == team) group.members.insert(i);
  } else if (members.size() > 1 && group.team.empty()) {
    std::vector<std::string> ids;
    for (std::size_t member : members) ids.push_back(roster.students()[member].id);
    group.team = fmt::format("{}", fmt::join(ids, "+"));
  }
  return group;
}

void Groups::order() {
  for (auto& [key, group] : groups_) order_one(group);
}

void Groups::keep_each_student_in_one() {
  std::map<std::size_t, Group*> home;
  const auto latest = [](const Group& group) { return group.attempts.back().time().value_or(0); };
  for (auto& [key, group] : groups_) {
    for (std::size_t member : group.members) {
      Group*& before = home[member];
      if (before == nullptr || latest(group) >= latest(*before)) before = &group;
    }
  }
  for (auto& entry : groups_) {
    Group& group = entry.second;
    std::erase_if(group.members, [&](std::size_t member) { return home[member] != &group; });
  }
}

void Groups::choose(const Roster& roster, const std::string& attempts) {
  for (auto& [key, group] : groups_) choose_of(roster, attempts, group);
}

void Groups::choose_of(const Roster& roster, const std::string& attempts, Group& group) {
  for (Attempt& attempt : group.attempts) {
    attempt.judged = false;
    attempt.status = attempt.refusal ? "refused" : "superseded";
  }
  if (group.members.empty()) return;
  std::vector<Attempt*> taken = taken_of(group);
  if (!taken.empty() && attempts == "last") taken.erase(taken.begin(), taken.end() - 1);
  if (!taken.empty() && attempts == "first") taken.resize(1);
  for (Attempt* attempt : taken) attempt->status = "graded";
  if (taken.empty()) taken = {&group.attempts.back()};  // the refusal itself is what is judged, and told
  const bool any_id = std::any_of(group.attempts.begin(), group.attempts.end(),
                                  [](const Attempt& attempt) { return !attempt.submission.empty(); });
  const std::string stem = stem_of(roster, group);
  for (Attempt* attempt : taken) {
    attempt->judged = true;
    if (!attempt->submission.empty()) continue;
    attempt->submission =
        unique(any_id || taken.size() > 1 ? fmt::format("{}.attempt-{}", stem, attempt->number) : stem);
  }
}

void Groups::choose_all(const Roster& roster) {
  for (auto& [key, group] : groups_) choose_all_of(roster, group);
}

void Groups::choose_all_of(const Roster& roster, Group& group) {
  if (group.members.empty() || group.attempts.empty()) return;
  const std::string stem = rolling_stem(roster, group);
  const bool any_taken = std::any_of(group.attempts.begin(), group.attempts.end(),
                                     [](const Attempt& attempt) { return !attempt.refusal; });
  for (Attempt& attempt : group.attempts) {
    attempt.status = attempt.refusal ? "refused" : "graded";
    // While nothing else is there the latest refusal itself is what is judged, and told.
    const bool judged = !attempt.refusal || (!any_taken && &attempt == &group.attempts.back());
    attempt.judged = judged;
    if (judged && attempt.submission.empty())
      attempt.submission = unique(fmt::format("{}.attempt-{}", stem, attempt.number));
  }
}

std::string Groups::unique(std::string id) {
  while (!ids_.insert(id).second) id += "-2";
  return id;
}

}  // namespace warpgrade
