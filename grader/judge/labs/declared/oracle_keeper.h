// What a judge process keeps for the cases of a declared lab: the oracles, its kernels, the answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"
#include "judge/judging/lab.h"
#include "judge/labs/declared/cell_work.h"
#include "judge/labs/declared/kept_answers.h"
#include "judge/labs/declared/oracle_process.h"
#include "judge/labs/declared/prepared_runs.h"

namespace warpgrade::declared {

// They are started once a judge process and outlive its cases. One case uses them at a time.
class OracleKeeper {
 public:
  // Number 0 has all threads of the judge, each other one has one: they answer beside each other. The process
  // that runs, or a new one where there is none or the last one ended.
  OracleProcess& get(const declaration::LabDeclaration& lab, const JudgeContext& context, int number);
  // Null: on the emulator, whose buffers are the host's.
  CellWork* cell_work(const JudgeContext& context);

  // Those of a case. The memory for all answers is settled when a judge's first case asks.
  KeptAnswers answers(const declaration::LabDeclaration& lab, const Case& spec, const JudgeContext& context);
  // The case's runs; inputs are drawn on the GPU where there is one. `for_program`: there is one that may
  // fail at once.
  std::unique_ptr<PreparedRuns> runs(const declaration::LabDeclaration& lab, const Case& declared,
                                     const JudgeContext& context, const std::filesystem::path& graph,
                                     bool for_program);

 private:
  std::vector<std::unique_ptr<OracleProcess>> processes_;
  std::unique_ptr<CellWork> work_;
  std::size_t most_answer_bytes_ = 0;
};

// How the oracle `file` of the lab is started.
OracleSpec oracle_spec(const declaration::LabDeclaration& lab, const std::string& file, SandboxMode sandbox,
                       int threads);

}  // namespace warpgrade::declared
