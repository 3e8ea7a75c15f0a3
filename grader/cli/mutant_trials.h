// Tries a lab's correctness cases on mutants of the staff's solutions: each is judged on the emulator, the
// cheapest case first, until a case refuses it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "cli/lab_commands.h"
#include "cli/verify_progress.h"
#include "course/batch/class_run.h"
#include "course/batch/judging.h"

namespace warpgrade {

// One mutant and what came of it.
struct Mutant {
  enum class Fate { kUntried, kRefused, kSurvived, kUnreached, kNotJudged };

  std::size_t solution = 0;  // of the run's submissions
  std::string solution_id;
  std::string key, operation, kernel, title, instruction;
  std::string file;  // without folders
  int line = 0;      // of the outermost call, 0: unknown
  std::string inlined_from;
  int nth = 1;                           // among the solution's mutants of this operator at this line
  std::uint32_t ordinal = 0, block = 0;  // of the instruction, in its function

  Fate fate = Fate::kUntried;
  std::string refused_by, verdict;  // case and verdict; of kNotJudged, why
  std::vector<std::string> passed;  // cases
};

class MutantTrials {
 public:
  MutantTrials(const MutantsOptions& options, VerifyProgress& progress);

  // Throws UsageError where a solution is not accepted as it is, Interrupted after Ctrl-C.
  void run();
  // In the order of solutions, lines and operators.
  const std::vector<Mutant>& mutants() const { return mutants_; }
  std::vector<std::string> cases() const;  // the cheapest first

 private:
  struct Solution {
    std::vector<CaseInput> cases;  // the cheapest first
    double slowest_s = 0;          // of them
  };
  struct Answer {
    bool refused = false, faulted = false;
    std::string by, verdict;
    std::vector<std::string> passed;
    std::map<std::string, double> wall_s;
  };

  GradeOptions grade_options() const;
  std::vector<std::string> correctness_cases() const;
  void copy_solutions() const;
  JudgeJob job(std::size_t solution, const std::map<std::string, std::string>& environment) const;
  Answer ask(JudgeServer& judge, JudgeJob job) const;
  void compile();
  void judge_unchanged(std::size_t solution, JudgeServer& judge);
  void list(std::size_t solution);
  std::vector<std::size_t> order() const;
  void work(const std::vector<std::size_t>& order, std::atomic<std::size_t>& next, double limit_s);
  void judge_mutant(JudgeServer& judge, Mutant& mutant);
  void judge_reached(JudgeServer& judge, Mutant& mutant);
  std::optional<bool> known_to_be_reached(const Mutant& mutant);
  bool is_reached(JudgeServer& judge, const Mutant& mutant);
  void tell();

  const MutantsOptions& options_;
  VerifyProgress& progress_;
  TemporaryDirectory scratch_;
  Progress quiet_;
  std::optional<ClassRun> run_;
  std::optional<Judging> judging_;
  std::vector<Solution> solutions_;
  std::vector<Mutant> mutants_;
  std::mutex mutex_;
  std::size_t tried_ = 0, survived_ = 0;
  std::map<std::string, bool> reached_;  // by reach_key()
};

// Where an author writes down the mutants of a lab that change nothing.
std::filesystem::path survivors_file(const std::string& lab);

// For `labs verify`: the mutants that every case accepted and survivors.yaml does not explain, a line each,
// and what came of all.
struct MutantSample {
  std::vector<std::string> survivors;
  std::string score;
};
MutantSample sample_mutants(const MutantsOptions& options, VerifyProgress& progress);

}  // namespace warpgrade
