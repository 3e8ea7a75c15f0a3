#include "judge/compile/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/inject.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/text.h"
#include "judge/compile/build_messages.h"
#include "judge/compile/build_steps.h"
#include "judge/compile/compile_key.h"
#include "judge/compile/compile_sandbox.h"
#include "judge/compile/compile_slot.h"
#include "judge/compile/elf_symbols.h"
#include "judge/compile/inspect.h"
#include "judge/compile/link_problem.h"
#include "judge/compile/manifest.h"
#include "judge/compile/older_interface.h"
#include "judge/compile/python_build.h"
#include "judge/compile/source_name.h"
#include "judge/compile/tools_check.h"
#include "judge/compile/vendor_libraries.h"
#include "judge/declaration/contract.h"
#include "judge/sandbox/usable_cores.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr size_t kMostDependencies = 4 << 20;
constexpr int kMostAtOnce = 8;                          // of the runner's own sources; each takes some 170 MB
constexpr size_t kMostObjectBytes = size_t{512} << 20;  // of all sources together

// Hopper and Blackwell have instructions (wgmma, setmaxnreg, tcgen05) that nvcc takes for one architecture
// alone: NVIDIA's CUDA C++ programming guide, "Architecture-Specific Features". Code is compiled for the
// GPU at hand.
std::string with_own_instructions(const std::string& architecture) {
  for (const char* one : {"90", "100", "103", "110", "120", "121"})
    if (architecture == one) return architecture + "a";
  return architecture;
}

std::vector<std::string> common_flags(const std::string& given_architecture) {
  const std::string architecture = with_own_instructions(given_architecture);
  return {"-std=c++17", "-O3", "-gencode",
          fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", architecture), "-no-compress",
          "-lineinfo", "-cudart", "shared", "-Xptxas", "-v",
          // CUB's profiling marks load a library at run time, which inspect.cpp refuses.
          "-DNVTX_DISABLE",
          // Lines of the host's calls, for what the emulator says of them: the caller stays on the stack. A
          // global variable `send` or `link` of the program's does not take the C library's place.
          "-Xcompiler", "-g1,-gdwarf-4,-fno-optimize-sibling-calls,-fvisibility=hidden"};
}

std::vector<std::string> link_flags() {
  return {"-cudart", "shared", "-nodlink", "-Xcompiler", "-static-libstdc++,-static-libgcc"};
}

int count_warnings(const std::string& log) {
  int count = 0;
  for (size_t at = log.find("warning"); at != std::string::npos; at = log.find("warning", at + 7)) ++count;
  return count;
}

// The header that declares what the judge calls, as a student includes it.
std::string contract_of(const Submission& submission, const std::string& lab) {
  if (submission.interface == lab + ".h") return "warpgrade/" + submission.interface;
  return fmt::format("the header of {}", submission.interface);
}

// One submission through all steps. Each step's result is taken out of its build folder and given to the next
// one read-only: a process that outlives its step changes nothing that is used later.
class Build : private BuildSteps {
 public:
  Build(const Toolchain& toolchain, const Submission& submission, const CompileOptions& options)
      : BuildSteps(toolchain, submission, options) {}

  CompileResult run(const std::vector<fs::path>& runner_objects) {
    result_.flags = common_flags(options_.architecture);
    const auto chooses_language = [](const std::string& flag) { return flag.starts_with("-std="); };
    if (std::ranges::any_of(submission_.flags, chooses_language))
      std::erase_if(result_.flags, chooses_language);
    result_.flags.insert(result_.flags.end(), submission_.flags.begin(), submission_.flags.end());
    if (stage_sources() && compile_all() && link_device_code() && link(runner_objects))
      result_.status = "compiled";
    result_.cpu_seconds = Seconds(sandbox_.cpu_time()).count();
    result_.kernels = parse_ptxas(result_.log);
    result_.warnings = count_warnings(result_.log);
    return std::move(result_);
  }

  const std::string& program() const { return program_; }

 private:
  bool stage_sources() {
    inject("stage", submission_.id);
    auto read = read_files(submission_);
    if (const auto* why = std::get_if<std::string>(&read)) return fail(Reason::kBadSubmission, *why);
    files_ = std::move(std::get<std::vector<SubmittedFile>>(read));
    for (const SubmittedFile& file : files_) {
      sandbox_.add_source(file);
      if (file.is_compiled && is_source(file.name)) sources_.push_back("source" / file.name);
    }
    // A contract that was made comes before a copy of it that a hand-out has.
    for (const char* folder : {"source", "contract", "include"}) {
      if (folder != std::string_view("contract") || !options_.contract.empty())
        includes_.insert(includes_.end(), {"-I", CompileSandbox::inside(folder)});
    }
    for (const fs::path& folder : header_folders(submission_.files))
      includes_.insert(includes_.end(), {"-I", CompileSandbox::inside("source" / folder)});
    if (is_older_interface(submission_.interface, options_.lab)) {
      const fs::path legacy = fs::path("include/legacy") / options_.lab;
      sources_.push_back(legacy / "adaptor.cu");
      includes_.insert(includes_.end(), {"-I", CompileSandbox::inside(legacy / "include")});
    }
    for (const fs::path& folder : options_.extra_includes)
      includes_.insert(includes_.end(), {"-I", folder.string()});
    return true;
  }

  bool compile_all() {
    inject("compile", submission_.id);
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (!compile(i)) return false;
    }
    return true;
  }

  bool compile(size_t number) {
    std::vector<std::string> arguments = result_.flags;
    arguments.insert(arguments.end(), includes_.begin(), includes_.end());
    arguments.insert(arguments.end(),
                     {"-MD", "-MF", CompileSandbox::inside("build/0.d"), "-c",
                      sandbox_.stage(number, sources_[number]), "-o", CompileSandbox::inside("build/0.o")});
    const Step step = sandbox_.nvcc(arguments);
    if (!compiled(step, sources_[number].lexically_relative("source").string())) return false;
    std::string dependencies, object;
    if (!take(step, "0.d", kMostDependencies, dependencies)) return false;
    if (!take(step, "0.o", kLargestObject, object)) return false;
    weaken_main(object);  // the judge's program has its own
    object_bytes_ += object.size();
    if (object_bytes_ > kMostObjectBytes)
      return fail(Reason::kBadOutput,
                  fmt::format("the compiled objects have more than {} MiB", kMostObjectBytes >> 20));
    objects_.push_back(sandbox_.keep_object(number, object));
    return inspect(number, dependencies, object);
  }

  // A submission calls no vendor's library.
  bool inspect(size_t number, const std::string& dependencies, const std::string& object) {
    if (submission_.role != Role::kStudent) return true;
    inject("inspect", submission_.id);
    if (const auto header = forbidden_header(dependencies)) {
      return fail(Reason::kForbiddenLibrary,
                  fmt::format("{} includes {}, whose kernels are a library's. Write the kernels yourself, "
                              "and remove this line",
                              or_file(place_of_include(*header, files_), number), plain_line(*header)));
    }
    const auto finding = inspect_symbols(object);
    if (!finding) return true;
    if (finding->symbol.empty()) return fail(finding->reason, finding->message);
    const std::string place = place_of_call(finding->symbol, words_of_link_alone(objects_[number]), files_);
    return fail(finding->reason, or_file(place, number) + " " + finding->message);
  }

  // Where no place was found, the file whose object it is.
  std::string or_file(const std::string& place, size_t number) const {
    return place.empty() ? plain_line(sources_[number].lexically_relative("source").string(), 100) : place;
  }

  // The linker tells the line of each reference that it cannot resolve; alone, it can resolve none.
  std::string words_of_link_alone(const std::string& object) {
    const Step step = sandbox_.nvcc(
        {"-cudart", "none", "-nodlink", "-Xcompiler", "-nostdlib,-nodefaultlibs,-nostartfiles", "-Xlinker",
         "--unresolved-symbols=report-all", "-o", CompileSandbox::inside("build/alone"), object});
    return sandbox_.in_shown_names(step.words(), {});
  }

  // Relocatable device code, of the submission's objects alone. nvlink takes the device's runtime out of
  // libcudadevrt where they call it. Otherwise each object's device code is whole.
  bool link_device_code() {
    const auto is_relocatable = [](const std::string& flag) { return kind_of_flag(flag) == kRelocatable; };
    if (std::ranges::none_of(submission_.flags, is_relocatable)) return true;
    std::vector<std::string> arguments = result_.flags;
    arguments.insert(arguments.end(), {"-dlink", "-o", CompileSandbox::inside("build/device.o")});
    arguments.insert(arguments.end(), objects_.begin(), objects_.end());
    const Step step = sandbox_.nvcc(arguments);
    const std::string words = listen(step);
    if (!step.process.ok()) {
      if (!fail_in_time(step, "the linker of device code")) return false;
      const auto problem = explain_device_link(words);
      if (problem) return fail(problem->reason, problem->message);
      return fail_with(step, "the linker of device code", words, "");
    }
    std::string object;
    if (!take(step, "device.o", kLargestObject, object)) return false;
    linked_device_code_ = sandbox_.keep_object(objects_.size(), object);
    return true;
  }

  bool link(const std::vector<fs::path>& runner_objects) {
    // Launches pass through the runner's launch_watch.cpp, which sees their stream.
    std::vector<std::string> arguments = link_flags();
    arguments.insert(arguments.end(), {"-Xlinker", "--wrap=__cudaPushCallConfiguration", "-o",
                                       CompileSandbox::inside("build/runner")});
    // The runner's first: of two copies of one inline function or weak symbol the linker keeps the first.
    for (const fs::path& object : runner_objects)
      arguments.push_back(CompileSandbox::inside("runner" / object.filename()));
    arguments.insert(arguments.end(), objects_.begin(), objects_.end());
    if (!linked_device_code_.empty()) arguments.push_back(linked_device_code_);
    for (const std::string& library : options_.libraries) arguments.push_back("-l" + library);
    arguments.push_back("-ldl");
    const Step step = sandbox_.nvcc(arguments, runner_objects.front().parent_path());
    return linked(step, runner_objects) && take(step, "runner", kLargestObject, program_);
  }

  bool fail_with(const Step& step, const char* name, const std::string& words, const std::string& source) {
    const std::string line = first_error(words, source, options_.forbidden_flags);
    if (!is_their_own_error(line, submission_)) require_working_tools(toolchain_, options_, link_flags());
    return fail(Reason::kError,
                line.empty() ? fmt::format("{} failed: {}", name, step.process.describe()) : line);
  }

  bool compiled(const Step& step, const std::string& source) {
    const std::string words = listen(step);
    if (step.process.ok()) return true;
    return fail_in_time(step, "the compiler") && fail_with(step, "the compiler", words, source);
  }

  bool linked(const Step& step, const std::vector<fs::path>& runner_objects) {
    const std::string words = listen(step, runner_objects.front().parent_path());
    if (step.process.ok()) return true;
    if (!fail_in_time(step, "the linker")) return false;
    std::vector<LinkedObject> objects;
    for (const fs::path& object : runner_objects) objects.push_back({"", read_text(object)});
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const bool own = *sources_[i].begin() == "source";  // else an older interface's adaptor
      objects.push_back(
          {own ? sources_[i].lexically_relative("source").string() : "", sandbox_.kept_object(i)});
    }
    const auto problem = explain_link(objects, words, contract_of(submission_, options_.lab));
    if (problem) return fail(problem->reason, problem->message);
    return fail_with(step, "the linker", words, "");
  }

  std::vector<SubmittedFile> files_;
  std::vector<fs::path> sources_;  // "source/...", "include/..."
  std::vector<std::string> includes_, objects_;
  size_t object_bytes_ = 0;
  std::string linked_device_code_, program_;
};

CompileResult from_cache(const fs::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(read_text(folder / "result.json"));
  CompileResult result;
  result.status = json.at("status");
  result.reason = reason_named(json.value("reason", ""));
  result.message = json.value("message", "");
  result.seconds = json.at("seconds");
  result.cpu_seconds = json.value("cpu_seconds", 0.0);
  result.flags = json.at("flags").get<std::vector<std::string>>();
  result.log = read_text(folder / "log");
  for (const nlohmann::json& kernel : json.at("kernels"))
    result.kernels.push_back(KernelResources::from_json(kernel));
  result.warnings = json.at("warnings");
  result.cached = true;
  if (result.ok()) result.executable = folder / "runner";
  return result;
}

// A busy machine's verdict is not kept, nor one on files that were changed meanwhile.
bool is_kept(const CompileResult& result) {
  return result.reason != Reason::kOutOfTime && result.reason != Reason::kBadSubmission;
}

// A folder of the cache that no other thread or process uses, to be filled and then published.
fs::path staging_folder(const fs::path& cache) {
  static std::atomic<unsigned> counter{0};
  return cache / fmt::format("staged-{}-{}", getpid(), counter++);
}

// Moves the finished folder into place; when another process was first, its result stands.
void publish(const fs::path& scratch, const fs::path& destination) {
  std::error_code error;
  fs::rename(scratch, destination, error);
  if (error) fs::remove_all(scratch);
}

// Of a declared lab: a folder of the cache with the contract that students include and the runner's part.
fs::path made_contract(const fs::path& cache, const declaration::LabDeclaration& lab) {
  const std::string header = declaration::contract_header(lab), runner = declaration::runner_source(lab);
  const fs::path folder =
      cache / fmt::format("contract-{}-{}", lab.name, Sha256().part(header).part(runner).hex().substr(0, 24));
  if (fs::exists(folder)) return folder;
  const fs::path staged = staging_folder(cache);
  make_directories(staged / "warpgrade");
  write_scratch(staged / "warpgrade" / (lab.name + ".h"), header);
  write_scratch(staged / (lab.name + "_runner.cpp"), runner);
  publish(staged, folder);
  return folder;
}

std::string cache_key(const Submission& submission, const CompileOptions& options, const Toolchain& toolchain,
                      const std::vector<fs::path>& runner_objects) {
  Sha256 hash;
  hash.part("compile-15").part(submission.hash).part(submission.interface).part(to_string(submission.role));
  hash.part(options.lab).part(to_string(options.sandbox)).part(tools_key(toolchain));
  for (const auto& flags : {common_flags(options.architecture), link_flags(), options.libraries}) {
    hash.part(std::to_string(flags.size()));
    for (const std::string& flag : flags) hash.part(flag);
  }
  for (const std::string& flag : options.forbidden_flags) hash.part(flag);  // messages advise no such flag
  // The folders of the runner's objects are named by what they are made of, a generated contract included.
  for (const fs::path& object : runner_objects) hash.part(object.parent_path().filename().string());
  std::vector<fs::path> folders = options.extra_includes;
  folders.push_back(project_root() / "reference/include");
  for (const fs::path& folder : folders) {
    hash.part(fs::relative(folder, project_root()).string());
    add_folder(hash, folder);
  }
  return hash.hex().substr(0, 32);
}

}  // namespace

nlohmann::json CompileResult::to_json() const {
  nlohmann::json kernel_list = nlohmann::json::array();
  for (const KernelResources& kernel : kernels) kernel_list.push_back(kernel.to_json());
  nlohmann::json json{{"status", status},      {"seconds", seconds}, {"cpu_seconds", cpu_seconds},
                      {"cached", cached},      {"flags", flags},     {"warnings", warnings},
                      {"kernels", kernel_list}};
  if (reason != Reason::kNone) json["reason"] = reason;
  if (!message.empty()) json["message"] = message;
  return json;
}

Compiler::Compiler(Toolchain toolchain, fs::path cache)
    : toolchain_(std::move(toolchain)), cache_(std::move(cache)) {
  make_directories(cache_);
}

// What is linked to a submission, from folders of the project: the runner, which is the same for every lab,
// and the lab's part of it, which is made for a declared lab.
std::vector<fs::path> Compiler::runner_objects(CompileOptions& options) {
  const std::vector<fs::path> objects = own_objects(
      options, "runner",
      {"judge/runner/runner_main.cpp", "judge/runner/host_main.cpp", "judge/runner/submission_calls.cpp",
       "judge/runner/launch_watch.cpp", "judge/runner/tape_player.cpp", "judge/runner/device_memory.cpp",
       "judge/runner/native_timing.cpp", "judge/executor/driver/timing_gate.cpp",
       "judge/executor/driver/driver_api.cpp", "judge/executor/driver/imported_memory.cpp",
       "judge/executor/driver/timing_kernels.cu"});
  const std::string part = options.lab + "_runner.cpp";
  const auto declared = declaration::find_declaration(options.lab);
  if (declared) options.contract = made_contract(cache_, *declared);
  return own_objects(options, "runner-" + options.lab,
                     {declared ? (options.contract / part).string() : "judge/runner/" + part}, objects);
}

void Compiler::run_own(std::vector<std::string> command, const std::string& source) const {
  const HostCompiler host = host_compiler();
  command.insert(command.end(), host.flags.begin(), host.flags.end());
  ProcessOptions process;
  process.command = std::move(command);
  process.environment = {{"PATH", kCompilersPath}};
  process.timeout = std::chrono::seconds(300);
  const ProcessResult result = run_process(process);
  if (result.ok()) return;
  throw JudgeFault("the runner's own {} does not compile ({}):\n{}", source, result.describe(),
                   result.standard_error.substr(0, 2000));
}

// Device code that is loaded through the driver when it is wanted, as an array of bytes: the runtime, which
// would register it in each program, does not see it.
fs::path Compiler::embed(const fs::path& source, const fs::path& scratch) const {
  const fs::path fatbin = scratch / (source.stem().string() + ".fatbin"),
                 array = scratch / (source.stem().string() + ".cpp");
  const std::vector<std::string> command{toolchain_.nvcc.string(),
                                         "-std=c++17",
                                         "-O3",
                                         "-gencode",
                                         "arch=compute_75,code=compute_75",
                                         "-fatbin",
                                         "-o",
                                         fatbin.string(),
                                         source.string()};
  run_own(command, source.filename().string());
  // As CUDA's bin2c would write it, aligned as the driver wants it.
  std::string text = fmt::format("extern \"C\" {{ alignas(16) extern const unsigned char warpgrade_{}[] = {{",
                                 source.stem().string());
  for (const char byte : read_text(fatbin)) text += fmt::format("{},", static_cast<unsigned char>(byte));
  write_scratch(array, text + "}; }\n");
  return array;
}

// One of the runner's sources, or of the lab's part; device code is embedded by way of `embedded`.
void Compiler::compile_own(const CompileOptions& options, const std::string& source, const fs::path& embedded,
                           const fs::path& objects) const {
  const fs::path grader = project_root() / "grader";
  const fs::path file = source.ends_with(".cu") ? embed(grader / source, embedded) : grader / source;
  std::vector<std::string> command{toolchain_.nvcc.string()};
  const std::vector<std::string> flags = common_flags(options.architecture);
  command.insert(command.end(), flags.begin(), flags.end());
  // The linker names these lines to students, and the cache may serve several checkouts. nvcc splits at
  // commas and gcc's map at the first '='.
  for (const fs::path& folder : {grader, options.contract}) {
    if (!folder.empty() && folder.string().find_first_of(", =") == std::string::npos)
      command.insert(command.end(), {"-Xcompiler", fmt::format("-ffile-prefix-map={}={}", folder.string(),
                                                               CompileSandbox::inside("runner"))});
  }
  std::replace(command.begin(), command.end(), std::string("-std=c++17"), std::string("-std=c++20"));
  if (!options.contract.empty()) command.insert(command.end(), {"-I", options.contract.string()});
  command.insert(command.end(), {"-c", file.string(), "-I", (project_root() / "reference/include").string(),
                                 "-I", grader.string(), "-I", (grader / "judge/runner").string(), "-o",
                                 (objects / (fs::path(source).filename().string() + ".o")).string()});
  run_own(command, source);
}

std::vector<fs::path> Compiler::own_objects(const CompileOptions& options, const std::string& name,
                                            const std::vector<std::string>& sources,
                                            const std::vector<fs::path>& others) {
  const fs::path grader = project_root() / "grader";
  Sha256 hash;
  hash.part("runner-5").part(tools_key(toolchain_));
  for (const std::string& flag : common_flags(options.architecture)) hash.part(flag);
  add_runner_headers(hash);
  for (const std::string& source : sources) hash.part(read_text(grader / source));
  // By folders that are named by what is in them, so that a cache serves checkouts in any place.
  for (const fs::path& object : others) hash.part(object.parent_path().filename().string());
  hash.part(options.contract.filename().string());
  const fs::path destination = cache_ / (name + "-" + hash.hex().substr(0, 24));
  std::vector<fs::path> objects;
  for (const std::string& source : sources)
    objects.push_back(destination / (fs::path(source).filename().string() + ".o"));
  for (const fs::path& object : others) objects.push_back(destination / object.filename());
  if (fs::exists(destination)) return objects;

  TemporaryDirectory scratch("warpgrade-runner"), made("warpgrade-embedded");
  parallel(sources.size(), static_cast<size_t>(std::clamp(usable_cores(), 1, kMostAtOnce)),
           [&](size_t i) { compile_own(options, sources[i], made.path(), scratch.path()); });
  for (const fs::path& object : others) fs::copy_file(object, scratch.path() / object.filename());
  const fs::path staged = staging_folder(cache_);
  fs::copy(scratch.path(), staged, fs::copy_options::recursive);
  publish(staged, destination);
  return objects;
}

namespace {

// The problem of what a submission hands in, known before anything is compiled.
std::optional<std::string> problem_of(const Submission& submission, const CompileOptions& options) {
  if (submission.problem) return submission.problem;
  for (const std::string& flag : submission.flags)
    if (options.forbidden_flags.contains(kind_of_flag(flag)))
      return fmt::format(
          "submission.yaml asks for the compiler flag {}, which this course does not take; leave it out",
          flag);
  return std::nullopt;
}

}  // namespace

CompileResult Compiler::compile(const Submission& submission, CompileOptions options) {
  if (const auto problem = problem_of(submission, options)) {
    CompileResult result;
    result.status =
        !is_python(submission) && std::none_of(submission.files.begin(), submission.files.end(), is_source)
            ? "not_found"
            : "compile_error";
    result.reason = Reason::kBadSubmission;
    result.message = *problem;
    return result;
  }
  if (is_python(submission)) return compile_python(submission, options);
  std::vector<fs::path> objects;
  {
    // Only one process builds the runner's objects at a time; the others find them made.
    FileDescriptor lock(open((cache_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock) flock(lock.get(), LOCK_EX);
    objects = runner_objects(options);
  }
  return cached(cache_key(submission, options, toolchain_, objects), options, [&] {
    auto build = std::make_shared<Build>(toolchain_, submission, options);
    CompileResult result = build->run(objects);
    return Built{std::move(result), [build](const fs::path& program) {
                   write_scratch(program, build->program());
                   fs::permissions(program, fs::perms(0755));
                 }};
  });
}

CompileResult Compiler::compile_python(const Submission& submission, const CompileOptions& options) {
  return cached(python_key(submission, options, toolchain_), options, [&] {
    auto build = std::make_shared<PythonBuild>(toolchain_, submission, options);
    CompileResult result = build->run();
    return Built{std::move(result), [build](const fs::path& program) { build->write(program); }};
  });
}

// What was compiled before, or now.
CompileResult Compiler::cached(const std::string& key, const CompileOptions& options,
                               const std::function<Built()>& build) {
  const fs::path folder = cache_ / key;
  if (fs::exists(folder / "result.json")) return from_cache(folder);

  const CompileSlot slot(CompileSlot::place(), usable_core_numbers(), kWallOverCpu * options.limit,
                         options.notify);
  const auto start = std::chrono::steady_clock::now();
  Built built = build();
  CompileResult& result = built.result;
  result.seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  if (!is_kept(result)) return result;

  const fs::path staged = staging_folder(cache_);
  make_directories(staged);
  if (result.ok()) built.write(staged / "runner");
  write_text(staged / "log", result.log);
  write_text(staged / "result.json", json_text(result.to_json(), 1) + "\n");
  publish(staged, folder);
  if (result.ok()) result.executable = folder / "runner";
  return result;
}

}  // namespace warpgrade
