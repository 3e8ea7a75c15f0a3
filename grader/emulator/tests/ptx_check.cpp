// warpemu_ptx_check file.ptx...: builds every kernel of the files and says which are not supported, and why.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "program/build.h"
#include "ptx/parser.h"

using namespace warpgrade::emu;

namespace {

int check_file(const char* path) {
  std::ifstream file(path);
  if (!file) {
    std::printf("%s: cannot be read\n", path);
    return 1;
  }
  int failures = 0;
  try {
    const auto module = parse_module({std::istreambuf_iterator<char>(file), {}});
    SymbolTable addresses;
    for (const auto& [name, variable] : module->variables) {
      if (variable.space != Space::shared) addresses[name] = 0x1000;
    }
    std::vector<std::string> kernels;
    for (const auto& [name, function] : module->functions) {
      if (function.is_entry) kernels.emplace_back(name);
    }
    for (const std::string& kernel : kernels) {
      try {
        const auto program = build_program(*module, kernel, addresses);
        std::printf("%s: %s: %zu instructions, %zu register bytes a warp\n", path, program->title.c_str(),
                    program->code.size(), program->register_image.size());
      } catch (const BuildError& error) {
        ++failures;
        std::printf("%s: %s: %s at %s:%u\n", path, kernel_title(kernel).c_str(), error.what(),
                    error.path.c_str(), error.line);
      }
    }
  } catch (const PtxError& error) {
    ++failures;
    std::printf("%s:%u: %s\n", path, error.line, error.what());
  }
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  int failures = 0;
  for (int k = 1; k < argc; ++k) failures += check_file(argv[k]);
  return failures == 0 ? 0 : 1;
}
