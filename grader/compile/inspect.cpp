#include "compile/inspect.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "compile/elf_symbols.h"

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

constexpr std::array<const char*, 8> kVendorPrefixes{"cusparse", "cublas", "cudnn", "cusolver",
                                                     "cutensor", "nvrtc",  "cufft", "cutlass"};
// Ways to reach a library that was not linked, another process, or the runner's own code.
const std::set<std::string, std::less<>> kTools{
    "dlopen",           "dlmopen",           "dlsym",   "dlvsym",     "mprotect", "pkey_mprotect", "ptrace",
    "process_vm_readv", "process_vm_writev", "syscall", "personality"};

bool is_vendor_name(std::string_view name) {
  return std::any_of(kVendorPrefixes.begin(), kVendorPrefixes.end(),
                     [&](const char* prefix) { return name.starts_with(prefix); });
}

fs::path c_library() {
  for (const char* path :
       {"/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6", "/lib/aarch64-linux-gnu/libc.so.6"}) {
    if (fs::exists(path)) return path;
  }
  throw JudgeFault("cannot find libc.so.6");
}

// Functions that a submission must leave alone: everything that the CUDA runtime and the C library export.
const std::set<std::string, std::less<>>& guarded_functions(const Toolchain& toolchain) {
  static const std::set<std::string, std::less<>> names = [&] {
    std::set<std::string, std::less<>> all;
    const fs::path runtime = toolchain.library_directory / fmt::format("libcudart.so.{}", toolchain.major);
    for (const fs::path& library : {runtime, c_library()}) {
      const std::string bytes = read_text(library);
      const ElfSymbols exported = read_elf_symbols(bytes, ElfTable::kDynamic);
      if (exported.problem) throw JudgeFault("cannot read {}: {}", library.string(), *exported.problem);
      for (const ElfSymbol& symbol : exported.symbols) {
        if (symbol.defined && (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC))
          all.emplace(symbol.name);
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

std::optional<Finding> inspect_symbols(std::string_view object, const Toolchain& toolchain) {
  const ElfSymbols found = read_elf_symbols(object, ElfTable::kObject);
  if (found.problem) {
    return Finding{"unreadable_object",
                   fmt::format("the compiled object can't be checked: {}; leave such things to the compiler",
                               *found.problem)};
  }
  for (const ElfSymbol& symbol : found.symbols) {
    if (symbol.binding == STB_LOCAL) continue;
    const std::string name = plain_line(symbol.name, 100);
    if (!symbol.defined && is_vendor_name(symbol.name))
      return Finding{"forbidden_library",
                     fmt::format("calls {}; the kernels are to be your own, remove it", name)};
    if (!symbol.defined && kTools.contains(symbol.name))
      return Finding{"forbidden_library", fmt::format("calls {} to load a library at run time", name)};
    if (symbol.defined && guarded_functions(toolchain).contains(symbol.name)) {
      return Finding{
          "symbol_interposition",
          fmt::format("defines {}, a function of the CUDA runtime or the C library; rename it", name)};
    }
  }
  return std::nullopt;
}

}  // namespace warpgrade
