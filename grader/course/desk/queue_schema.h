// The desk's tables.
#pragma once

namespace warpgrade::desk {

inline constexpr int kQueueVersion = 3;

// What brings a queue of an earlier version to the next one. Of ended runs of version 1 nothing is known, and
// remove_old_files() measures them; version 2 knew runs alone.
inline constexpr const char* kFromVersion[] = {
    "ALTER TABLE requests ADD COLUMN kept INTEGER NOT NULL DEFAULT -1",
    "ALTER TABLE requests ADD COLUMN kind TEXT NOT NULL DEFAULT 'run'"};

// `kind`: run, or profile, which counts on the hardware and judges nothing. A run's key is its student's: the
// same one sent again is the same run. `kept` is how many bytes its folder has; -1: to be measured. `served`
// is the number of the turn at which a student was last served, by which turns are fair.
inline constexpr const char* kQueueSchema = R"sql(
CREATE TABLE requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT, student TEXT NOT NULL, key TEXT NOT NULL, lab TEXT NOT NULL,
  cases TEXT NOT NULL, hash TEXT NOT NULL, bytes INTEGER NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL DEFAULT '',
  verdict TEXT NOT NULL DEFAULT '', worker TEXT NOT NULL DEFAULT '', arrived REAL NOT NULL, started REAL NOT NULL DEFAULT 0,
  ended REAL NOT NULL DEFAULT 0, starts INTEGER NOT NULL DEFAULT 0, deaths INTEGER NOT NULL DEFAULT 0,
  place INTEGER NOT NULL DEFAULT 0, wait_s REAL NOT NULL DEFAULT 0, cancel_asked INTEGER NOT NULL DEFAULT 0,
  kept INTEGER NOT NULL DEFAULT 0, kind TEXT NOT NULL DEFAULT 'run',
  UNIQUE (student, key));
CREATE INDEX requests_by_state ON requests (state);
CREATE INDEX requests_by_student ON requests (student, arrived);
CREATE TABLE events (
  request INTEGER NOT NULL REFERENCES requests, number INTEGER NOT NULL, key TEXT NOT NULL, body TEXT NOT NULL,
  PRIMARY KEY (request, number), UNIQUE (request, key)) WITHOUT ROWID;
CREATE TABLE students (
  student TEXT PRIMARY KEY, served INTEGER NOT NULL DEFAULT 0, banned TEXT NOT NULL DEFAULT '', runs_per_hour INTEGER,
  runs_per_day INTEGER) WITHOUT ROWID;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE workers (
  name TEXT PRIMARY KEY, device TEXT NOT NULL, request INTEGER NOT NULL, since REAL NOT NULL, seen REAL NOT NULL)
  WITHOUT ROWID;
)sql";

}  // namespace warpgrade::desk
