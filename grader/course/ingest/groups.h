// Attempts of a class, given to students and teams, and the choice of those that are judged.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/ingest/layout.h"
#include "course/ingest/refusal.h"
#include "course/ingest/roster.h"
#include "course/ingest/snapshot.h"

namespace warpgrade {

struct Attempt {
  RawAttempt raw;
  std::size_t student = 0;  // who handed in
  std::optional<Snapshot> snapshot;
  std::optional<Refusal> refusal;
  std::string status = "superseded";
  std::string submission;  // id in run.json, given once: an attempt that no longer counts keeps it
  bool judged = false;     // it is in run.json
  int number = 0;          // 0: not numbered yet
  int corrects = 0;        // the number of the attempt in whose place the staff put it; 0: none's
  std::optional<std::int64_t> arrived_at;  // of rolling hand-ins

  // When it was handed in, as far as anybody knows.
  std::optional<std::int64_t> time() const { return raw.submitted_at ? raw.submitted_at : arrived_at; }
};

// A student or a team, with all of their attempts.
struct Group {
  std::string team;               // empty: one student
  std::set<std::size_t> members;  // students
  std::vector<Attempt> attempts;  // in order of time
};

class Groups {
 public:
  // The group of who handed in: the student's team by the roster, those who handed in together, or
  // the student alone.
  Group& of(const Roster& roster, std::size_t student, const std::set<std::size_t>& members);

  // By time, where every attempt of a group has one, else as the export counts. Attempts that have no number
  // yet get the next ones.
  void order();
  // Who handed in alone and later with others is where the latest attempt is.
  void keep_each_student_in_one();
  // Which attempts are judged, and under which ids. `attempts`: last, first or best. One that the staff
  // corrected is judged no more.
  void choose(const Roster& roster, const std::string& attempts);
  // Of rolling hand-ins: all of them, each under an id that never changes.
  void choose_all(const Roster& roster);

  void keep_id(const std::string& id) { ids_.insert(id); }
  const std::map<std::string, Group>& all() const { return groups_; }
  std::map<std::string, Group>& all() { return groups_; }

 private:
  void choose_of(const Roster& roster, const std::string& attempts, Group& group);
  void choose_all_of(const Roster& roster, Group& group);
  std::string unique(std::string id);

  std::map<std::string, Group> groups_;
  std::set<std::string> ids_;
};

}  // namespace warpgrade
