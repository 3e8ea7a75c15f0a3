// The device code of the program: modules, loaded on first use, and their kernels.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cudart/backend.h"
#include "findings/diagnostics.h"
#include "program/build.h"

namespace warpgrade::emu {

struct DeviceVariable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

class LoadedModule {
 public:
  // `first`: the same module on device 0, which holds the variables that all devices share; nullptr: it
  // is that one.
  LoadedModule(std::vector<std::span<const uint8_t>> containers, LoadedModule* first)
      : containers_(std::move(containers)), first_(first) {}

  // Parses the PTX and places its variables, once; false with `problem` when there is nothing to run.
  bool load();
  const std::string& problem() const { return problem_; }
  Module& module() { return *module_; }
  const SymbolTable& addresses() const { return addresses_; }
  // Host variables of __managed__ declarations are host-visible: named before load().
  void add_managed(const std::string& name) { managed_.push_back(name); }
  bool find_variable(const std::string& name, DeviceVariable& variable);
  std::vector<std::string> kernels() const;  // by name
  // A line of JSON for each mutant of its functions.
  std::string mutants();
  // Reads all functions, which otherwise happens when they are used: what cannot be read is a problem then.
  void read_bodies();
  void release_variables();
  // Kernels whose address device code takes, to launch them.
  const std::vector<std::string>& launchable();
  // Of a thread of the kernel, as ptxas allocated them; 0: not known.
  uint32_t registers_of(const std::string& kernel);

 private:
  void mutate();
  void place_variables();
  void initialize(const Variable& variable, uint64_t address);

  std::vector<std::span<const uint8_t>> containers_;
  LoadedModule* first_;
  bool attempted_ = false;
  std::string problem_;
  std::unique_ptr<Module> module_;
  SymbolTable addresses_;
  std::vector<std::string> managed_;
  bool looked_for_launchable_ = false;
  std::vector<std::string> launchable_;
  std::optional<std::map<std::string, uint32_t>> registers_;  // read when first asked for
};

// A kernel that was asked for.
struct Kernel {
  LoadedModule* owner = nullptr;
  cudart::ModuleId module = 0;
  std::string name;  // mangled
  std::unique_ptr<Program> program;
  std::string error_message, error_path;
  uint32_t error_line = 0;
  int max_dynamic_shared = -1;  // set by cudaFuncSetAttribute; -1: the default of 48 KiB less static
  int preferred_carveout = -1;
  std::array<int32_t, 3> cluster{};  // of cudaFuncSetAttribute; zeros: what the program says
  bool wide_clusters = false;
};

// Builds the kernel's program, or notes why it cannot run.
void build(Kernel& kernel);
// That as a diagnostic.
Diagnostic problem_of(const Kernel& kernel);
cudart::KernelFacts facts_of(const Kernel& kernel);

}  // namespace warpgrade::emu
