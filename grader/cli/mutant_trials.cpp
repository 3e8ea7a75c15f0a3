#include "cli/mutant_trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <sstream>
#include <thread>
#include <tuple>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/toolchain.h"
#include "judge/judging/program_box.h"
#include "judge/judging/verdict.h"
#include "judge/labs/registry.h"
#include "judge/sandbox/usable_cores.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kVariable = "WARPEMU_MUTANT";
constexpr double kUsualLimitS = 300;
// A launch of a mutant may take so many times what the solution's slowest case took, and a second more: a
// loop without an end costs no more.
constexpr double kPatience = 5;

// Each with its folder, in the ladder's order.
std::vector<std::pair<std::string, fs::path>> solutions_of(const std::string& lab) {
  const fs::path room = project_root() / "reference" / lab;
  std::vector<std::pair<std::string, fs::path>> found;
  std::vector<fs::path> steps;
  if (fs::is_directory(room / "steps")) {
    for (const auto& entry : fs::directory_iterator(room / "steps"))
      if (entry.is_directory()) steps.push_back(entry.path());
  }
  std::sort(steps.begin(), steps.end());
  if (fs::is_directory(room / "naive")) found.emplace_back("naive", room / "naive");
  for (const fs::path& step : steps) found.emplace_back("step-" + step.filename().string(), step);
  if (fs::is_directory(room / "optimized")) found.emplace_back("optimized", room / "optimized");
  return found;
}

bool is_meant(const std::string& solution, const std::string& asked) {
  return asked.empty() || asked == solution || "step-" + asked == solution ||
         (asked == "step" && solution.starts_with("step-"));
}

// What orders threads: whether it is missed may show in another order of warps alone.
bool orders_threads(const std::string& operation) {
  return operation == "no_barrier" || operation == "no_fence" || operation == "no_wait";
}

// Instructions with one key are reached together: those of a block, but for their guards.
std::string reach_key(const Mutant& mutant) {
  const bool guarded = mutant.instruction.starts_with("@");
  return fmt::format("{}:{}:{}:{}", mutant.solution_id, mutant.kernel, guarded ? "guarded" : "block",
                     guarded ? mutant.ordinal : mutant.block);
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
  mutant.file = fs::path(listed.at("file").get<std::string>()).filename().string();
  mutant.line = listed.at("line");
  mutant.inlined_from = listed.at("inlined_from");
  return mutant;
}

}  // namespace

MutantTrials::MutantTrials(const MutantsOptions& options, VerifyProgress& progress)
    : options_(options), progress_(progress), scratch_("warpgrade-mutants"), quiet_(true) {}

void MutantTrials::run() {
  copy_solutions();
  run_.emplace(grade_options(), quiet_);
  judging_.emplace(*run_, quiet_);
  solutions_.assign(run_->submissions().size(), {});
  compile();
  {
    const VerifyProgress::Step step(progress_, "solutions as they are");
    JudgeServer judge;
    for (std::size_t i = 0; i < solutions_.size(); ++i) {
      judge_unchanged(i, judge);
      list(i);
    }
  }
  const VerifyProgress::Step step(progress_, "mutants");
  const std::vector<std::size_t> order = this->order();
  const double limit_s = options_.limit_s.value_or(options_.all ? 1e9 : kUsualLimitS);
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  {
    std::vector<std::jthread> threads;
    for (int worker = 0; worker < usable_cores(); ++worker)
      threads.emplace_back([&] {
        try {
          work(order, next, limit_s);
        } catch (...) {
          const std::lock_guard lock(mutex_);
          if (!failure) failure = std::current_exception();
          next = order.size();
        }
      });
  }
  if (failure) std::rethrow_exception(failure);
}

std::vector<std::string> MutantTrials::correctness_cases() const {
  std::vector<std::string> ids;
  for (const CaseSpec& c : find_lab(options_.lab).cases())
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
  const VerifyProgress::Step step(progress_, "compiling");
  for (std::size_t i = 0; i < solutions_.size(); ++i) {
    const std::string& id = run_->submissions()[i].id;
    progress_.say(id);
    throw_if_interrupted();
    judging_->compile(i);
    if (!judging_->compiled(i).ok())
      throw UsageError("{} does not compile: {}", id, judging_->compiled(i).message);
  }
}

JudgeJob MutantTrials::job(std::size_t solution,
                           const std::map<std::string, std::string>& environment) const {
  Judging::Share share;
  const std::vector<CaseInput>& known = solutions_[solution].cases;
  JudgeJob job = judging_->job_for(solution, known.empty() ? run_->cases() : known, share);
  job.context.run_seed = Sha256().part(std::to_string(options_.seed)).hex();
  job.context.seed = Sha256().part(job.context.run_seed).part(run_->submissions()[solution].id).hex();
  job.context.first_refusal_ends = true;
  for (const auto& [name, value] : environment) job.context.submission.environment[name] = value;
  return job;
}

MutantTrials::Answer MutantTrials::ask(JudgeServer& judge, JudgeJob job) const {
  Answer answer;
  JudgeEvents events;
  events.on_record = [&](const std::string& id, const json& record) {
    answer.wall_s[id] = record.at("wall_s");
    const std::string verdict = record.at("outcome").at("verdict");
    if (verdict == verdicts::kAccepted) return answer.passed.push_back(id);
    const json& outcome = record.at("outcome");
    // What the emulator cannot run says nothing about the case.
    (outcome.value("reason", "").starts_with("unsupported") ? answer.faulted : answer.refused) = true;
    answer.by = id;
    answer.verdict = verdict + ": " + outcome.value("message", "");
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
  progress_.say(id);
  const Answer answer = ask(judge, job(solution, {}));
  if (answer.refused || answer.faulted)
    throw UsageError("{} itself is not accepted in case {}: {}", id, answer.by, answer.verdict);
  Solution& own = solutions_[solution];
  own.cases = run_->cases();
  const auto wall_s = [&](const CaseInput& input) { return answer.wall_s.at(input.spec.id); };
  std::stable_sort(own.cases.begin(), own.cases.end(),
                   [&](const CaseInput& x, const CaseInput& y) { return wall_s(x) < wall_s(y); });
  own.slowest_s = wall_s(own.cases.back());
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
  std::vector<std::size_t> order(mutants_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(options_.seed));
  return order;
}

void MutantTrials::work(const std::vector<std::size_t>& order, std::atomic<std::size_t>& next,
                        double limit_s) {
  const auto begin = std::chrono::steady_clock::now();
  JudgeServer judge;
  for (std::size_t i; (i = next++) < order.size();) {
    throw_if_interrupted();
    if (seconds_since(begin) > limit_s) return;
    judge_mutant(judge, mutants_[order[i]]);
    tell();
  }
}

void MutantTrials::judge_mutant(JudgeServer& judge, Mutant& mutant) {
  if (known_to_be_reached(mutant).value_or(true))
    judge_reached(judge, mutant);
  else
    mutant.fate = Mutant::Fate::kUnreached;
  const std::lock_guard lock(mutex_);
  ++tried_;
  if (mutant.fate == Mutant::Fate::kSurvived) ++survived_;
}

// As far as anybody knows, it is reached.
void MutantTrials::judge_reached(JudgeServer& judge, Mutant& mutant) {
  const double patience_s = 1 + kPatience * solutions_[mutant.solution].slowest_s;
  std::map<std::string, std::string> environment{
      {kVariable, mutant.key}, {"WARPEMU_LAUNCH_TIMEOUT_S", fmt::format("{:.2f}", patience_s)}};
  Answer answer = ask(judge, job(mutant.solution, environment));
  mutant.passed = answer.passed;
  for (const char* schedule : {"reversed", "one_ahead"}) {
    if (answer.refused || answer.faulted || !orders_threads(mutant.operation)) break;
    environment["WARPEMU_SCHEDULE"] = schedule;
    answer = ask(judge, job(mutant.solution, environment));
  }
  mutant.refused_by = answer.by;
  mutant.verdict = answer.verdict;
  mutant.fate = answer.faulted              ? Mutant::Fate::kNotJudged
                : answer.refused            ? Mutant::Fate::kRefused
                : is_reached(judge, mutant) ? Mutant::Fate::kSurvived
                                            : Mutant::Fate::kUnreached;
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
  const Answer answer = ask(judge, job(mutant.solution, {{kVariable, key}}));
  const std::lock_guard lock(mutex_);
  return reached_[reach_key(mutant)] = answer.refused || answer.faulted;
}

void MutantTrials::tell() {
  const std::lock_guard lock(mutex_);
  progress_.say(fmt::format("{} of {} tried, {} survive", tried_, mutants_.size(), survived_));
}

std::vector<std::string> MutantTrials::cases() const {
  std::vector<std::string> ids;
  for (const CaseInput& input : run_->cases()) ids.push_back(input.spec.id);
  return ids;
}

}  // namespace warpgrade
