// One lab of `warpgrade test`: its cases judged in a thread of their own, records handed out as they come.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/student_run.h"
#include "course/batch/grade_run.h"

namespace warpgrade {

struct StudentRunOptions {
  std::string backend = "auto";
  std::filesystem::path folder;                      // holds a folder a lab
  std::optional<std::filesystem::path> policy = {};  // none: the lab's
};

class StudentLabRun : public StudentRun, public GradeWatcher {
 public:
  StudentLabRun(StudentRunOptions options, std::string lab);
  ~StudentLabRun() override;
  StudentLabRun(const StudentLabRun&) = delete;
  StudentLabRun& operator=(const StudentLabRun&) = delete;

  const std::string& lab() const override { return lab_; }
  std::filesystem::path folder() const override { return options_.folder / lab_; }
  std::string title() const override;
  std::size_t total() const override { return cases_.size(); }
  void add_case(std::string case_id) { cases_.push_back(std::move(case_id)); }
  const std::vector<std::string>& cases() const { return cases_; }

  // Fills the compiler's cache beside another lab's run. Mistakes are told when the lab's own turn comes.
  void compile_ahead(const std::string& backend);

  void start() override;
  void wait_until_compiled() override;
  void wait_for_end() override;
  // The case's record, once there is one; null when the run ended without it, after a time limit. Throws what
  // ended the run.
  const Record* wait_for(const std::string& case_id);
  StudentProgress progress() const override;
  std::vector<Record> records() const override;
  std::string stopped_at() const override;

  void compiled() override;
  void case_started(const std::string& case_id) override;
  void case_recorded(const Record& record) override;
  bool wants_to_stop() override;

 private:
  using Clock = std::chrono::steady_clock;
  void judge();
  void finish(std::exception_ptr failure);

  StudentRunOptions options_;
  std::string lab_;
  std::vector<std::string> cases_;
  std::future<void> compiled_ahead_;
  std::thread thread_;
  bool started_ = false;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool compiled_ = false, ended_ = false;
  std::exception_ptr failure_;
  std::map<std::string, Record> records_;
  std::string in_work_, stopped_at_;
  Clock::time_point begun_, case_begun_;
};

}  // namespace warpgrade
