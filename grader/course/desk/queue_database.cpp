#include "course/desk/queue_database.h"

#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "course/desk/queue_schema.h"

namespace warpgrade::desk {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr int kPatienceMs = 20'000;    // for another process's transaction
constexpr double kPatienceAlone = 20;  // seconds

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
          "{}: cannot be prepared for several hosts while others have it open ({}); end the students' "
          "connections and start the desk again. This is needed once",
          file.string(), why);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + pauses() % 200));
  }
}

}  // namespace

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
  request.kind = row.getColumn(15).getString();
  return request;
}

std::vector<Request> read_requests(SQLite::Statement& query) {
  std::vector<Request> found;
  while (query.executeStep()) found.push_back(read_request(query));
  return found;
}

Queue::Impl::Impl(const fs::path& path, int flags) : file(path), database(path.string(), flags, kPatienceMs) {
  database.exec("PRAGMA foreign_keys = ON");
  database.exec("PRAGMA synchronous = FULL");  // what a student was promised outlives the machine's power
}

void Queue::Impl::upgrade() {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  // Another process may have been first.
  for (int version = database.execAndGet("PRAGMA user_version").getInt(); version < kQueueVersion;
       ++version) {
    database.exec(kFromVersion[version - 1]);
    database.exec(fmt::format("PRAGMA user_version = {}", version + 1));
  }
  transaction.commit();
}

std::string Queue::Impl::setting(const std::string& name) {
  auto rows = query("SELECT value FROM settings WHERE name = ?", name);
  return rows.executeStep() ? rows.getColumn(0).getString() : std::string();
}

void Queue::Impl::set(const std::string& name, const std::string& value) {
  query("INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name,
        value)
      .exec();
}

bool Queue::Impl::add_event(std::int64_t id, const std::string& key, const json& body) {
  return query(
             "INSERT OR IGNORE INTO events SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM events WHERE "
             "request = ?1",
             id, key, json_text(body))
             .exec() == 1;
}

bool Queue::Impl::end(std::int64_t id, const std::string& state, const std::string& verdict,
                      const std::string& message, double now) {
  query("UPDATE requests SET state = ?, verdict = ?, message = ?, ended = ?, worker = '' WHERE id = ?", state,
        verdict, message, now, id)
      .exec();
  json body{{"tell", "end"}, {"run", id}, {"state", state}};
  if (!verdict.empty()) body["verdict"] = verdict;
  if (!message.empty()) body["message"] = message;
  return add_event(id, "end", body);
}

void Queue::Impl::know(const std::string& student) {
  query("INSERT OR IGNORE INTO students (student) VALUES (?)", student).exec();
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
    throw UsageError("{} is not a desk; `warpgrade desk init {}` makes one", desk_.string(), desk_.string());
  if (between_hosts) leave_shared_memory(file);
  try {
    impl_ = std::make_unique<Impl>(file, SQLite::OPEN_READWRITE);
    const int version = impl_->database.execAndGet("PRAGMA user_version").getInt();
    const bool older = version >= 1 && version < kQueueVersion;
    if (older) impl_->upgrade();
    if (version != kQueueVersion && !older)
      throw UsageError(
          "{}: another version of warpgrade made this queue (version {}; this one reads version {})",
          file.string(), version, kQueueVersion);
  } catch (const SQLite::Exception& error) {
    throw UsageError("{}: the queue cannot be opened: {}", file.string(), error.what());
  }
}

Queue::~Queue() = default;

}  // namespace warpgrade::desk
