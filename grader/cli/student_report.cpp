#include "cli/student_report.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>

#include "base/display_width.h"
#include "base/say.h"
#include "base/terminal.h"
#include "base/toolchain.h"
#include "cli/failure_text.h"
#include "cli/readers_words.h"
#include "judge/compile/submission.h"

namespace warpgrade {
namespace {

using Clock = std::chrono::steady_clock;

// The extension of the lab's stub: Python where there is nothing else.
const char* written_in(const std::filesystem::path& folder, const std::string& lab) {
  return std::filesystem::exists(folder / (lab + ".cu")) || !std::filesystem::exists(folder / (lab + ".py"))
             ? ".cu"
             : ".py";
}

constexpr std::chrono::milliseconds kReportTick{200};
constexpr std::chrono::seconds kReportQuiet{5};  // without a terminal: the longest without a line
constexpr std::size_t kLongestMessage = 110;     // columns of the last line: the whole message stands above

std::string repeat_command(const StudentRun& run, const Record& record) {
  const bool whole_lab = record.outcome.verdict == Verdict::kCompileError;
  return test_command(record.lab, whole_lab ? "" : record.test_case.id, run.folder().parent_path());
}

// Whether make judges what lies in this folder: its targets know the tree's own submissions alone.
bool make_judges(const std::filesystem::path& labs) {
  std::error_code failed;
  return std::filesystem::exists(project_root() / "Makefile") &&
         std::filesystem::equivalent(labs, project_root() / "student", failed);
}

// "" for the folder that is taken where none is named, else " --folder X".
std::string folder_option(const std::filesystem::path& labs) {
  std::error_code failed;
  const bool is_usual = std::filesystem::equivalent(labs, project_root() / "student", failed);
  return is_usual ? "" : " --folder " + shell_word(labs.string());
}

std::string submit_command(const StudentRun& run) {
  if (make_judges(run.folder().parent_path())) return "make submit LAB=" + run.lab();
  return fmt::format("{} submit {} --lab {}", own_command(), shell_word(run.folder().string()), run.lab());
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// As much of the text as has so many columns, in whole letters.
std::string cut_to_width(std::string text, std::size_t columns) {
  const auto is_inside_letter = [&] { return (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80; };
  while (display_width(text) > columns) {
    while (text.size() > 1 && is_inside_letter()) text.pop_back();
    text.pop_back();
  }
  return text;
}

std::string one_line(std::string text) {
  if (const std::size_t end = text.find('\n'); end != std::string::npos) text.resize(end);
  if (display_width(text) <= kLongestMessage) return text;
  text = cut_to_width(std::move(text), kLongestMessage);
  // Between two words, where the language has spaces between them.
  if (const std::size_t space = text.rfind(' '); space != std::string::npos && space > text.size() / 2)
    text.resize(space);
  return text + " ...";
}

std::string mistake_text(const StudentRun& run, const Mistake& mistake) {
  std::string text = failure_text(mistake.record, repeat_command(run, mistake.record));
  if (mistake.other_cases.empty()) return text;
  return text + fmt::format("    the same in {} other case{}: {}\n", mistake.other_cases.size(),
                            mistake.other_cases.size() == 1 ? "" : "s", list_of(mistake.other_cases));
}

// "   12.3 us, 1.42x cusparse_default (1.40 to 1.44), 1.00x is wanted": of a record with what was measured.
std::string speed_text(const ScoredCase& speed) {
  std::string text;
  if (speed.time_us.value_or(0) > 0) text += fmt::format("   {:.1f} us", *speed.time_us);
  if (const auto& ratio = speed.ratio; ratio && ratio->median > 0)
    text += fmt::format("{}{:.2f}x {} ({:.2f} to {:.2f})", text.empty() ? "   " : ", ", ratio->median,
                        speed.over(), ratio->low.value_or(0), ratio->high.value_or(0));
  if (speed.threshold.value_or(0) > 0 && !text.empty())
    text += fmt::format(", {:.2f}x is wanted", *speed.threshold);
  return text;
}

struct Count {
  std::size_t right = 0, unwritten = 0, failed = 0;
};

Count count(const std::vector<Record>& records) {
  Count count;
  for (const Record& record : records) {
    const Verdict verdict = record.outcome.verdict;
    count.right += verdict == Verdict::kAccepted ? 1 : 0;
    count.unwritten += verdict == Verdict::kNotImplemented ? 1 : 0;
    count.failed += is_mistake(verdict) || verdict == Verdict::kJudgeFault ? 1 : 0;
  }
  return count;
}

}  // namespace

std::string test_command(const std::string& lab, const std::string& case_id,
                         const std::filesystem::path& labs) {
  const bool by_make = make_judges(labs);
  std::string command = by_make ? "make test" : own_command() + " test";
  if (!lab.empty()) command += (by_make ? " LAB=" : " ") + lab;
  if (!case_id.empty()) command += (by_make ? " CASE=" : " --case ") + case_id;
  return by_make ? command : command + folder_option(labs);
}

StudentReport::StudentReport(std::vector<std::shared_ptr<StudentRun>> runs)
    : runs_(std::move(runs)), terminal_(takes_escape_codes(STDOUT_FILENO)), last_output_(Clock::now()) {
  ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
}

StudentReport::~StudentReport() {
  ticker_.request_stop();
  ticker_.join();
}

// Called with the lock held.
void StudentReport::print(const std::string& text) {
  if (line_shown_) fmt::print("\r\033[K");
  line_shown_ = false;
  tell("{}", reader_words().of(text));
  std::fflush(stdout);
  last_output_ = Clock::now();
}

void StudentReport::tick(const std::stop_token& stop) {
  std::mutex sleep_mutex;
  std::condition_variable_any sleep;
  std::unique_lock sleeping(sleep_mutex);
  while (!sleep.wait_for(sleeping, stop, kReportTick, [] { return false; }) && !stop.stop_requested()) {
    const std::lock_guard lock(mutex_);
    if (!current_) continue;
    if (terminal_) {
      winsize size = {};
      const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
      const std::size_t columns = known ? size.ws_col - 1u : 79u;
      print(cut_to_width(reader_words().of(standing()), columns));
      line_shown_ = true;
    } else if (const std::string now = standing();
               now != last_standing_ && Clock::now() - last_output_ > kReportQuiet) {
      last_standing_ = now;
      print(now + "\n");
    }
  }
}

// "  [3/15] synth-hub-k32, 2 s; about 8 s left"
std::string StudentReport::standing() const {
  const StudentProgress at = current_->progress();
  if (!at.waiting.empty()) return fmt::format("  {}: {}", current_->lab(), at.waiting);
  if (at.compiling) return fmt::format("  {}: compiling", current_->lab());
  std::string text = fmt::format("  [{}/{}]", std::min(at.done + 1, at.total), at.total);
  if (!at.case_id.empty()) text += fmt::format(" {}, {:.0f} s", at.case_id, at.case_s);
  if (at.left_s) text += fmt::format("; about {:.0f} s left", *at.left_s);
  return text;
}

void StudentReport::start_lab(const std::shared_ptr<StudentRun>& run) {
  {
    const std::lock_guard lock(mutex_);
    print(run->title() + "\n");
    current_ = run;
    unwritten_ = 0;
  }
  run->start();
  run->wait_until_compiled();
  const std::lock_guard lock(mutex_);
  for (const std::string& note : read_submission(run->folder(), run->lab(), Role::kStudent).notes)
    print("  note: " + note + "\n");
}

void StudentReport::show_case(const Record& record, double seconds, const ScoredCase& speed) {
  const std::lock_guard lock(mutex_);
  const Outcome& outcome = record.outcome;
  const Verdict verdict = outcome.verdict;
  if (verdict == Verdict::kNotImplemented) {
    ++unwritten_;
    return;
  }
  if (verdict == Verdict::kCompileError || verdict == Verdict::kCheating) return;  // the same in every case
  const std::string_view word = outcome.accepted()   ? "ok"
                                : outcome.left_out() ? "left out"
                                                     : word_of(verdict);
  print(fmt::format("  {:<16}{:<28}{:>7.2f} s{}\n", word, record.test_case.id, seconds, speed_text(speed)));
}

void StudentReport::end_lab(StudentRun& run) {
  run.wait_for_end();
  const std::lock_guard lock(mutex_);
  current_.reset();
  print_mistakes(run);
}

void StudentReport::print_mistakes(const StudentRun& run) {
  const std::vector<Record> records = run.records();
  if (unwritten_ > 0)
    print(fmt::format("  not written yet: {} case{}\n", unwritten_, unwritten_ == 1 ? "" : "s"));
  for (const Mistake& mistake : sort_by_mistake(records)) print(mistake_text(run, mistake));
  if (const std::string stopped = run.stopped_at(); !stopped.empty() && records.size() < run.total()) {
    print(fmt::format(
        "  stopped at the time limit of {}: {} more cases of {} were not run (an official run goes on)\n",
        stopped, run.total() - records.size(), run.lab()));
  }
  print(printed_text(records));
  print(findings_text(records));
  print(writers_text(records));
}

void StudentReport::note_trouble(const std::string& what) {
  if (trouble_.empty()) trouble_ = what;
}

std::string StudentReport::last_line() const {
  if (!trouble_.empty()) return trouble_;
  std::string right, unwritten;
  for (const std::shared_ptr<StudentRun>& each : runs_) {
    const StudentRun& run = *each;
    const std::string& lab = run.lab();
    const std::vector<Record> records = run.records();
    const Count counted = count(records);
    if (const std::vector<Mistake> mistakes = sort_by_mistake(records); !mistakes.empty()) {
      const Record& first = mistakes.front().record;
      return fmt::format("fix first ({} of {} cases of {} fail): {}: {} -- again: {}", counted.failed,
                         records.size(), lab, word_of(first.outcome.verdict),
                         one_line(reader_words().of(first.outcome.message)), repeat_command(run, first));
    }
    if (counted.right > 0) right += fmt::format("{}{} ({})", right.empty() ? "" : ", ", lab, counted.right);
    if (counted.unwritten > 0)
      unwritten += fmt::format("{}{}", unwritten.empty() ? "" : ", ",
                               (run.folder() / (lab + written_in(run.folder(), lab)))
                                   .lexically_proximate(std::filesystem::current_path())
                                   .string());
  }
  if (unwritten.empty() && right.empty()) return "nothing was judged";
  if (unwritten.empty())
    return fmt::format("all cases are right: {}; hand it in: {}", right, submit_command(*runs_.front()));
  return fmt::format("{}write next: {}, then: {}", right.empty() ? "" : "right so far: " + right + "; ",
                     unwritten, test_command("", "", runs_.front()->folder().parent_path()));
}

}  // namespace warpgrade
