// The gradebook's tables; README.md here says what each column holds.
#pragma once

#include <string>
#include <vector>

namespace warpgrade {

inline constexpr int kGradebookVersion = 2;

// Version 1. Overrides and the audit trail only ever grow: SQLite itself refuses to change or delete a line.
inline constexpr const char* kGradebookSchema = R"sql(
CREATE TABLE runs (
  run TEXT PRIMARY KEY, lab TEXT NOT NULL, created_at TEXT, backend TEXT, policy_name TEXT, policy_hash TEXT,
  harness_hash TEXT, max_points REAL, folder TEXT) WITHOUT ROWID;
CREATE TABLE students (
  run TEXT NOT NULL REFERENCES runs, student TEXT NOT NULL, name TEXT, email TEXT, section TEXT, team TEXT,
  PRIMARY KEY (run, student)) WITHOUT ROWID;
CREATE TABLE attempts (
  run TEXT NOT NULL REFERENCES runs, submission TEXT NOT NULL, title TEXT, role TEXT, team TEXT, attempt INTEGER,
  submitted_at TEXT, late_s REAL, hash TEXT, interface TEXT, refusal TEXT,
  PRIMARY KEY (run, submission)) WITHOUT ROWID;
CREATE TABLE members (
  run TEXT NOT NULL, submission TEXT NOT NULL, student TEXT NOT NULL,
  PRIMARY KEY (run, submission, student),
  FOREIGN KEY (run, submission) REFERENCES attempts) WITHOUT ROWID;
CREATE TABLE cases (
  run TEXT NOT NULL, submission TEXT NOT NULL, case_id TEXT NOT NULL, dataset TEXT, k INTEGER, kind TEXT,
  verdict TEXT NOT NULL, reason TEXT, message TEXT, points REAL, max_points REAL, threshold REAL,
  threshold_status TEXT, baseline TEXT, speedup REAL, speedup_low REAL, speedup_high REAL, time_us REAL,
  wall_s REAL, checksum TEXT,
  PRIMARY KEY (run, submission, case_id),
  FOREIGN KEY (run, submission) REFERENCES attempts) WITHOUT ROWID;
CREATE TABLE scores (
  run TEXT NOT NULL, submission TEXT NOT NULL, points REAL NOT NULL, max_points REAL NOT NULL,
  points_before_late REAL, late_note TEXT, counts INTEGER NOT NULL, verdict TEXT, correct_cases INTEGER, total_cases INTEGER, undecided_cases INTEGER,
  over_threshold INTEGER, threshold_cases INTEGER, policy_hash TEXT,
  PRIMARY KEY (run, submission),
  FOREIGN KEY (run, submission) REFERENCES attempts) WITHOUT ROWID;
CREATE TABLE overrides (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, author TEXT NOT NULL CHECK (author <> ''),
  student TEXT NOT NULL, lab TEXT NOT NULL, points REAL, reason TEXT NOT NULL CHECK (reason <> ''));
CREATE TABLE audit (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, author TEXT NOT NULL, action TEXT NOT NULL,
  lab TEXT, run TEXT, submission TEXT, student TEXT, before TEXT, after TEXT, reason TEXT);
CREATE INDEX members_by_student ON members (student);
CREATE INDEX audit_by_student ON audit (student);
CREATE TRIGGER overrides_stay BEFORE UPDATE ON overrides BEGIN SELECT RAISE(ABORT, 'overrides are never changed'); END;
CREATE TRIGGER overrides_are_kept BEFORE DELETE ON overrides BEGIN SELECT RAISE(ABORT, 'overrides are never deleted'); END;
CREATE TRIGGER audit_stays BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is never changed'); END;
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is never deleted'); END;
)sql";

// Version 2. A new file is made by both; one of version 1 becomes one of version 2 in place. What it does not
// know stays NULL until its runs are collected again.
inline constexpr const char* kUpgradeFrom1 = R"sql(
ALTER TABLE runs ADD COLUMN deadline TEXT;
ALTER TABLE runs ADD COLUMN late_rules TEXT;
ALTER TABLE students ADD COLUMN keys TEXT;
ALTER TABLE attempts ADD COLUMN late_marked INTEGER;
ALTER TABLE attempts ADD COLUMN superseded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scores ADD COLUMN measured_points REAL;
CREATE TABLE former_ids (
  former TEXT NOT NULL, student TEXT NOT NULL, at TEXT NOT NULL, run TEXT NOT NULL,
  PRIMARY KEY (former, student)) WITHOUT ROWID;
CREATE TABLE appeals (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, author TEXT NOT NULL CHECK (author <> ''),
  student TEXT NOT NULL, lab TEXT NOT NULL, text TEXT NOT NULL CHECK (text <> ''), closes INTEGER REFERENCES appeals);
CREATE TRIGGER appeals_stay BEFORE UPDATE ON appeals BEGIN SELECT RAISE(ABORT, 'appeals are never changed'); END;
CREATE TRIGGER appeals_are_kept BEFORE DELETE ON appeals BEGIN SELECT RAISE(ABORT, 'appeals are never deleted'); END;
)sql";

// A table as `merge` sees it: the first `keys` columns are its primary key, the first of them the run.
struct GradebookTable {
  std::string name;
  std::vector<std::string> columns;
  std::size_t keys = 0;
};

inline const GradebookTable kRunsTable{"runs",
                                       {"run", "lab", "created_at", "backend", "policy_name", "policy_hash",
                                        "harness_hash", "max_points", "folder", "deadline", "late_rules"},
                                       1};
inline const GradebookTable kStudentsTable{
    "students", {"run", "student", "name", "email", "section", "team", "keys"}, 2};
inline const GradebookTable kAttemptsTable{
    "attempts",
    {"run", "submission", "title", "role", "team", "attempt", "submitted_at", "late_s", "hash", "interface",
     "refusal", "late_marked", "superseded"},
    2};
inline const GradebookTable kMembersTable{"members", {"run", "submission", "student"}, 3};
inline const GradebookTable kCasesTable{
    "cases",
    {"run",         "submission",   "case_id",          "dataset",  "k",
     "kind",        "verdict",      "reason",           "message",  "points",
     "max_points",  "threshold",    "threshold_status", "baseline", "speedup",
     "speedup_low", "speedup_high", "time_us",          "wall_s",   "checksum"},
    3};
inline const GradebookTable kScoresTable{
    "scores",
    {"run", "submission", "points", "max_points", "points_before_late", "late_note", "counts", "verdict",
     "correct_cases", "total_cases", "undecided_cases", "over_threshold", "threshold_cases", "policy_hash",
     "measured_points"},
    2};

}  // namespace warpgrade
