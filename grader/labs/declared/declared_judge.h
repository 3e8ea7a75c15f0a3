// One case of a declared lab, judged.
#pragma once

#include <memory>
#include <mutex>

#include "declaration/lab_declaration.h"
#include "labs/declared/oracle_process.h"
#include "labs/lab.h"

namespace warpgrade::declared {

// The lab's oracle, which is started once a judge process and outlives its cases. One case uses it at a time.
class OracleKeeper {
 public:
  // The process that runs, or a new one where there is none or the last one ended.
  OracleProcess& get(const declaration::LabDeclaration& lab, const JudgeContext& context);

 private:
  std::unique_ptr<OracleProcess> process_;
};

// How the oracle `file` of the lab is started.
OracleSpec oracle_spec(const declaration::LabDeclaration& lab, const std::string& file, SandboxMode sandbox,
                       int threads);

nlohmann::json judge_declared(const declaration::LabDeclaration& lab, const declaration::CaseDeclaration& c,
                              OracleKeeper& keeper, const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::declared
