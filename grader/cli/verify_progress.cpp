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
#include "judge/judging/verdict.h"

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

void VerifyProgress::begin(const std::string& name) {
  const std::lock_guard lock(mutex_);
  step_ = name;
  step_begun_ = Clock::now();
  at_.clear();
  share_ = 0;
  submissions_ = cases_of_each_ = compiled_ = judged_ = 0;
  until_refused_.clear();
  judged_of_.clear();
}

void VerifyProgress::end() {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::find_if(spent_.begin(), spent_.end(), [this](const Spent& spent) { return spent.step == step_; });
  if (known == spent_.end())
    spent_.push_back({step_, seconds_since(step_begun_)});
  else
    known->seconds += seconds_since(step_begun_);
  step_.clear();
  clear();
}

void VerifyProgress::expect(int submissions, int cases_of_each, std::set<std::string> until_refused) {
  const std::lock_guard lock(mutex_);
  submissions_ = submissions;
  cases_of_each_ = cases_of_each;
  until_refused_ = std::move(until_refused);
}

void VerifyProgress::say(const std::string& at, double share) {
  const std::lock_guard lock(mutex_);
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

void VerifyProgress::compiled() {
  const std::lock_guard lock(mutex_);
  ++compiled_;
}

void VerifyProgress::case_started(const std::string& case_id) {
  const std::lock_guard lock(mutex_);
  at_ = "case " + case_id;
}

void VerifyProgress::case_recorded(const nlohmann::json& record) {
  const std::lock_guard lock(mutex_);
  const std::string submission = record.at("submission").at("id");
  const bool ends = until_refused_.contains(submission) &&
                    record.at("outcome").at("verdict").get<std::string>() != verdicts::kAccepted;
  const int more = ends ? cases_of_each_ - judged_of_[submission] : 1;
  judged_of_[submission] += more;
  judged_ += more;
  at_ = fmt::format("{}, case {}", submission, record.at("case").at("id").get<std::string>());
}

// Called with the lock held.
void VerifyProgress::clear() {
  if (shown_) warpgrade::say("\r\033[K");
  if (shown_) std::fflush(stderr);
  shown_ = false;
}

double VerifyProgress::share_done() const {
  const int cases = submissions_ * cases_of_each_;
  return cases > 0 ? static_cast<double>(judged_) / cases : share_;
}

// ", 84 s left". What is to come is taken to be as slow as what was; too early nothing is said.
std::string VerifyProgress::time_left() const {
  constexpr double kLeastS = 2, kLeastShare = 0.03;
  const double spent = seconds_since(step_begun_), share = share_done();
  if (spent < kLeastS || share < kLeastShare || share >= 1) return "";
  return fmt::format(", {:.0f} s left", spent * (1 - share) / share);
}

// "  every case, emulator, 12 s: compiled 1 of 2, 3 of 24 cases, 84 s left (naive, case odd)".
std::string VerifyProgress::standing() const {
  std::string text = fmt::format("  {}, {:.0f} s", step_, seconds_since(step_begun_));
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

void VerifyProgress::tick(const std::stop_token& stop) {
  std::mutex sleep_mutex;
  std::condition_variable_any sleep;
  std::unique_lock sleeping(sleep_mutex);
  while (!sleep.wait_for(sleeping, stop, kTick, [] { return false; }) && !stop.stop_requested()) {
    const std::lock_guard lock(mutex_);
    if (step_.empty()) continue;
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
