// The part of `labs verify` that judges: submissions whose verdicts are known, with and without the clock, and honest
// runs that must raise no alarm. It tells nothing; the steps of its progress do.
#pragma once

#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/expected_verdicts.h"
#include "cli/lab_commands.h"
#include "cli/verify_progress.h"
#include "course/score/policy.h"
#include "judge/declaration/lab_declaration.h"
#include "record/verdict.h"

namespace warpgrade {

class VerifyJudging {
 public:
  // Verdicts of a submission: the first words of each kind.
  struct Verdicts {
    std::map<Verdict, std::string> words;
    std::map<std::string, double> cases;  // the seconds that each took
  };
  using Found = std::map<std::string, Verdicts>;  // by submission
  using SecondsOfCases = std::map<std::string, double>;
  struct Judged {
    std::string backend;
    std::vector<Expected> submissions;
    Found found;
    nlohmann::json scores;
    SecondsOfCases seconds_of_naive() const;
  };
  struct FalseAlarms {
    std::string backend;
    int runs = 0;  // 0: none were made
    std::vector<std::string> alarms, slow_cases;
  };

  // All three outlive it.
  VerifyJudging(const VerifyOptions& options, const declaration::LabDeclaration& lab,
                VerifyProgress& progress)
      : options_(options), lab_(lab), progress_(progress) {}

  // While the oracle answers, which has few threads, all that will be judged is compiled into the cache.
  std::future<void> compile_ahead(const std::string& backend) const;
  Judged judge_all(const std::string& backend) const;
  // `seconds_of_naive`: what its cases took; those that take long are left out.
  FalseAlarms find_false_alarms(const std::string& backend, const SecondsOfCases& seconds_of_naive) const;
  static bool is_as_expected(const Expected& one, const Found& found);
  std::vector<std::string> correctness_cases() const;

 private:
  Policy policy() const;
  void make_class(const std::vector<Expected>& submissions, const std::string& backend,
                  const std::filesystem::path& scratch, GradeOptions& options) const;
  nlohmann::json judge(const std::vector<Expected>& submissions, const std::string& backend,
                       GradeOptions options, Found& found, VerifyProgress::Step& step) const;
  void judge_untimed(const std::vector<Expected>& all, const std::string& backend, Found& found) const;
  GradeOptions without_clock(const std::vector<std::string>& cases) const;
  GradeOptions with_clock(const std::vector<std::string>& cases) const;
  std::vector<std::string> quick_cases(const SecondsOfCases& seconds_of_naive,
                                       std::vector<std::string>& slow) const;

  const VerifyOptions& options_;
  const declaration::LabDeclaration& lab_;
  VerifyProgress& progress_;
};

}  // namespace warpgrade
