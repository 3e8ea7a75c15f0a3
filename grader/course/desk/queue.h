// The desk's queue: one SQLite file for a course. What a process has entered here is not lost when it dies,
// and each step of a run is taken once: every change of a state names the state that it changes.
//
// A run's states: queued -> running -> judged | failed, queued | running -> cancelled; running -> queued
// where the process that judged it died. `failed` is never the student's fault. Times are seconds since 1970.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "course/ingest/refusal.h"

namespace warpgrade::desk {

double now_s();

// A run is judged. A profile counts on the hardware, apart from runs: a class of the queue with a quota of
// its own, which can end by itself.
inline constexpr const char *kRun = "run", *kProfile = "profile";
// A setting of the queue: why the class of profiles has ended; "": it has not.
inline constexpr const char* kCountersEnded = "counters_ended";

struct Request {
  std::int64_t id = 0;
  std::string student, lab, hash, state, message, verdict;
  std::string kind = kRun;
  std::vector<std::string> cases;
  double arrived = 0, started = 0, ended = 0;
  int place = 0;      // of those that wait, from 1 on; 0: not known yet
  double wait_s = 0;  // until it begins, a guess
  int starts = 0;     // how often it was begun
  bool cancel_asked = false;
  bool ended_for_good() const { return state == "judged" || state == "failed" || state == "cancelled"; }
  nlohmann::json to_json() const;  // what its student may know
};

// What a policy allows a student; an administrator's own numbers for one stand above it.
struct Limits {
  int runs_per_hour = 0, runs_per_day = 0, waiting = 1;
  // Of files in the folders of runs, from desk.yaml.
  std::int64_t student_bytes = std::int64_t{64} << 20, desk_bytes = std::int64_t{8} << 30;
  std::string_view kind = kRun;  // each kind has its own numbers
};

struct NewRequest {
  std::string student, key, lab, hash;
  std::vector<std::string> cases;
  std::size_t bytes = 0;
  std::filesystem::path staged;  // a folder, which becomes the request's own
};

struct Entered {
  std::int64_t id = 0;
  bool known = false;  // the same key had been entered before
};

// What one run is told of: numbered from 1 on.
struct Event {
  std::int64_t number = 0;
  nlohmann::json body;
};

struct Worker {
  std::string name, device;
  std::int64_t request = 0;  // 0: idle
  double since = 0, seen = 0;
};

struct StudentLine {
  std::string student, banned;
  std::optional<int> runs_per_hour, runs_per_day;
  int runs = 0;
};

class Queue {
 public:
  // Opens DESK/queue.sqlite. Throws UsageError: no desk, one of a newer version, a damaged file.
  // `between_hosts`: workers on other hosts open it through a network file system, and no memory is shared.
  explicit Queue(std::filesystem::path desk, bool between_hosts = false);
  static void create(const std::filesystem::path& desk);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  const std::filesystem::path& desk() const { return desk_; }
  std::filesystem::path folder_of(std::int64_t id) const;

  // ---- a student's side; each asks for the own runs alone Every run that is entered counts, unless the desk
  // itself could not judge it. Where the student's bytes are used up, the files of the oldest ended runs go;
  // the last judged run of each lab keeps its own.
  std::variant<Entered, Refusal> enter(const NewRequest& request, const Limits& limits, double now);
  // What enter() would refuse whatever is handed in: told before an archive is sent.
  std::optional<Refusal> refusal(const std::string& student, const Limits& limits, double now) const;
  std::optional<Request> find(const std::string& student, std::int64_t id) const;
  std::optional<Request> find_key(const std::string& student, const std::string& key) const;
  std::vector<Request> of_student(const std::string& student, int most) const;  // latest first
  // A run that waits is cancelled at once, and its files with it, one that is judged after its present case.
  // The state now.
  std::string cancel(const std::string& student, std::int64_t id, double now);
  std::optional<std::string> ban_of(const std::string& student) const;

  std::vector<Event> events_after(std::int64_t id, std::int64_t number) const;

  // ---- a worker's side
  // The run that is served next: of the student who was served least recently, of those without a run under
  // way. Nothing: none waits, or the desk is paused.
  std::optional<Request> take(const std::string& worker, double now);
  // Once a key; false: it is there already, or the run is not this worker's any more.
  bool add_event(const Request& request, const std::string& key, const nlohmann::json& body);
  bool cancel_asked(std::int64_t id) const;
  // False: it had ended before, or was begun anew by another worker.
  bool end(const Request& request, const std::string& state, const std::string& verdict,
           const std::string& message, double now);
  // Back into the queue, at its student's turn. `blamed`: the run itself may be why its worker died.
  void give_back(const Request& request, bool blamed, double now);
  void see_worker(const Worker& worker, double now);

  // ---- the supervisor's side
  std::vector<Request> running() const;
  std::optional<Request> running_at(const std::string& worker) const;
  std::vector<Request> waiting() const;  // in the order in which they will be served
  void write_places(int workers);
  std::vector<Worker> workers() const;
  void forget_worker(const std::string& name);
  nlohmann::json counts() const;  // by state; seconds of waiting of the last runs
  // After a run has ended: `bytes` its folder has now. drop_files() removes the folder's files.
  void set_kept(std::int64_t id, std::int64_t bytes);
  void drop_files(std::int64_t id);
  std::vector<std::int64_t> ended_and_not_measured() const;
  std::int64_t kept_bytes(const std::string& student) const;  // "": of all
  std::vector<Request> ended_since(std::int64_t after_id, double since) const;
  // One a student, in the order of their ids. With `cases`: of the runs that judged just these.
  std::vector<Request> latest_judged(const std::string& lab) const;
  // Of runs of these cases that arrived before `before`, seconds since 1970.
  std::vector<Request> latest_judged(const std::string& lab, const std::vector<std::string>& cases,
                                     double before) const;
  // Not only each student's last one.
  std::vector<Request> all_judged(const std::string& lab, const std::vector<std::string>& cases,
                                  double before) const;

  // No profile is begun any more, and those that wait end: their students lose no turn of the quota. Runs
  // go on.
  void end_counters(const std::string& why, double now);

  // ---- administration
  std::string setting(const std::string& name) const;  // "drain": why nothing is taken; "": it is
  void set(const std::string& name, const std::string& value);
  void ban(const std::string& student, const std::string& why);  // "": no more
  void quota(const std::string& student, std::optional<int> per_hour, std::optional<int> per_day);
  std::vector<StudentLine> students() const;

 private:
  struct Impl;
  std::filesystem::path desk_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpgrade::desk
