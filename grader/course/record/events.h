// What happened in a run beside its verdicts: progress, and the faults of machines. Each process appends to a
// file of its own, so that any number of nodes may write; `collect` merges them. Formats: README.md here.
#pragma once

#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace warpgrade {

class RunFolder;

class EventLog {
 public:
  // Facts that every event of this process carries: node, job, round.
  explicit EventLog(std::filesystem::path run, nlohmann::json common = nlohmann::json::object());
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void progress(const std::string& event, const std::string& message, const nlohmann::json& facts = {});
  void infrastructure(const std::string& event, const std::string& message, const nlohmann::json& facts = {});
  // What a person should look at.
  void for_staff(const std::string& event, const std::string& message, const nlohmann::json& facts = {});

  // Whether everything is in the run folder: a full disk keeps events in memory, later in the node's
  // temporary folder, from where the next process of this run takes them.
  bool flush();
  const nlohmann::json& common() const { return common_; }

 private:
  void add(const char* kind, const std::string& event, const std::string& message,
           const nlohmann::json& facts);
  bool flush_locked();
  void take_over_spooled();
  std::filesystem::path spool() const;

  std::filesystem::path run_, file_;
  nlohmann::json common_;
  std::mutex mutex_;
  std::string pending_;
};

// All events of the run in order of time. A line that a dying process left half-written is left out.
std::vector<nlohmann::json> read_events(const RunFolder& folder);
void collect_events(const RunFolder& folder);

std::string host_name();
std::string utc_now_ms();  // "2026-03-18T09:17:21.123Z"

}  // namespace warpgrade
