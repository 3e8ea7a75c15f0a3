#include "cli/student_remote.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/own_command.h"
#include "base/process.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "course/ingest/unpack.h"
#include "course/submit/pack.h"
#include "judge/compile/submission.h"
#include "judge/judging/figures.h"

namespace warpgrade {
namespace fs = std::filesystem;
using desk::ChannelError;
using nlohmann::json;

namespace {

constexpr int kMostTries = 5;  // of a connection that breaks

std::string random_key() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) throw JudgeFault("the system gave no random key");
  std::string digits;
  for (const unsigned char byte : bytes) digits += fmt::format("{:02x}", byte);
  return digits;
}

// A field of an object from the desk, made fit for a terminal.
std::string plain(const json& object, const char* key) {
  return plain_text(desk::text_of(object, key));
}

// What a desk said of a case, in the form that local runs have: fields of the right kind alone.
Record record_of(const std::string& lab, const json& line) {
  Record record;
  record.lab = lab;
  record.test_case.id = plain_line(plain(line, "id"), 80);
  record.outcome = Outcome(verdict_named(plain(line, "verdict")), reason_named(plain(line, "reason")),
                           plain(line, "message"), plain(line, "next_step"));
  if (const std::string output = plain(line, "output"); !output.empty())
    record.outcome.details = {{"output", output}};
  record.pattern = plain(line, "pattern");
  const auto objects = [&](const char* key) {
    json list = json::array();
    for (const json& item : line.value(key, json::array()))
      if (item.is_object()) list.push_back(item);
    return list;
  };
  record.mismatches = objects("mismatches");
  record.diagnostics = objects("diagnostics");
  return record;
}

ScoredCase speed_of(const json& line) {
  ScoredCase speed;
  speed.time_us = figure(line, "time_us");
  speed.threshold = figure(line, "threshold");
  speed.baseline = plain(line, "baseline");
  if (const auto ratio = line.find("ratio"); ratio != line.end() && ratio->is_object())
    speed.ratio = {figure(*ratio, "median"), figure(*ratio, "low"), figure(*ratio, "high")};
  return speed;
}

}  // namespace

std::string remote_host(const std::string& given) {
  const char* named = std::getenv("WARPGRADE_REMOTE");
  const std::string host = !given.empty() ? given : named != nullptr ? named : "";
  if (host.empty())
    throw UsageError(
        "no host is named: give REMOTE=gpu.example.edu (warpgrade: --remote). Ask your instructor for the "
        "host of the course's desk, and give them your public key: `cat ~/.ssh/id_ed25519.pub`");
  return host;
}

fs::path remote_folder(const desk::Address& address) {
  return fs::path("runs") / "remote" / address.host;
}

RemoteLabRun::RemoteLabRun(RemoteRunOptions options)
    : options_(std::move(options)),
      address_(desk::Address::parse(options_.remote)),
      place_(remote_folder(address_) / options_.lab / (options_.ask == "run" ? "" : "counters")) {}

RemoteLabRun::~RemoteLabRun() {
  RemoteLabRun::wait_for_end();
}

std::string RemoteLabRun::title() const {
  return fmt::format("{} on {}", options_.lab, address_.text());
}

std::size_t RemoteLabRun::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

void RemoteLabRun::start() {
  thread_ = std::thread([this] {
    try {
      follow();
      finish(nullptr);
    } catch (...) {
      finish(std::current_exception());
    }
  });
}

void RemoteLabRun::finish(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  if (failure) failure_ = std::move(failure);
  compiled_ = ended_ = true;
  waiting_.clear();
  in_work_.clear();
  changed_.notify_all();
}

void RemoteLabRun::wait_until_compiled() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return compiled_; });
}

void RemoteLabRun::wait_for_end() {
  if (thread_.joinable()) thread_.join();
}

std::optional<RemoteLabRun::JudgedCase> RemoteLabRun::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ || !unread_.empty(); });
  if (!unread_.empty()) {
    JudgedCase next = std::move(unread_.front());
    unread_.pop_front();
    return next;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::nullopt;
}

StudentProgress RemoteLabRun::progress() const {
  const std::lock_guard lock(mutex_);
  StudentProgress at;
  at.compiling = !compiled_;
  at.waiting = waiting_;
  at.case_id = in_work_;
  at.done = records_.size();
  at.total = total_;
  if (!in_work_.empty()) at.case_s = std::chrono::duration<double>(Clock::now() - case_begun_).count();
  return at;
}

std::vector<Record> RemoteLabRun::records() const {
  const std::lock_guard lock(mutex_);
  return records_;
}

std::string RemoteLabRun::profile_text() const {
  const std::lock_guard lock(mutex_);
  return profile_;
}

std::string RemoteLabRun::final_message() const {
  const std::lock_guard lock(mutex_);
  return words_;
}

// The same sources and case again take up the run that was not heard to its end; others are a new run.
std::string RemoteLabRun::key_for(const std::string& hash) {
  const fs::path file = place_ / "pending.json";
  if (fs::exists(file)) {
    const json pending = json::parse(read_text(file), nullptr, false);
    if (pending.is_object() && desk::text_of(pending, "hash") == hash &&
        desk::text_of(pending, "case") == options_.case_pattern && desk::text_of(pending, "key").size() == 32)
      return desk::text_of(pending, "key");
  }
  const std::string key = random_key();
  make_directories(place_);
  write_text(file, json{{"key", key}, {"hash", hash}, {"case", options_.case_pattern}}.dump(1) + "\n");
  return key;
}

void RemoteLabRun::follow() {
  const Submission submission = read_submission(options_.folder, options_.lab, Role::kStudent);
  if (submission.problem) throw UsageError("{}: {}", submission.directory.string(), *submission.problem);
  const TemporaryDirectory scratch("warpgrade-remote");
  const PackedSubmission packed =
      pack_submission(submission, options_.lab, scratch.path() / "submission.tar.gz");
  if (packed.bytes > desk::kMostArchiveBytes)
    throw UsageError(
        "{}: packed, it has {} bytes, and a desk takes at most {} bytes; leave out files that are not "
        "sources",
        submission.directory.string(), packed.bytes, desk::kMostArchiveBytes);
  key_ = key_for(packed.hash);
  follow_with_retries(read_text(packed.archive));
  std::error_code none;
  fs::remove(place_ / "pending.json", none);
}

// A connection that breaks is made anew; the desk knows the run by its key and tells it from the beginning.
void RemoteLabRun::follow_with_retries(const std::string& archive) {
  for (int tries = 1;; ++tries) {
    try {
      if (talk(archive)) return;
    } catch (const desk::Refused& refused) {
      if (options_.ask != "run") throw;  // whoever asked may have another way
      // The key stays: a desk that says no now may know the run from a connection before.
      throw UsageError("{} refuses: {}", address_.text(), refused.what());
    } catch (const desk::NoDesk& none) {
      if (!connected_) throw;
      broke(tries, "the desk was not reached");
    } catch (const ChannelError& error) {
      broke(tries, error.what());
    }
    for (int i = 0; i < 20 * tries && !interrupted(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    throw_if_interrupted();
  }
}

void RemoteLabRun::broke(int tries, const std::string& why) {
  if (tries >= kMostTries)
    throw JudgeFault(
        "the connection to {} broke several times ({}); {}", address_.text(), why,
        accepted_ ? fmt::format("run {} continues there; run the same command again to see its result", run_)
                  : "run the same command again");
  const std::lock_guard lock(mutex_);
  waiting_ = "the connection broke; trying again";
}

// One connection; true: the run has come to its end.
bool RemoteLabRun::talk(const std::string& archive) {
  desk::Connection connection(address_);
  connected_ = true;
  connection.ask({{"ask", options_.ask},
                  {"lab", options_.lab},
                  {"case", options_.case_pattern},
                  {"key", key_},
                  {"bytes", archive.size()},
                  {"sha256", sha256(archive)}});
  try {
    for (;;) {
      const json line = connection.next();
      const std::string tell = desk::text_of(line, "tell");
      if (tell == "send") {
        connection.channel().send_bytes(archive);
      } else if (tell == "page") {
        take_page(connection, line);
      } else if (heard(line)) {
        return true;
      }
    }
  } catch (const Interrupted&) {
    leave(connection);
    throw;
  }
}

// Takes over what a line says; true: it was the last.
bool RemoteLabRun::heard(const json& line) {
  const std::lock_guard lock(mutex_);
  const std::string tell = desk::text_of(line, "tell");
  if (const auto number = desk::whole_of(line, "number")) {
    if (*number <= heard_ && tell != "end") return false;  // told on an earlier connection
    heard_ = *number;
  }
  if (tell == "accepted") {
    accepted_ = true;
    run_ = desk::whole_of(line, "run").value_or(0);
    total_ = static_cast<std::size_t>(std::max<std::int64_t>(0, desk::whole_of(line, "cases").value_or(0)));
    waiting_ = compiled_ ? "" : fmt::format("run {} is in the queue", run_);
  } else if (tell == "place") {
    const auto wait = line.value("wait_s", json());
    const double seconds = wait.is_number() ? wait.get<double>() : 0;
    waiting_ = fmt::format("run {}: place {} in the queue", run_, desk::whole_of(line, "place").value_or(0));
    if (seconds >= 1) waiting_ += fmt::format(", about {:.0f} s", seconds);
  } else if (tell == "closed") {
    waiting_ = fmt::format(
        "run {} waits: no worker judges on {} at the moment; Ctrl-C takes the run out of the queue", run_,
        address_.text());
  } else if (tell == "begun") {
    waiting_.clear();
  } else if (tell == "compiled") {
    waiting_.clear();
    total_ = static_cast<std::size_t>(std::max<std::int64_t>(0, desk::whole_of(line, "cases").value_or(0)));
    compiled_ = true;
  } else if (tell == "case_started") {
    in_work_ = plain_line(desk::text_of(line, "case"), 80);
    case_begun_ = Clock::now();
  } else if (tell == "case") {
    const json told = line.value("line", json::object());
    in_work_.clear();
    if (!plain(told, "verdict").empty()) {  // else the policy does not show this case's
      records_.push_back(record_of(options_.lab, told));
      unread_.push_back({records_.back(), figure(line, "seconds"), speed_of(told)});
    }
  } else if (tell == "profile") {
    profile_ = plain(line, "text");
  } else if (tell == "end") {
    words_ =
        fmt::format("run {} on {}: {}", run_, address_.text(), plain_line(desk::text_of(line, "message")));
    if (!page_.empty()) words_ += "; the page: " + page_;
    const std::string state = desk::text_of(line, "state");
    if (state == "failed") failure_ = std::make_exception_ptr(JudgeFault("{}", words_));
  }
  changed_.notify_all();
  return tell == "end";
}

// The desk's page is unpacked as a stranger's archive.
void RemoteLabRun::take_page(desk::Connection& connection, const json& line) {
  const std::int64_t count = desk::whole_of(line, "bytes").value_or(-1);
  if (count <= 0 || count > static_cast<std::int64_t>(desk::kMostPageBytes))
    throw ChannelError(ChannelError::Kind::kMalformed, "the desk sent a page of an impossible size");
  const std::string bytes =
      connection.channel().bytes(static_cast<std::size_t>(count), Clock::now() + std::chrono::minutes(5));
  if (sha256(bytes) != desk::text_of(line, "sha256"))
    throw ChannelError(ChannelError::Kind::kMalformed, "the page did not arrive as it was sent");
  const fs::path folder = place_ / std::to_string(run_), fresh = place_ / fmt::format(".{}.new", run_);
  std::error_code none;
  fs::remove_all(fresh, none);
  make_directories(fresh);
  write_text(fresh / "page.tar.gz", bytes);
  make_directories(fresh / "page");
  if (const auto refusal = unpack(fresh / "page.tar.gz", fresh / "page")) {
    fs::remove_all(fresh, none);
    return;  // the verdicts stand without it
  }
  fs::remove_all(folder, none);
  fs::rename(fresh / "page" / "feedback", folder, none);
  fs::remove_all(fresh, none);
  if (fs::exists(folder / "index.html")) page_ = (folder / "index.html").string();
}

// After Ctrl-C: the run leaves the queue; one that is being judged ends after its present case. The desk may
// know the run although this side has not heard so; where it still waits for the archive, it takes no run.
void RemoteLabRun::leave(desk::Connection& connection) {
  std::string words = fmt::format("`{} remote status` shows whether the run reached the desk", own_command());
  const auto told = [&] {
    return fmt::format("run {} was told to end; `{} remote status` shows whether it has", run_,
                       own_command());
  };
  try {
    connection.channel().outlive_interrupt();
    if (accepted_) words = told();
    connection.channel().send({{"ask", "cancel"}, {"protocol", desk::kProtocol}});
    const auto until = Clock::now() + std::chrono::seconds(3);
    while (const auto line = connection.channel().next(until)) {
      const std::string tell = desk::text_of(*line, "tell");
      if (tell == "accepted") {
        run_ = desk::whole_of(*line, "run").value_or(0);
        words = told();
      } else if (tell == "send" && !accepted_) {
        words = "the run did not reach the desk";
        break;
      } else if (tell == "end") {
        words = fmt::format("run {} has ended: {}", run_, plain_line(desk::text_of(*line, "message")));
        break;
      }
    }
  } catch (const ChannelError&) {
    if (accepted_)
      words = fmt::format("the connection broke; `{} remote cancel {}` ends the run", own_command(), run_);
  }
  std::error_code none;
  fs::remove(place_ / "pending.json", none);
  const std::lock_guard lock(mutex_);
  words_ = words;
}

}  // namespace warpgrade
