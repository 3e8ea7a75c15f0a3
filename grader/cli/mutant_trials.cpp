#include "cli/mutant_trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "cli/random_shapes.h"
#include "judge/judging/program_box.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/usable_cores.h"
#include "record/outcome.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kVariable = "WARPEMU_MUTANT";
constexpr double kUsualLimitS = 300;
// A launch of a mutant may take so many times what the solution's slowest case took, and a second more: a
// loop without an end costs no more.
constexpr double kPatience = 5;

bool is_meant(const std::string& solution, const std::string& asked) {
  return asked.empty() || asked == solution || "step-" + asked == solution ||
         (asked == "step" && solution.starts_with("step-"));
}

// Orders of a block's warps, the usual one first. What orders threads may be missed in another one alone.
std::vector<std::string> schedules_for(const std::string& operation) {
  if (operation == "no_barrier" || operation == "no_fence" || operation == "no_wait")
    return {"", "reversed", "one_ahead"};
  return {""};
}

// Random shapes are no larger than the cases, and large cases are for offsets beyond 32 bits alone.
bool shows_in_small_shapes(const Mutant& mutant) {
  return mutant.operation != "offset_32";
}
bool is_large(const Case& input) {
  return input.set == "large";
}

// Instructions with one key are reached together: those of a block, but for their guards.
std::string reach_key(const Mutant& mutant) {
  const bool guarded = mutant.instruction.starts_with("@");
  return fmt::format("{}:{}:{}:{}", mutant.solution_id, mutant.kernel, guarded ? "guarded" : "block",
                     guarded ? mutant.ordinal : mutant.block);
}

std::string name_of(const Mutant& mutant) {
  return mutant.solution_id + " " + mutant.key;
}

Mutant mutant_of(const json& listed, std::size_t solution, const std::string& id) {
  Mutant mutant;
  mutant.solution = solution;
  mutant.solution_id = id;
  mutant.key = listed.at("mutant");
  mutant.operation = listed.at("operator");
  mutant.kernel = listed.at("kernel");
  mutant.title = listed.at("title");
  mutant.instruction = listed.at("ptx");
  mutant.ordinal = listed.at("ordinal");
  mutant.block = listed.at("block");
  mutant.in_kernel = listed.at("in_kernel") == 1;
  mutant.file = fs::path(listed.at("file").get<std::string>()).filename().string();
  mutant.line = listed.at("line");
  mutant.inlined_from = listed.at("inlined_from");
  return mutant;
}

}  // namespace

MutantTrials::MutantTrials(const MutantsOptions& options, const std::vector<HarmlessMutant>& harmless,
                           VerifyProgress& progress)
    : options_(options),
      progress_(progress),
      scratch_("warpgrade-mutants"),
      quiet_(true),
      harmless_(harmless) {}

void MutantTrials::run() {
  copy_solutions();
  run_.emplace(grade_options(), quiet_);
  judging_.emplace(*run_, quiet_);
  const auto begin = std::chrono::steady_clock::now();
  solutions_.resize(run_->submissions().size());
  // Some more than are wanted: those that take longest are left out.
  shapes_ = random_shapes(run_->lab(), run_->cases(), options_.seed, options_.shapes + options_.shapes / 5);
  compile();
  {
    VerifyProgress::Step step(progress_, "solutions as they are");
    JudgeServer judge;
    for (std::size_t i = 0; i < solutions_.size(); ++i) {
      step.say(run_->submissions()[i].id);
      judge_unchanged(i, judge);
      note_launched(i, judge);
      list(i);
    }
  }
  VerifyProgress::Step step(progress_, "mutants");
  const std::vector<std::size_t> order = this->order();
  const double limit_s = options_.limit_s.value_or(options_.all ? 1e9 : kUsualLimitS);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < (options_.workers > 0 ? options_.workers : usable_cores()); ++worker)
      threads.emplace_back([&] {
        try {
          work(order, next, limit_s, step);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!failure) failure = std::current_exception();
          next = order.size();
        }
      });
  }
  wall_s_ = seconds_since(begin);
  if (failure) std::rethrow_exception(failure);
}

std::vector<std::string> MutantTrials::correctness_cases() const {
  std::vector<std::string> ids;
  for (const Case& c : find_lab(options_.lab).cases())
    if (c.kind == "correctness") ids.push_back("?" + c.id);  // a real graph may not be on this machine
  if (ids.empty()) throw UsageError("lab {} has no correctness case", options_.lab);
  return ids;
}

void MutantTrials::copy_solutions() const {
  int copied = 0;
  for (const auto& [id, folder] : solutions_of(options_.lab)) {
    if (!is_meant(id, options_.solution)) continue;
    make_directories(scratch_.path() / "class");
    fs::copy(folder, scratch_.path() / "class" / id, fs::copy_options::recursive);
    ++copied;
  }
  if (copied == 0)
    throw UsageError("lab {} has no solution {}; it may be naive, optimized, step or a step's folder",
                     options_.lab, options_.solution);
}

GradeOptions MutantTrials::grade_options() const {
  GradeOptions options;
  options.lab = options_.lab;
  options.submissions = scratch_.path() / "class";
  options.run = scratch_.path() / "run";
  options.backend = "emulator";
  options.cases = correctness_cases();
  options.allow_unsandboxed = options_.allow_unsandboxed;
  options.measure_speed = false;
  options.checks = "memcheck,initcheck,racecheck,synccheck,leakcheck";
  options.quiet = true;
  return options;
}

void MutantTrials::compile() {
  VerifyProgress::Step step(progress_, "compiling");
  for (std::size_t i = 0; i < solutions_.size(); ++i) {
    const std::string& id = run_->submissions()[i].id;
    step.say(id);
    throw_if_interrupted();
    judging_->compile(i);
    if (!judging_->compiled(i).ok())
      throw UsageError("{} does not compile: {}", id, judging_->compiled(i).message);
  }
}

std::vector<Case> MutantTrials::cases_for(const Mutant& mutant) const {
  std::vector<Case> cases = solutions_[mutant.solution].cases;
  if (shows_in_small_shapes(mutant)) std::erase_if(cases, is_large);
  return cases;
}

JudgeJob MutantTrials::job(std::size_t solution, const Environment& environment) const {
  const std::vector<Case>& known = solutions_[solution].cases;
  return job(solution, environment, known.empty() ? run_->cases() : known);
}

JudgeJob MutantTrials::job(std::size_t solution, const Environment& environment,
                           std::vector<Case> cases) const {
  const Judging::Share share;
  JudgeJob job = judging_->job_for(solution, std::move(cases), share);
  job.context.run_seed = Sha256().part(std::to_string(options_.seed)).hex();
  job.context.seed = Sha256().part(job.context.run_seed).part(run_->submissions()[solution].id).hex();
  job.context.first_refusal_ends = true;
  job.context.note_outputs = true;
  for (const auto& [name, value] : environment) job.context.submission.environment[name] = value;
  return job;
}

MutantTrials::Answer MutantTrials::ask(JudgeServer& judge, JudgeJob job) const {
  Answer answer;
  JudgeEvents events;
  events.on_record = [&](const std::string& id, const json& record) {
    answer.wall_s[id] = record.at("wall_s");
    answer.outputs[id] = record.value("outputs_noted", std::vector<std::string>());
    const json counters = record.value("counters", json::object());
    for (const json& kernel : counters.value("kernels", json::array()))
      answer.launched.insert(kernel.at("kernel").get<std::string>());
    const Outcome outcome = outcome_of(record);
    if (outcome.accepted()) return answer.passed.push_back(id);
    // What the emulator cannot run says nothing about the case.
    const bool unsupported =
        outcome.reason == Reason::kUnsupported || outcome.reason == Reason::kUnsupportedOnEmulator;
    (unsupported ? answer.faulted : answer.refused) = true;
    answer.by = id;
    answer.verdict = fmt::format("{}: {}", word_of(outcome.verdict), outcome.message);
  };
  events.on_fault = [&](const std::string& id, const std::vector<std::string>& causes) {
    answer.faulted = true;
    answer.by = id;
    answer.verdict = causes.back();
  };
  judge.run(std::move(job), events);
  return answer;
}

void MutantTrials::judge_unchanged(std::size_t solution, JudgeServer& judge) {
  const std::string& id = run_->submissions()[solution].id;
  const Answer answer = ask(judge, job(solution, {}));
  if (answer.refused || answer.faulted)
    throw UsageError("{} itself is not accepted in case {}: {}", id, answer.by, answer.verdict);
  Solution& own = solutions_[solution];
  own.cases = run_->cases();
  const auto wall_s = [&](const Case& input) { return answer.wall_s.at(input.id); };
  std::stable_sort(own.cases.begin(), own.cases.end(),
                   [&](const Case& x, const Case& y) { return wall_s(x) < wall_s(y); });
  for (const Case& input : own.cases) {
    double& slowest_s = is_large(input) ? own.slowest_large_s : own.slowest_s;
    slowest_s = std::max(slowest_s, wall_s(input));
  }
  own.own[""].outputs = answer.outputs;
}

// Solutions choose among kernels by sizes. Mutants of one that no case launches need no trial each.
void MutantTrials::note_launched(std::size_t solution, JudgeServer& judge) {
  Solution& own = solutions_[solution];
  std::vector<Case> cases = own.cases;
  std::erase_if(cases, is_large);
  own.launched = ask(judge, job(solution, {{"WARPEMU_CHECKS", "counters"}}, std::move(cases))).launched;
}

bool MutantTrials::is_launched(const Mutant& mutant) const {
  return !mutant.in_kernel || solutions_[mutant.solution].launched.contains(mutant.title);
}

std::map<std::pair<std::string, std::string>, std::size_t> MutantTrials::never_launched() const {
  std::map<std::pair<std::string, std::string>, std::size_t> found;
  for (const Mutant& mutant : mutants_)
    if (!is_launched(mutant)) ++found[{mutant.solution_id, mutant.title}];
  return found;
}

// In cases and random shapes, the quickest ones. A shape that the solution is not right in says nothing.
const MutantTrials::Own& MutantTrials::own_outputs(JudgeServer& judge, std::size_t solution,
                                                   const std::string& schedule) {
  Solution& of = solutions_[solution];
  const std::lock_guard lock(of.mutex);
  Own& own = of.own[schedule];
  if (std::exchange(own.is_known, true)) return own;
  Environment environment;
  if (!schedule.empty()) environment["WARPEMU_SCHEDULE"] = schedule;
  if (own.outputs.empty()) own.outputs = ask(judge, job(solution, environment)).outputs;
  if (shapes_.empty()) return own;
  JudgeJob each = job(solution, environment, shapes_);
  each.context.first_refusal_ends = false;
  const Answer answer = ask(judge, std::move(each));
  for (const Case& shape : shapes_) {
    const std::string& id = shape.id;
    if (std::find(answer.passed.begin(), answer.passed.end(), id) == answer.passed.end()) continue;
    own.outputs[id] = answer.outputs.at(id);
    own.shapes.push_back(shape);
  }
  const auto wall_s = [&](const Case& shape) { return answer.wall_s.at(shape.id); };
  std::stable_sort(own.shapes.begin(), own.shapes.end(),
                   [&](const Case& x, const Case& y) { return wall_s(x) < wall_s(y); });
  own.shapes.resize(std::min(own.shapes.size(), options_.shapes));
  return own;
}

// Of a mutant that every case accepts: where a random shape refuses it, or where an output has other bits
// than the solution's own.
void MutantTrials::look_where_it_shows(JudgeServer& judge, Mutant& mutant, const std::string& schedule,
                                       const Outputs& in_cases) {
  constexpr std::size_t kAtOnce = 25;
  const Own& own = own_outputs(judge, mutant.solution, schedule);
  const Environment environment = environment_of(mutant, schedule);
  const auto words_of = [&](const std::string& id) {
    const auto found =
        std::find_if(own.shapes.begin(), own.shapes.end(), [&](const Case& shape) { return shape.id == id; });
    return found == own.shapes.end() ? "case " + id : "random shape " + shape_words(*found);
  };
  const auto compare = [&](const Outputs& outputs) {
    for (const auto& [id, of_runs] : outputs) {
      const auto found = own.outputs.find(id);
      if (mutant.shows_in.empty() && found != own.outputs.end() && found->second != of_runs)
        mutant.shows_in = words_of(id) + ": other bits, accepted";
    }
  };
  compare(in_cases);
  if (!shows_in_small_shapes(mutant)) return;
  for (std::size_t begin = 0; begin < own.shapes.size(); begin += kAtOnce) {
    throw_if_interrupted();
    const auto end = std::min(own.shapes.size(), begin + kAtOnce);
    const Answer answer = ask(judge, job(mutant.solution, environment,
                                         {own.shapes.begin() + static_cast<std::ptrdiff_t>(begin),
                                          own.shapes.begin() + static_cast<std::ptrdiff_t>(end)}));
    if (answer.refused) {
      mutant.is_wrong = true;
      mutant.shows_in = fmt::format("{}: {}", words_of(answer.by), answer.verdict);
      return;
    }
    compare(answer.outputs);
  }
}

// The emulator lists the mutants when the program ends, which it does at once: nobody tells it what to do.
void MutantTrials::list(std::size_t solution) {
  const std::string& id = run_->submissions()[solution].id;
  RunnerSpec spec = job(solution, {{kVariable, "list"}}).context.submission;
  spec.executor.clear();
  spec.limits.device_memory_bytes = 0;
  const WrappedCommand wrapped = program_command(spec);
  ProcessOptions process;
  process.command = wrapped.command;
  process.environment = wrapped.environment;
  process.clear_environment = true;
  process.timeout = std::chrono::seconds(60);
  process.output_bytes = std::size_t{256} << 20;
  if (wrapped.filter)
    process.descriptors.push_back({wrapped.filter->get(), kFilterDescriptor, wrapped.filter});
  std::istringstream lines(run_process(process).standard_output);
  std::map<std::tuple<std::string, int, std::string>, int> seen;
  for (std::string line; std::getline(lines, line);) {
    const json listed = json::parse(line, nullptr, false);
    if (!listed.is_object() || !listed.contains("mutant")) continue;
    mutants_.push_back(mutant_of(listed, solution, id));
    Mutant& mutant = mutants_.back();
    mutant.nth = ++seen[{mutant.file, mutant.line, mutant.operation}];
  }
  if (std::none_of(mutants_.begin(), mutants_.end(), [&](const Mutant& m) { return m.solution == solution; }))
    throw JudgeFault("the emulator lists no mutant of {}", id);
}

std::vector<std::size_t> MutantTrials::order() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < mutants_.size(); ++i)
    if (options_.only.empty() || options_.only.contains(name_of(mutants_[i]))) order.push_back(i);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(options_.seed));
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return is_launched(mutants_[i]); });
  if (options_.most) order.resize(std::min(order.size(), *options_.most));
  return order;
}

void MutantTrials::work(const std::vector<std::size_t>& order, std::atomic<std::size_t>& next, double limit_s,
                        VerifyProgress::Step& step) {
  const auto begin = std::chrono::steady_clock::now();
  JudgeServer judge;
  for (std::size_t i; (i = next++) < order.size();) {
    throw_if_interrupted();
    if (seconds_since(begin) > limit_s) return;
    judge_mutant(judge, mutants_[order[i]]);
    tell(step, std::max(double(next) / double(order.size()), seconds_since(begin) / limit_s));
  }
}

void MutantTrials::judge_mutant(JudgeServer& judge, Mutant& mutant) {
  std::map<std::string, Outputs> outputs;  // by the order of warps
  try {
    if (known_to_be_reached(mutant).value_or(true)) outputs = judge_in_cases(judge, mutant);
    if (mutant.fate == Mutant::Fate::kUntried) classify(judge, mutant, outputs);
  } catch (const Interrupted&) {
    mutant.fate = Mutant::Fate::kUntried;
    throw;
  }
  const std::lock_guard lock(mutex_);
  ++tried_;
  if (mutant.fate == Mutant::Fate::kSurvived) ++survived_;
}

MutantTrials::Environment MutantTrials::environment_of(const Mutant& mutant,
                                                       const std::string& schedule) const {
  const Solution& own = solutions_[mutant.solution];
  const double slowest_s =
      shows_in_small_shapes(mutant) ? own.slowest_s : std::max(own.slowest_s, own.slowest_large_s);
  const double patience_s = 1 + kPatience * slowest_s;
  Environment environment{{kVariable, mutant.key},
                          {"WARPEMU_LAUNCH_TIMEOUT_S", fmt::format("{:.2f}", patience_s)}};
  if (!schedule.empty()) environment["WARPEMU_SCHEDULE"] = schedule;
  return environment;
}

// Until a case refuses it.
std::map<std::string, MutantTrials::Outputs> MutantTrials::judge_in_cases(JudgeServer& judge,
                                                                          Mutant& mutant) {
  std::map<std::string, Outputs> outputs;
  for (const std::string& schedule : schedules_for(mutant.operation)) {
    Answer answer = ask(judge, job(mutant.solution, environment_of(mutant, schedule), cases_for(mutant)));
    if (answer.refused || answer.faulted) {
      mutant.fate = answer.faulted ? Mutant::Fate::kNotJudged : Mutant::Fate::kRefused;
      mutant.refused_by = answer.by;
      mutant.verdict = answer.verdict;
      return {};
    }
    mutant.passed = answer.passed;
    outputs[schedule] = std::move(answer.outputs);
  }
  return outputs;
}

// Of one that every case accepts.
void MutantTrials::classify(JudgeServer& judge, Mutant& mutant,
                            const std::map<std::string, Outputs>& outputs) {
  mutant.fate = Mutant::Fate::kSurvived;
  if (options_.trust_reasons && reason_of(harmless_, mutant) != nullptr) return;
  const bool reached = !outputs.empty() && is_reached(judge, mutant);
  if (reached || (shows_in_small_shapes(mutant) && is_reached_in_shapes(judge, mutant))) {
    for (const std::string& schedule : schedules_for(mutant.operation)) {
      const auto in_cases = outputs.find(schedule);
      look_where_it_shows(judge, mutant, schedule, in_cases == outputs.end() ? Outputs() : in_cases->second);
      if (mutant.is_wrong) return;
    }
  }
  if (mutant.shows_in.empty()) mutant.fate = reached ? Mutant::Fate::kUnchanged : Mutant::Fate::kUnreached;
}

// By what was found of its block so far.
std::optional<bool> MutantTrials::known_to_be_reached(const Mutant& mutant) {
  const std::lock_guard lock(mutex_);
  const auto found = reached_.find(reach_key(mutant));
  return found == reached_.end() ? std::nullopt : std::optional(found->second);
}

// A program that traps there is accepted where no case gets there.
bool MutantTrials::is_reached(JudgeServer& judge, const Mutant& mutant) {
  if (const auto known = known_to_be_reached(mutant)) return *known;
  const std::string key = fmt::format("trap:{}:{}", mutant.kernel, mutant.ordinal);
  const Answer answer = ask(judge, job(mutant.solution, {{kVariable, key}}, cases_for(mutant)));
  const std::lock_guard lock(mutex_);
  return reached_[reach_key(mutant)] = answer.refused || answer.faulted;
}

bool MutantTrials::is_reached_in_shapes(JudgeServer& judge, const Mutant& mutant) {
  const std::string place = "shapes:" + reach_key(mutant);
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = reached_.find(place); found != reached_.end()) return found->second;
  }
  const Own& own = own_outputs(judge, mutant.solution, "");
  if (own.shapes.empty()) return false;
  const std::string key = fmt::format("trap:{}:{}", mutant.kernel, mutant.ordinal);
  const Answer answer = ask(judge, job(mutant.solution, {{kVariable, key}}, own.shapes));
  const std::lock_guard lock(mutex_);
  return reached_[place] = answer.refused || answer.faulted;
}

void MutantTrials::tell(VerifyProgress::Step& step, double share) {
  const std::lock_guard lock(mutex_);
  step.say(fmt::format("{} of {} tried, {} survive", tried_, mutants_.size(), survived_), share);
}

std::vector<std::string> MutantTrials::cases() const {
  std::vector<std::string> ids;
  for (const Case& input : run_->cases()) ids.push_back(input.id);
  return ids;
}

}  // namespace warpgrade
