// The gradebook's open file, as the parts of Gradebook share it.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/process.h"
#include "course/gradebook/collect.h"
#include "course/gradebook/gradebook.h"
#include "course/gradebook/rows.h"

namespace warpgrade {

struct Gradebook::Impl {
  std::filesystem::path file;
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

  void open(GradebookMode mode, double wait_s);

  // `what`: of lab, run, submission, student, before, after, reason. `at`: now, unless it is given.
  void audit(const std::string& author, const std::string& action, const nlohmann::json& what,
             const std::string& at = "");

  void refuse_namesake(const nlohmann::json& run) const;

  using ByStudentAndLab = std::map<std::pair<std::string, std::string>, Grade::Override>;
  ByStudentAndLab overrides() const;  // those that hold

  void write_override(const std::string& student, const std::string& lab, std::optional<double> points,
                      const std::string& reason, const std::string& author);
  void write_appeal(const std::string& student, const std::string& lab, const std::string& text,
                    const std::string& author, std::optional<std::int64_t> closes);
  // Closes what is open of a student in a lab; how many that were.
  int close_appeals(const std::string& student, const std::string& lab, const std::string& reason,
                    const std::string& author);
  std::vector<Appeal> open_appeals() const;

  // What the run's list of students tells of earlier ids; rows of `rows` under one become the new id's.
  int follow_students(const RunParts& run, RunRows& rows, const std::string& author);
  // Marks attempts that left the run, and takes away who is no member or student of it any more.
  int leave_out_superseded(const RunParts& run, const RunRows& rows, const std::string& author);
  // Enters the changes that the class went through, each once.
  int note_changes(const RunParts& run, const std::string& author);

 private:
  void move_to_new_id(const std::string& former, const std::string& now, const std::string& run,
                      const std::string& author);
};

}  // namespace warpgrade
