// The emulator's libcudart for a library that stands alone: the forwards of its functions find it in this library's own
// folder, whatever other libcudart the program has.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern "C" {
extern __attribute__((visibility("hidden"))) void* runtime_functions[];
extern __attribute__((visibility("hidden"))) const char runtime_names[];
}

namespace warpgrade::libraries {
namespace {

constexpr char kOfTheEmulatorAlone[] = "warpemu_driver_bridge";

// The one that is in the process, where it is the emulator's: two emulators would know nothing of each other's memory.
void* open_runtime(const std::string& path) {
  void* loaded = dlopen(CUDART_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (loaded != nullptr && dlsym(loaded, kOfTheEmulatorAlone) != nullptr) return loaded;
  if (loaded != nullptr) dlclose(loaded);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

__attribute__((constructor)) void find_runtime() {
  Dl_info own;
  const bool known = dladdr(reinterpret_cast<void*>(&find_runtime), &own) != 0;
  const std::string library = known ? own.dli_fname : "";
  const std::string path = library.substr(0, library.rfind('/') + 1) + CUDART_SONAME;
  void* runtime = open_runtime(path);
  void** function = runtime_functions;
  for (const char* name = runtime_names; *name != '\0'; name += std::strlen(name) + 1, ++function) {
    *function = runtime != nullptr ? dlsym(runtime, name) : nullptr;
    if (*function != nullptr) continue;
    std::fprintf(
        stderr,
        "emulator: %s needs the " CUDART_SONAME
        " that it was built with, in the same folder (%s): put the whole folder of the emulator in place "
        "again\n",
        library.c_str(), runtime == nullptr ? dlerror() : name);
    std::_Exit(127);  // as the loader does where a library is missing
  }
}

}  // namespace
}  // namespace warpgrade::libraries
