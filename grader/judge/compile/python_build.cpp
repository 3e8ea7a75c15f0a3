#include "judge/compile/python_build.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/text.h"
#include "base/toolchain.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/compile_key.h"
#include "judge/declaration/python_contract.h"
#include "judge/sandbox/python_box.h"

namespace warpgrade {
namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kMostKernelsJson = 1 << 20, kMostKernels = 512, kMostText = 2000;
constexpr std::size_t kMostKernelBytes = std::size_t{64} << 20, kMostProgramBytes = std::size_t{256} << 20;
constexpr std::int64_t kMostWarps = 64, kMostShared = 1 << 20, kMostBlocks = 16, kMostScratch = 1 << 20;
constexpr const char* kPackagesInside = "/run/warpgrade/packages";
constexpr const char* kHostInside = "/run/warpgrade/host";
constexpr const char* kCompilerInside = "/run/warpgrade/compile_kernels.py";

fs::path host_package() {
  return project_root() / "grader/judge/runner/triton";
}
fs::path kernel_compiler() {
  return project_root() / "grader/judge/compile/triton/compile_kernels.py";
}

// The host package's own modules, and what takes Triton's place in the run box.
std::vector<fs::path> host_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(host_package()))
    if (entry.is_regular_file() && entry.path().extension() == ".py")
      files.push_back(entry.path().lexically_relative(host_package()));
  std::sort(files.begin(), files.end());
  return files;
}

json call_of(const std::string& lab) {
  const auto found = declaration::find_python_contract(lab);
  if (!found) throw JudgeFault("the lab {} takes no Python", lab);
  return declaration::python_call(*found);
}

// What pip wrote of the package that it installed.
std::string triton_version(const fs::path& packages) {
  for (const auto& entry : fs::directory_iterator(packages)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("triton-") && name.ends_with(".dist-info")) return name;
  }
  return "triton";
}

// A text of the box's, as it may be shown.
std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string()
             ? plain_line(found->get_ref<const std::string&>(), kMostText)
             : "";
}

std::int64_t number_of(const json& object, const char* name, std::int64_t least, std::int64_t most) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer()) return least - 1;
  const auto number = found->get<std::int64_t>();
  return number < least || number > most ? least - 1 : number;
}

bool flag_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

bool is_symbol(const std::string& name) {
  return !name.empty() && name.size() <= 500 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '$' || c == '.';
  });
}

}  // namespace

std::string python_key(const Submission& submission, const CompileOptions& options,
                       const Toolchain& toolchain) {
  Sha256 hash;
  hash.part("python-2").part(submission.hash).part(options.lab).part(to_string(options.sandbox));
  hash.part(toolchain.version).part(options.architecture).part(options.for_gpu ? "gpu" : "emulator");
  hash.part(json_text(call_of(options.lab))).part(json_text(options.dry_run_cases));
  hash.part(python_in_box().program.string());
  const auto packages = triton_packages();
  hash.part(packages ? triton_version(*packages) : "");
  for (const fs::path& file : host_files()) hash.part(file.string()).part(read_text(host_package() / file));
  return hash.part(read_text(kernel_compiler())).hex().substr(0, 32);
}

CompileResult PythonBuild::run() {
  if (stage_sources() && compile()) result_.status = "compiled";
  result_.cpu_seconds = std::chrono::duration<double>(sandbox_.cpu_time()).count();
  return std::move(result_);
}

bool PythonBuild::stage_sources() {
  inject("stage", submission_.id);
  auto read = read_files(submission_);
  if (const auto* why = std::get_if<std::string>(&read)) return fail(Reason::kBadSubmission, *why);
  files_ = std::move(std::get<std::vector<SubmittedFile>>(read));
  for (const SubmittedFile& file : files_) {
    sandbox_.add_source(file);
    if (file.name.filename() == submission_.lab + ".py") module_folder_ = file.name.parent_path().string();
  }
  return true;
}

bool PythonBuild::compile() {
  inject("compile", submission_.id);
  const auto packages = triton_packages();
  if (!packages)
    throw UsageError(
        "{} is in Python, and Triton is not installed here: `scripts/bootstrap triton` gets it (1 GB), or "
        "WARPGRADE_TRITON=folder names where it is",
        submission_.title);
  const PythonInBox python = python_in_box();
  std::vector<Mount> mounts = python.mounts;
  mounts.push_back({*packages, kPackagesInside, false});
  mounts.push_back({host_package(), kHostInside, false});
  mounts.push_back({kernel_compiler(), kCompilerInside, false});
  const bool boxed = options_.sandbox != SandboxMode::kUnsandboxed;
  const auto seen = [&](const char* inside, const fs::path& outside) {
    return boxed ? std::string(inside) : outside.string();
  };
  // Paths in the job are not rewritten for a machine without a box.
  const json job{{"lab", call_of(options_.lab)},
                 {"folder", module_folder_},
                 {"cases", options_.dry_run_cases},
                 {"architecture", options_.architecture},
                 {"code", options_.for_gpu ? "cubin" : "ptx"},
                 {"fatbinary", (fs::canonical(toolchain_.nvcc).parent_path() / "fatbinary").string()},
                 {"source", sandbox_.path_in_box("source").string()},
                 {"packages", seen(kPackagesInside, *packages)},
                 {"host", seen(kHostInside, host_package())}};
  const Step step = sandbox_.python(
      python.program,
      {kCompilerInside, sandbox_.stage_text("job.json", json_text(job)), CompileSandbox::inside("build")},
      mounts);
  const std::string words = listen(step);
  if (!step.process.ok()) {
    if (!fail_in_time(step, "importing the program and compiling its kernels")) return false;
    const std::string line = first_error(words, "");
    return fail(Reason::kError,
                line.empty() ? fmt::format("the compiler failed: {}", step.process.describe()) : line);
  }
  return take_kernels(step);
}

// The module ran in the same process as Triton: nothing of this is taken on trust.
bool PythonBuild::take_kernels(const Step& step) {
  std::string text;
  if (!take(step, "kernels.json", kMostKernelsJson, text)) return false;
  const json made = json::parse(text, nullptr, false);
  const auto no_kernels = [&] {
    return fail(Reason::kBadOutput, "the compiler's output is not usable: kernels.json");
  };
  if (!made.is_object() || !made.contains("kernels") || !made["kernels"].is_array() ||
      !made.contains("failed") || !made["failed"].is_array() || made["kernels"].size() > kMostKernels ||
      made["failed"].size() > kMostKernels)
    return no_kernels();
  kernels_ = {{"kernels", json::array()}, {"failed", json::array()}, {"for_gpu", options_.for_gpu}};
  result_.flags = {"triton " + text_of(made, "triton")};
  for (const json& kernel : made["kernels"]) {
    if (!kernel.is_object()) return no_kernels();
    if (!take_kernel(step, kernel)) return false;
  }
  for (const json& each : made["failed"]) {
    if (!each.is_object()) return no_kernels();
    kernels_["failed"].push_back({{"key", text_of(each, "key")}, {"message", text_of(each, "message")}});
  }
  return true;
}

bool PythonBuild::take_kernel(const Step& step, const json& kernel) {
  const std::string file = fmt::format("{}.fatbin", fat_binaries_.size());
  json known{{"key", text_of(kernel, "key")},
             {"function", text_of(kernel, "function")},
             {"name", text_of(kernel, "name")},
             {"file", file},
             {"cooperative", flag_of(kernel, "cooperative")},
             {"programmatic", flag_of(kernel, "programmatic")}};
  bool is_sound = is_symbol(known["name"]);
  const auto add = [&](const char* name, std::int64_t least, std::int64_t most) {
    known[name] = number_of(kernel, name, least, most);
    is_sound = is_sound && known[name] >= least;
  };
  add("warps", 1, kMostWarps);
  add("ctas", 1, kMostBlocks);
  add("shared", 0, kMostShared);
  add("scratch", 0, kMostScratch);
  add("hidden", 1, 2);
  if (!is_sound)
    return fail(Reason::kBadOutput, "the compiler's output is not usable: a kernel's description");
  std::string code;
  if (!take(step, file.c_str(), kMostKernelBytes, code)) return false;
  bytes_ += code.size();
  if (bytes_ > kMostProgramBytes)
    return fail(Reason::kBadOutput,
                fmt::format("the kernels have more than {} MiB", kMostProgramBytes >> 20));
  fat_binaries_.push_back(std::move(code));
  kernels_["kernels"].push_back(std::move(known));
  return true;
}

void PythonBuild::write(const fs::path& program) const {
  const auto add = [&](const fs::path& name, const std::string& bytes) {
    make_directories((program / name).parent_path());
    write_scratch(program / name, bytes);
  };
  for (const fs::path& file : host_files()) add(file, read_text(host_package() / file));
  for (const SubmittedFile& file : files_) add("submission" / file.name, file.text);
  for (std::size_t i = 0; i < fat_binaries_.size(); ++i) add(fmt::format("{}.fatbin", i), fat_binaries_[i]);
  json lab = call_of(options_.lab);
  lab["folder"] = module_folder_;
  add("lab.json", json_text(lab));
  add("kernels.json", json_text(kernels_));
}

}  // namespace warpgrade
