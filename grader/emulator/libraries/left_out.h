// What a library of the emulator says of the parts of NVIDIA's that it does not have: once each, on stderr.
#pragma once

namespace warpgrade::libraries {

void say_left_out(const char* library, const char* what);

}  // namespace warpgrade::libraries
