#include "compile/inspect.h"

#include <array>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/process.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 8> kVendorPrefixes{"cusparse", "cublas", "cudnn", "cusolver",
                                                     "cutensor", "nvrtc",  "cufft", "cutlass"};
// Ways to reach a library that was not linked, another process, or the runner's own code.
const std::set<std::string> kTools{
    "dlopen",           "dlmopen",           "dlsym",   "dlvsym",     "mprotect", "pkey_mprotect", "ptrace",
    "process_vm_readv", "process_vm_writev", "syscall", "personality"};

bool is_vendor_name(const std::string& name) {
  for (const char* prefix : kVendorPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

struct Symbol {
  char type;
  std::string name;
};

std::vector<Symbol> symbols(const fs::path& file, const std::vector<std::string>& flags) {
  ProcessOptions options;
  options.command = {"nm"};
  options.command.insert(options.command.end(), flags.begin(), flags.end());
  options.command.push_back(file.string());
  options.timeout = std::chrono::seconds(60);
  options.output_bytes = 64 << 20;
  const ProcessResult result = run_process(options);
  if (!result.ok()) throw JudgeFault("nm {} failed: {}", file.string(), result.describe());
  std::vector<Symbol> found;
  std::istringstream lines(result.standard_output);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    if (fields.size() < 2 || fields[fields.size() - 2].size() != 1) continue;
    std::string name = fields.back().substr(0, fields.back().find('@'));
    found.push_back({fields[fields.size() - 2][0], std::move(name)});
  }
  return found;
}

fs::path c_library() {
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"}) {
    if (fs::exists(path)) return path;
  }
  throw JudgeFault("cannot find libc.so.6");
}

// Functions that a submission must leave alone: everything that the CUDA runtime and the C library export.
const std::set<std::string>& guarded_functions(const Toolchain& toolchain) {
  static const std::set<std::string> names = [&] {
    std::set<std::string> all;
    const fs::path runtime = toolchain.library_directory / fmt::format("libcudart.so.{}", toolchain.major);
    for (const fs::path& library : {runtime, c_library()}) {
      for (const Symbol& symbol : symbols(library, {"-D", "--defined-only"})) {
        if (symbol.type == 'T' || symbol.type == 'W' || symbol.type == 'i') all.insert(symbol.name);
      }
    }
    // Weak start-up helpers that compilers place into every object.
    for (const char* own : {"_init", "_fini", "main", "__cudaRegisterLinkedBinary"}) all.erase(own);
    return all;
  }();
  return names;
}

}  // namespace

std::optional<std::string> forbidden_header(const std::string& dependencies) {
  std::istringstream words(dependencies);
  for (std::string word; words >> word;) {
    const fs::path path = word;
    const std::string name = path.filename().string();
    if (name.ends_with(".h") &&
        (is_vendor_name(name) || is_vendor_name(path.parent_path().filename().string()))) {
      return name;
    }
  }
  return std::nullopt;
}

std::optional<Finding> inspect_symbols(const fs::path& object, const Toolchain& toolchain) {
  for (const Symbol& symbol : symbols(object, {})) {
    if (symbol.type == 'U' && is_vendor_name(symbol.name)) {
      return Finding{"forbidden_library",
                     fmt::format("calls {}; the kernels are to be your own, remove it", symbol.name)};
    }
    if (symbol.type == 'U' && kTools.contains(symbol.name)) {
      return Finding{"forbidden_library", fmt::format("calls {} to load a library at run time", symbol.name)};
    }
    if ((symbol.type == 'T' || symbol.type == 'W' || symbol.type == 'i') &&
        guarded_functions(toolchain).contains(symbol.name)) {
      return Finding{
          "symbol_interposition",
          fmt::format("defines {}, a function of the CUDA runtime or the C library; rename it", symbol.name)};
    }
  }
  return std::nullopt;
}

}  // namespace warpgrade
