#include "cli/mutant_trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
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
// A solution's random shapes: what all may take together, so that tens of survivors are looked at in minutes, and how
// many times its share of that one may take. So many are drawn for each that is wanted: those that take long are left
// out.
constexpr double kShapesS = 20, kTimesItsShare = 4;
constexpr std::size_t kDrawn = 10;
// A launch of a mutant may take so many times what the solution took for the case, and some seconds more: a
// loop without an end costs no more.
constexpr double kPatience = 5, kPatienceS = 3;

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
bool shows_in_shapes(const Mutant& mutant) {
  return mutant.operation != "offset_32";
}
bool is_large(const Case& input) {
  return input.set == "large";
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
  dispatcher_.emplace(*run_, quiet_);
  const auto begin = std::chrono::steady_clock::now();
  solutions_.resize(run_->submissions().size());
  for (const Case& input : run_->cases()) (is_large(input) ? large_ : cases_).push_back(input);
  shapes_ = random_shapes(run_->lab(), run_->cases(), options_.seed, kDrawn * options_.shapes);
  compile();
  {
    VerifyProgress::Step step(progress_, "solutions as they are");
    in_parallel(solutions_.size(), [&](JudgeClient& judge, std::size_t i) {
      step.say(run_->submissions()[i].id);
      judge_unchanged(judge, i);
      list(i);
      return true;
    });
  }
  for (Solution& solution : solutions_)
    mutants_.insert(mutants_.end(), solution.listed.begin(), solution.listed.end());
  VerifyProgress::Step step(progress_, "mutants");
  const std::vector<std::size_t> order = this->order();
  const double limit_s = options_.limit_s.value_or(options_.all ? 1e9 : kUsualLimitS);
  const auto first = std::chrono::steady_clock::now();
  in_parallel(order.size(), [&](JudgeClient& judge, std::size_t i) {
    if (seconds_since(first) > limit_s) return false;
    judge_mutant(judge, mutants_[order[i]]);
    tell(step, std::max(double(i + 1) / double(order.size()), seconds_since(first) / limit_s));
    return true;
  });
  wall_s_ = seconds_since(begin);
}

void MutantTrials::in_parallel(std::size_t count,
                               const std::function<bool(JudgeClient&, std::size_t)>& work) const {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  const int wanted = options_.workers > 0 ? options_.workers : usable_cores();
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < std::min(wanted, static_cast<int>(count)); ++worker)
      threads.emplace_back([&] {
        try {
          JudgeClient judge;
          for (std::size_t i; (i = next++) < count;) {
            throw_if_interrupted();
            if (!work(judge, i)) return;
          }
        } catch (...) {
          const std::lock_guard lock(mutex);
          if (!failure) failure = std::current_exception();
          next = count;
        }
      });
  }
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
    dispatcher_->compile(i);
    if (!dispatcher_->compiled(i).ok())
      throw UsageError("{} does not compile: {}", id, dispatcher_->compiled(i).message);
  }
}

JudgeJob MutantTrials::job(std::size_t solution, const Environment& environment,
                           std::vector<Case> cases) const {
  const CaseDispatcher::Share share;
  JudgeJob job = dispatcher_->job_for(solution, std::move(cases), share);
  job.context.run_seed = Sha256().part(std::to_string(options_.seed)).hex();
  job.context.seed = Sha256().part(job.context.run_seed).part(run_->submissions()[solution].id).hex();
  job.context.first_refusal_ends = true;
  job.context.note_outputs = true;
  for (const auto& [name, value] : environment) job.context.submission.environment[name] = value;
  return job;
}

MutantTrials::Answer MutantTrials::ask(JudgeClient& judge, JudgeJob job) const {
  Answer answer;
  JudgeEvents events;
  events.on_record = [&](const std::string& id, const json& record) {
    answer.wall_s[id] = record.at("wall_s");
    answer.outputs[id] = record.value("outputs_noted", std::vector<std::string>());
    answer.reached[id] = ReachedInstructions::read(record.value("counters", json::object()));
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

void MutantTrials::judge_unchanged(JudgeClient& judge, std::size_t solution) {
  solutions_[solution].cases = own(judge, solution, cases_, false);
}

// `may_fail`: of inputs that it is not right in, which say nothing.
MutantTrials::Own MutantTrials::own(JudgeClient& judge, std::size_t solution, const std::vector<Case>& inputs,
                                    bool may_fail) const {
  Own own;
  own.is_known = true;
  if (inputs.empty()) return own;
  JudgeJob asked = job(solution, {{kVariable, "reached"}}, inputs);
  asked.context.first_refusal_ends = !may_fail;
  Answer answer = ask(judge, std::move(asked));
  if (!may_fail && (answer.refused || answer.faulted))
    throw UsageError("{} itself is not accepted in case {}: {}", run_->submissions()[solution].id, answer.by,
                     answer.verdict);
  for (const Case& input : inputs)
    if (std::find(answer.passed.begin(), answer.passed.end(), input.id) != answer.passed.end())
      own.inputs.push_back(input);
  std::stable_sort(own.inputs.begin(), own.inputs.end(), [&](const Case& x, const Case& y) {
    return answer.wall_s.at(x.id) < answer.wall_s.at(y.id);
  });
  own.wall_s = std::move(answer.wall_s);
  own.reached = std::move(answer.reached);
  own.outputs = std::move(answer.outputs);
  return own;
}

// Solutions choose among kernels by sizes. Mutants of one that no case launches need no trial each.
bool MutantTrials::is_launched(const Mutant& mutant) const {
  const auto& reached = solutions_[mutant.solution].cases.reached;
  return !mutant.in_kernel || std::any_of(reached.begin(), reached.end(), [&](const auto& of_case) {
    return of_case.second.runs(mutant.kernel);
  });
}

std::map<std::pair<std::string, std::string>, std::size_t> MutantTrials::never_launched() const {
  std::map<std::pair<std::string, std::string>, std::size_t> found;
  for (const Mutant& mutant : mutants_)
    if (!is_launched(mutant)) ++found[{mutant.solution_id, mutant.title}];
  return found;
}

// What the solution itself does there, found when it is needed first.
const MutantTrials::Own& MutantTrials::known(JudgeClient& judge, std::size_t solution, Own Solution::*of,
                                             const std::vector<Case>& inputs, bool may_fail) {
  Solution& owner = solutions_[solution];
  const std::lock_guard lock(owner.mutex);
  Own& found = owner.*of;
  if (!found.is_known) found = own(judge, solution, inputs, may_fail);
  return found;
}

// The emulator lists the mutants when the program ends, which it does at once: nobody tells it what to do.
void MutantTrials::list(std::size_t solution) {
  const std::string& id = run_->submissions()[solution].id;
  RunnerSpec spec = job(solution, {{kVariable, "list"}}, {}).context.submission;
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
  std::vector<Mutant>& mutants = solutions_[solution].listed;
  for (std::string line; std::getline(lines, line);) {
    const json listed = json::parse(line, nullptr, false);
    if (!listed.is_object() || !listed.contains("mutant")) continue;
    mutants.push_back(mutant_of(listed, solution, id));
    Mutant& mutant = mutants.back();
    mutant.nth = ++seen[{mutant.file, mutant.line, mutant.operation}];
  }
  if (mutants.empty()) throw JudgeFault("the emulator lists no mutant of {}", id);
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

void MutantTrials::judge_mutant(JudgeClient& judge, Mutant& mutant) {
  try {
    bool reached = judge_in_cases(judge, mutant, solutions_[mutant.solution].cases);
    if (mutant.fate == Mutant::Fate::kUntried && !shows_in_shapes(mutant))
      reached |=
          judge_in_cases(judge, mutant, known(judge, mutant.solution, &Solution::large, large_, false));
    if (mutant.fate == Mutant::Fate::kUntried) {
      mutant.fate = Mutant::Fate::kSurvived;
      const bool is_trusted = options_.trust_reasons && reason_of(harmless_, mutant) != nullptr;
      if (!is_trusted && shows_in_shapes(mutant)) look_in_shapes(judge, mutant);
      if (!is_trusted && mutant.shows_in.empty())
        mutant.fate = reached ? Mutant::Fate::kUnchanged : Mutant::Fate::kUnreached;
    }
  } catch (const Interrupted&) {
    mutant.fate = Mutant::Fate::kUntried;
    throw;
  }
  const std::lock_guard lock(mutex_);
  ++tried_;
  if (mutant.fate == Mutant::Fate::kSurvived) ++survived_;
}

MutantTrials::Environment MutantTrials::environment_of(const Mutant& mutant, const std::string& schedule,
                                                       double own_s) const {
  Environment environment{
      {kVariable, mutant.key},
      {"WARPEMU_LAUNCH_TIMEOUT_S", fmt::format("{:.2f}", kPatienceS + kPatience * own_s)}};
  if (!schedule.empty()) environment["WARPEMU_SCHEDULE"] = schedule;
  return environment;
}

MutantTrials::Answer MutantTrials::judge_in(JudgeClient& judge, Mutant& mutant, const Case& input,
                                            const std::string& schedule, const Own& own) {
  throw_if_interrupted();
  const double own_s = own.wall_s.at(input.id);
  return ask(judge, job(mutant.solution, environment_of(mutant, schedule, own_s), {input}));
}

// Until one refuses it. Whether any gets to the instruction: the others accept it without a look.
bool MutantTrials::judge_in_cases(JudgeClient& judge, Mutant& mutant, const Own& own) {
  bool reached = false;
  for (const Case& input : own.inputs) mutant.passed.push_back(input.id);
  for (const Case& input : own.inputs) {
    if (!own.reached.at(input.id).gets_to(mutant)) continue;
    reached = true;
    for (const std::string& schedule : schedules_for(mutant.operation)) {
      const Answer answer = judge_in(judge, mutant, input, schedule, own);
      if (answer.refused || answer.faulted) {
        mutant.fate = answer.faulted ? Mutant::Fate::kNotJudged : Mutant::Fate::kRefused;
        mutant.refused_by = answer.by;
        mutant.verdict = answer.verdict;
        mutant.passed.clear();
        return true;
      }
      if (mutant.shows_in.empty() && !is_own_output(judge, mutant, input, schedule, own, answer.outputs))
        mutant.shows_in = fmt::format("case {}: other bits, accepted", input.id);
    }
  }
  return reached;
}

// As many as are wanted, where the time suffices.
std::vector<Case> MutantTrials::shapes_for(std::size_t solution) const {
  const Own& cases = solutions_[solution].cases;
  std::vector<Case> chosen;
  double left_s = kShapesS;
  for (const Case& shape : shapes_) {
    if (chosen.size() == options_.shapes) break;
    const double needed_s = expected_seconds(shape, cases.inputs, cases.wall_s);
    const double share_s = left_s / static_cast<double>(options_.shapes - chosen.size());
    if (needed_s > std::min(left_s, kTimesItsShare * share_s)) continue;
    left_s -= needed_s;
    chosen.push_back(shape);
  }
  return chosen;
}

// Of a mutant that every case accepts: where a random shape refuses it, or where an output has other bits
// than the solution's own.
void MutantTrials::look_in_shapes(JudgeClient& judge, Mutant& mutant) {
  const Own& own = known(judge, mutant.solution, &Solution::shapes, shapes_for(mutant.solution), true);
  for (const Case& shape : own.inputs) {
    if (!own.reached.at(shape.id).gets_to(mutant)) continue;
    const std::string words = "random shape " + shape_words(shape);
    for (const std::string& schedule : schedules_for(mutant.operation)) {
      const Answer answer = judge_in(judge, mutant, shape, schedule, own);
      if (answer.refused) {
        mutant.is_wrong = true;
        mutant.shows_in = fmt::format("{}: {}", words, answer.verdict);
        return;
      }
      if (mutant.shows_in.empty() && !is_own_output(judge, mutant, shape, schedule, own, answer.outputs))
        mutant.shows_in = words + ": other bits, accepted";
    }
  }
}

// Most programs write the same bits in each order of warps: what the solution itself writes in another one is
// asked only where the bits are others.
bool MutantTrials::is_own_output(JudgeClient& judge, const Mutant& mutant, const Case& input,
                                 const std::string& schedule, const Own& own, const Outputs& outputs) {
  const std::string& id = input.id;
  const auto found = outputs.find(id);
  if (found == outputs.end() || found->second == own.outputs.at(id)) return true;
  if (schedule.empty()) return false;
  Solution& solution = solutions_[mutant.solution];
  const std::lock_guard lock(solution.mutex);
  Outputs& ordered = solution.ordered[schedule];
  if (!ordered.contains(id))
    ordered[id] = ask(judge, job(mutant.solution, {{"WARPEMU_SCHEDULE", schedule}}, {input})).outputs[id];
  return found->second == ordered.at(id);
}

void MutantTrials::tell(VerifyProgress::Step& step, double share) {
  const std::lock_guard lock(mutex_);
  step.say(fmt::format("{} of {} tried, {} survive", tried_, mutants_.size(), survived_), share);
}

std::size_t MutantTrials::shapes() const {
  std::optional<std::size_t> fewest;
  for (const Solution& solution : solutions_)
    if (solution.shapes.is_known)
      fewest = std::min(fewest.value_or(~std::size_t{0}), solution.shapes.inputs.size());
  return fewest.value_or(0);
}

std::vector<std::string> MutantTrials::cases() const {
  std::vector<std::string> ids;
  for (const Case& input : run_->cases()) ids.push_back(input.id);
  return ids;
}

}  // namespace warpgrade
