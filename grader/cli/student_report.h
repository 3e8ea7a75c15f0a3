// What `warpgrade test` shows: a line a case as it ends, where the run stands, each mistake once, and last
// the one thing to do next.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/mistakes.h"
#include "cli/student_run.h"
#include "record/view.h"

namespace warpgrade {

// The command that judges what lies in `labs` again: every lab, one where `lab` is not empty, or one of its
// cases. By make where the project has a Makefile and `labs` is its own folder, else by this program.
std::string test_command(const std::string& lab, const std::string& case_id,
                         const std::filesystem::path& labs);

class StudentReport {
 public:
  explicit StudentReport(std::vector<std::shared_ptr<StudentRun>> runs);
  ~StudentReport();
  StudentReport(const StudentReport&) = delete;
  StudentReport& operator=(const StudentReport&) = delete;

  // Starts the lab's run and returns when its submission is compiled.
  void start_lab(const std::shared_ptr<StudentRun>& run);
  // A line of the case that `record` is of. `seconds`: how long its record was waited for. `speed`: what was
  // measured, and where the policy wants more.
  void show_case(const Record& record, double seconds, const ScoredCase& speed = {});
  // Returns when nothing of the lab's run is at work any more, and its mistakes are told.
  void end_lab(StudentRun& run);

  // What no case is to blame for: the machine, or an interruption.
  void note_trouble(const std::string& what);
  // The last line: what to mend first and the command that shows it again, or that all is right.
  std::string last_line() const;

 private:
  void print(const std::string& text);
  void tick(const std::stop_token& stop);
  std::string standing() const;
  void print_mistakes(const StudentRun& run);

  std::vector<std::shared_ptr<StudentRun>> runs_;  // in the order of the labs
  std::shared_ptr<StudentRun> current_;
  std::string trouble_;
  int unwritten_ = 0;  // cases of an unwritten lab, reported together

  mutable std::mutex mutex_;
  bool terminal_;
  bool line_shown_ = false;
  std::string last_standing_;  // without a terminal: the last line of its kind, which is not repeated
  std::chrono::steady_clock::time_point last_output_;
  std::jthread ticker_;
};

}  // namespace warpgrade
