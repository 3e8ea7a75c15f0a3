// What `make test` shows: a line a case as it ends, where the run stands, each mistake once, and last the one
// thing to do next. It takes the place of GoogleTest's own printer.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cli/mistakes.h"
#include "cli/student_lab_run.h"

namespace warpgrade {

// "tiny-hub-k32" as a name that GoogleTest allows.
std::string test_name(const std::string& case_id);

class StudentReport : public testing::EmptyTestEventListener {
 public:
  explicit StudentReport(std::vector<std::shared_ptr<StudentLabRun>> runs);
  ~StudentReport() override;

  void OnTestSuiteStart(const testing::TestSuite& suite) override;
  void OnTestEnd(const testing::TestInfo& test) override;
  void OnTestSuiteEnd(const testing::TestSuite& suite) override;

  // What no case is to blame for: the machine, or an interruption.
  void note_trouble(const std::string& what);
  // The last line: what to mend first and the command that shows it again, or that all is right.
  std::string last_line() const;

 private:
  void print(const std::string& text);
  void tick(const std::stop_token& stop);
  std::string standing() const;
  void print_mistakes(const StudentLabRun& run);

  std::map<std::string, std::shared_ptr<StudentLabRun>> runs_;  // by lab
  std::vector<std::string> order_;                              // of the labs
  std::shared_ptr<StudentLabRun> current_;
  std::string trouble_;
  int untold_ = 0;  // cases of an unwritten lab, told together

  mutable std::mutex mutex_;
  bool terminal_;
  bool line_shown_ = false;
  std::chrono::steady_clock::time_point last_output_;
  std::jthread ticker_;
};

}  // namespace warpgrade
