// The device code of the program: which host symbol stands for which kernel or variable, loaded on first use.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "program/build.h"

namespace warpgrade::emu {

class LoadedModule;

// A kernel that the program registered.
struct Kernel {
  LoadedModule* owner = nullptr;
  std::string name;  // mangled
  std::unique_ptr<Program> program;
  bool attempted = false;
  std::string error_message, error_path;
  uint32_t error_line = 0;
  int max_dynamic_shared = -1;  // set by cudaFuncSetAttribute; -1: the default of 48 KiB less static
  int preferred_carveout = -1;
};

struct DeviceVariable {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

class LoadedModule {
 public:
  explicit LoadedModule(const void* fatbin_wrapper) : wrapper_(fatbin_wrapper) {}

  // Parses the PTX and places its variables, once; false with `problem` when there is nothing to run.
  bool load();
  const std::string& problem() const { return problem_; }
  Module& module() { return *module_; }
  const SymbolTable& addresses() const { return addresses_; }
  // Host variables of __managed__ declarations are host-visible: named before load().
  void add_managed(const std::string& name) { managed_.push_back(name); }
  bool find_variable(const std::string& name, DeviceVariable& variable);

 private:
  void place_variables();
  void initialize(const Variable& variable, uint64_t address);

  const void* wrapper_;
  bool attempted_ = false;
  std::string problem_;
  std::unique_ptr<Module> module_;
  SymbolTable addresses_;
  std::vector<std::string> managed_;
};

class Modules {
 public:
  static Modules& instance();

  LoadedModule* add(const void* fatbin_wrapper);
  void add_kernel(LoadedModule* owner, const void* host_symbol, const char* name);
  void add_variable(LoadedModule* owner, const void* host_symbol, const char* name);

  // nullptr when no such kernel was registered.
  Kernel* find_kernel(const void* host_symbol);
  // The kernel's program, built on first use; nullptr when it cannot run, which has been reported then.
  const Program* program(Kernel& kernel);
  bool find_variable(const void* host_symbol, DeviceVariable& variable);

 private:
  void build(Kernel& kernel);
  void report(const Kernel& kernel) const;

  std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<LoadedModule>> modules_;
  std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels_;
  struct VariableName {
    LoadedModule* owner;
    std::string name;
  };
  std::unordered_map<const void*, VariableName> variables_;
};

}  // namespace warpgrade::emu
