// One case of a declared lab, judged.
#pragma once

#include "judge/labs/declared/oracle_keeper.h"

namespace warpgrade::declared {

nlohmann::json judge_declared(const declaration::LabDeclaration& lab, const Case& c, OracleKeeper& keeper,
                              const JudgeContext& context);

}  // namespace warpgrade::declared
