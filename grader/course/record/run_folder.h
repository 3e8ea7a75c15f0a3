// A run's folder: where its files lie, and records that are written once and checked when read.
// Formats: README.md here.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "course/record/record_text.h"

namespace warpgrade {

// Adds `checksum`: the SHA-256 of the canonical JSON without that field.
nlohmann::json with_checksum(nlohmann::json record);
bool checksum_holds(const nlohmann::json& record);

// The folder's path as it ends with a name: without a slash behind it, `.` and `..` written out.
std::filesystem::path path_with_name(std::filesystem::path folder);

// One string for a folder, however a command names it.
std::string identity_of(const std::filesystem::path& folder);

// The parts of a run folder, read once.
struct RunParts {
  std::filesystem::path folder;
  nlohmann::json run, scores;
  std::vector<Record> records;  // of each the fields that its reader asked for
  nlohmann::json class_list;    // submissions.json; null where the run was not made from an export
};

class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path root) : root_(path_with_name(std::move(root))) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path run_file() const { return root_ / "run.json"; }
  std::filesystem::path records_file() const { return root_ / "records.jsonl"; }
  std::filesystem::path scores_file() const { return root_ / "scores.json"; }
  std::filesystem::path class_file() const { return root_ / "submissions.json"; }
  std::filesystem::path batch_file() const { return root_ / "batch.json"; }
  std::filesystem::path events_file() const { return root_ / "events.jsonl"; }
  std::filesystem::path seed_file() const { return root_ / "secret" / "seed"; }
  std::filesystem::path submission_folder(const std::string& id) const { return root_ / "submissions" / id; }
  std::filesystem::path case_file(const std::string& id, const std::string& case_id) const;

  bool exists() const;
  nlohmann::json read_run() const;  // throws UsageError: not a run folder, malformed, another schema
  void write_run(const nlohmann::json& run) const;

  bool has_class() const;
  nlohmann::json read_class() const;  // throws UsageError as read_run() does

  // A verdict, once and for all; false when one stands already.
  bool add_record(const nlohmann::json& record) const;
  // The judge's own fault: kept beside, replaced by the next attempt, superseded by a verdict.
  void add_fault(const nlohmann::json& record) const;
  bool has_record(const std::string& id, const std::string& case_id) const;

  // All case records in the run's order of submissions and cases; faults only where no verdict stands.
  // Throws UsageError for a file that is damaged, naming it. Where there are no case files (a published
  // set), those of records.jsonl. Their texts are plain, whatever an older version let in. With `fields`
  // only these of each record: all records of a class are far larger than its scores.
  std::vector<Record> read_records(const Fields& fields = {}) const;
  // The same one submission after another, so that no more than that is in memory; `run`, as read_run()
  // gives it, outlives what is returned.
  RecordsOf records_of(const nlohmann::json& run, const Fields& fields) const;

  // Merges the case files into records.jsonl, and the processes' events into events.jsonl.
  void collect() const;
  // The same, and what `use` makes of the records on the way: each file is read once. `use` asks for every
  // submission, in the run's order.
  void collect(const nlohmann::json& run, const Fields& fields,
               const std::function<void(const RecordsOf&)>& use) const;

 private:
  bool is_one_file() const;  // a published set
  void each_collected(const std::function<void(std::string_view line, int number)>& visit) const;
  nlohmann::json read_line(std::string_view line, int number, const Fields& fields) const;
  std::optional<std::filesystem::path> record_file(const std::string& id, const std::string& case_id) const;
  nlohmann::json read_file(const std::filesystem::path& path, const Fields& fields) const;
  struct Collected {
    std::string lines;  // of records.jsonl
    std::vector<Record> records;
  };
  Collected collect_files(const nlohmann::json& run, const std::string& submission,
                          const Fields& fields) const;
  std::vector<Record> read_files(const nlohmann::json& run, const std::string& submission,
                                 const Fields& fields) const;
  std::string sealed_line(const std::filesystem::path& path) const;

  std::filesystem::path root_;
};

}  // namespace warpgrade
