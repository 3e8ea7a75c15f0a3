// What an instructor says of a desk: DESK/desk.yaml. README.md here has every key.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course/score/policy.h"

namespace warpgrade::desk {

struct Config {
  std::string course;
  std::map<std::string, std::filesystem::path> labs;  // with their policies; empty: every lab with its own
  std::string backend = "auto";
  std::vector<std::string> gpus;  // empty: all
  int workers = 0;                // 0: one a GPU; on the emulator one
  double speed_budget_s = 5;      // of timed pairs a case
  bool allow_unsandboxed = false;
  double feedback_days = 30;  // so long files of ended runs stay
  std::int64_t student_bytes = std::int64_t{64} << 20, desk_bytes = std::int64_t{8} << 30;  // of such files
  std::filesystem::path metrics;   // Prometheus' text file; default: DESK/metrics.prom
  std::filesystem::path pages;     // leaderboards; default: DESK/leaderboard
  std::string executor = "local";  // or slurm: workers are tasks on a cluster
  std::filesystem::path site;      // of slurm, as `batch --site` takes it
  int tasks = 4;                   // of slurm, at most
  double idle_s = 300;             // of slurm: a task ends after so long without a run
  // Runs with the hardware's counters; nothing: the desk gives none.
  struct Counters {
    int runs_per_day = 4;  // of a student
    int seconds = 120;     // of ncu's run
  };
  std::optional<Counters> counters;

  // Throws UsageError with file, line, key, what was expected.
  static Config read(const std::filesystem::path& desk);

  // Throws UsageError that a student may read: no such lab here.
  std::filesystem::path policy_file(const std::string& lab) const;
  Policy policy(const std::string& lab) const;
};

// $WARPGRADE_DESK, or ~/desk.
std::filesystem::path default_desk();

// A student's id as it stands in authorized_keys: letters, digits and . _ @ + -, 64 at most.
bool is_plain_id(const std::string& id);

// DESK/log.jsonl: a line whenever something happened, with the run it is about. Each line is one write, so
// that processes do not mix theirs.
class Log {
 public:
  explicit Log(const std::filesystem::path& desk) : file_(desk / "log.jsonl") {}
  void add(const std::string& what, nlohmann::json facts) const noexcept;
  void turn_over()
      const noexcept;  // a file of more than 64 MiB becomes log.jsonl.1, in place of the one before

 private:
  std::filesystem::path file_;
};

}  // namespace warpgrade::desk
