#include "judge/labs/declared/answers_ahead.h"

#include <algorithm>
#include <vector>

#include "base/process.h"
#include "judge/judging/case_judge.h"
#include "judge/judging/run_order.h"

namespace warpgrade::declared {

using declaration::LabDeclaration;

int least_runs_of(const LabDeclaration& lab, const JudgeContext& context) {
  return std::max({lab.runs, static_cast<int>(lab.hard.size()) + 1, context.least_runs});
}

int least_pairs_of(const LabDeclaration& lab, const JudgeContext& context) {
  const bool exact = std::all_of(lab.checks.begin(), lab.checks.end(), [](const auto& check) {
    return check.second.kind == declaration::CheckKind::kExact;
  });
  return exact ? (context.least_pairs + 2) / 3 : context.least_pairs;
}

int oracles_repetition(const RunSeeds& seeds, const JudgeContext& context, int least_pairs) {
  const int least =
      std::min({kLooks[0], least_pairs / context.process_pairs, context.max_pairs / context.process_pairs});
  return 2 + static_cast<int>(seeds.oracles_repetition() % static_cast<unsigned>(std::max(1, least)));
}

std::uint64_t plan_of_answers(const LabDeclaration& lab, std::uint64_t plan_seed) {
  return CaseArrays::plan_sees_arrays(lab) ? plan_seed : 0;
}

namespace {

// The runs of one plan that the oracle answers.
struct PlannedAnswers {
  std::uint64_t plan_seed = 0;
  PreparedRuns::Seeds runs;
};

// Where no plan sees an array, all runs stand in one list: they are answered at once.
std::vector<PlannedAnswers> planned_answers(const LabDeclaration& lab, const JudgeContext& context,
                                            const RunSeeds& seeds, bool timed) {
  std::vector<PlannedAnswers> all;
  int plans = 0, checks = 0;
  for (const PlannedRuns& planned : draw_run_order(seeds.order(), least_runs_of(lab, context), timed).plans) {
    const std::uint64_t plan_seed = seeds.plan(++plans);
    if (all.empty() || CaseArrays::plan_sees_arrays(lab)) all.push_back({plan_seed, {}});
    PreparedRuns::Seeds& runs = all.back().runs;
    for (int run = 0; run < planned.before + planned.after; ++run) runs.push_back(seeds.check(++checks));
    if (!planned.timed) continue;
    runs.push_back(seeds.repetition(oracles_repetition(seeds, context, least_pairs_of(lab, context))));
  }
  return all;
}

}  // namespace

void make_answers_ahead(const LabDeclaration& lab, const Case& c, OracleKeeper& keeper,
                        const JudgeContext& context) {
  if (!lab.check_script.empty()) return;  // it finds out by itself what is right
  const RunSeeds seeds(context.run_seed, c.id, static_cast<int>(lab.hard.size()));
  const KeptAnswers answers = keeper.answers(lab, c, context);
  const auto runs = keeper.runs(lab, c, context, c.file, false);
  const bool timed = CaseJudge::is_timed(context, c);
  for (PlannedAnswers& planned : planned_answers(lab, context, seeds, timed)) {
    const std::uint64_t plan = plan_of_answers(lab, planned.plan_seed);
    PreparedRuns::Seeds& wanted = planned.runs;
    std::erase_if(wanted, [&](std::uint64_t run) { return answers.find(plan, run) != nullptr; });
    if (!wanted.empty()) runs->draw_for_plan(planned.plan_seed);
    for (; !wanted.empty(); wanted.erase(wanted.begin())) {
      throw_if_interrupted();
      answers.add(plan, wanted.front(), runs->take(wanted).copy_answer());
    }
  }
}

}  // namespace warpgrade::declared
