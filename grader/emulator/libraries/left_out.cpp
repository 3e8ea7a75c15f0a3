#include "left_out.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace warpgrade::libraries {

void say_left_out(const char* library, const char* what) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // never destroyed: programs call in static destructors
  const std::lock_guard lock(mutex);
  if (said.insert(what).second)
    std::fprintf(stderr, "emulator: unsupported call of %s (%s): it needs a GPU\n", what, library);
}

}  // namespace warpgrade::libraries
