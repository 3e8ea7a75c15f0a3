// Compiles what is judged, and what it is timed against.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <future>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "course/batch/attempt_mark.h"
#include "course/batch/case_dispatcher.h"
#include "course/batch/disk_retry.h"
#include "course/batch/error_of.h"
#include "judge/compile/python_build.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

CompileOptions CaseDispatcher::compile_options() const {
  CompileOptions options;
  options.lab = run_.lab().name();
  options.architecture = run_.backend().architecture;
  options.sandbox = run_.sandbox();
  options.limit = std::chrono::milliseconds(static_cast<long>(1e3 * run_.policy().limits.compile_s));
  options.forbidden_flags = run_.policy().limits.forbidden_flags;
  options.for_gpu = run_.on_gpu();
  options.notify = [this](const std::string& text) { progress_.note(text); };
  return options;
}

void CaseDispatcher::compile(size_t i) {
  if (const int died = deaths(i); died >= kMostDeaths) {
    not_compiled_why_[i] = fmt::format("{} calls of warpgrade died while they handled this submission", died);
    AttemptMark::forget(folder_of(i));  // the next call tries again
    return;
  }
  const AttemptMark mark(folder_of(i));
  const auto why = error_of([&] {
    try {
      compile_now(i);
    } catch (const MemoryShort& lack) {
      throw JudgeFault(note_memory_short(i, "", lack.what()));
    }
  });
  not_compiled_why_[i] = why ? "compiling: " + *why : "";
}

void CaseDispatcher::compile_again(size_t i) {
  if (!compiled_[i].busy) return;
  progress_.note("compiling again, alone: " + label(i));
  compile(i);
}

void CaseDispatcher::compile_now(size_t i) {
  const Submission& submission = run_.submissions()[i];
  const auto start = std::chrono::steady_clock::now();
  CompileOptions options = compile_options();
  if (is_python(submission)) options.dry_run_cases = run_.lab().dry_run_cases(run_.cases());
  const std::vector<std::string> vendors = vendor_libraries_of(submission);
  if (!vendors.empty()) add_vendor_libraries(submission, vendors, options);
  compiled_[i] = compiler_.compile(submission, options);
  if (!run_.options().direct && !vendors.empty() && compiled_[i].ok()) {
    compiled_[i].status = word_of(Verdict::kCompileError);
    compiled_[i].reason = Reason::kNeedsDirect;
    compiled_[i].message = fmt::format(
        "a baseline that calls {} is judged with --direct alone: a submission's box has no vendor's library",
        fmt::join(vendors, ", "));
  }
  if (run_.options().direct && is_python(submission) && compiled_[i].ok()) {
    compiled_[i].status = word_of(Verdict::kCompileError);
    compiled_[i].reason = Reason::kNeedsExecutor;
    compiled_[i].message = "a submission in Python runs beside an executor alone: judge it without --direct";
  }
  compile_s_[i] = seconds_since(start);
  json record = compiled_[i].to_json();
  record["schema"] = "warpgrade.submission.v1";
  record["run"] = run_.description().at("run");
  record["submission"] = submission.to_json();
  record["lab"] = run_.lab().name();
  record["hash"] = submission.hash;
  record["files"] = json::array();
  for (const fs::path& file : submission.files) record["files"].push_back(file.string());
  const fs::path folder = run_.folder().submission_folder(submission.id);
  retry_when_disk_full(events_, run_.options().log_progress, [&] {
    make_directories(folder);
    write_text(folder / "compile.log", compiled_[i].log);
    write_text(folder / "compile.json", json_text(record, 1) + "\n");
  });
  if (GradeWatcher* watcher = run_.options().watcher) watcher->compiled();
}

// The lab's baselines that were asked for, those that the policy speaks of always among them. One that is
// secret is missing in the students' hand-out: their own runs do without it.
std::vector<Baseline> CaseDispatcher::chosen_baselines() const {
  std::vector<Baseline> chosen = run_.lab().baselines();
  std::erase_if(chosen, [&](const Baseline& baseline) {
    return run_.policy().secret_baselines.contains(baseline.name) &&
           !std::filesystem::exists(project_root() / baseline.folder);
  });
  const std::vector<std::string>& names = run_.options().baselines;
  if (names.empty()) return chosen;
  const auto named = [&](const std::string& name) {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](const Baseline& baseline) { return baseline.name == name; });
  };
  for (const std::string& name : names) {
    if (!named(name)) throw UsageError("lab {1} has no baseline '{0}'", name, run_.lab().name());
  }
  std::erase_if(chosen, [&](const Baseline& baseline) {
    return baseline.name != run_.policy().baseline && !run_.policy().faster_than.contains(baseline.name) &&
           std::find(names.begin(), names.end(), baseline.name) == names.end();
  });
  return chosen;
}

// Of a reference that is one of the lab's baselines; a student's submission gets none, whatever it calls.
std::vector<std::string> CaseDispatcher::vendor_libraries_of(const Submission& submission) const {
  if (submission.role != Role::kReference) return {};
  for (const Baseline& baseline : run_.lab().baselines()) {
    std::error_code absent;
    if (fs::equivalent(project_root() / baseline.folder, submission.directory, absent))
      return baseline.libraries;
  }
  return {};
}

void CaseDispatcher::add_vendor_libraries(const Submission& baseline,
                                          const std::vector<std::string>& libraries,
                                          CompileOptions& options) {
  options.libraries = libraries;
  // What the lab's baselines share lies beside their folders.
  options.extra_includes = {baseline.directory.parent_path(), baseline.directory};
}

JudgeContext::BaselineRunner CaseDispatcher::baseline_runner(const Lab& lab, const Baseline& baseline) {
  const Submission source = read_submission(project_root() / baseline.folder, lab.name(), Role::kBaseline);
  CompileOptions options = compile_options();
  options.lab = lab.name();
  add_vendor_libraries(source, baseline.libraries, options);
  const CompileResult result = compiler_.compile(source, options);
  if (!result.ok()) throw JudgeFault("baseline {} does not compile: {}", baseline.name, result.message);
  RunnerSpec spec = runner_spec(baseline.name, result.executable, {});
  spec.sandbox = SandboxMode::kUnsandboxed;  // ours
  spec.vendor_libraries = true;
  spec.executor.clear();
  return {baseline.name, spec, baseline.every_pair, false};
}

void CaseDispatcher::compile_baselines() {
  // On the emulator nothing is timed: one that was asked for runs where the oracle refuses a program.
  if (!run_.on_gpu() && run_.options().baselines.empty()) return;
  // Students' hand-outs are without it: there the first baseline answers.
  const auto truth = run_.lab().device_truth();
  if (truth && run_.on_gpu() && fs::exists(project_root() / truth->folder)) {
    baselines_.push_back(baseline_runner(run_.lab(), *truth));
    baselines_.back().for_truth = true;
  }
  std::vector<std::future<JudgeContext::BaselineRunner>> compiled;
  for (const Baseline& baseline : chosen_baselines()) {
    if (!run_.on_gpu() && !baseline.libraries.empty()) continue;  // a vendor's may be missing there
    progress_.update("compiling baseline " + baseline.name);
    compiled.push_back(
        std::async(std::launch::async, [&, baseline] { return baseline_runner(run_.lab(), baseline); }));
  }
  for (auto& baseline : compiled) baselines_.push_back(baseline.get());
}

}  // namespace warpgrade
