// The files of profile/rates and emulator/devices, as the build embeds them.
#pragma once

#include <cstddef>

namespace warpgrade {

struct EmbeddedText {
  const char* name;
  const char* text;
};
extern const EmbeddedText kEmbeddedRates[];
extern const std::size_t kEmbeddedRatesCount;
extern const EmbeddedText kDescribedDevices[];
extern const std::size_t kDescribedDevicesCount;

}  // namespace warpgrade
