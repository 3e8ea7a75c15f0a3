#include "cudart/kernels.h"

#include <cxxabi.h>

#include <cstdlib>

#include "base/device_name.h"
#include "cudart/current_device.h"

namespace warpgrade::cudart {

Registry& Registry::instance() {
  // Never destroyed: programs launch kernels in their own static destructors.
  static Registry* registry = new Registry;
  return *registry;
}

void Registry::add_kernel(ModuleId module, const void* host_symbol, const char* name) {
  std::lock_guard lock(mutex_);
  std::vector<std::unique_ptr<Kernel>>& by_device = kernels_[host_symbol];
  by_device.clear();
  for (int device = 0; device < backend().device_count(); ++device) {
    by_device.push_back(std::make_unique<Kernel>());
    by_device.back()->module = module;
    by_device.back()->name = name;
  }
}

void Registry::remove_kernel(const void* host_symbol) {
  std::lock_guard lock(mutex_);
  kernels_.erase(host_symbol);
}

void Registry::add_variable(ModuleId module, const void* host_symbol, const char* name) {
  std::lock_guard lock(mutex_);
  variables_[host_symbol] = {module, name};
}

Kernel* Registry::find_kernel(const void* host_symbol) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(host_symbol);
  return found == kernels_.end() ? nullptr : found->second[static_cast<size_t>(current_device())].get();
}

cudaError_t Registry::resolve(const void* host_symbol, Kernel** kernel) {
  std::lock_guard lock(mutex_);
  const auto found = kernels_.find(host_symbol);
  if (found == kernels_.end()) return cudaErrorInvalidDeviceFunction;
  Kernel& k = *found->second[static_cast<size_t>(current_device())];
  *kernel = &k;
  if (k.is_known) return cudaSuccess;
  const cudaError_t error = backend().find_kernel(k.module, k.name, k.id, k.facts);
  k.is_known = error == cudaSuccess;
  return error;
}

cudaError_t Registry::find_variable(const void* host_symbol, MemoryRange& variable) {
  std::lock_guard lock(mutex_);
  const auto found = variables_.find(host_symbol);
  if (found == variables_.end()) return cudaErrorInvalidSymbol;
  return backend().find_variable(found->second.module, found->second.name, variable);
}

std::string Registry::name_of_variable(const void* host_symbol) {
  std::lock_guard lock(mutex_);
  const auto found = variables_.find(host_symbol);
  if (found == variables_.end()) return "";
  const std::string mangled(without_file(found->second.name));
  if (!mangled.starts_with("_Z")) return mangled;  // "x" would become a type
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = demangled != nullptr ? demangled : mangled;
  std::free(demangled);
  return name;
}

}  // namespace warpgrade::cudart
