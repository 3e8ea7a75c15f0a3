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
#include "base/process.h"
#include "course/gradebook/collect.h"
#include "course/gradebook/rows.h"

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
FileDescriptor lock_for_writing(const fs::path& file, double patience_s) {
  const fs::path lock = file.string() + ".lock";
  FileDescriptor descriptor(open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!descriptor)
    throw UsageError("{}: cannot be written; does the folder exist, and may you write to it?", lock.string());
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
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

struct Gradebook::Impl {
  fs::path file;
  FileDescriptor lock;
  std::unique_ptr<SQLite::Database> database;

  // Runs `work` and says which file SQLite complained about.
  template <typename Work>
  auto guarded(const Work& work) const {
    try {
      return work();
    } catch (const SQLite::Exception& error) {
      throw UsageError("{}: the gradebook could not be read or written: {}", file.string(), error.what());
    }
  }

  void open(GradebookMode mode, double patience_s) {
    const bool creates = mode == GradebookMode::kCreate, writes = mode != GradebookMode::kRead;
    if (!creates && !fs::exists(file)) {
      throw UsageError("{}: there is no gradebook; `warpgrade collect RUN --gradebook {}` makes one",
                       file.string(), file.string());
    }
    if (writes) lock = lock_for_writing(file, patience_s);
    database = std::make_unique<SQLite::Database>(
        file.string(),
        (writes ? SQLite::OPEN_READWRITE : SQLite::OPEN_READONLY) | (creates ? SQLite::OPEN_CREATE : 0),
        5000);
    database->exec("PRAGMA foreign_keys = ON");
    const int version = database->execAndGet("PRAGMA user_version").getInt();
    if (version > kGradebookVersion) {
      throw UsageError("{}: a newer warpgrade made it (version {}; this one reads version {})", file.string(),
                       version, kGradebookVersion);
    }
    if (version == kGradebookVersion) return;
    const bool empty = database->execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (!empty || !creates)
      throw UsageError("{}: this is an SQLite file, but not a gradebook", file.string());
    SQLite::Transaction transaction(*database);
    database->exec(kGradebookSchema);
    database->exec(fmt::format("PRAGMA user_version = {}", kGradebookVersion));
    transaction.commit();
  }

  void audit(const std::string& author, const std::string& action, const json& what) {
    static const char* const columns[] = {"lab", "run", "submission", "student", "before", "after", "reason"};
    SQLite::Statement write(
        *database,
        "INSERT INTO audit (at, author, action, lab, run, submission, student, before, after, "
        "reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    write.bind(1, utc_timestamp());
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

  void refuse_namesake(const json& run) {
    SQLite::Statement query(*database, "SELECT created_at, lab FROM runs WHERE run = ?");
    query.bind(1, run.at("run").get<std::string>());
    if (!query.executeStep()) return;
    const std::string made = query.getColumn(0).getString(), lab = query.getColumn(1).getString();
    if (made != run.value("created_at", "") || lab != run.value("lab", "")) {
      throw UsageError(
          "{}: it has another run '{}' (lab {}, made {}); this one is of lab {}, made {}. Grade into a run "
          "folder of "
          "another name, or collect into another gradebook",
          file.string(), run.at("run").get<std::string>(), lab, made, run.value("lab", ""),
          run.value("created_at", ""));
    }
  }

  std::map<std::pair<std::string, std::string>, Grade::Override> overrides() const {
    std::map<std::pair<std::string, std::string>, Grade::Override> found;
    SQLite::Statement query(*database,
                            "SELECT student, lab, points, reason, author, at FROM overrides ORDER BY id");
    while (query.executeStep()) {
      const std::pair key(query.getColumn(0).getString(), query.getColumn(1).getString());
      if (query.getColumn(2).isNull()) {
        found.erase(key);
      } else {
        found[key] = {query.getColumn(2).getDouble(), query.getColumn(3).getString(),
                      query.getColumn(4).getString(), query.getColumn(5).getString()};
      }
    }
    return found;
  }
};

Gradebook::Gradebook(const fs::path& file, GradebookMode mode, double patience_s)
    : impl_(std::make_unique<Impl>()) {
  impl_->file = file;
  impl_->guarded([&] { impl_->open(mode, patience_s); });
}

Gradebook::~Gradebook() = default;

CollectSummary Gradebook::collect(const CollectedRun& collected, const std::string& author) {
  const std::string run = collected.run.at("run"), lab = collected.run.at("lab");
  const RunRows rows = rows_of(collected);
  return impl_->guarded([&] {
    SQLite::Database& database = *impl_->database;
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    impl_->refuse_namesake(collected.run);
    const MergeResult runs = merge(database, kRunsTable, run, {rows.run});
    merge(database, kStudentsTable, run, rows.students);
    const MergeResult attempts = merge(database, kAttemptsTable, run, rows.attempts);
    merge(database, kMembersTable, run, rows.members);
    const MergeResult cases = merge(database, kCasesTable, run, rows.cases);
    const MergeResult scores = merge(database, kScoresTable, run, rows.scores);
    CollectSummary summary{static_cast<int>(attempts.added.size()), static_cast<int>(cases.added.size()),
                           static_cast<int>(cases.changed.size()), static_cast<int>(scores.changed.size())};
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
    transaction.commit();
    return summary;
  });
}

namespace {

std::string text(SQLite::Statement& query, int index) {
  return query.getColumn(index).isNull() ? "" : query.getColumn(index).getString();
}

std::optional<double> real(SQLite::Statement& query, int index) {
  const SQLite::Column column = query.getColumn(index);
  return column.isNull() ? std::nullopt : std::optional<double>(column.getDouble());
}

// Every attempt of every student, and of those on a roster who handed nothing in; the latest run of a
// lab last.
constexpr const char* kGradesQuery = R"sql(
SELECT s.student, s.name, s.email, s.section, coalesce(a.team, s.team), r.lab, r.run, a.submission, a.submitted_at,
       c.verdict, a.refusal, c.late_note, a.attempt, a.late_s, c.points_before_late, c.points,
       coalesce(c.max_points, r.max_points), c.correct_cases, c.total_cases, c.undecided_cases, c.over_threshold,
       c.threshold_cases, coalesce(c.counts, 1)
FROM students s JOIN runs r ON r.run = s.run
LEFT JOIN members m ON m.run = s.run AND m.student = s.student
LEFT JOIN attempts a ON a.run = m.run AND a.submission = m.submission AND coalesce(a.role, 'student') = 'student'
LEFT JOIN scores c ON c.run = a.run AND c.submission = a.submission
WHERE (?1 IS NULL OR s.student = ?1) AND (?2 IS NULL OR r.lab = ?2) AND (?3 IS NULL OR r.run = ?3)
ORDER BY r.lab, s.student, r.created_at, r.run, a.attempt, a.submission
)sql";

Grade read_grade(SQLite::Statement& query) {
  Grade grade;
  std::string* const texts[] = {&grade.student,      &grade.name,    &grade.email,   &grade.section,
                                &grade.team,         &grade.lab,     &grade.run,     &grade.submission,
                                &grade.submitted_at, &grade.verdict, &grade.refusal, &grade.late_note};
  int index = 0;
  for (std::string* field : texts) *field = text(query, index++);
  if (!query.getColumn(12).isNull()) grade.attempt = query.getColumn(12).getInt();
  grade.late_s = real(query, 13);
  grade.points_before_late = real(query, 14);
  grade.computed_points = grade.points = real(query, 15).value_or(0);
  grade.max_points = real(query, 16).value_or(0);
  int* const counts[] = {&grade.correct_cases, &grade.total_cases, &grade.undecided_cases,
                         &grade.over_threshold, &grade.threshold_cases};
  index = 17;
  for (int* field : counts) *field = query.getColumn(index++).getInt();
  grade.counts = query.getColumn(22).getInt() != 0;
  if (grade.submission.empty()) grade.verdict = "not_submitted";
  return grade;
}

// Which of a student's attempts in a lab counts: of the latest run, the last that ingest lets count; or
// the best.
std::size_t counting(const std::vector<Grade>& grades, std::size_t first, std::size_t last, bool best) {
  std::size_t chosen = last - 1;
  for (std::size_t i = last - 1; i-- > first;) {
    const Grade &other = grades[i], &now = grades[chosen];
    if (now.submission.empty() && !other.submission.empty()) {
      chosen = i;
    } else if (best ? other.points > now.points : other.run == now.run && other.counts && !now.counts) {
      chosen = i;
    }
  }
  return chosen;
}

}  // namespace

std::vector<Grade> Gradebook::grades(const GradeFilter& filter) const {
  return impl_->guarded([&] {
    SQLite::Statement query(*impl_->database, kGradesQuery);
    int index = 1;
    for (const auto* wanted : {&filter.student, &filter.lab, &filter.run}) {
      if (*wanted)
        query.bind(index, **wanted);
      else
        query.bind(index);
      ++index;
    }
    std::vector<Grade> all, chosen;
    while (query.executeStep()) all.push_back(read_grade(query));
    const auto overrides = impl_->overrides();
    for (std::size_t first = 0; first < all.size();) {
      std::size_t last = first;
      while (last < all.size() && all[last].student == all[first].student && all[last].lab == all[first].lab)
        ++last;
      const std::size_t counts = counting(all, first, last, filter.best);
      for (std::size_t i = first; i < last; ++i) {
        all[i].counts = i == counts;
        if (!all[i].counts && !filter.every_attempt) continue;
        const auto by = overrides.find({all[i].student, all[i].lab});
        if (all[i].counts && by != overrides.end()) {
          all[i].override_by = by->second;
          all[i].points = by->second.points;
        }
        chosen.push_back(all[i]);
      }
      first = last;
    }
    return chosen;
  });
}

void Gradebook::override_grade(const std::string& student, const std::string& lab,
                               std::optional<double> points, const std::string& reason,
                               const std::string& author, bool above_maximum) {
  const auto blank = [](const std::string& s) { return s.find_first_not_of(" \t\n") == std::string::npos; };
  if (blank(reason)) throw UsageError("an override needs a --reason: the history keeps it");
  if (blank(author)) throw UsageError("an override needs an --author: the history keeps it");
  if (points && (!std::isfinite(*points) || *points < 0))
    throw UsageError("--points must be a number from 0 upwards");
  const std::vector<Grade> before = grades({student, lab, {}});
  if (before.empty()) {
    throw UsageError("{}: student '{}' has no grade in lab '{}'; `warpgrade grades` lists who has",
                     impl_->file.string(), student, lab);
  }
  if (points && *points > before.front().max_points && !above_maximum) {
    throw UsageError("--points {:g}: lab '{}' is worth {:g} points; give --above-maximum if you mean more",
                     *points, lab, before.front().max_points);
  }
  if (!points && !before.front().override_by) {
    throw UsageError("{}: there is no override of '{}' in lab '{}' to take back", impl_->file.string(),
                     student, lab);
  }
  impl_->guarded([&] {
    SQLite::Transaction transaction(*impl_->database, SQLite::TransactionBehavior::IMMEDIATE);
    SQLite::Statement write(
        *impl_->database,
        "INSERT INTO overrides (at, author, student, lab, points, reason) VALUES (?, ?, ?, ?, ?, ?)");
    write.bind(1, utc_timestamp());
    write.bind(2, author);
    write.bind(3, student);
    write.bind(4, lab);
    if (points)
      write.bind(5, *points);
    else
      write.bind(5);
    write.bind(6, reason);
    write.exec();
    json what = {{"lab", lab}, {"student", student}, {"before", before.front().points}, {"reason", reason}};
    what["after"] = points.value_or(before.front().computed_points);
    impl_->audit(author, points ? "points overridden" : "override withdrawn", what);
    transaction.commit();
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

json Grade::to_json() const {
  json object = {{"student", student},
                 {"lab", lab},
                 {"run", run},
                 {"points", points},
                 {"max_points", max_points},
                 {"computed_points", computed_points},
                 {"verdict", verdict},
                 {"correct_cases", correct_cases},
                 {"total_cases", total_cases},
                 {"undecided_cases", undecided_cases},
                 {"over_threshold", over_threshold},
                 {"threshold_cases", threshold_cases},
                 {"counts", counts}};
  const std::pair<const char*, const std::string*> texts[] = {
      {"name", &name},       {"email", &email},           {"section", &section},
      {"team", &team},       {"submission", &submission}, {"submitted_at", &submitted_at},
      {"refusal", &refusal}, {"late_note", &late_note}};
  for (const auto& [key, value] : texts) {
    if (!value->empty()) object[key] = *value;
  }
  if (attempt) object["attempt"] = *attempt;
  if (late_s) object["late_s"] = *late_s;
  if (points_before_late) object["points_before_late"] = *points_before_late;
  if (override_by) {
    object["override"] = {{"points", override_by->points},
                          {"reason", override_by->reason},
                          {"author", override_by->author},
                          {"at", override_by->at}};
  }
  return object;
}

}  // namespace warpgrade
