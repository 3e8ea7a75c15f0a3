#include "cli/judging_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>

namespace warpgrade {
namespace {

// What the emulator knows (WARPEMU_CHECKS): a name that it does not know would look for nothing.
std::string unknown_check(const std::string& list) {
  static constexpr std::array kKnown = {"memcheck", "initcheck", "racecheck", "synccheck", "leakcheck",
                                        "counters", "levels",    "all",       "none"};
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end())
      return fmt::format("no check is named '{}'; the checks are: {}", word, fmt::join(kKnown, ", "));
  }
  return {};
}

}  // namespace

void add_judging_options(CLI::App& command, GradeOptions& options) {
  command.add_option("--lab", options.lab, "the lab")->capture_default_str();
  command.add_option("--backend", options.backend, "auto, cuda or emulator")->capture_default_str();
  command
      .add_option("--cases", options.cases,
                  "ids, datasets or sets (public, real, real-large, stand-in, large); * matches, ?name may "
                  "be missing")
      ->delimiter(',');
  command.add_option("--input", options.input,
                     "judge on your own input instead of the lab's cases (gcn: a folder with graph.txt, "
                     "x.bin, w.bin)");
  command.add_option("--policy", options.policy, "YAML file; default: grader/policies/<lab>.yaml");
  command
      .add_option(
          "--jobs", options.jobs,
          "submissions judged at the same time (0: one for each core on the emulator, one for each GPU)")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option(
          "--gpus", options.gpus,
          "judge on these GPUs alone, a judge each: numbers or names as `nvidia-smi -L` shows them, MIG "
          "instances too (default: all that CUDA_VISIBLE_DEVICES leaves)")
      ->delimiter(',');
  command.add_flag("--allow-unsandboxed", options.allow_unsandboxed,
                   "judge even where bubblewrap does not work; records say so");
  command.add_flag("--require-isolation", options.require_isolation,
                   "refuse to start where a protection is missing (`warpgrade doctor` lists them)");
  command.add_flag(
      "--direct", options.direct,
      "host code beside the GPU in one process, for what the executor cannot forward: then times are the "
      "program's own word, and the policy must allow it (host_isolation: any)");
  command
      .add_option("--checks", options.checks,
                  "what the emulator checks for; none: only accesses out of bounds")
      ->check(unknown_check)
      ->capture_default_str();
  command.add_option("--speed-budget", options.speed_budget_s, "seconds of timed pairs for each case")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_run_options(CLI::App& command, GradeOptions& options) {
  add_judging_options(command, options);
  command.add_option("--run", options.run,
                     "the run's folder; with the same folder the run continues where it stopped");
  command.add_flag("--fresh", options.fresh_on_change,
                   "if the folder holds a run of other inputs, move that run aside");
  command.add_flag("!--no-speed", options.measure_speed, "correctness only");
  command.add_option("--baselines", options.baselines, "time only these beside each submission")
      ->delimiter(',');
  command.add_flag("--self", options.self_baseline,
                   "A/A: time each submission against itself too; 1.0 is expected");
  command
      .add_option("--process-pairs", options.process_pairs,
                  "processes of a submission, and of each baseline, that a case's timed pairs are spread "
                  "over: more make the intervals narrower; of 1 there is none")
      ->check(CLI::Range(1, 31))
      ->capture_default_str();
  command
      .add_option("--least-pairs", options.least_pairs,
                  "timed pairs of a case, over all its processes, before its budget may end them; a third of "
                  "them in a declared lab whose checks are all exact")
      ->check(CLI::Range(3, 255))
      ->capture_default_str();
  command
      .add_option("--baseline-budget", options.baseline_budget_s,
                  "seconds that a baseline may take in a case; later pairs leave a slower baseline out")
      ->check(CLI::PositiveNumber);
  command.add_flag("--quiet", options.quiet, "no progress");
}

}  // namespace warpgrade
