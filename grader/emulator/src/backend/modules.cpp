#include "backend/modules.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "cudart/register_limit.h"
#include "findings/diagnostics.h"
#include "loader/cubin.h"
#include "loader/fatbin.h"
#include "memory/device_memory.h"
#include "program/call_graph.h"
#include "program/mutants.h"
#include "ptx/parser.h"
#include "support/device_model.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

void dump_code(const Program& program) {
  std::fprintf(stderr, "emulator: code of %s (%zu instructions, %zu register bytes a warp)\n",
               program.title.c_str(), program.code.size(), program.register_image.size());
  for (const Inst& i : program.code) {
    std::fprintf(stderr, "  %5u %-28s line %u", i.index, program.texts[i.index].c_str(),
                 program.place(i).line);
    if (program.texts[i.index].compare(0, 3, "bra") == 0) std::fprintf(stderr, " -> %u", i.target);
    std::fputc('\n', stderr);
  }
}

// Newer PTX is tried: what it adds is refused instruction by instruction.
void warn_of_newer_ptx(const Module& module) {
  constexpr double kNewestKnown = 9.0;
  static std::once_flag once;
  if (module.tokens.size() < 2 || module.tokens[0] != ".version") return;
  const std::string version(module.tokens[1]);
  if (std::strtod(version.c_str(), nullptr) <= kNewestKnown || settings().quiet) return;
  std::call_once(once, [&] {
    std::fprintf(
        stderr,
        "emulator: the program's PTX has version %s, newer than %.1f, the newest known here: trying it\n",
        version.c_str(), kNewestKnown);
  });
}

void limit_registers(Program& program, uint32_t registers) {
  program.registers = registers;
  program.max_threads =
      std::min(program.max_threads, cudart::most_threads_by_registers(registers, kRegistersPerBlock));
}

}  // namespace

bool LoadedModule::load() {
  if (attempted_) return problem_.empty();
  attempted_ = true;
  FatbinPtx ptx = ptx_of_containers(containers_, settings().device.arch());
  problem_ = ptx.problem;
  if (!problem_.empty()) return false;
  if (settings().dump_ptx) std::fprintf(stderr, "%s\n", ptx.text.c_str());
  try {
    module_ = parse_module(std::move(ptx.text));
    warn_of_newer_ptx(*module_);
    mutate();
    place_variables();
  } catch (const PtxError& error) {
    problem_ = error.what();
    if (error.line != 0) problem_ += " (line " + std::to_string(error.line) + " of the PTX)";
  }
  return problem_.empty();
}

void LoadedModule::place_variables() {
  DeviceMemory& memory = DeviceMemory::instance();
  for (const std::string_view name : module_->variable_order) {
    const Variable& v = module_->variables.at(name);
    if (v.space == Space::shared || v.is_extern) continue;
    const bool managed = std::find(managed_.begin(), managed_.end(), name) != managed_.end();
    DeviceVariable shared;
    if (managed && first_ != nullptr && first_->find_variable(std::string(name), shared)) {
      addresses_[name] = shared.address;
      continue;
    }
    const auto kind = managed                      ? MemoryKind::managed
                      : v.space == Space::constant ? MemoryKind::constant
                                                   : MemoryKind::variable;
    const auto address = memory.allocate(v.bytes(), kind, variable_title(std::string(name)), v.align);
    if (!address) throw PtxError("no device memory left for variable " + std::string(name), 0);
    addresses_[name] = *address;
  }
  for (const auto& [name, address] : addresses_) {
    const bool is_managed = std::find(managed_.begin(), managed_.end(), name) != managed_.end();
    if (first_ == nullptr || !is_managed) initialize(module_->variables.at(name), address);
  }
}

void LoadedModule::initialize(const Variable& variable, uint64_t address) {
  const auto allocation = DeviceMemory::instance().find(address);
  uint8_t* at = allocation->host(address);
  const uint8_t* end = at + variable.bytes();
  const unsigned bytes = std::max(1u, size_of(variable.type));
  for (const InitialValue& value : variable.initial) {
    uint64_t bits = value.bits;
    const auto function = module_->functions.find(value.symbol);
    if (function != module_->functions.end()) {
      bits += module_->address_of(function->second);
    } else if (!value.symbol.empty()) {
      const auto symbol = addresses_.find(value.symbol);
      if (symbol == addresses_.end()) {
        throw PtxError("unsupported address of " + std::string(value.symbol) + " in the initializer of " +
                           std::string(variable.name),
                       0);
      }
      bits += symbol->second;
    }
    if (at + bytes > end) break;
    std::memcpy(at, &bits, bytes);
    at += bytes;
  }
}

bool LoadedModule::find_variable(const std::string& name, DeviceVariable& variable) {
  if (!load()) return false;
  const auto found = addresses_.find(name);
  if (found == addresses_.end()) return false;
  variable.address = found->second;
  variable.bytes = module_->variables.at(name).bytes();
  return true;
}

std::vector<std::string> LoadedModule::kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, function] : module_->functions) {
    if (function.is_entry && function.has_body()) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void LoadedModule::read_bodies() {
  try {
    for (auto& [name, function] : module_->functions) parse_body(*module_, function);
  } catch (const PtxError& error) {
    problem_ = std::string(error.what()) + " (line " + std::to_string(error.line) + " of the PTX)";
  }
}

// The key names a function of one of the program's modules.
void LoadedModule::mutate() {
  if (settings().mutant.empty() || settings().mutant == "list" || settings().reached) return;
  const auto key = read_mutant_key(settings().mutant);
  if (!key)
    throw PtxError("WARPEMU_MUTANT is '" + settings().mutant +
                       "'; want list, reached or <operator>:<function>:<ordinal>",
                   0);
  apply_mutant(*module_, *key);
}

std::string LoadedModule::mutants() {
  if (!load()) return "";
  std::string lines;
  for (const MutantFacts& one : list_mutants(*module_)) lines += one.json_line() + "\n";
  return lines;
}

uint32_t LoadedModule::registers_of(const std::string& kernel) {
  if (!registers_) registers_ = registers_of_containers(containers_, settings().device.arch());
  const auto found = registers_->find(kernel);
  return found == registers_->end() ? 0 : found->second;
}

void LoadedModule::release_variables() {
  if (module_ == nullptr) return;
  for (const auto& [name, address] : addresses_) {
    if (std::find(managed_.begin(), managed_.end(), name) == managed_.end() || first_ == nullptr)
      DeviceMemory::instance().release_variable(address);
  }
}

const std::vector<std::string>& LoadedModule::launchable() {
  if (looked_for_launchable_) return launchable_;
  looked_for_launchable_ = true;
  for (const std::string_view name : names_taken_as_values(*module_)) {
    const auto function = module_->functions.find(name);
    if (function != module_->functions.end() && function->second.is_entry && function->second.has_body())
      launchable_.emplace_back(name);
  }
  return launchable_;
}

void build(Kernel& kernel) {
  if (!kernel.owner->load()) {
    kernel.error_message = kernel.owner->problem();
    return;
  }
  try {
    kernel.program = build_program(kernel.owner->module(), kernel.name, kernel.owner->addresses());
    limit_registers(*kernel.program, kernel.owner->registers_of(kernel.name));
    if (settings().dump_code) dump_code(*kernel.program);
  } catch (const BuildError& error) {
    kernel.error_message = error.what();
    kernel.error_path = error.path;
    kernel.error_line = error.line;
  }
}

Diagnostic problem_of(const Kernel& kernel) {
  Diagnostic d;
  d.kind = Finding::unsupported;
  d.kernel = kernel_title(kernel.name);
  d.path = kernel.error_path;
  d.line = kernel.error_line;
  const std::string file = d.path.substr(d.path.rfind('/') + 1);
  d.message = "emulator: " + kernel.error_message;
  if (d.line != 0) d.message += " at " + file + ":" + std::to_string(d.line);
  d.advice = "This cannot run without a GPU: the kernel was not started.";
  return d;
}

}  // namespace warpgrade::emu
