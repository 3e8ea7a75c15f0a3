// What `labs verify` says while it works: the step at hand and how far it is, on a terminal in one line that
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

class VerifyProgress : public GradeWatcher {
 public:
  VerifyProgress();
  ~VerifyProgress() override;
  VerifyProgress(const VerifyProgress&) = delete;
  VerifyProgress& operator=(const VerifyProgress&) = delete;

  // The step ends with the scope. Steps of one name are one step of the summary.
  class Step {
   public:
    Step(VerifyProgress& progress, const std::string& name) : progress_(progress) { progress_.begin(name); }
    ~Step() { progress_.end(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    VerifyProgress& progress_;
  };

  // Within a step: how many submissions are compiled and judged, and in how many cases each. Those of
  // `until_refused` are done with their first refused case.
  void expect(int submissions, int cases_of_each, std::set<std::string> until_refused);
  // Within a step of other work: "case image-3, 4 of 12". `share` of the step is done, where that is known:
  // what is left is taken to be as slow.
  void say(const std::string& at, double share = 0);

  // A lasting line on standard output.
  void print(const std::string& line);

  // "took 31 s: the checks 4 s, the speed of naive and optimized 20 s, other steps 7 s".
  std::string summary() const;

  void compiled() override;
  void case_started(const std::string& case_id) override;
  void case_recorded(const nlohmann::json& record) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Spent {
    std::string step;
    double seconds = 0;
  };
  void begin(const std::string& name);
  void end();
  void tick(const std::stop_token& stop);
  double share_done() const;
  std::string time_left() const;
  std::string standing() const;
  void clear();

  mutable std::mutex mutex_;
  bool terminal_, shown_ = false;
  std::string step_, at_;
  double share_ = 0;
  Clock::time_point begun_ = Clock::now(), step_begun_, last_line_;
  int submissions_ = 0, cases_of_each_ = 0, compiled_ = 0, judged_ = 0;
  std::set<std::string> until_refused_;
  std::map<std::string, int> judged_of_;  // by submission
  std::vector<Spent> spent_;
  std::jthread ticker_;
};

}  // namespace warpgrade
