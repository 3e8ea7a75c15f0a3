#include "cli/verify_progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <utility>

#include "base/elapsed.h"
#include "base/say.h"
#include "base/terminal.h"
#include "base/text.h"
#include "record/outcome.h"

namespace warpgrade {
namespace {

constexpr std::chrono::milliseconds kTick{200};
constexpr std::chrono::seconds kQuiet{5};  // without a terminal: the longest without a line

}  // namespace

VerifyProgress::VerifyProgress() : terminal_(takes_escape_codes(STDERR_FILENO)), last_line_(Clock::now()) {
  ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
}

VerifyProgress::~VerifyProgress() {
  ticker_.request_stop();
  ticker_.join();
  clear();
}

VerifyProgress::Step::Step(VerifyProgress& progress, std::string name)
    : progress_(progress), name_(std::move(name)) {
  const std::lock_guard lock(progress_.mutex_);
  progress_.open_.push_back(this);
}

VerifyProgress::Step::~Step() {
  const std::lock_guard lock(progress_.mutex_);
  std::erase(progress_.open_, this);
  std::vector<Spent>& spent = progress_.spent_;
  auto known =
      std::find_if(spent.begin(), spent.end(), [this](const Spent& one) { return one.step == name_; });
  if (known == spent.end()) known = spent.insert(spent.end(), {name_, 0});
  known->seconds += seconds_since(begun_);
  progress_.clear();
}

void VerifyProgress::Step::expect(int submissions, int cases_of_each, std::set<std::string> until_refused) {
  const std::lock_guard lock(progress_.mutex_);
  submissions_ = submissions;
  cases_of_each_ = cases_of_each;
  compiled_ = judged_ = 0;
  until_refused_ = std::move(until_refused);
  judged_of_.clear();
}

void VerifyProgress::Step::say(const std::string& at, double share) {
  const std::lock_guard lock(progress_.mutex_);
  at_ = at;
  share_ = share;
}

void VerifyProgress::print(const std::string& line) {
  const std::lock_guard lock(mutex_);
  clear();
  tell("{}\n", line);
  std::fflush(stdout);
  last_line_ = Clock::now();
}

std::string VerifyProgress::summary() const {
  const std::lock_guard lock(mutex_);
  std::string text = fmt::format("took {:.1f} s", seconds_since(begun_));
  for (std::size_t i = 0; i < spent_.size(); ++i)
    text += fmt::format("{}{} {:.1f} s", i == 0 ? ": " : ", ", spent_[i].step, spent_[i].seconds);
  return text;
}

void VerifyProgress::Step::compiled() {
  const std::lock_guard lock(progress_.mutex_);
  ++compiled_;
}

void VerifyProgress::Step::case_started(const std::string& case_id) {
  const std::lock_guard lock(progress_.mutex_);
  at_ = "case " + case_id;
}

void VerifyProgress::Step::case_recorded(const Record& record) {
  const std::lock_guard lock(progress_.mutex_);
  const std::string& submission = record.submission.id;
  const bool ends = until_refused_.contains(submission) && !record.outcome.accepted();
  const int more = ends ? cases_of_each_ - judged_of_[submission] : 1;
  judged_of_[submission] += more;
  judged_ += more;
  at_ = fmt::format("{}, case {}", submission, record.test_case.id);
}

// Called with the lock held.
void VerifyProgress::clear() {
  if (shown_) warpgrade::say("\r\033[K");
  if (shown_) std::fflush(stderr);
  shown_ = false;
}

double VerifyProgress::Step::share_done() const {
  const int cases = submissions_ * cases_of_each_;
  return cases > 0 ? static_cast<double>(judged_) / cases : share_;
}

// ", 84 s left". What is to come is taken to be as slow as what was; too early nothing is said.
std::string VerifyProgress::Step::time_left() const {
  constexpr double kLeastS = 2, kLeastShare = 0.03;
  const double spent = seconds_since(begun_), share = share_done();
  if (spent < kLeastS || share < kLeastShare || share >= 1) return "";
  return fmt::format(", {:.0f} s left", spent * (1 - share) / share);
}

// "every case, emulator, 12 s: compiled 1 of 2, 3 of 24 cases, 84 s left (naive, case odd)".
std::string VerifyProgress::Step::standing() const {
  std::string text = fmt::format("{}, {:.0f} s", name_, seconds_since(begun_));
  if (cases_of_each_ > 0) {
    text += compiled_ < submissions_ ? fmt::format(": compiled {} of {}, ", compiled_, submissions_) : ": ";
    text += fmt::format("{} of {} cases", judged_, submissions_ * cases_of_each_);
    text += time_left();
    if (!at_.empty()) text += fmt::format(" ({})", at_);
  } else if (!at_.empty()) {
    text += ": " + at_ + time_left();
  }
  return text;
}

std::string VerifyProgress::standing() const {
  std::string text = " ";
  for (const Step* step : open_) text += (step == open_.front() ? " " : "; ") + step->standing();
  return text;
}

void VerifyProgress::tick(const std::stop_token& stop) {
  std::mutex sleep_mutex;
  std::condition_variable_any sleep;
  std::unique_lock sleeping(sleep_mutex);
  while (!sleep.wait_for(sleeping, stop, kTick, [] { return false; }) && !stop.stop_requested()) {
    const std::lock_guard lock(mutex_);
    if (open_.empty()) continue;
    if (terminal_) {
      clear();
      winsize size = {};
      const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
      warpgrade::say("{}", plain_line(standing(), known ? size.ws_col - 1U : 79U));
      shown_ = true;
    } else if (Clock::now() - last_line_ > kQuiet) {
      warpgrade::say("{}\n", standing());
      last_line_ = Clock::now();
    } else {
      continue;
    }
    std::fflush(stderr);
  }
}

}  // namespace warpgrade
