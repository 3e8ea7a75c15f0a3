#include "course/gradebook/gradebook.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "course/gradebook/gradebook_file.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

std::string utc_timestamp() {
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

namespace {

// The writer's lock: a file beside the gradebook, so that it also holds where the database does not
// exist yet.
FileDescriptor lock_for_writing(const fs::path& file, double wait_s) {
  const fs::path lock = file.string() + ".lock";
  FileDescriptor descriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!descriptor)
    throw UsageError("{}: cannot be written; does the folder exist, and may you write to it?", lock.string());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait_s);
  while (flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
    throw_if_interrupted();
    if (std::chrono::steady_clock::now() >= end) {
      throw UsageError(
          "{}: another warpgrade is writing to it; wait until that ends, then run the same command again",
          file.string());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return descriptor;
}

json note_of(const Row& score) {
  json note = json::object();
  for (std::size_t i = 2; i < score.size(); ++i) {
    if (score[i] != Value()) note[kScoresTable.columns[i]] = to_json(score[i]);
  }
  return note;
}

}  // namespace

void Gradebook::Impl::open(GradebookMode mode, double wait_s) {
  const bool creates = mode == GradebookMode::kCreate, writes = mode != GradebookMode::kRead;
  if (!creates && !fs::exists(file)) {
    throw UsageError("{}: there is no gradebook; `warpgrade collect RUN --gradebook {}` makes one",
                     file.string(), file.string());
  }
  if (writes) lock = lock_for_writing(file, wait_s);
  database = std::make_unique<SQLite::Database>(
      file.string(),
      (writes ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY) | (creates ? SQLite::OPEN_CREATE : 0), 5000);
  database->exec("PRAGMA foreign_keys = ON");
  const int version = database->execAndGet("PRAGMA user_version").getInt();
  if (version > kGradebookVersion) {
    throw UsageError("{}: a newer warpgrade made it (version {}; this one reads version {})", file.string(),
                     version, kGradebookVersion);
  }
  if (version == kGradebookVersion) return;
  const bool empty = database->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
  if (version == 0 && (!empty || !creates))
    throw UsageError("{}: this is an SQLite file, but not a gradebook", file.string());
  if (!writes) {  // a file of an earlier version: a writer brings it up to date first
    database.reset();
    { const Gradebook writer(file, GradebookMode::kWrite, wait_s); }
    database = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READONLY, 5000);
    return;
  }
  SQLite::Transaction transaction(*database);
  if (version == 0) database->exec(kGradebookSchema);
  database->exec(kUpgradeFrom1);
  database->exec(fmt::format("PRAGMA user_version = {}", kGradebookVersion));
  transaction.commit();
}

void Gradebook::Impl::audit(const std::string& author, const std::string& action, const json& what,
                            const std::string& at) {
  static const char* const columns[] = {"lab", "run", "submission", "student", "before", "after", "reason"};
  SQLite::Statement write(*database,
                          "INSERT INTO audit (at, author, action, lab, run, submission, student, before, "
                          "after, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  write.bind(1, at.empty() ? utc_timestamp() : at);
  write.bind(2, author);
  write.bind(3, action);
  int index = 4;
  for (const char* column : columns) {
    const auto found = what.find(column);
    if (found == what.end() || found->is_null())
      write.bind(index);
    else
      write.bind(index, found->is_string() ? found->get<std::string>() : found->dump());
    ++index;
  }
  write.exec();
}

void Gradebook::Impl::refuse_namesake(const json& run) const {
  SQLite::Statement query(*database, "SELECT created_at, lab FROM runs WHERE run = ?");
  query.bind(1, run.at("run").get<std::string>());
  if (!query.executeStep()) return;
  const std::string made = query.getColumn(0).getString(), lab = query.getColumn(1).getString();
  if (made != run.value("created_at", "") || lab != run.value("lab", "")) {
    throw UsageError(
        "{}: it has another run '{}' (lab {}, made {}); this one is of lab {}, made {}. Grade into a run "
        "folder of another name, or collect into another gradebook",
        file.string(), run.at("run").get<std::string>(), lab, made, run.value("lab", ""),
        run.value("created_at", ""));
  }
}

Gradebook::Gradebook(const fs::path& file, GradebookMode mode, double wait_s)
    : impl_(std::make_unique<Impl>()) {
  impl_->file = file;
  impl_->guarded([&] { impl_->open(mode, wait_s); });
}

Gradebook::~Gradebook() = default;

CollectSummary Gradebook::collect(const RunParts& collected, const std::string& author) {
  const std::string run = collected.run.at("run"), lab = collected.run.at("lab");
  RunRows rows = rows_of(collected);
  return impl_->guarded([&] {
    SQLite::Database& database = *impl_->database;
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->refuse_namesake(collected.run);
    const int renamed = impl_->follow_students(collected, rows, author);
    const MergeResult runs = merge(database, kRunsTable, run, {rows.run});
    merge(database, kStudentsTable, run, rows.students);
    const MergeResult attempts = merge(database, kAttemptsTable, run, rows.attempts);
    merge(database, kMembersTable, run, rows.members);
    const MergeResult cases = merge(database, kCasesTable, run, rows.cases);
    const MergeResult scores = merge(database, kScoresTable, run, rows.scores);
    CollectSummary summary{static_cast<int>(attempts.added.size()), static_cast<int>(cases.added.size()),
                           static_cast<int>(cases.changed.size()), static_cast<int>(scores.changed.size())};
    summary.students_renamed = renamed;
    if (!runs.added.empty()) {
      impl_->audit(
          author, "run collected",
          {{"lab", lab},
           {"run", run},
           {"after", fmt::format("{} attempts, {} cases", attempts.added.size(), cases.added.size())}});
    }
    for (const auto& [before, after] : scores.changed) {
      impl_->audit(author, "score changed",
                   {{"lab", lab},
                    {"run", run},
                    {"submission", to_json(after[1])},
                    {"before", note_of(before)},
                    {"after", note_of(after)}});
    }
    summary.attempts_superseded = impl_->leave_out_superseded(collected, rows, author);
    summary.changes_noted = impl_->note_changes(collected, author);
    transaction.commit();
    return summary;
  });
}

Gradebook::State Gradebook::state() const {
  return impl_->guarded([&] {
    SQLite::Statement query(*impl_->database, "SELECT id, at FROM audit ORDER BY id DESC LIMIT 1");
    State state;
    if (query.executeStep()) state = {query.getColumn(0).getInt64(), query.getColumn(1).getString()};
    return state;
  });
}

std::vector<json> Gradebook::history(const std::optional<std::string>& student) const {
  return impl_->guarded([&] {
    // A run's arrival matters to a student when an attempt of theirs is in it; a changed score when it
    // is theirs.
    SQLite::Statement query(*impl_->database, R"sql(
SELECT at, author, action, lab, run, submission, student, before, after, reason FROM audit a
WHERE ?1 IS NULL OR a.student = ?1
   OR (a.submission IS NULL AND EXISTS (SELECT 1 FROM members m WHERE m.run = a.run AND m.student = ?1))
   OR EXISTS (SELECT 1 FROM members m WHERE m.run = a.run AND m.submission = a.submission AND m.student = ?1)
ORDER BY id)sql");
    if (student)
      query.bind(1, *student);
    else
      query.bind(1);
    std::vector<json> lines;
    while (query.executeStep()) lines.push_back(row_object(query));
    return lines;
  });
}

}  // namespace warpgrade
