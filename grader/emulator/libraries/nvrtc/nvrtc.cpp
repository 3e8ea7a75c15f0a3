// NVRTC before the emulator. The toolkit's own library does the work; where a program asks for machine code
// (--gpu-architecture=sm_80, nvrtcGetCUBIN), it gets PTX for the same architecture (compute_80), which is
// what the emulator's driver runs.
#include <dlfcn.h>
#include <nvrtc.h>

#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "toolkit_library.h"

extern "C" {
extern void* nvrtc_functions[];
extern const char nvrtc_names[];
}

namespace warpgrade::nvrtc {
namespace {

// Programs that asked for machine code.
struct Asked {
  std::mutex mutex;
  std::set<nvrtcProgram> for_machine_code;
};

Asked& asked() {
  static auto* all = new Asked;  // never destroyed: programs compile in static destructors
  return *all;
}

nvrtcResult missing() {
  static const bool reported = [] {
    std::fprintf(stderr, "emulator: the toolkit's " WARPEMU_NVRTC_SONAME
                         " was not found: set CUDA_HOME to the folder of the CUDA toolkit\n");
    return true;
  }();
  return reported ? NVRTC_ERROR_INTERNAL_ERROR : NVRTC_SUCCESS;
}

void* toolkits() {
  static void* library = libraries::open_toolkits(WARPEMU_TOOLKIT_LIBRARIES, WARPEMU_NVRTC_SONAME);
  return library;
}

__attribute__((constructor)) void find_functions() {
  void** function = nvrtc_functions;
  for (const char* name = nvrtc_names; *name != '\0'; name += std::strlen(name) + 1) {
    void* found = toolkits() != nullptr ? dlsym(toolkits(), name) : nullptr;
    *function++ = found != nullptr ? found : reinterpret_cast<void*>(&missing);
  }
}

// The toolkit's function of this name.
template <class Function>
Function* toolkits_own(const char* name) {
  void* found = toolkits() != nullptr ? dlsym(toolkits(), name) : nullptr;
  return reinterpret_cast<Function*>(found);
}

// "sm_80" becomes "compute_80" in an option that names the architecture, or behind one.
bool ask_for_ptx(std::string& option, bool is_value) {
  size_t at = 0;
  if (!is_value) {
    for (const char* name : {"--gpu-architecture=", "-arch="}) {
      if (option.compare(0, std::strlen(name), name) == 0) at = std::strlen(name);
    }
    if (at == 0) return false;
  }
  if (option.compare(at, 3, "sm_") != 0) return false;
  option.replace(at, 3, "compute_");
  return true;
}

bool gets_ptx(nvrtcProgram program) {
  const std::lock_guard lock(asked().mutex);
  return asked().for_machine_code.count(program) != 0;
}

}  // namespace
}  // namespace warpgrade::nvrtc

using namespace warpgrade::nvrtc;

extern "C" {

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  std::vector<std::string> texts(options, options + (options != nullptr && count > 0 ? count : 0));
  bool changed = false;
  for (size_t k = 0; k < texts.size(); ++k) {
    const bool is_value = k > 0 && (texts[k - 1] == "--gpu-architecture" || texts[k - 1] == "-arch");
    changed = ask_for_ptx(texts[k], is_value) || changed;
  }
  {
    const std::lock_guard lock(asked().mutex);
    if (changed) asked().for_machine_code.insert(program);
  }
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  const auto compile = toolkits_own<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram");
  return compile != nullptr ? compile(program, count, pointers.data()) : missing();
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* bytes) {
  if (gets_ptx(program)) return nvrtcGetPTXSize(program, bytes);
  const auto size = toolkits_own<decltype(nvrtcGetCUBINSize)>("nvrtcGetCUBINSize");
  return size != nullptr ? size(program, bytes) : missing();
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* image) {
  if (gets_ptx(program)) return nvrtcGetPTX(program, image);
  const auto get = toolkits_own<decltype(nvrtcGetCUBIN)>("nvrtcGetCUBIN");
  return get != nullptr ? get(program, image) : missing();
}
nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (program != nullptr) {
    const std::lock_guard lock(asked().mutex);
    asked().for_machine_code.erase(*program);
  }
  const auto destroy = toolkits_own<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram");
  return destroy != nullptr ? destroy(program) : missing();
}

}  // extern "C"
