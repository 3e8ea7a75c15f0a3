#include "cli/verify_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/process.h"
#include "cli/kept_check_power.h"
#include "judge/judging/judge_context.h"
#include "judge/labs/declared/answers_ahead.h"
#include "judge/labs/declared/oracle_keeper.h"
#include "judge/measure/random.h"

namespace warpgrade {
namespace {

using declaration::CaseDeclaration;
using declaration::LabDeclaration;

std::string words_of(const std::vector<declared::CasePower>& powers) {
  std::string largest = "no output has a bound";
  double most = 0;
  int tried = 0;
  for (const declared::CasePower& power : powers) {
    for (const declared::OutputSpread& one : power.outputs) {
      if (one.allowed_over_spread <= most) continue;
      most = one.allowed_over_spread;
      largest = fmt::format("at most {:.2g} of their spread, case {}, {}", most, power.case_id, one.output);
    }
    for (const declared::InputReplaced& one : power.inputs) tried += one.tried;
  }
  return fmt::format(
      "the check allows less than outputs differ by ({}), and finds inputs of which a sixteenth is "
      "not read ({} tried in {} cases)",
      largest, tried, powers.size());
}

class PowerLook {
 public:
  PowerLook(const LabDeclaration& lab, const PowerSettings& settings, VerifyProgress& progress)
      : lab_(lab),
        settings_(settings),
        progress_(progress),
        compared_runs_(declared::least_pairs_of(lab, JudgeContext{})),
        kept_(lab),
        oracle_(declared::oracle_spec(lab, lab.truth, settings.sandbox, settings.threads)) {}

  CheckPowerFound look() {
    std::vector<const CaseDeclaration*> timed;
    for (const CaseDeclaration& c : lab_.cases)
      if (c.kind == "speed") timed.push_back(&c);
    std::vector<declared::CasePower> powers;
    for (const CaseDeclaration* c : timed) {
      powers.push_back(power_of(*c, powers.size(), timed.size()));
      const std::vector<std::string> weak = declared::weaknesses(powers.back(), compared_runs_);
      found_.weak.insert(found_.weak.end(), weak.begin(), weak.end());
    }
    if (!powers.empty()) found_.words = words_of(powers);
    return std::move(found_);
  }

 private:
  // Of the case behind `done` others of all `cases`.
  declared::CasePower power_of(const CaseDeclaration& c, std::size_t done, std::size_t cases) {
    constexpr int kSeeds = 48, kSeedsMore = 3;
    const std::optional<declared::CasePower> before = kept_.find(c.id);
    const auto say = [&](int number, int of) {
      throw_if_interrupted();
      progress_.say(fmt::format("case {}, seed {} of {}", c.id, number, of),
                    (static_cast<double>(done) + double(number - 1) / of) / static_cast<double>(cases));
    };
    declared::CasePower power = declared::measure_power(
        lab_, c, c.graph.empty() ? std::filesystem::path() : settings_.graph_file(c.graph), oracle_,
        before ? mix_bits(settings_.seed) : settings_.seed, before ? kSeedsMore : kSeeds, settings_.threads,
        say);
    if (before)
      power.outputs = before->outputs;  // few seeds say little of spreads
    else if (declared::weaknesses(power, compared_runs_).empty() && !kept_.add(power))
      found_.notes.push_back(
          fmt::format("{} cannot be written: the next time takes as long", kept_.file().string()));
    return power;
  }

  const LabDeclaration& lab_;
  const PowerSettings& settings_;
  VerifyProgress& progress_;
  int compared_runs_;  // the outputs of all repetitions are compared
  KeptCheckPower kept_;
  declared::OracleProcess oracle_;
  CheckPowerFound found_;
};

}  // namespace

CheckPowerFound look_at_power(const LabDeclaration& lab, const PowerSettings& settings,
                              VerifyProgress& progress) {
  return PowerLook(lab, settings, progress).look();
}

}  // namespace warpgrade
