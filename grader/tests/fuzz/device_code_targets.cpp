// Device code as a program holds it: PTX, the containers of fat binaries, object files.
#include <cstring>
#include <vector>

#include "backend/modules.h"
#include "cudart/fat_binary.h"
#include "judge/compile/elf_symbols.h"
#include "judge/compile/inspect.h"
#include "judge/compile/link_problem.h"
#include "loader/fatbin.h"
#include "program/build.h"
#include "ptx/parser.h"
#include "support.h"
#include "targets.h"

namespace warpgrade::fuzz {
namespace {

void build_all(emu::Module& module) {
  emu::SymbolTable addresses;
  for (const auto& [name, variable] : module.variables)
    if (variable.space != emu::Space::shared) addresses[name] = 0x1000;
  std::vector<std::string> kernels;
  for (const auto& [name, function] : module.functions)
    if (function.is_entry) kernels.emplace_back(name);
  for (const std::string& kernel : kernels)
    reads<emu::BuildError>([&] { emu::build_program(module, kernel, addresses); });
}

}  // namespace

void ptx(std::string_view input) {
  reads<emu::PtxError>([&] { build_all(*emu::parse_module(std::string(input))); });
}

// As the executor reads what a host process has staged.
void fat_binary(std::string_view input) {
  const std::vector<uint8_t> bytes(input.begin(), input.end());
  std::vector<std::span<const uint8_t>> containers;
  for (std::span<const uint8_t> left = bytes; !left.empty();) {
    const uint64_t size = cudart::container_bytes(left);
    const size_t taken = size == 0 || size > left.size() ? left.size() : static_cast<size_t>(size);
    containers.push_back(left.first(taken));
    left = left.subspan(taken);
  }
  emu::LoadedModule module(containers, nullptr);
  if (!module.load()) return expect_readable(module.problem());
  module.launchable();
  for (const std::string& name : module.kernels()) {
    emu::Kernel kernel;
    kernel.owner = &module;
    kernel.name = name;
    emu::build(kernel);
    if (kernel.program != nullptr) emu::facts_of(kernel);
  }
  module.read_bodies();
  module.release_variables();
}

void object_file(std::string_view input) {
  std::string object(input);
  read_elf_symbols(object);
  inspect_symbols(object);
  weaken_main(object);
  explain_link({{"spmm.cu", object}, {"", object}}, "undefined reference to `spmm_run'", "warpgrade/spmm.h");
}

}  // namespace warpgrade::fuzz
