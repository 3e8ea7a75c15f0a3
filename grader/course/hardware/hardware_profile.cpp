#include "course/hardware/hardware_profile.h"

#include <fmt/format.h>

#include <cstdlib>
#include <stdexcept>

#include "base/error.h"
#include "base/files.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/process.h"
#include "base/scoped_variable.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "base/untrusted.h"
#include "course/batch/devices.h"
#include "course/batch/grade_run.h"
#include "course/batch/judge_process.h"
#include "course/hardware/beside.h"
#include "course/hardware/counting_box.h"
#include "course/hardware/report_check.h"
#include "course/profile/device_rates.h"
#include "judge/judging/figures.h"
#include "judge/judging/gpu_lease.h"
#include "judge/labs/registry.h"

namespace warpgrade::hardware {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kMostReportBytes = 12 << 20;  // what a desk sends holds it, and a little more

// A model of ncu, named by WARPGRADE_NCU, needs no GPU: then the program runs on the emulator.
bool model_alone() {
  const char* named = std::getenv("WARPGRADE_NCU");
  return named != nullptr && *named != '\0' && probe_gpu().empty();
}

std::optional<JudgeDevice> device_of(const std::string& gpu) {
  if (model_alone()) return std::nullopt;
  std::vector<std::string> left_out;
  std::vector<std::string> asked;
  if (!gpu.empty()) asked.push_back(gpu);
  const std::vector<JudgeDevice> devices = find_devices("cuda", asked, left_out);
  if (devices.empty()) throw UsageError("no NVIDIA GPU with a working driver is here");
  return devices.front();
}

// Where it lives, the emulator describes itself as this GPU, and the program holds machine code for it.
struct EmulatedAs {
  explicit EmulatedAs(const std::string& architecture)
      : architecture_("WARPGRADE_EMULATOR_ARCH", architecture) {
    if (const std::string known = device_of_architecture(architecture); !known.empty())
      device_.emplace("WARPEMU_DEVICE", known);
  }

 private:
  ScopedVariable architecture_;
  std::optional<ScopedVariable> device_;
};

// The one case's record; its inputs lie in `kept` then.
Record judge(const HardwareOptions& options, const fs::path& run, const fs::path& kept) {
  GradeOptions grade_options;
  grade_options.lab = options.lab;
  grade_options.submissions = options.submission;
  grade_options.run = run;
  grade_options.backend = "emulator";
  grade_options.cases = {options.test_case};
  grade_options.policy = options.policy;
  grade_options.allow_unsandboxed = options.allow_unsandboxed;
  grade_options.checks = "memcheck,counters";
  grade_options.measure_speed = false;
  grade_options.quiet = true;
  grade_options.keep_calls = kept;
  const std::vector<Record> records = RunFolder(grade(grade_options).run).read_records();
  if (records.size() != 1)
    throw UsageError("'{}' names {} cases of lab {}; counters are of one case", options.test_case,
                     records.size(), options.lab);
  return records.front();
}

// A program that is wrong there is not run on the GPU: it may write anywhere. One that had too little
// time is.
void require_right(const Outcome& outcome) {
  if (outcome.accepted() || outcome.verdict == Verdict::kTimeLimit) return;
  throw UsageError("the emulator says {}: {}; correct it first, then count", word_of(outcome.verdict),
                   outcome.message);
}

// Whether the GPU still works is asked where a program had to be ended. Tests have no GPU that hangs.
void require_device(const std::optional<JudgeDevice>& device, const std::string& submission) {
  std::optional<std::string> wedged;
  if (device) wedged = JudgeClient(device->visible).device_fault();
  try {
    inject("counted_gpu", submission);
  } catch (const std::runtime_error& error) {
    wedged = error.what();
  }
  if (wedged) throw GpuWedged("{}", *wedged);
}

void run_alone(CountingBox& box, const std::optional<JudgeDevice>& device, const std::string& submission) {
  GpuLease lease = device ? GpuLease(device->lease) : GpuLease();
  lease.own();
  const bool in_time = box.collect();
  if (!in_time) require_device(device, submission);
  lease.release();
  if (!in_time)
    throw UsageError(
        "the program did not end in the time that a run with counters has; choose a smaller case");
}

void take_report(HardwareProfile& profile, const CountingBox& box, SandboxMode mode) {
  if (mode == SandboxMode::kUnsandboxed) {
    profile.no_report = "the program ran without a box, and a report would tell of this machine";
    return;
  }
  std::string bytes = box.report();
  if (bytes.size() > kMostReportBytes) {
    profile.no_report = fmt::format(
        "ncu's report has {} MiB, and at most {} are given out; choose a case with fewer launches",
        bytes.size() >> 20, kMostReportBytes >> 20);
    return;
  }
  const HostFacts facts = host_facts();
  std::string told = what_it_tells(bytes, facts);
  try {
    // What ncu makes of it too: a part of the file may be packed.
    if (told.empty()) told = what_it_tells(box.session(), facts);
  } catch (const UsageError& error) {
    profile.no_report =
        fmt::format("ncu's report is not given out, since it was not looked at: {}", error.what());
    return;
  }
  if (!told.empty()) {
    profile.no_report = fmt::format("ncu's report is not given out: it holds {}", told);
    return;
  }
  profile.report = std::move(bytes);
}

std::string in_html(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string heading(const json& summary) {
  return fmt::format("{} on {}: {} on {}, ncu's counters of at most {} launches\n", word(summary, "lab"),
                     word(summary, "case"), word(summary, "verdict"), word(summary, "device"), kMostLaunches);
}

}  // namespace

std::string refusal() {
  const Toolchain toolchain = find_toolchain();
  if (!find_ncu(toolchain.nvcc.parent_path().parent_path()))
    return "ncu (NVIDIA Nsight Compute) was not found; install it with the CUDA toolkit, or set "
           "WARPGRADE_NCU";
  if (model_alone()) return "";
  if (probe_gpu().empty()) return "no NVIDIA GPU with a working driver is here";
  return permission_refusal("/");
}

void write_profile(const HardwareProfile& profile, const fs::path& folder) {
  make_directories(folder);
  write_text(folder / "hardware.json", json_text(profile.summary, 1) + "\n");
  write_text(folder / "hardware.md", fmt::format("# Counters of a GPU\n```\n{}```\n", profile.text));
  write_text(folder / "index.html",
             fmt::format("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>Counters of a GPU</title>\n"
                         "<pre>{}</pre>\n",
                         in_html(profile.text)));
  if (!profile.report.empty()) write_text(folder / "profile.ncu-rep", profile.report);
}

HardwareProfile hardware_profile(const HardwareOptions& options) {
  if (const std::string why = refusal(); !why.empty()) throw UsageError("no counters of a GPU: {}", why);
  const std::optional<JudgeDevice> device = device_of(options.gpu);
  std::optional<EmulatedAs> emulated;
  if (device) emulated.emplace(std::to_string(device->about.at("compute_capability").get<int>()));
  const TemporaryDirectory scratch("warpgrade-hardware");
  const fs::path kept = scratch.path() / "case";
  make_directories(kept);
  const Submission submission = find_submissions(options.submission, options.lab).front();
  if (is_python(submission))
    throw UsageError(
        "counters of a GPU are there for CUDA C++ alone; `warpgrade profile` counts Python on the emulator");
  const Record record = judge(options, scratch.path() / "run", kept);
  require_right(record.outcome);
  if (!fs::exists(kept / "calls"))
    throw UsageError("the case's inputs have more than {} MiB; choose a smaller case", std::size_t{2} << 10);
  const SandboxMode mode = probe_sandbox().works ? SandboxMode::kBubblewrap : SandboxMode::kUnsandboxed;
  CountingBox box(
      {scratch.path(), kept, mode, device ? device->visible : "", device.has_value(), options.limit},
      submission);
  run_alone(box, device, submission.id);
  HardwareProfile profile;
  profile.summary = {{"schema", "warpgrade.hardware.v1"},
                     {"lab", options.lab},
                     {"submission", submission.hash},
                     {"case", options.test_case},
                     {"verdict", record.outcome.verdict},
                     {"device", device ? device->about.value("name", "a GPU") : "the emulator"},
                     {"kernels", set_beside(box.launches(), record.counters)}};
  take_report(profile, box, mode);
  profile.text = heading(profile.summary) + "\n" + beside_text(profile.summary["kernels"]);
  if (!profile.no_report.empty()) profile.text += profile.no_report + ".\n";
  return profile;
}

}  // namespace warpgrade::hardware
