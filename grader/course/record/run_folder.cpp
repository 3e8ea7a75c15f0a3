#include "course/record/run_folder.h"

#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "course/record/events.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::string canonical(const json& value) {
  return json_text(value);
}

json read_json(const fs::path& path) {
  const std::string text = read_text(path);
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    throw UsageError("{} is damaged: it is not JSON; move it away and run the same command again to redo it",
                     path.string());
  }
  return value;
}

fs::path fault_file(const fs::path& case_file) {
  fs::path path = case_file;
  path.replace_extension(".fault.json");
  return path;
}

}  // namespace

fs::path path_with_name(fs::path folder) {
  if (folder.filename() == "." || folder.filename() == "..") folder = fs::absolute(folder).lexically_normal();
  if (!folder.has_filename() && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

std::string identity_of(const fs::path& folder) {
  std::error_code error;
  const fs::path resolved = fs::weakly_canonical(fs::absolute(folder), error);
  return path_with_name(error ? fs::absolute(folder).lexically_normal() : resolved).string();
}

json with_checksum(json record) {
  record.erase("checksum");
  // Through text once, so that the checksum covers what a reader will see.
  record = json::parse(canonical(record));
  make_plain(record);
  record["checksum"] = sha256(canonical(record));
  return record;
}

bool checksum_holds(const json& record) {
  const auto found = record.find("checksum");
  if (found == record.end() || !found->is_string()) return false;
  json rest = record;
  rest.erase("checksum");
  return sha256(canonical(rest)) == found->get<std::string>();
}

fs::path RunFolder::case_file(const std::string& id, const std::string& case_id) const {
  return root_ / "cases" / id / (case_id + ".json");
}

bool RunFolder::exists() const {
  return fs::exists(run_file());
}

json RunFolder::read_run() const {
  if (!exists()) {
    throw UsageError("{} is not a run: there is no run.json in it; `warpgrade grade` makes one",
                     root_.string());
  }
  json run = read_json(run_file());
  if (run.value("schema", "") != "warpgrade.run.v1") {
    throw UsageError("{}: expected schema warpgrade.run.v1, got '{}'", run_file().string(),
                     run.value("schema", ""));
  }
  return run;
}

bool RunFolder::has_class() const {
  return fs::exists(class_file());
}

json RunFolder::read_class() const {
  json value = read_json(class_file());
  if (value.value("schema", "") != "warpgrade.class.v1") {
    throw UsageError("{}: expected schema warpgrade.class.v1, got '{}'", class_file().string(),
                     value.value("schema", ""));
  }
  return value;
}

void RunFolder::write_run(const json& run) const {
  make_directories(root_);
  write_text(run_file(), json_text(run, 1) + "\n");
}

bool RunFolder::add_record(const json& record) const {
  const fs::path path = case_file(record.at("submission").at("id"), record.at("case").at("id"));
  make_directories(path.parent_path());
  return write_new_text(path, canonical(with_checksum(record)) + "\n");
}

void RunFolder::add_fault(const json& record) const {
  const fs::path path = fault_file(case_file(record.at("submission").at("id"), record.at("case").at("id")));
  make_directories(path.parent_path());
  write_text(path, canonical(with_checksum(record)) + "\n");
}

bool RunFolder::has_record(const std::string& id, const std::string& case_id) const {
  return fs::exists(case_file(id, case_id));
}

// A published set has its records in one file only.
std::vector<json> RunFolder::read_collected() const {
  std::vector<json> records;
  std::istringstream lines(read_text(records_file()));
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::string place = fmt::format("{}:{}", records_file().string(), records.size() + 1);
    json record = json::parse(line, nullptr, false);
    if (record.is_discarded())
      throw UsageError("{}: this is not a record in JSON; use the file as it was written", place);
    if (!checksum_holds(record)) {
      throw UsageError("{}: changed after it was written: its checksum does not match", place);
    }
    records.push_back(std::move(record));
  }
  return records;
}

std::vector<json> RunFolder::read_records() const {
  std::vector<json> records = read_sealed();
  for (json& record : records) make_plain(record);
  return records;
}

std::vector<json> RunFolder::read_sealed() const {
  const json run = read_run();
  if (!fs::exists(root_ / "cases") && fs::exists(records_file())) return read_collected();
  std::vector<json> records;
  for (const json& submission : run.at("submissions")) {
    for (const json& spec : run.at("cases")) {
      fs::path path = case_file(submission.at("id"), spec.at("id"));
      if (!fs::exists(path)) path = fault_file(path);
      if (!fs::exists(path)) continue;
      json record = read_json(path);
      if (!checksum_holds(record)) {
        throw UsageError(
            "{} was changed after it was written: its checksum does not match; move it away and run the "
            "same command again to redo it",
            path.string());
      }
      records.push_back(std::move(record));
    }
  }
  return records;
}

void RunFolder::collect() const {
  std::string lines;
  for (const json& record : read_sealed()) lines += canonical(record) + "\n";
  write_text(records_file(), lines);
  collect_events(*this);
}

}  // namespace warpgrade
