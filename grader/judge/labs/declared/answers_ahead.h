// Which runs of a case the oracle answers in any case, and their answers made before a submission is there.
#pragma once

#include <cstdint>

#include "judge/labs/declared/oracle_keeper.h"
#include "judge/labs/declared/run_seeds.h"

namespace warpgrade::declared {

// Checked runs of a case.
int least_runs_of(const declaration::LabDeclaration& lab, const JudgeContext& context);
// Timed pairs of a case, however slow the program is. Where every cell is compared exactly each run tells much,
// and a third is enough; check_power.h holds it against the lab's inputs.
int least_pairs_of(const declaration::LabDeclaration& lab, const JudgeContext& context);
// The timed repetition that is always the oracle's: within the least runs that the first process pair has,
// behind the pair that does not count.
int oracles_repetition(const RunSeeds& seeds, const JudgeContext& context, int least_pairs);
// What KeptAnswers knows a plan by.
std::uint64_t plan_of_answers(const declaration::LabDeclaration& lab, std::uint64_t plan_seed);

// The oracle answers the checked runs of the case and the timed repetition that is always its own; what it has
// answered before it is not asked again. Throws JudgeFault with its words.
void make_answers_ahead(const declaration::LabDeclaration& lab, const Case& c, OracleKeeper& keeper,
                        const JudgeContext& context);

}  // namespace warpgrade::declared
