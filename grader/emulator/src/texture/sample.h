// How textures find and mix elements: the formulas of the CUDA programming guide ("Texture Fetching").
#pragma once
#include <cstdint>

#include "cudart/image.h"

namespace warpgrade::emu {

// Four channels as 32-bit registers see them: floats, or integers widened with their sign. Channels that the
// texture lacks are 0, the fourth is 1.
struct Texel {
  uint32_t bits[4];
};

// `memory`: the host's view of image.address. Coordinates as the instruction has them; x, y, z that the shape
// does not have are not looked at.
Texel sample(const cudart::Image& image, const uint8_t* memory, const float (&at)[3], uint32_t layer);
// Of integer coordinates, without filtering.
Texel fetch(const cudart::Image& image, const uint8_t* memory, const int32_t (&at)[3], uint32_t layer);
// One channel of the four elements that linear filtering would mix: (0,1), (1,1), (1,0), (0,0).
Texel gather(const cudart::Image& image, const uint8_t* memory, const float (&at)[3], uint32_t channel);

}  // namespace warpgrade::emu
