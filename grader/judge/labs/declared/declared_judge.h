// One case of a declared lab, judged.
#pragma once

#include "judge/labs/declared/oracle_keeper.h"

namespace warpgrade::declared {

nlohmann::json judge_declared(const declaration::LabDeclaration& lab, const declaration::CaseDeclaration& c,
                              OracleKeeper& keeper, const JudgeContext& context, const CaseInput& input);

}  // namespace warpgrade::declared
