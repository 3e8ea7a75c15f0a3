// What a texture or a surface object sees, as plain data: it travels between processes, and device code is
// interpreted by it.
#pragma once
#include <cstdint>

namespace warpgrade::cudart {

// How coordinates find an element. The numbers are those of image instructions, too.
enum class ImageShape : uint32_t {
  linear,  // elements one behind the other in plain memory, named by an integer
  line,
  plane,
  volume,
  lines,  // layers of lines, and of planes
  planes,
  cube,  // six planes, and layers of six
  cubes
};

enum class ChannelKind : uint32_t { signed_integer, unsigned_integer, floating };  // as cudaChannelFormatKind

enum class AddressMode : uint32_t { wrap, clamp, mirror, border };  // as cudaTextureAddressMode

struct Image {
  uint64_t address = 0;  // of the first element
  uint64_t pitch = 0;    // bytes from row to row
  uint64_t slice = 0;    // bytes from slice to slice, or layer to layer
  ImageShape shape = ImageShape::plane;
  uint32_t width = 0, height = 1, depth = 1;  // elements, rows, slices; depth also of layers and faces
  ChannelKind kind = ChannelKind::unsigned_integer;
  uint32_t channels = 0, channel_bits = 0;  // 1, 2 or 4; 8, 16 or 32
  uint32_t is_surface = 0;

  // Of textures.
  AddressMode modes[3] = {};
  uint32_t filters = 0;           // linear, else the nearest element
  uint32_t normalized = 0;        // coordinates are 0 to 1
  uint32_t reads_normalized = 0;  // integers of 8 and 16 bits are read as fractions
  uint32_t srgb = 0;              // 8-bit colours are made linear
  float border[4] = {};
  uint32_t is_array = 0;  // a CUDA array's memory, which the program sees through copies and objects alone

  uint32_t element_bytes() const { return channels * channel_bits / 8; }
  uint64_t row_bytes() const { return uint64_t{width} * element_bytes(); }
  // From its first byte to its last one; nothing may wrap, whatever the numbers are. ~0: more than can be.
  uint64_t bytes() const {
    using Wide = unsigned __int128;
    if (width == 0 || height == 0 || depth == 0) return 0;
    const Wide all = Wide(depth - 1) * slice + Wide(height - 1) * pitch + row_bytes();
    return all < ~uint64_t{0} ? static_cast<uint64_t>(all) : ~uint64_t{0};
  }
};
static_assert(sizeof(Image) == 104);

}  // namespace warpgrade::cudart
