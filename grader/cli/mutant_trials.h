// Tries a lab's correctness cases on mutants of the staff's solutions: each is judged on the emulator, in the
// cases that get to its instruction, the cheapest first, until a case refuses it.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
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
#include "cli/reached_instructions.h"
#include "cli/verify_progress.h"
#include "course/batch/case_dispatcher.h"
#include "course/batch/class_run.h"

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
  // Random ones, of the solution with fewest among those that had a mutant in them.
  std::size_t shapes() const;
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
    std::map<std::string, ReachedInstructions> reached;  // where that was asked for
    Outputs outputs;
  };
  // Inputs that a solution is right in, the cheapest first, and what it does there.
  struct Own {
    std::vector<Case> inputs;
    std::map<std::string, double> wall_s;
    std::map<std::string, ReachedInstructions> reached;
    Outputs outputs;
    bool is_known = false;
  };
  struct Solution {
    std::vector<Mutant> listed;
    Own cases, large, shapes;                // large ones and shapes are judged once a mutant needs them
    std::map<std::string, Outputs> ordered;  // outputs in other orders of warps than the usual one
    std::mutex mutex;                        // of all but `listed` and `cases`
  };

  GradeOptions grade_options() const;
  std::vector<std::string> correctness_cases() const;
  void copy_solutions() const;
  using Environment = std::map<std::string, std::string>;
  JudgeJob job(std::size_t solution, const Environment& environment, std::vector<Case> cases) const;
  Answer ask(JudgeClient& judge, JudgeJob job) const;
  void compile();
  // Calls work(judge, i) for i = 0, 1, ... until it says that nothing is left, in several threads.
  void in_parallel(std::size_t count, const std::function<bool(JudgeClient&, std::size_t)>& work) const;
  void judge_unchanged(JudgeClient& judge, std::size_t solution);
  Own own(JudgeClient& judge, std::size_t solution, const std::vector<Case>& inputs, bool may_fail) const;
  void list(std::size_t solution);
  bool is_launched(const Mutant& mutant) const;
  std::vector<std::size_t> order() const;
  void judge_mutant(JudgeClient& judge, Mutant& mutant);
  Environment environment_of(const Mutant& mutant, const std::string& schedule, double own_s) const;
  bool judge_in_cases(JudgeClient& judge, Mutant& mutant, const Own& own);
  std::vector<Case> shapes_for(std::size_t solution) const;
  void look_in_shapes(JudgeClient& judge, Mutant& mutant);
  Answer judge_in(JudgeClient& judge, Mutant& mutant, const Case& input, const std::string& schedule,
                  const Own& own);
  bool is_own_output(JudgeClient& judge, const Mutant& mutant, const Case& input, const std::string& schedule,
                     const Own& own, const Outputs& outputs);
  const Own& known(JudgeClient& judge, std::size_t solution, Own Solution::*of,
                   const std::vector<Case>& inputs, bool may_fail);
  void tell(VerifyProgress::Step& step, double share);  // of the work that is done

  const MutantsOptions& options_;
  VerifyProgress& progress_;
  TemporaryDirectory scratch_;
  Progress quiet_;
  std::optional<ClassRun> run_;
  std::optional<CaseDispatcher> dispatcher_;
  const std::vector<HarmlessMutant>& harmless_;
  std::vector<Case> cases_, large_, shapes_;
  std::deque<Solution> solutions_;
  double wall_s_ = 0;
  std::vector<Mutant> mutants_;
  std::mutex mutex_;
  std::size_t tried_ = 0, survived_ = 0;
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
