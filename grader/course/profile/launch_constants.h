// Units that the bounds of a launch have in common.
#pragma once

namespace warpgrade {

// kSample: of so many sectors the emulator follows one through the caches.
inline constexpr double kSectorBytes = 32, kLanes = 32, kSample = 16, kMicro = 1e6, kSchedulers = 4;

}  // namespace warpgrade
