// What `labs verify` says while it works: the steps at hand and how far they are, on a terminal in one line that
// changes, elsewhere a line every few seconds; and how long each step took.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "course/batch/options.h"

namespace warpgrade {

class VerifyProgress {
 public:
  // A part of the work, which ends with the scope. Several may be open at a time, each in a thread of its own.
  // Steps of one name are one step of the summary.
  class Step : public GradeWatcher {
   public:
    Step(VerifyProgress& progress, std::string name);
    ~Step() override;
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

    // How many submissions are compiled and judged, and in how many cases each. Those of `until_refused` are
    // done with their first refused case.
    void expect(int submissions, int cases_of_each, std::set<std::string> until_refused);
    // Of other work: "case image-3, 4 of 12". `share` of the step is done, where that is known: what is left is
    // taken to be as slow.
    void say(const std::string& at, double share = 0);

    void compiled() override;
    void case_started(const std::string& case_id) override;
    void case_recorded(const Record& record) override;

   private:
    friend class VerifyProgress;
    double share_done() const;
    std::string time_left() const;
    std::string standing() const;

    VerifyProgress& progress_;
    std::string name_, at_;
    double share_ = 0;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    int submissions_ = 0, cases_of_each_ = 0, compiled_ = 0, judged_ = 0;
    std::set<std::string> until_refused_;
    std::map<std::string, int> judged_of_;  // by submission
  };

  VerifyProgress();
  ~VerifyProgress();
  VerifyProgress(const VerifyProgress&) = delete;
  VerifyProgress& operator=(const VerifyProgress&) = delete;

  // A lasting line on standard output.
  void print(const std::string& line);

  // "took 31 s: the checks 4 s, the speed of naive and optimized 20 s". Steps that ran beside each other add up to
  // more than the whole.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Spent {
    std::string step;
    double seconds = 0;
  };
  void tick(const std::stop_token& stop);
  std::string standing() const;
  void clear();

  mutable std::mutex mutex_;  // of the open steps, too
  bool terminal_, shown_ = false;
  Clock::time_point begun_ = Clock::now(), last_line_;
  std::vector<const Step*> open_;
  std::vector<Spent> spent_;
  std::jthread ticker_;
};

}  // namespace warpgrade
