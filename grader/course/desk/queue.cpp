// The queue as a student's side uses it.
#include "course/desk/queue.h"

#include <algorithm>
#include <chrono>

#include "course/desk/queue_database.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string minutes_text(double seconds) {
  const int minutes = std::max(1, static_cast<int>(seconds / 60 + 0.999));
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{} h", (minutes + 59) / 60);
}

std::string bytes_text(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

json Request::to_json() const {
  json line{{"run", id}, {"lab", lab}, {"state", state}, {"arrived", arrived}, {"hash", hash}};
  if (kind != kRun) line["kind"] = kind;
  if (started > 0) line["started"] = started;
  if (ended > 0) line["ended"] = ended;
  if (!message.empty()) line["message"] = message;
  if (!verdict.empty()) line["verdict"] = verdict;
  if (state == "queued") {
    line["place"] = place;
    line["wait_s"] = wait_s;
  }
  return line;
}

std::optional<Refusal> Queue::Impl::refusal(const std::string& student, Limits limits, double now) {
  if (const std::string why = setting("drain"); !why.empty())
    return Refusal{"drained", "the desk takes no runs now: " + why,
                   "run it later; local tests work meanwhile", ""};
  if (const std::string why = setting(kCountersEnded); limits.kind == kProfile && !why.empty())
    return Refusal{"counters_ended", "the desk counts no more on its GPU: " + why,
                   "the emulator counts: warpgrade profile FOLDER --lab LAB --case CASE", ""};
  auto about = query("SELECT banned, runs_per_hour, runs_per_day FROM students WHERE student = ?", student);
  if (about.executeStep()) {
    if (const std::string why = about.getColumn(0).getString(); !why.empty())
      return Refusal{"banned", "your runs are stopped: " + why, "ask your instructor", ""};
    if (limits.kind == kRun && !about.isColumnNull(1)) limits.runs_per_hour = about.getColumn(1).getInt();
    if (limits.kind == kRun && !about.isColumnNull(2)) limits.runs_per_day = about.getColumn(2).getInt();
  }
  const auto open = many("student = ? AND kind = ? AND state IN ('queued', 'running') ORDER BY id", student,
                         std::string(limits.kind));
  if (static_cast<int>(open.size()) >= limits.waiting)
    return Refusal{"one_at_a_time",
                   fmt::format("your run {} {}", open.front().id,
                               open.front().state == "queued" ? "is still waiting" : "is being judged"),
                   fmt::format("wait for it, or end it: warpgrade remote cancel {}", open.front().id), ""};
  const auto over = [&](int limit, double window, const char* word) -> std::optional<Refusal> {
    auto count = query(
        "SELECT count(*), min(arrived) FROM (SELECT arrived FROM requests WHERE student = ? AND kind = ? AND "
        "arrived > ? AND state <> 'failed' ORDER BY arrived DESC LIMIT ?)",
        student, std::string(limits.kind), now - window, limit);
    count.executeStep();
    if (count.getColumn(0).getInt() < limit) return std::nullopt;
    const double again = limit == 0 ? window : count.getColumn(1).getDouble() + window - now;
    return Refusal{
        fmt::format("over_{}", word),
        fmt::format("{} {} {} {} are allowed, and you have used all of them; cancelled ones count", limit,
                    limits.kind == kRun ? "runs" : "runs with counters", word[0] == 'h' ? "an" : "a", word),
        limit == 0 ? "ask your instructor" : fmt::format("run it again in {}", minutes_text(again)), ""};
  };
  if (auto refused = over(limits.runs_per_hour, 3600, "hour")) return refused;
  return over(limits.runs_per_day, 86400, "day");
}

std::int64_t Queue::Impl::kept_bytes(const std::string& student) {
  auto sum = query(
      "SELECT coalesce(sum(CASE WHEN kept < 0 THEN bytes ELSE kept END), 0) FROM requests WHERE ?1 = '' OR "
      "student = ?1",
      student);
  sum.executeStep();
  return sum.getColumn(0).getInt64();
}

std::optional<Refusal> Queue::Impl::make_room(const NewRequest& request, const Limits& limits,
                                              std::vector<std::int64_t>& dropped) {
  const auto bytes = static_cast<std::int64_t>(request.bytes);
  std::int64_t own = kept_bytes(request.student), all = kept_bytes("");
  auto oldest = query(
      "SELECT id, kept FROM requests WHERE student = ?1 AND kept > 0 AND state NOT IN ('queued', 'running') "
      "AND id NOT IN (SELECT max(id) FROM requests WHERE student = ?1 AND state = 'judged' AND kind = 'run' "
      "GROUP BY lab) ORDER BY id",
      request.student);
  while (own + bytes > limits.student_bytes && oldest.executeStep()) {
    dropped.push_back(oldest.getColumn(0).getInt64());
    own -= oldest.getColumn(1).getInt64();
    all -= oldest.getColumn(1).getInt64();
  }
  if (own + bytes > limits.student_bytes)
    return Refusal{"your_space",
                   fmt::format("your runs keep {} here, and {} are allowed", bytes_text(own),
                               bytes_text(limits.student_bytes)),
                   "hand in fewer files, or ask your instructor (student_mib in desk.yaml)", ""};
  if (all + bytes > limits.desk_bytes)
    return Refusal{
        "desk_space",
        fmt::format("the desk is full: it keeps {} of runs, and {} are allowed", bytes_text(all),
                    bytes_text(limits.desk_bytes)),
        "tell your instructor (desk_mib and feedback_days in desk.yaml); local tests work meanwhile", ""};
  return std::nullopt;
}

std::optional<Refusal> Queue::refusal(const std::string& student, const Limits& limits, double now) const {
  return impl_->guarded([&] { return impl_->refusal(student, limits, now); });
}

fs::path Queue::folder_of(std::int64_t id) const {
  return desk_ / "requests" / std::to_string(id);
}

// The folder gets its place before the row is there for good: whoever reads the row finds the folder. What a
// process leaves that dies between is replaced by the next run, which gets the same number.
std::variant<Entered, Refusal> Queue::enter(const NewRequest& request, const Limits& limits, double now) {
  std::vector<std::int64_t> dropped;
  auto answer = impl_->alone([&]() -> std::variant<Entered, Refusal> {
    if (const auto known = impl_->one("student = ? AND key = ?", request.student, request.key))
      return Entered{known->id, true};
    if (auto refused = impl_->refusal(request.student, limits, now)) return *refused;
    if (auto refused = impl_->make_room(request, limits, dropped)) return *refused;
    impl_->know(request.student);
    impl_
        ->query(
            "INSERT INTO requests (student, key, lab, cases, hash, bytes, state, arrived, kept, kind) VALUES "
            "(?1, ?2, ?3, ?4, ?5, ?6, 'queued', ?7, ?6, ?8)",
            request.student, request.key, request.lab, json(request.cases).dump(), request.hash,
            static_cast<std::int64_t>(request.bytes), now, std::string(limits.kind))
        .exec();
    const std::int64_t id = impl_->database.getLastInsertRowid();
    fs::remove_all(folder_of(id));
    fs::rename(request.staged, folder_of(id));
    return Entered{id, false};
  });
  if (std::holds_alternative<Entered>(answer))
    for (const std::int64_t id : dropped) drop_files(id);
  return answer;
}

std::optional<Request> Queue::find(const std::string& student, std::int64_t id) const {
  return impl_->guarded([&] { return impl_->one("student = ? AND id = ?", student, id); });
}

std::optional<Request> Queue::find_key(const std::string& student, const std::string& key) const {
  return impl_->guarded([&] { return impl_->one("student = ? AND key = ?", student, key); });
}

std::vector<Request> Queue::of_student(const std::string& student, int most) const {
  return impl_->guarded([&] { return impl_->many("student = ? ORDER BY id DESC LIMIT ?", student, most); });
}

std::string Queue::cancel(const std::string& student, std::int64_t id, double now) {
  bool ended = false;
  std::string state = impl_->alone([&]() -> std::string {
    const auto request = impl_->one("student = ? AND id = ?", student, id);
    if (!request) return "";
    if (request->state == "queued") {
      ended = impl_->end(id, "cancelled", "", "you cancelled it", now);
      return "cancelled";
    }
    if (request->state == "running")
      impl_->query("UPDATE requests SET cancel_asked = 1 WHERE id = ?", id).exec();
    return request->state;
  });
  if (ended) drop_files(id);
  return state;
}

std::optional<std::string> Queue::ban_of(const std::string& student) const {
  return impl_->guarded([&]() -> std::optional<std::string> {
    auto rows = impl_->query("SELECT banned FROM students WHERE student = ? AND banned <> ''", student);
    if (!rows.executeStep()) return std::nullopt;
    return rows.getColumn(0).getString();
  });
}

std::vector<Event> Queue::events_after(std::int64_t id, std::int64_t number) const {
  return impl_->guarded([&] {
    std::vector<Event> events;
    auto rows = impl_->query(
        "SELECT number, body FROM events WHERE request = ? AND number > ? ORDER BY number", id, number);
    while (rows.executeStep())
      events.push_back({rows.getColumn(0).getInt64(), json::parse(rows.getColumn(1).getString())});
    return events;
  });
}

}  // namespace warpgrade::desk
