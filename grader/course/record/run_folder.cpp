#include "course/record/run_folder.h"

#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "base/ahead.h"
#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "course/record/events.h"
#include "judge/sandbox/usable_cores.h"

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

// As whoever reads it gets it.
Record plain(json record) {
  make_plain(record);
  return record;
}

// Less the newline behind the last line.
std::string_view trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
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
  std::set<std::string> ids;
  for (const json& submission : run.value("submissions", json::array()))
    if (const std::string id = submission.value("id", ""); !ids.insert(id).second)
      throw UsageError(
          "{}: submission '{}' is listed twice, so it would count twice; remove one of the entries",
          run_file().string(), id);
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

void RunFolder::each_collected(const std::function<void(std::string_view line, int number)>& visit) const {
  std::ifstream lines(records_file(), std::ios::binary);
  if (!lines) throw UsageError("cannot read {}", records_file().string());
  int number = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) visit(line, ++number);
}

json RunFolder::read_line(std::string_view line, int number, const Fields& fields) const {
  if (auto record = sealed_fields(line, fields)) return std::move(*record);
  const std::string place = fmt::format("{}:{}", records_file().string(), number);
  const json record = json::parse(line, nullptr, false);
  if (record.is_discarded())
    throw UsageError("{}: this is not a record in JSON; use the file as it was written", place);
  if (!checksum_holds(record))
    throw UsageError("{}: changed after it was written: its checksum does not match", place);
  return only_fields(record, fields);
}

bool RunFolder::is_one_file() const {
  return !fs::exists(root_ / "cases") && fs::exists(records_file());
}

std::optional<fs::path> RunFolder::record_file(const std::string& id, const std::string& case_id) const {
  for (const fs::path& file : {case_file(id, case_id), fault_file(case_file(id, case_id))})
    if (fs::exists(file)) return file;
  return std::nullopt;
}

json RunFolder::read_file(const fs::path& path, const Fields& fields) const {
  const std::string text = read_text(path);
  if (auto record = sealed_fields(trimmed(text), fields)) return std::move(*record);
  const json record = read_json(path);
  if (!checksum_holds(record)) {
    throw UsageError(
        "{} was changed after it was written: its checksum does not match; move it away and run the same "
        "command again to redo it",
        path.string());
  }
  return only_fields(record, fields);
}

// The record as it was written, which its checksum is of.
std::string RunFolder::sealed_line(const fs::path& path) const {
  std::string text = read_text(path);
  text.resize(trimmed(text).size());
  return sealed_fields(text, {"checksum"}) ? text : canonical(read_file(path, {}));
}

std::vector<Record> RunFolder::read_records(const Fields& fields) const {
  const json run = read_run();
  std::vector<Record> records;
  if (is_one_file()) {
    each_collected([&](std::string_view line, int number) {
      records.push_back(plain(read_line(line, number, fields)));
    });
    return records;
  }
  const json& submissions = run.at("submissions");
  std::vector<std::vector<Record>> by_submission(submissions.size());
  parallel(submissions.size(), static_cast<std::size_t>(usable_cores()),
           [&](std::size_t i) { by_submission[i] = read_files(run, submissions[i].at("id"), fields); });
  for (std::vector<Record>& own : by_submission)
    records.insert(records.end(), std::move_iterator(own.begin()), std::move_iterator(own.end()));
  return records;
}

std::vector<Record> RunFolder::read_files(const json& run, const std::string& submission,
                                          const Fields& fields) const {
  std::vector<Record> records;
  for (const json& spec : run.at("cases"))
    if (const auto file = record_file(submission, spec.at("id")))
      records.push_back(plain(read_file(*file, fields)));
  return records;
}

RecordsOf RunFolder::records_of(const json& run, const Fields& fields) const {
  if (!is_one_file()) {
    return [folder = *this, &run, fields](const std::string& submission) {
      return folder.read_files(run, submission, fields);
    };
  }
  // A published set: one file of few submissions, in any order.
  Fields known = fields;
  if (!known.empty()) known.emplace_back("submission/id");
  auto by_submission = std::make_shared<std::map<std::string, std::vector<Record>>>();
  for (Record& record : read_records(known))
    (*by_submission)[record.submission.id].push_back(std::move(record));
  return [by_submission](const std::string& submission) { return (*by_submission)[submission]; };
}

RunFolder::Collected RunFolder::collect_files(const json& run, const std::string& submission,
                                              const Fields& fields) const {
  Collected own;
  for (const json& spec : run.at("cases")) {
    const auto file = record_file(submission, spec.at("id"));
    if (!file) continue;
    const std::string text = read_text(*file);
    if (auto record = sealed_fields(trimmed(text), fields)) {
      own.lines.append(trimmed(text)).append("\n");
      own.records.push_back(plain(std::move(*record)));
    } else {
      const json whole = read_file(*file, {});
      own.lines.append(canonical(whole)).append("\n");
      own.records.push_back(plain(only_fields(whole, fields)));
    }
  }
  return own;
}

void RunFolder::collect(const json& run, const Fields& fields,
                        const std::function<void(const RecordsOf&)>& use) const {
  if (is_one_file()) {
    collect();
    return use(records_of(run, fields));
  }
  const json& submissions = run.at("submissions");
  write_text(records_file(), [&](const AddText& add) {
    Ahead<Collected> ahead(submissions.size(), static_cast<std::size_t>(usable_cores()), [&](std::size_t i) {
      return collect_files(run, submissions[i].at("id"), fields);
    });
    std::size_t next = 0;
    use([&](const std::string& submission) {
      // Else one student's records would be another's points.
      if (next >= submissions.size() || submissions[next].at("id") != submission)
        throw std::logic_error("records are asked for out of the run's order: " + submission);
      ++next;
      Collected own = ahead.next();
      add(own.lines);
      return std::move(own.records);
    });
  });
  collect_events(*this);
}

void RunFolder::collect() const {
  const json run = read_run();
  if (!is_one_file()) {
    write_text(records_file(), [&](const AddText& add) {
      for (const json& submission : run.at("submissions"))
        for (const json& spec : run.at("cases"))
          if (const auto file = record_file(submission.at("id"), spec.at("id")))
            add(sealed_line(*file) + "\n");
    });
  } else {
    each_collected([&](std::string_view line, int number) { read_line(line, number, {"checksum"}); });
  }
  collect_events(*this);
}

}  // namespace warpgrade
