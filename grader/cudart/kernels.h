// The device code that the program registered: which host symbol stands for which kernel or variable.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/backend.h"

namespace warpgrade::cudart {

// A kernel that the program registered, on one device.
struct Kernel {
  ModuleId module = 0;
  std::string name;  // mangled
  KernelId id = 0;
  KernelFacts facts;
  bool is_known = false;  // id and facts are set
};

class Registry {
 public:
  static Registry& instance();

  void add_kernel(ModuleId module, const void* host_symbol, const char* name);
  void add_variable(ModuleId module, const void* host_symbol, const char* name);
  // The symbol's kernel is gone, with its module.
  void remove_kernel(const void* host_symbol);

  // nullptr when no such kernel was registered.
  Kernel* find_kernel(const void* host_symbol);
  // The same with id and facts: the backend is asked on first use.
  cudaError_t resolve(const void* host_symbol, Kernel** kernel);
  // cudaErrorInvalidSymbol when there is none.
  cudaError_t find_variable(const void* host_symbol, MemoryRange& variable);
  // For people; empty when there is none.
  std::string name_of_variable(const void* host_symbol);

 private:
  struct Variable {
    ModuleId module;
    std::string name;
  };
  std::mutex mutex_;
  std::unordered_map<const void*, std::vector<std::unique_ptr<Kernel>>> kernels_;  // by device
  std::unordered_map<const void*, Variable> variables_;
};

}  // namespace warpgrade::cudart
