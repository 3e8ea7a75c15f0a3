// Where the assembler was not there when this was built.
#include "native/kernel.h"

namespace warpgrade::emu {

NativeLevel native_level() {
  return NativeLevel::none;
}

std::unique_ptr<NativeCode> compile_native(const Program&, const NativeMode&,
                                           const std::set<std::pair<uint32_t, uint32_t>>&) {
  return nullptr;
}

}  // namespace warpgrade::emu
