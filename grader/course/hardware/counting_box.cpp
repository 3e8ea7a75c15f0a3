#include "course/hardware/counting_box.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"
#include "base/untrusted.h"
#include "judge/protocol/call_tape.h"

namespace warpgrade::hardware {
namespace fs = std::filesystem;

namespace {

const fs::path kInside = "/run/warpgrade";
constexpr const char* kReport = "profile.ncu-rep";
constexpr std::chrono::seconds kShort{60};                 // of what ncu does without the program
constexpr std::size_t kBoxMemory = std::size_t{16} << 30;  // ncu keeps what it replays
constexpr std::size_t kBoxProcesses = 2048, kTemporary = std::size_t{512} << 20;
constexpr std::size_t kMostFile = std::size_t{8} << 30;  // that the box may write
constexpr std::size_t kMostReadReport = std::size_t{64} << 20, kMostTable = std::size_t{32} << 20;

std::string inside(const fs::path& name) {
  return (kInside / name).string();
}

void write_sources(const Submission& submission, const fs::path& folder) {
  const auto read = read_files(submission);
  if (const auto* why = std::get_if<std::string>(&read)) throw UsageError("{}", *why);
  for (const SubmittedFile& file : std::get<std::vector<SubmittedFile>>(read)) {
    make_directories((folder / file.name).parent_path());
    write_text(folder / file.name, file.text);
  }
}

// The line that says what went wrong: ncu's, else the program's last.
std::string words_of(const ProcessResult& result) {
  const std::string words = plain_text(result.standard_output + "\n" + result.standard_error);
  if (words.find("ERR_NVGPUCTRPERM") != std::string::npos)
    return "the driver does not give performance counters to a program in a box (ERR_NVGPUCTRPERM); "
           "`warpgrade doctor` says how it does";
  if (const std::size_t at = words.find("==ERROR=="); at != std::string::npos) {
    std::string line = plain_line(words.substr(at, words.find('\n', at) - at), 300);
    return fmt::format("ncu says: {}; the program's last words: {}", line,
                       plain_line(tail_of(words, 300), 300));
  }
  return fmt::format("{}: {}", result.describe(), plain_line(tail_of(words, 300), 300));
}

}  // namespace

CountingBox::CountingBox(CountingPlace place, const Submission& submission)
    : place_(std::move(place)), toolchain_(find_toolchain()) {
  const auto found = find_ncu(toolchain_.nvcc.parent_path().parent_path());
  if (!found) throw UsageError("ncu was not found");
  ncu_ = *found;
  for (const char* folder : {"out", "source"}) make_directories(place_.scratch / folder);
  write_sources(submission, place_.scratch / "source");
}

SandboxSpec CountingBox::spec(bool gpu) const {
  SandboxSpec box;
  box.mode = place_.mode;
  box.box = BoxKind::kProfiler;
  box.gpu = gpu && place_.gpu;
  box.tmp_bytes = kTemporary;
  box.directory = kInside / "case";
  box.mounts = {{place_.kept, kInside / "case", false},
                {place_.scratch / "source", kInside / "source", false},
                {ncu_.folder, kInside / "ncu", false},
                {place_.scratch / "out", kInside / "out", true}};
  const fs::path runtime = place_.gpu ? toolchain_.library_directory : emulator_directory();
  box.mounts.push_back({runtime, kInside / "cuda", false});
  std::string libraries = inside("cuda");
  if (const auto driver = driver_library_directory(); driver && box.gpu) libraries += ":" + driver->string();
  box.environment = {{"LD_LIBRARY_PATH", libraries},
                     {"LC_ALL", "C.UTF-8"},
                     {"HOME", "/tmp"},
                     {"TMPDIR", "/tmp"},
                     {"PATH", "/usr/bin"},
                     {protocol::kTapeVariable, inside("case/calls")}};
  if (!place_.visible.empty()) box.environment["CUDA_VISIBLE_DEVICES"] = place_.visible;
  return box;
}

ProcessResult CountingBox::run(std::vector<std::string> arguments, bool gpu,
                               std::chrono::milliseconds limit) const {
  SandboxSpec box = spec(gpu);
  box.command = {inside("ncu" / ncu_.program.lexically_relative(ncu_.folder))};
  box.command.insert(box.command.end(), arguments.begin(), arguments.end());
  ProcessOptions options = boxed(box, {kBoxMemory, kBoxProcesses, 50});
  options.timeout = limit;
  if (place_.gpu) options.limits.file_bytes = kMostFile;  // the emulated device is a large file with holes
  options.output_bytes = kMostTable;
  return run_process(options);
}

// What this ncu knows of this GPU: asked once a process.
std::string CountingBox::known_metrics() const {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  const std::string key = ncu_.program.string() + ' ' + place_.visible;
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const ProcessResult result = run({"--query-metrics"}, true, kShort);
  return known[key] = result.ok() ? result.standard_output : "";
}

bool CountingBox::collect() {
  std::vector<std::string> arguments = collecting(wanted_metrics(known_metrics()), inside("source"),
                                                  inside("ncu/sections"), inside("out/profile"));
  arguments.push_back(inside("case/program"));
  const ProcessResult result = run(std::move(arguments), true, place_.limit);
  if (result.timed_out) return false;
  if (!result.ok() || !fs::exists(place_.scratch / "out" / kReport))
    throw UsageError("nothing was counted: {}", words_of(result));
  return true;
}

// The report was written beside a submission, which may have put another in its place: ncu reads it in a
// box as well.
std::string CountingBox::imported(const std::string& page) const {
  const ProcessResult result =
      run({"--import", inside(fs::path("out") / kReport), "--page", page, "--csv", "--print-units", "base"},
          false, kShort);
  if (!result.ok()) throw UsageError("ncu cannot read its report: {}", words_of(result));
  return result.standard_output;
}

std::vector<LaunchRow> CountingBox::launches() const {
  std::vector<LaunchRow> rows = read_ncu_table(imported("raw"));
  if (rows.empty())
    throw UsageError("ncu's report holds no launch: the program launched no kernel, or ncu could not count");
  return rows;
}

std::string CountingBox::session() const {
  return imported("session");
}

std::string CountingBox::report() const {
  const UntrustedFolder out(place_.scratch / "out");
  UntrustedFile file = out.read(kReport, kMostReadReport);
  if (!file.ok())
    throw UsageError("ncu's report is no regular file, or larger than {} MiB", kMostReadReport >> 20);
  return std::move(file.bytes);
}

}  // namespace warpgrade::hardware
