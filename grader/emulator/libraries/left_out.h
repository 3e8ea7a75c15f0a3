// What a library of the emulator says of the parts of NVIDIA's that it does not have: once each, on stderr.
// With the first of a library comes what to do, where there is one advice for all.
#pragma once

namespace warpgrade::libraries {

void say_left_out(const char* library, const char* what, const char* advice = nullptr);

}  // namespace warpgrade::libraries
