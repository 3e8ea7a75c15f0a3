// One case of a declared lab, judged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "judge/declaration/lab_declaration.h"
#include "judge/judging/lab.h"
#include "judge/labs/declared/oracle_process.h"

namespace warpgrade::declared {

// The lab's oracles, which are started once a judge process and outlive its cases. One case uses them at
// a time.
class OracleKeeper {
 public:
  // Number 0 has all threads of the judge, each other one has one: they answer beside each other. The process
  // that runs, or a new one where there is none or the last one ended.
  OracleProcess& get(const declaration::LabDeclaration& lab, const JudgeContext& context, int number);

 private:
  std::vector<std::unique_ptr<OracleProcess>> processes_;
};

// How the oracle `file` of the lab is started.
OracleSpec oracle_spec(const declaration::LabDeclaration& lab, const std::string& file, SandboxMode sandbox,
                       int threads);

nlohmann::json judge_declared(const declaration::LabDeclaration& lab, const declaration::CaseDeclaration& c,
                              OracleKeeper& keeper, const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::declared
