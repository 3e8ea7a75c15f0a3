// Reads what `nvcc -Xptxas -v` prints on each kernel.
#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>

#include "compile/compiler.h"

namespace warpgrade {
namespace {

std::string demangle(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

size_t number_before(const std::string& line, const std::string& words) {
  const std::regex pattern("(\\d+) " + words);
  std::smatch match;
  return std::regex_search(line, match, pattern) ? std::stoul(match[1]) : 0;
}

}  // namespace

nlohmann::json KernelResources::to_json() const {
  return {{"name", name},
          {"arch", architecture},
          {"registers", registers},
          {"shared_bytes", shared_bytes},
          {"constant_bytes", constant_bytes},
          {"stack_bytes", stack_bytes},
          {"spill_store_bytes", spill_store_bytes},
          {"spill_load_bytes", spill_load_bytes}};
}

std::vector<KernelResources> parse_ptxas(const std::string& log) {
  static const std::regex kEntry("Compiling entry function '([^']+)' for '([^']+)'");
  std::vector<KernelResources> kernels;
  std::istringstream lines(log);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, kEntry)) {
      kernels.push_back({demangle(match[1]), match[2]});
    } else if (!kernels.empty() && line.find("bytes stack frame") != std::string::npos) {
      kernels.back().stack_bytes = number_before(line, "bytes stack frame");
      kernels.back().spill_store_bytes = number_before(line, "bytes spill stores");
      kernels.back().spill_load_bytes = number_before(line, "bytes spill loads");
    } else if (!kernels.empty() && line.find("Used ") != std::string::npos) {
      kernels.back().registers = static_cast<int>(number_before(line, "registers"));
      kernels.back().shared_bytes = number_before(line, "bytes smem");
      kernels.back().constant_bytes = number_before(line, "bytes cmem");
    }
  }
  return kernels;
}

}  // namespace warpgrade
