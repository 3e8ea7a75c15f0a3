#include "cli/verify_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>

#include "base/process.h"
#include "cli/kept_check_power.h"
#include "judge/judging/judge_context.h"
#include "judge/labs/declared/answers_ahead.h"
#include "judge/labs/declared/oracle_keeper.h"
#include "judge/measure/random.h"

namespace warpgrade {
namespace {

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
      "the check allows less than outputs differ by ({}), and finds inputs of which a sixteenth is not read "
      "({} tried in {} cases)",
      largest, tried, powers.size());
}

// What other seeds found of the same case.
void add(const declared::CasePower& more, declared::CasePower& power) {
  if (power.seeds == 0) {
    power = more;
    return;
  }
  power.seeds += more.seeds;
  for (std::size_t i = 0; i < power.inputs.size(); ++i) {
    declared::InputReplaced& one = power.inputs[i];
    const declared::InputReplaced& other = more.inputs[i];
    one.tried += other.tried;
    one.passed += other.passed;
    if (other.worst.empty() || (!one.worst.empty() && other.worst_passed <= one.worst_passed)) continue;
    one.worst = other.worst;
    one.worst_tried = other.worst_tried;
    one.worst_passed = other.worst_passed;
  }
}

class PowerLook {
 public:
  PowerLook(const LabDeclaration& lab, const PowerSettings& settings, VerifyProgress::Step& step)
      : lab_(lab),
        settings_(settings),
        step_(step),
        compared_runs_(declared::least_pairs_of(lab, JudgeContext{})),
        kept_(lab) {
    for (const Case& c : lab_.cases)
      if (c.kind == "speed") trials_.push_back({&c, kept_.find(c.id), {}});
  }

  CheckPowerFound look() {
    find_powers();
    CheckPowerFound found;
    std::vector<declared::CasePower> powers;
    for (Trial& trial : trials_) {
      declared::CasePower& power = trial.power;
      if (trial.before) power.outputs = trial.before->outputs;  // few seeds say little of spreads
      const std::vector<std::string> weak = declared::weaknesses(power, compared_runs_);
      if (!trial.before && weak.empty() && !kept_.add(power))
        found.notes.push_back(
            fmt::format("{} cannot be written: the next time takes as long", kept_.file().string()));
      found.weak.insert(found.weak.end(), weak.begin(), weak.end());
      powers.push_back(std::move(power));
    }
    if (!powers.empty()) found.words = words_of(powers);
    return found;
  }

 private:
  struct Trial {
    const Case* declared;
    std::optional<declared::CasePower> before;
    declared::CasePower power;
  };
  // Seeds of a case that one process of the oracle's answers.
  struct Part {
    Trial* trial;
    std::uint64_t seed;
    int seeds;
  };

  // A case that was looked at before gets some seeds more, which do not need each other.
  std::vector<Part> parts() {
    constexpr int kSeeds = 48, kSeedsMore = 3;
    std::vector<Part> parts;
    for (Trial& trial : trials_) {
      if (!trial.before) parts.push_back({&trial, settings_.seed, kSeeds});
      for (int i = 0; trial.before && i < kSeedsMore; ++i)
        parts.push_back({&trial, mix_bits(settings_.seed + static_cast<std::uint64_t>(i)), 1});
    }
    return parts;
  }

  // An oracle of NumPy's has one thread, and the judge's own work some: so several parts at a time.
  void find_powers() {
    constexpr int kThreadsOfOne = 4, kMostAtOnce = 4;
    const std::vector<Part> all = parts();
    const int at_once = std::clamp(settings_.threads / kThreadsOfOne, 1, kMostAtOnce);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      declared::OracleProcess oracle(
          declared::oracle_spec(lab_, lab_.truth, settings_.sandbox, settings_.threads / at_once));
      for (std::size_t i; (i = next++) < all.size();) find_power(all[i], i, all.size(), oracle, at_once);
    };
    std::vector<std::future<void>> others;
    for (int i = 1; i < at_once; ++i) others.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void>& other : others) other.get();
  }

  void find_power(const Part& part, std::size_t number, std::size_t of, declared::OracleProcess& oracle,
                  int at_once) {
    const Case& c = *part.trial->declared;
    const auto say = [&](int seed, int seeds) {
      throw_if_interrupted();
      step_.say(fmt::format("case {}, seed {} of {}", c.id, seed, seeds),
                (static_cast<double>(number) + double(seed - 1) / seeds) / static_cast<double>(of));
    };
    const declared::CasePower found = declared::measure_power(
        lab_, c, c.graph.empty() ? std::filesystem::path() : settings_.graph_file(c.graph), oracle, part.seed,
        part.seeds, std::max(1, settings_.threads / at_once), say);
    const std::lock_guard lock(mutex_);
    add(found, part.trial->power);
  }

  const LabDeclaration& lab_;
  const PowerSettings& settings_;
  VerifyProgress::Step& step_;
  int compared_runs_;  // the outputs of all repetitions are compared
  KeptCheckPower kept_;
  std::vector<Trial> trials_;
  std::mutex mutex_;
};

}  // namespace

CheckPowerFound look_at_power(const LabDeclaration& lab, const PowerSettings& settings,
                              VerifyProgress::Step& step) {
  return PowerLook(lab, settings, step).look();
}

}  // namespace warpgrade
