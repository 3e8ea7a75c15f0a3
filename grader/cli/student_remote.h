// One lab of `warpgrade test LAB --remote HOST`: packed, sent to the course's desk, and told from there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/student_run.h"
#include "course/desk/connection.h"
#include "record/view.h"

namespace warpgrade {

struct RemoteRunOptions {
  std::string remote, lab, case_pattern;
  std::filesystem::path folder;  // of the submission
  std::string ask = "run";       // or profile: the hardware's counters of one case
};

class RemoteLabRun : public StudentRun {
 public:
  explicit RemoteLabRun(RemoteRunOptions options);
  ~RemoteLabRun() override;
  RemoteLabRun(const RemoteLabRun&) = delete;
  RemoteLabRun& operator=(const RemoteLabRun&) = delete;

  const std::string& lab() const override { return options_.lab; }
  std::filesystem::path folder() const override { return options_.folder; }
  std::string title() const override;
  std::size_t total() const override;
  void start() override;
  void wait_until_compiled() override;
  void wait_for_end() override;
  StudentProgress progress() const override;
  std::vector<Record> records() const override;
  std::string stopped_at() const override { return ""; }

  struct JudgedCase {
    Record record;
    double seconds = 0;  // that the case took there
    ScoredCase speed;    // what was measured there
  };
  // The next case that was judged; nothing at the end. Throws what ended the run early.
  std::optional<JudgedCase> next();
  // What the desk said last: "run 17: 15 of 15 cases right; runs/remote/.../index.html".
  std::string final_message() const;
  // Of a profile, what the desk told of it; "": nothing.
  std::string profile_text() const;

 private:
  using Clock = std::chrono::steady_clock;
  void follow();
  void follow_with_retries(const std::string& archive);
  bool talk(const std::string& archive);
  bool heard(const nlohmann::json& line);
  void take_page(desk::Connection& connection, const nlohmann::json& line);
  void leave(desk::Connection& connection);
  void broke(int tries, const std::string& why);
  std::string key_for(const std::string& hash);
  void finish(std::exception_ptr failure);

  RemoteRunOptions options_;
  desk::Address address_;
  std::filesystem::path place_;  // runs/remote/<host>/<lab>
  std::string key_, page_;
  bool connected_ = false;  // a desk has said hello
  std::thread thread_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool compiled_ = false, ended_ = false, accepted_ = false;
  std::int64_t run_ = 0, heard_ = 0;  // its number; the last event that was heard
  std::string waiting_ = "asking the desk", in_work_, words_, profile_;
  std::size_t total_ = 0;
  Clock::time_point case_begun_;
  std::deque<JudgedCase> unread_;
  std::vector<Record> records_;
  std::exception_ptr failure_;
};

// The host that `--remote` or $WARPGRADE_REMOTE names. Throws UsageError where neither does.
std::string remote_host(const std::string& given);

// Where what a desk sent lies: runs/remote/<host>.
std::filesystem::path remote_folder(const desk::Address& address);

}  // namespace warpgrade
