// Tries a lab's correctness cases on mutants of the staff's solutions: each is judged on the emulator, the
// cheapest case first, until a case refuses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/harmless_mutants.h"
#include "cli/lab_commands.h"
#include "cli/mutant.h"
#include "cli/verify_progress.h"
#include "course/batch/class_run.h"
#include "course/batch/judging.h"

namespace warpgrade {

class MutantTrials {
 public:
  MutantTrials(const MutantsOptions& options, const std::vector<HarmlessMutant>& harmless,
               VerifyProgress& progress);

  // Throws UsageError where a solution is not accepted as it is, Interrupted after Ctrl-C; what was tried until
  // then is kept.
  void run();
  std::size_t tried() const { return tried_; }
  // In the order of solutions, lines and operators.
  const std::vector<Mutant>& mutants() const { return mutants_; }
  std::vector<std::string> cases() const;
  std::size_t shapes() const { return std::min(shapes_.size(), options_.shapes); }
  double wall_s() const { return wall_s_; }
  // Mutants of each kernel that no case launches, by solution and kernel: they are tried last.
  std::map<std::pair<std::string, std::string>, std::size_t> never_launched() const;

 private:
  // The hashes of a case's outputs, run by run.
  using Outputs = std::map<std::string, std::vector<std::string>>;
  struct Answer {
    bool refused = false, faulted = false;
    std::string by, verdict;
    std::vector<std::string> passed;
    std::map<std::string, double> wall_s;
    std::set<std::string> launched;
    Outputs outputs;
  };
  // What the solution itself writes, by the order of warps.
  struct Own {
    std::vector<Case> shapes;  // that it is right in, the cheapest first
    Outputs outputs;           // of cases and shapes
    bool is_known = false;     // both were found
  };
  struct Solution {
    std::vector<Case> cases;                    // the cheapest first
    std::set<std::string> launched;             // titles of the kernels that the cases launch
    double slowest_s = 0, slowest_large_s = 0;  // of those that are not large, and of those that are
    std::map<std::string, Own> own;
    std::mutex mutex;  // of `own`
  };

  GradeOptions grade_options() const;
  std::vector<std::string> correctness_cases() const;
  void copy_solutions() const;
  using Environment = std::map<std::string, std::string>;
  std::vector<Case> cases_for(const Mutant& mutant) const;
  JudgeJob job(std::size_t solution, const Environment& environment) const;
  JudgeJob job(std::size_t solution, const Environment& environment, std::vector<Case> cases) const;
  Answer ask(JudgeServer& judge, JudgeJob job) const;
  void compile();
  void judge_unchanged(std::size_t solution, JudgeServer& judge);
  void list(std::size_t solution);
  void note_launched(std::size_t solution, JudgeServer& judge);
  bool is_launched(const Mutant& mutant) const;
  std::vector<std::size_t> order() const;
  void work(const std::vector<std::size_t>& order, std::atomic<std::size_t>& next, double limit_s,
            VerifyProgress::Step& step);
  void judge_mutant(JudgeServer& judge, Mutant& mutant);
  Environment environment_of(const Mutant& mutant, const std::string& schedule) const;
  std::map<std::string, Outputs> judge_in_cases(JudgeServer& judge, Mutant& mutant);
  void classify(JudgeServer& judge, Mutant& mutant, const std::map<std::string, Outputs>& outputs);
  std::optional<bool> known_to_be_reached(const Mutant& mutant);
  bool is_reached(JudgeServer& judge, const Mutant& mutant);
  const Own& own_outputs(JudgeServer& judge, std::size_t solution, const std::string& schedule);
  void look_where_it_shows(JudgeServer& judge, Mutant& mutant, const std::string& schedule,
                           const Outputs& in_cases);
  bool is_reached_in_shapes(JudgeServer& judge, const Mutant& mutant);
  void tell(VerifyProgress::Step& step, double share);  // of the work that is done

  const MutantsOptions& options_;
  VerifyProgress& progress_;
  TemporaryDirectory scratch_;
  Progress quiet_;
  std::optional<ClassRun> run_;
  std::optional<Judging> judging_;
  const std::vector<HarmlessMutant>& harmless_;
  std::vector<Case> shapes_;
  std::deque<Solution> solutions_;
  double wall_s_ = 0;
  std::vector<Mutant> mutants_;
  std::mutex mutex_;
  std::size_t tried_ = 0, survived_ = 0;
  std::map<std::string, bool> reached_;  // by reach_key()
};

// For `labs verify`: the mutants that every case accepted and survivors.yaml does not explain, a line each,
// and what came of all.
struct MutantSample {
  std::vector<std::string> survivors;
  std::string score;
};
MutantSample sample_mutants(const MutantsOptions& options, const std::vector<HarmlessMutant>& harmless,
                            VerifyProgress& progress);

}  // namespace warpgrade
