#include "course/desk/queue.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <queue>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "course/desk/queue_schema.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kPatienceMs = 20'000;    // for another process's transaction
constexpr double kPatienceAlone = 20;  // seconds
constexpr int kMostDeaths = 2;         // of judges at a run: it is repeated once
constexpr int kMostStarts = 50;        // however often the machine itself went down

constexpr const char* kColumns =
    "id, student, lab, hash, state, message, verdict, cases, arrived, started, ended, place, wait_s, starts, "
    "cancel_asked";

Request read_request(SQLite::Statement& row) {
  Request request;
  request.id = row.getColumn(0).getInt64();
  request.student = row.getColumn(1).getString();
  request.lab = row.getColumn(2).getString();
  request.hash = row.getColumn(3).getString();
  request.state = row.getColumn(4).getString();
  request.message = row.getColumn(5).getString();
  request.verdict = row.getColumn(6).getString();
  request.cases = json::parse(row.getColumn(7).getString()).get<std::vector<std::string>>();
  request.arrived = row.getColumn(8).getDouble();
  request.started = row.getColumn(9).getDouble();
  request.ended = row.getColumn(10).getDouble();
  request.place = row.getColumn(11).getInt();
  request.wait_s = row.getColumn(12).getDouble();
  request.starts = row.getColumn(13).getInt();
  request.cancel_asked = row.getColumn(14).getInt() != 0;
  return request;
}

std::vector<Request> read_requests(SQLite::Statement& query) {
  std::vector<Request> found;
  while (query.executeStep()) found.push_back(read_request(query));
  return found;
}

std::string minutes_text(double seconds) {
  const int minutes = std::max(1, static_cast<int>(seconds / 60 + 0.999));
  return minutes < 120 ? fmt::format("{} min", minutes) : fmt::format("{} h", (minutes + 59) / 60);
}

// SQLite's usual journal here needs memory that all processes share; it changes for one who is alone. Two
// who want that, each with the file open, would wait for each other: so it is closed between the tries, and
// their pauses differ.
void leave_shared_memory(const fs::path& file) {
  std::minstd_rand pauses(static_cast<unsigned>(getpid()));
  const double end = now_s() + kPatienceAlone;
  for (std::string why;;) {
    try {
      SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
      if (database.execAndGet("PRAGMA journal_mode").getString() == "delete") return;
      if (database.execAndGet("PRAGMA journal_mode = DELETE").getString() == "delete") return;
    } catch (const SQLite::Exception& error) {
      why = error.what();
    }
    if (now_s() > end)
      throw UsageError(
          "{}: cannot be made fit for several hosts while others have it open ({}); end the students' "
          "connections and start the desk again. That is asked once",
          file.string(), why);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + pauses() % 200));
  }
}

}  // namespace

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

json Request::to_json() const {
  json line{{"run", id}, {"lab", lab}, {"state", state}, {"arrived", arrived}, {"hash", hash}};
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

struct Queue::Impl {
  fs::path file;
  SQLite::Database database;

  Impl(const fs::path& path, int flags) : file(path), database(path.string(), flags, kPatienceMs) {
    database.exec("PRAGMA foreign_keys = ON");
    database.exec("PRAGMA synchronous = FULL");  // what a student was promised outlives the machine's power
  }

  // Runs `work` and says which file SQLite complained about.
  template <typename Work>
  auto guarded(const Work& work) {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      throw JudgeFault("{}: the queue could not be read or written: {}", file.string(), error.what());
    }
  }

  // The same, all or nothing, and with nobody else writing.
  template <typename Work>
  auto alone(const Work& work) {
    return guarded([&] {
      SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = work();
      transaction.commit();
      return result;
    });
  }

  template <typename... Values>
  SQLite::Statement query(const std::string& text, const Values&... values) {
    SQLite::Statement statement(database, text);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement;
  }

  template <typename... Values>
  std::optional<Request> one(const std::string& where, const Values&... values) {
    auto rows = query(fmt::format("SELECT {} FROM requests WHERE {}", kColumns, where), values...);
    if (!rows.executeStep()) return std::nullopt;
    return read_request(rows);
  }

  template <typename... Values>
  std::vector<Request> many(const std::string& where, const Values&... values) {
    auto rows = query(fmt::format("SELECT {} FROM requests WHERE {}", kColumns, where), values...);
    return read_requests(rows);
  }

  std::string setting(const std::string& name) {
    auto rows = query("SELECT value FROM settings WHERE name = ?", name);
    return rows.executeStep() ? rows.getColumn(0).getString() : std::string();
  }

  void set(const std::string& name, const std::string& value) {
    query("INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name,
          value)
        .exec();
  }

  bool tell(std::int64_t id, const std::string& key, const json& body) {
    return query(
               "INSERT OR IGNORE INTO events SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM events "
               "WHERE "
               "request = ?1",
               id, key, json_text(body))
               .exec() == 1;
  }

  bool end(std::int64_t id, const std::string& state, const std::string& verdict, const std::string& message,
           double now) {
    query("UPDATE requests SET state = ?, verdict = ?, message = ?, ended = ?, worker = '' WHERE id = ?",
          state, verdict, message, now, id)
        .exec();
    json body{{"tell", "end"}, {"run", id}, {"state", state}};
    if (!verdict.empty()) body["verdict"] = verdict;
    if (!message.empty()) body["message"] = message;
    return tell(id, "end", body);
  }

  void know(const std::string& student) {
    query("INSERT OR IGNORE INTO students (student) VALUES (?)", student).exec();
  }

  std::optional<Refusal> refusal(const NewRequest& request, Limits limits, double now);
};

// Why this student may not have another run now.
std::optional<Refusal> Queue::Impl::refusal(const NewRequest& request, Limits limits, double now) {
  if (const std::string why = setting("drain"); !why.empty())
    return Refusal{"drained", "the desk takes no runs now: " + why,
                   "run it later; local tests work meanwhile", ""};
  auto about =
      query("SELECT banned, runs_per_hour, runs_per_day FROM students WHERE student = ?", request.student);
  if (about.executeStep()) {
    if (const std::string why = about.getColumn(0).getString(); !why.empty())
      return Refusal{"banned", "your runs are stopped: " + why, "ask your instructor", ""};
    if (!about.isColumnNull(1)) limits.runs_per_hour = about.getColumn(1).getInt();
    if (!about.isColumnNull(2)) limits.runs_per_day = about.getColumn(2).getInt();
  }
  const auto open = many("student = ? AND state IN ('queued', 'running') ORDER BY id", request.student);
  if (static_cast<int>(open.size()) >= limits.waiting)
    return Refusal{"one_at_a_time",
                   fmt::format("run {} of yours {}", open.front().id,
                               open.front().state == "queued" ? "is still waiting" : "is being judged"),
                   fmt::format("wait for it, or end it: warpgrade remote cancel {}", open.front().id), ""};
  const auto over = [&](int limit, double window, const char* word) -> std::optional<Refusal> {
    auto count = query(
        "SELECT count(*), min(arrived) FROM (SELECT arrived FROM requests WHERE student = ? AND arrived > ? "
        "AND "
        "(state IN ('queued', 'running', 'judged') OR (state = 'cancelled' AND started > 0)) ORDER BY "
        "arrived DESC "
        "LIMIT ?)",
        request.student, now - window, limit);
    count.executeStep();
    if (count.getColumn(0).getInt() < limit) return std::nullopt;
    const double again = limit == 0 ? window : count.getColumn(1).getDouble() + window - now;
    return Refusal{
        fmt::format("over_{}", word),
        fmt::format("{} runs {} {} are judged, and you had them", limit, word[0] == 'h' ? "an" : "a", word),
        limit == 0 ? "ask your instructor" : fmt::format("run it again in {}", minutes_text(again)), ""};
  };
  if (auto refused = over(limits.runs_per_hour, 3600, "hour")) return refused;
  return over(limits.runs_per_day, 86400, "day");
}

void Queue::create(const fs::path& desk) {
  make_directories(desk / "requests");
  Impl made(desk / "queue.sqlite", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  made.guarded([&] {
    if (made.database.execAndGet("PRAGMA user_version").getInt() == kQueueVersion) return;
    made.database.exec("PRAGMA journal_mode = WAL");
    SQLite::Transaction transaction(made.database);
    made.database.exec(kQueueSchema);
    made.database.exec(fmt::format("PRAGMA user_version = {}", kQueueVersion));
    transaction.commit();
  });
}

Queue::Queue(fs::path desk, bool between_hosts) : desk_(std::move(desk)) {
  const fs::path file = desk_ / "queue.sqlite";
  if (!fs::exists(file))
    throw UsageError("{} is no desk; `warpgrade desk init {}` makes one", desk_.string(), desk_.string());
  if (between_hosts) leave_shared_memory(file);
  try {
    impl_ = std::make_unique<Impl>(file, SQLite::OPEN_READWRITE);
    const int version = impl_->database.execAndGet("PRAGMA user_version").getInt();
    if (version != kQueueVersion)
      throw UsageError("{}: the queue of another warpgrade (version {}, this one knows {})", file.string(),
                       version, kQueueVersion);
  } catch (const SQLite::Exception& error) {
    throw UsageError("{}: the queue cannot be opened: {}", file.string(), error.what());
  }
}

Queue::~Queue() = default;

fs::path Queue::folder_of(std::int64_t id) const {
  return desk_ / "requests" / std::to_string(id);
}

// The folder gets its place before the row is there for good: whoever reads the row finds the folder. What a
// process leaves that dies between is replaced by the next run, which gets the same number.
std::variant<Entered, Refusal> Queue::enter(const NewRequest& request, const Limits& limits, double now) {
  return impl_->alone([&]() -> std::variant<Entered, Refusal> {
    if (const auto known = impl_->one("student = ? AND key = ?", request.student, request.key))
      return Entered{known->id, true};
    if (auto refused = impl_->refusal(request, limits, now)) return *refused;
    impl_->know(request.student);
    impl_
        ->query(
            "INSERT INTO requests (student, key, lab, cases, hash, bytes, state, arrived) VALUES (?, ?, ?, "
            "?, ?, ?, "
            "'queued', ?)",
            request.student, request.key, request.lab, json(request.cases).dump(), request.hash,
            static_cast<std::int64_t>(request.bytes), now)
        .exec();
    const std::int64_t id = impl_->database.getLastInsertRowid();
    fs::remove_all(folder_of(id));
    fs::rename(request.staged, folder_of(id));
    return Entered{id, false};
  });
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
  return impl_->alone([&]() -> std::string {
    const auto request = impl_->one("student = ? AND id = ?", student, id);
    if (!request) return "";
    if (request->state == "queued") {
      impl_->end(id, "cancelled", "", "you cancelled it", now);
      return "cancelled";
    }
    if (request->state == "running")
      impl_->query("UPDATE requests SET cancel_asked = 1 WHERE id = ?", id).exec();
    return request->state;
  });
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

// ---- workers

std::optional<Request> Queue::take(const std::string& worker, double now) {
  // A look first: a transaction would wait for others, and mostly there is nothing to take.
  const bool any = impl_->guarded([&] {
    return impl_->query("SELECT 1 FROM requests WHERE state = 'queued' LIMIT 1").executeStep() &&
           impl_->setting("pause").empty();
  });
  if (!any) return std::nullopt;
  return impl_->alone([&]() -> std::optional<Request> {
    auto next = impl_->one(
        "state = 'queued' AND student NOT IN (SELECT student FROM requests WHERE state = 'running') "
        "ORDER BY (SELECT served FROM students s WHERE s.student = requests.student), id LIMIT 1");
    if (!next) return std::nullopt;
    const std::int64_t turn = 1 + std::atoll(impl_->setting("turn").c_str());
    impl_->set("turn", std::to_string(turn));
    impl_->query("UPDATE students SET served = ? WHERE student = ?", turn, next->student).exec();
    impl_
        ->query(
            "UPDATE requests SET state = 'running', worker = ?, started = ?, starts = starts + 1, place = 0 "
            "WHERE id = ?",
            worker, now, next->id)
        .exec();
    return impl_->one("id = ?", next->id);
  });
}

bool Queue::tell(const Request& request, const std::string& key, const json& body) {
  return impl_->alone([&] {
    const auto now = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    return now && impl_->tell(request.id, key, body);
  });
}

bool Queue::cancel_asked(std::int64_t id) const {
  return impl_->guarded([&] { return impl_->one("id = ? AND cancel_asked = 1", id).has_value(); });
}

bool Queue::end(const Request& request, const std::string& state, const std::string& verdict,
                const std::string& message, double now) {
  return impl_->alone([&] {
    const auto held = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    return held && impl_->end(request.id, state, verdict, message, now);
  });
}

void Queue::give_back(const Request& request, bool blamed, double now) {
  impl_->alone([&] {
    const auto held = impl_->one("id = ? AND state = 'running' AND starts = ?", request.id, request.starts);
    if (!held) return false;
    impl_
        ->query("UPDATE requests SET state = 'queued', worker = '', deaths = deaths + ? WHERE id = ?",
                blamed ? 1 : 0, request.id)
        .exec();
    // Its student had no turn of it: it is the next one of theirs, and comes before who was served since.
    impl_->query("UPDATE students SET served = 0 WHERE student = ?", held->student).exec();
    if (held->cancel_asked) return impl_->end(request.id, "cancelled", "", "you cancelled it", now);
    const bool died = impl_->one(fmt::format("id = ? AND deaths >= {}", kMostDeaths), request.id).has_value();
    if (died || held->starts >= kMostStarts)
      impl_->end(request.id, "failed", "",
                 fmt::format(
                     "the desk could not judge it, twice; it costs you nothing. Tell your instructor: run {}",
                     request.id),
                 now);
    return true;
  });
}

void Queue::see_worker(const Worker& worker, double now) {
  impl_->alone([&] {
    return impl_
        ->query(
            "INSERT INTO workers VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name) DO UPDATE SET device = ?2, "
            "request = "
            "?3, since = ?4, seen = ?5",
            worker.name, worker.device, worker.request, worker.since, now)
        .exec();
  });
}

// ---- the supervisor

std::vector<Request> Queue::running() const {
  return impl_->guarded([&] { return impl_->many("state = 'running' ORDER BY id"); });
}

std::optional<Request> Queue::running_at(const std::string& worker) const {
  return impl_->guarded([&] { return impl_->one("state = 'running' AND worker = ?", worker); });
}

// The same choice as take() makes, again and again.
std::vector<Request> Queue::waiting() const {
  return impl_->guarded([&] {
    std::map<std::string, std::int64_t> served;
    auto students = impl_->query("SELECT student, served FROM students");
    while (students.executeStep())
      served[students.getColumn(0).getString()] = students.getColumn(1).getInt64();
    std::map<std::string, std::vector<Request>> of;
    for (Request& request : impl_->many("state = 'queued' ORDER BY id DESC"))
      of[request.student].push_back(std::move(request));
    using Turn = std::tuple<std::int64_t, std::int64_t, std::string>;  // served, id, student
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (const auto& [student, requests] : of) turns.emplace(served[student], requests.back().id, student);
    std::int64_t turn = 1 + std::atoll(impl_->setting("turn").c_str());
    std::vector<Request> order;
    while (!turns.empty()) {
      const std::string student = std::get<2>(turns.top());
      turns.pop();
      order.push_back(std::move(of[student].back()));
      of[student].pop_back();
      if (!of[student].empty()) turns.emplace(turn++, of[student].back().id, student);
    }
    return order;
  });
}

void Queue::write_places(int workers) {
  const std::vector<Request> order = waiting();
  if (order.empty()) return;
  impl_->alone([&] {
    auto mean = impl_->query(
        "SELECT avg(ended - started) FROM (SELECT ended, started FROM requests WHERE state = 'judged' ORDER "
        "BY ended "
        "DESC LIMIT 20)");
    mean.executeStep();
    const double each = mean.isColumnNull(0) ? 0 : mean.getColumn(0).getDouble();
    int place = 0;
    for (const Request& request : order) {
      ++place;
      impl_
          ->query(
              "UPDATE requests SET place = ?, wait_s = ? WHERE id = ? AND state = 'queued' AND place <> ?",
              place, each * place / std::max(1, workers), request.id, place)
          .exec();
    }
    return true;
  });
}

std::vector<Worker> Queue::workers() const {
  return impl_->guarded([&] {
    std::vector<Worker> all;
    auto rows = impl_->query("SELECT name, device, request, since, seen FROM workers ORDER BY name");
    while (rows.executeStep())
      all.push_back({rows.getColumn(0).getString(), rows.getColumn(1).getString(),
                     rows.getColumn(2).getInt64(), rows.getColumn(3).getDouble(),
                     rows.getColumn(4).getDouble()});
    return all;
  });
}

void Queue::forget_worker(const std::string& name) {
  impl_->alone([&] { return impl_->query("DELETE FROM workers WHERE name = ?", name).exec(); });
}

json Queue::counts() const {
  return impl_->guarded([&] {
    json counts{{"queued", 0}, {"running", 0}, {"judged", 0}, {"failed", 0}, {"cancelled", 0}};
    auto states = impl_->query("SELECT state, count(*) FROM requests GROUP BY state");
    while (states.executeStep()) counts[states.getColumn(0).getString()] = states.getColumn(1).getInt64();
    auto waits = impl_->query(
        "SELECT started - arrived FROM requests WHERE started > 0 ORDER BY started DESC LIMIT 100");
    std::vector<double> seconds;
    while (waits.executeStep()) seconds.push_back(waits.getColumn(0).getDouble());
    std::sort(seconds.begin(), seconds.end());
    if (!seconds.empty()) {
      counts["wait_median_s"] = seconds[seconds.size() / 2];
      counts["wait_p95_s"] = seconds[(seconds.size() * 95 - 1) / 100];
    }
    return counts;
  });
}

std::vector<Request> Queue::ended_since(std::int64_t after_id, double since) const {
  return impl_->guarded([&] { return impl_->many("ended > ? AND id > ? ORDER BY ended", since, after_id); });
}

std::vector<Request> Queue::latest_judged(const std::string& lab) const {
  return impl_->guarded([&] {
    return impl_->many(
        "id IN (SELECT max(id) FROM requests WHERE state = 'judged' AND lab = ? GROUP BY student) ORDER BY "
        "student",
        lab);
  });
}

std::vector<Request> Queue::latest_judged(const std::string& lab,
                                          const std::vector<std::string>& cases) const {
  return impl_->guarded([&] {
    return impl_->many(
        "id IN (SELECT max(id) FROM requests WHERE state = 'judged' AND lab = ? AND cases = ? GROUP BY "
        "student) "
        "ORDER BY student",
        lab, json(cases).dump());
  });
}

// ---- administration

std::string Queue::setting(const std::string& name) const {
  return impl_->guarded([&] { return impl_->setting(name); });
}

void Queue::set(const std::string& name, const std::string& value) {
  impl_->alone([&] {
    impl_->set(name, value);
    return true;
  });
}

void Queue::ban(const std::string& student, const std::string& why) {
  impl_->alone([&] {
    impl_->know(student);
    return impl_->query("UPDATE students SET banned = ? WHERE student = ?", why, student).exec();
  });
}

void Queue::quota(const std::string& student, std::optional<int> per_hour, std::optional<int> per_day) {
  impl_->alone([&] {
    impl_->know(student);
    SQLite::Statement change(impl_->database,
                             "UPDATE students SET runs_per_hour = ?, runs_per_day = ? WHERE student = ?");
    per_hour ? change.bind(1, *per_hour) : change.bind(1);
    per_day ? change.bind(2, *per_day) : change.bind(2);
    change.bind(3, student);
    return change.exec();
  });
}

std::vector<StudentLine> Queue::students() const {
  return impl_->guarded([&] {
    std::vector<StudentLine> all;
    auto rows = impl_->query(
        "SELECT student, banned, runs_per_hour, runs_per_day, (SELECT count(*) FROM requests r WHERE "
        "r.student = "
        "s.student) FROM students s ORDER BY student");
    while (rows.executeStep()) {
      StudentLine line{
          rows.getColumn(0).getString(), rows.getColumn(1).getString(), {}, {}, rows.getColumn(4).getInt()};
      if (!rows.isColumnNull(2)) line.runs_per_hour = rows.getColumn(2).getInt();
      if (!rows.isColumnNull(3)) line.runs_per_day = rows.getColumn(3).getInt();
      all.push_back(std::move(line));
    }
    return all;
  });
}

}  // namespace warpgrade::desk
