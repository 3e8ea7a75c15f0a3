#include "compile/compiler.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "compile/inspect.h"
#include "compile/older_interface.h"

namespace warpgrade {
namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

namespace {

constexpr const char* kInside = "/run/warpgrade";
constexpr size_t kCompilerAddressSpace = size_t{8} << 30;
constexpr size_t kLargestObject = size_t{256} << 20;

struct HostCompiler {
  std::vector<std::string> flags;  // -ccbin ...
  std::vector<Mount> mounts;       // where it lies, when that is not /usr
};

// nvcc takes the host compiler from -ccbin; the sandbox shows /usr only, so another prefix is mounted as it
// is.
HostCompiler host_compiler() {
  for (const char* name : {"NVCC_CCBIN", "CUDAHOSTCXX"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0' || !fs::exists(value)) continue;
    HostCompiler compiler{{"-ccbin", value}, {}};
    const fs::path given = value;
    for (const fs::path& path : {given, fs::canonical(given)}) {
      const fs::path prefix = path.parent_path().parent_path();
      if (!prefix.string().starts_with("/usr") && prefix != "/")
        compiler.mounts.push_back({prefix, prefix, false});
    }
    return compiler;
  }
  return {};
}

fs::path toolkit_home(const Toolchain& toolchain) {
  return fs::canonical(toolchain.nvcc).parent_path().parent_path();
}

std::vector<std::string> common_flags(const std::string& architecture) {
  return {"-std=c++17", "-O3", "-gencode",
          fmt::format("arch=compute_{0},code=[compute_{0},sm_{0}]", architecture), "-no-compress",
          "-lineinfo", "-cudart", "shared", "-Xptxas", "-v",
          // CUB's profiling marks load a library at run time, which inspect.cpp refuses.
          "-DNVTX_DISABLE",
          // Lines of the host's calls, for what the emulator says of them: the caller stays on the stack.
          "-Xcompiler", "-g1,-fno-optimize-sibling-calls"};
}

// One compilation in a scratch folder that the sandbox shows at /run/warpgrade.
class Workshop {
 public:
  Workshop(const Toolchain& toolchain, const CompileOptions& options)
      : toolchain_(toolchain),
        options_(options),
        host_(host_compiler()),
        scratch_("warpgrade-compile"),
        deadline_(std::chrono::steady_clock::now() + options.limit) {
    for (const char* folder : {"source", "build"}) make_directories(scratch_.path() / folder);
    fs::permissions(scratch_.path(), fs::perms::all);
    fs::permissions(scratch_.path() / "build", fs::perms::all);
  }

  fs::path outside(const fs::path& name) const { return scratch_.path() / name; }
  static fs::path inside(const fs::path& name) { return fs::path(kInside) / name; }

  ProcessResult nvcc(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), toolchain_.nvcc.string());
    arguments.insert(arguments.end(), host_.flags.begin(), host_.flags.end());
    return run(std::move(arguments));
  }

  ProcessResult run(std::vector<std::string> command) {
    SandboxSpec spec;
    spec.mode = options_.sandbox;
    spec.command = std::move(command);
    spec.directory = inside("source");
    spec.tmp_bytes = size_t{1} << 30;
    const fs::path home = toolkit_home(toolchain_);
    spec.mounts = {{home, home, false},
                   {project_root() / "reference/include", inside("include"), false},
                   {outside("source"), inside("source"), false},
                   {outside("build"), inside("build"), true}};
    const fs::path given = toolchain_.nvcc.parent_path().parent_path();
    if (given != home) spec.mounts.push_back({home, given, false});
    spec.mounts.insert(spec.mounts.end(), host_.mounts.begin(), host_.mounts.end());
    for (const fs::path& folder : options_.extra_includes) spec.mounts.push_back({folder, folder, false});
    spec.environment = {
        {"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"}, {"TMPDIR", "/tmp"}, {"LC_ALL", "C.UTF-8"}};
    const WrappedCommand wrapped = wrap(spec);
    ProcessOptions process;
    process.command = wrapped.command;
    process.environment = wrapped.environment;
    process.clear_environment = true;
    if (options_.sandbox == SandboxMode::kUnsandboxed) process.directory = outside("source");
    process.timeout = std::max(
        std::chrono::milliseconds(1),
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now()));
    process.limits.cpu_seconds = static_cast<size_t>(options_.limit.count()) + 5;
    process.limits.file_bytes = kLargestObject;
    process.limits.address_space_bytes = kCompilerAddressSpace;
    process.output_bytes = 256 << 10;
    return run_process(process);
  }

  const Toolchain& toolchain() const { return toolchain_; }

 private:
  const Toolchain& toolchain_;
  const CompileOptions& options_;
  HostCompiler host_;
  TemporaryDirectory scratch_;
  std::chrono::steady_clock::time_point deadline_;
};

void copy_sources(const Submission& submission, const fs::path& destination) {
  for (const fs::path& file : submission.files) {
    make_directories((destination / file).parent_path());
    fs::copy_file(submission.directory / file, destination / file, fs::copy_options::overwrite_existing);
  }
}

bool is_compiled_source(const fs::path& file) {
  const std::string extension = file.extension().string();
  return extension == ".cu" || extension == ".cpp" || extension == ".cc" || extension == ".cxx" ||
         extension == ".c";
}

int count_warnings(const std::string& log) {
  int count = 0;
  for (size_t at = log.find("warning"); at != std::string::npos; at = log.find("warning", at + 7)) ++count;
  return count;
}

std::string first_error_line(const std::string& log) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("error") != std::string::npos || line.find("undefined reference") != std::string::npos) {
      for (const char* prefix : {"/run/warpgrade/source/", "/run/warpgrade/build/"}) {
        for (size_t at; (at = line.find(prefix)) != std::string::npos;)
          line.erase(at, std::string(prefix).size());
      }
      return line.substr(0, 240);
    }
  }
  return "";
}

CompileResult failed(CompileResult result, const ProcessResult& process, const char* step) {
  result.status = "compile_error";
  if (process.timed_out || process.signal == SIGXCPU) {
    result.reason = "out_of_time";
    result.message = fmt::format("{} did not end within its time limit", step);
    return result;
  }
  result.reason = "error";
  const std::string line = first_error_line(result.log);
  result.message = line.empty() ? fmt::format("{} failed: {}", step, process.describe()) : line;
  if (result.log.find("undefined reference to `main'") == std::string::npos &&
      result.log.find("undefined reference") != std::string::npos) {
    result.reason = "missing_symbol";
  }
  return result;
}

// A submission calls neither a vendor's library nor replaces a function of the runtime or the C library.
std::optional<CompileResult> inspect(const CompileResult& so_far, Workshop& workshop,
                                     const Submission& submission, const std::vector<std::string>& objects) {
  if (submission.role != Role::kStudent) return std::nullopt;
  CompileResult result = so_far;
  result.status = "cheating";
  for (const std::string& object : objects) {
    const fs::path dependencies = workshop.outside("build") / (object + ".d");
    if (const auto header = forbidden_header(fs::exists(dependencies) ? read_text(dependencies) : "")) {
      result.reason = "forbidden_library";
      result.message = fmt::format("includes {}; the kernels are to be your own, remove it", *header);
      return result;
    }
    const auto finding = inspect_symbols(workshop.outside("build") / (object + ".o"), workshop.toolchain());
    if (finding) {
      result.reason = finding->reason;
      result.message = finding->message;
      return result;
    }
  }
  return std::nullopt;
}

CompileResult build(Workshop& workshop, const Submission& submission, const CompileOptions& options,
                    const std::vector<fs::path>& runner_objects) {
  CompileResult result;
  result.flags = common_flags(options.architecture);
  result.flags.insert(result.flags.end(), submission.flags.begin(), submission.flags.end());
  copy_sources(submission, workshop.outside("source"));
  std::vector<std::string> includes{"-I", Workshop::inside("source").string(), "-I",
                                    Workshop::inside("include").string()};
  std::vector<fs::path> sources;
  for (const fs::path& file : submission.files) {
    if (is_compiled_source(file)) sources.push_back(Workshop::inside("source") / file);
  }
  for (const fs::path& folder : header_folders(submission.files))
    includes.insert(includes.end(), {"-I", (Workshop::inside("source") / folder).string()});
  if (is_older_interface(submission.interface, options.lab)) {
    const fs::path legacy = Workshop::inside("include") / "legacy" / options.lab;
    sources.push_back(legacy / "adaptor.cu");
    includes.insert(includes.end(), {"-I", (legacy / "include").string()});
  }
  for (const fs::path& folder : options.extra_includes)
    includes.insert(includes.end(), {"-I", folder.string()});

  std::vector<std::string> objects;
  for (const fs::path& source : sources) {
    const std::string object = fmt::format("{}_{}", objects.size(), source.stem().string());
    const std::string stem = (Workshop::inside("build") / object).string();
    std::vector<std::string> arguments = result.flags;
    arguments.insert(arguments.end(), includes.begin(), includes.end());
    arguments.insert(arguments.end(), {"-MD", "-MF", stem + ".d", "-c", source.string(), "-o", stem + ".o"});
    const ProcessResult process = workshop.nvcc(arguments);
    result.log += process.standard_output + process.standard_error;
    if (!process.ok()) return failed(std::move(result), process, "the compiler");
    objects.push_back(object);
  }
  result.kernels = parse_ptxas(result.log);
  result.warnings = count_warnings(result.log);
  if (auto cheating = inspect(result, workshop, submission, objects)) return *cheating;

  // Launches pass through the runner's launch_watch.cpp, which sees their stream.
  std::vector<std::string> link{"-cudart",    "shared",
                                "-Xcompiler", "-static-libstdc++,-static-libgcc",
                                "-Xlinker",   "--wrap=__cudaPushCallConfiguration",
                                "-o",         (Workshop::inside("build") / "runner").string()};
  for (const std::string& object : objects)
    link.push_back((Workshop::inside("build") / (object + ".o")).string());
  for (const fs::path& object : runner_objects) {
    fs::copy_file(object, workshop.outside("build") / object.filename(),
                  fs::copy_options::overwrite_existing);
    link.push_back((Workshop::inside("build") / object.filename()).string());
  }
  for (const std::string& library : options.libraries) link.push_back("-l" + library);
  link.push_back("-ldl");
  const ProcessResult process = workshop.nvcc(link);
  result.log += process.standard_output + process.standard_error;
  if (!process.ok()) return failed(std::move(result), process, "the linker");
  result.status = "compiled";
  return result;
}

CompileResult from_cache(const fs::path& folder) {
  const nlohmann::json json = nlohmann::json::parse(read_text(folder / "result.json"));
  CompileResult result;
  result.status = json.at("status");
  result.reason = json.value("reason", "");
  result.message = json.value("message", "");
  result.seconds = json.at("seconds");
  result.flags = json.at("flags").get<std::vector<std::string>>();
  result.log = read_text(folder / "log");
  result.kernels = parse_ptxas(result.log);
  result.warnings = json.at("warnings");
  result.cached = true;
  if (result.ok()) result.executable = folder / "runner";
  return result;
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

std::string cache_key(const Submission& submission, const CompileOptions& options, const Toolchain& toolchain,
                      const std::vector<fs::path>& runner_objects) {
  Sha256 hash;
  hash.part("compile-7").part(submission.hash).part(submission.interface).part(to_string(submission.role));
  hash.part(options.lab).part(options.architecture).part(toolchain.version).part(to_string(options.sandbox));
  for (const std::string& library : options.libraries) hash.part(library);
  for (const fs::path& object : runner_objects) hash.part(object.parent_path().filename().string());
  std::set<fs::path> contracts;
  std::vector<fs::path> folders = options.extra_includes;
  folders.push_back(project_root() / "reference/include");
  for (const fs::path& folder : folders) {
    hash.part(fs::relative(folder, project_root()).string());
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) contracts.insert(entry.path());
    }
  }
  for (const fs::path& file : contracts) hash.part(file.filename().string()).part(read_text(file));
  return hash.hex().substr(0, 32);
}

}  // namespace

nlohmann::json CompileResult::to_json() const {
  nlohmann::json kernel_list = nlohmann::json::array();
  for (const KernelResources& kernel : kernels) kernel_list.push_back(kernel.to_json());
  nlohmann::json json{{"status", status}, {"seconds", seconds},   {"cached", cached},
                      {"flags", flags},   {"warnings", warnings}, {"kernels", kernel_list}};
  if (!reason.empty()) json["reason"] = reason;
  if (!message.empty()) json["message"] = message;
  return json;
}

Compiler::Compiler(Toolchain toolchain, fs::path cache)
    : toolchain_(std::move(toolchain)), cache_(std::move(cache)) {
  make_directories(cache_);
}

std::vector<fs::path> Compiler::runner_objects(const CompileOptions& options) {
  const fs::path folder = project_root() / "grader/runner";
  const std::vector<std::string> sources{"runner_main.cpp", "device_memory.cpp", "gate.cu",
                                         "launch_watch.cpp", options.lab + "_runner.cpp"};
  Sha256 hash;
  hash.part(toolchain_.version).part(options.architecture);
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".h") hash.part(read_text(entry.path()));
  }
  for (const std::string& source : sources) hash.part(read_text(folder / source));
  const fs::path destination = cache_ / ("runner-" + options.lab + "-" + hash.hex().substr(0, 24));
  std::vector<fs::path> objects;
  for (const std::string& source : sources) objects.push_back(destination / (source + ".o"));
  if (fs::exists(destination)) return objects;

  TemporaryDirectory scratch("warpgrade-runner");
  for (const std::string& source : sources) {
    ProcessOptions process;
    process.command = {toolchain_.nvcc.string()};
    const std::vector<std::string> flags = common_flags(options.architecture);
    process.command.insert(process.command.end(), flags.begin(), flags.end());
    process.command.insert(
        process.command.end(),
        {"-c", (folder / source).string(), "-I", (project_root() / "reference/include").string(), "-I",
         folder.string(), "-o", (scratch.path() / (source + ".o")).string()});
    const HostCompiler host = host_compiler();
    process.command.insert(process.command.end(), host.flags.begin(), host.flags.end());
    process.timeout = std::chrono::seconds(300);
    const ProcessResult result = run_process(process);
    if (!result.ok()) {
      throw JudgeFault("the runner's own {} does not compile ({}):\n{}", source, result.describe(),
                       result.standard_error.substr(0, 2000));
    }
  }
  const fs::path staged = staging_folder(cache_);
  fs::copy(scratch.path(), staged, fs::copy_options::recursive);
  publish(staged, destination);
  return objects;
}

CompileResult Compiler::compile(const Submission& submission, const CompileOptions& options) {
  if (submission.problem) {
    CompileResult result;
    result.status = submission.files.empty() ? "not_found" : "compile_error";
    result.reason = "bad_submission";
    result.message = *submission.problem;
    return result;
  }
  std::vector<fs::path> objects;
  {
    // Only one process builds the runner's objects at a time; the others find them made.
    FileDescriptor lock(open((cache_ / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock) flock(lock.get(), LOCK_EX);
    objects = runner_objects(options);
  }
  const fs::path folder = cache_ / cache_key(submission, options, toolchain_, objects);
  if (fs::exists(folder / "result.json")) return from_cache(folder);

  const auto start = std::chrono::steady_clock::now();
  Workshop workshop(toolchain_, options);
  CompileResult result = build(workshop, submission, options, objects);
  result.seconds = Seconds(std::chrono::steady_clock::now() - start).count();
  if (result.reason == "out_of_time") return result;  // a busy machine's verdict is not kept

  const fs::path staged = staging_folder(cache_);
  make_directories(staged);
  if (result.ok()) fs::copy_file(workshop.outside("build") / "runner", staged / "runner");
  write_text(staged / "log", result.log);
  write_text(staged / "result.json", result.to_json().dump(1) + "\n");
  publish(staged, folder);
  if (result.ok()) result.executable = folder / "runner";
  return result;
}

}  // namespace warpgrade
