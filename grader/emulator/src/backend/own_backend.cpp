// The runtime library of the emulator interprets in its own process.
#include "backend/emulated.h"

namespace warpgrade::cudart {

Backend& backend() {
  return emu::Emulated::instance();
}

}  // namespace warpgrade::cudart
