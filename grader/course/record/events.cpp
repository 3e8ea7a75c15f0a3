#include "course/record/events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "course/record/run_folder.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path events_folder(const fs::path& run) {
  return run / "events";
}

// Appends all of the text or, when the disk is full, cuts off what it got in.
bool append(const fs::path& file, const std::string& text) {
  const FileDescriptor out(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!out) return false;
  const off_t before = lseek(out.get(), 0, SEEK_END);
  const ssize_t n = write(out.get(), text.data(), text.size());
  if (n == static_cast<ssize_t>(text.size())) return true;
  if (n > 0 && ftruncate(out.get(), before) != 0) return false;
  return false;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string utc_now_ms() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:03}Z", text.data(), ms);
}

EventLog::EventLog(fs::path run, json common) : run_(std::move(run)), common_(std::move(common)) {
  static std::atomic<unsigned> counter{0};
  const auto stamp = std::chrono::system_clock::now().time_since_epoch().count() / 1000;
  file_ = events_folder(run_) /
          fmt::format("{}-{}-{}{}.jsonl", host_name(), getpid(), stamp % 10'000'000'000, counter++);
  take_over_spooled();
}

EventLog::~EventLog() {
  const std::lock_guard lock(mutex_);
  if (flush_locked()) return;
  // The run folder takes nothing: the node's own disk keeps it for the next process.
  std::error_code ignored;
  fs::create_directories(spool(), ignored);
  append(spool() / file_.filename(), pending_);
}

fs::path EventLog::spool() const {
  const std::string run = sha256(identity_of(run_)).substr(0, 16);
  std::error_code ignored;
  return fs::temp_directory_path(ignored) / fmt::format("warpgrade-events-{}-{}", getuid(), run);
}

void EventLog::take_over_spooled() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(spool(), error)) {
    // Renamed first, so that only one process takes it.
    const fs::path mine = spool() / fmt::format(".taken-{}-{}", getpid(), entry.path().filename().string());
    if (entry.path().filename().string().starts_with(".")) continue;
    if (rename(entry.path().c_str(), mine.c_str()) != 0) continue;
    std::ifstream in(mine, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    pending_ += text.str();
    fs::remove(mine, error);
  }
}

void EventLog::add(const char* kind, const std::string& event, const std::string& message,
                   const json& facts) {
  json line = common_;
  if (facts.is_object()) line.update(facts);
  line["schema"] = "warpgrade.event.v1";
  line["at"] = utc_now_ms();
  line["kind"] = kind;
  line["event"] = event;
  line["message"] = message;
  make_plain(line);
  const std::lock_guard lock(mutex_);
  pending_ += json_text(line) + "\n";
  flush_locked();
}

void EventLog::progress(const std::string& event, const std::string& message, const json& facts) {
  add("progress", event, message, facts);
}

void EventLog::infrastructure(const std::string& event, const std::string& message, const json& facts) {
  add("infrastructure", event, message, facts);
}

void EventLog::for_staff(const std::string& event, const std::string& message, const json& facts) {
  add("staff", event, message, facts);
}

bool EventLog::flush() {
  const std::lock_guard lock(mutex_);
  return flush_locked();
}

bool EventLog::flush_locked() {
  if (pending_.empty()) return true;
  std::error_code ignored;
  fs::create_directories(events_folder(run_), ignored);
  if (!append(file_, pending_)) return false;
  pending_.clear();
  return true;
}

std::vector<json> read_events(const RunFolder& folder) {
  std::vector<json> events;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(events_folder(folder.root()), error)) {
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      json event = json::parse(line, nullptr, false);
      if (event.is_object() && event.contains("at")) events.push_back(std::move(event));
    }
  }
  std::stable_sort(events.begin(), events.end(), [](const json& a, const json& b) {
    return a.at("at").get_ref<const std::string&>() < b.at("at").get_ref<const std::string&>();
  });
  return events;
}

void collect_events(const RunFolder& folder) {
  const std::vector<json> events = read_events(folder);
  if (events.empty()) return;
  std::string lines;
  for (const json& event : events) lines += json_text(event) + "\n";
  write_text(folder.events_file(), lines);
}

}  // namespace warpgrade
