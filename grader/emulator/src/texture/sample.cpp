#include "texture/sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "warpemu/half_type.h"

namespace warpgrade::emu {
namespace {

using cudart::AddressMode;
using cudart::ChannelKind;
using cudart::Image;
using cudart::ImageShape;

constexpr int64_t kOutside = -1;  // of a border

// A coordinate's fraction has 8 bits (9-bit fixed point, so that 1.0 is exact).
constexpr int64_t kFractionOne = 256;

uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

bool reads_floats(const Image& image) {
  return image.kind == ChannelKind::floating || (image.reads_normalized != 0 && image.channel_bits < 32);
}

// --- one element ---

uint32_t raw_channel(const Image& image, const uint8_t* element, uint32_t channel) {
  const uint32_t bytes = image.channel_bits / 8;
  uint32_t raw = 0;
  std::memcpy(&raw, element + channel * bytes, bytes);
  if (image.kind != ChannelKind::signed_integer) return raw;
  return bytes == 1   ? static_cast<uint32_t>(static_cast<int8_t>(raw))
         : bytes == 2 ? static_cast<uint32_t>(static_cast<int16_t>(raw))
                      : raw;
}

float float_of_half(uint16_t bits) {
  HalfType value;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<float>(value);
}

float linear_of_srgb(float c) {
  return c <= 0.04045f ? c / 12.92f : std::pow((c + 0.055f) / 1.055f, 2.4f);
}

uint32_t channel_bits(const Image& image, const uint8_t* element, uint32_t channel) {
  const uint32_t raw = raw_channel(image, element, channel);
  if (!reads_floats(image)) return raw;
  if (image.kind == ChannelKind::floating)
    return image.channel_bits == 16 ? bits_of(float_of_half(static_cast<uint16_t>(raw))) : raw;
  if (image.kind == ChannelKind::signed_integer) {
    const float most = image.channel_bits == 8 ? 127.0f : 32767.0f;
    return bits_of(std::max(-1.0f, static_cast<float>(static_cast<int32_t>(raw)) / most));
  }
  const float fraction = static_cast<float>(raw) / (image.channel_bits == 8 ? 255.0f : 65535.0f);
  return bits_of(image.srgb != 0 && image.channel_bits == 8 && channel < 3 ? linear_of_srgb(fraction)
                                                                           : fraction);
}

Texel border_of(const Image& image) {
  Texel t;
  for (int k = 0; k < 4; ++k) t.bits[k] = bits_of(image.border[k]);  // of integers, too: the same bits
  return t;
}

// An element's place in an image; kOutside on any axis is the border.
struct Place {
  int64_t x = 0, y = 0, z = 0;
};

Texel read(const Image& image, const uint8_t* memory, const Place& p) {
  if (p.x == kOutside || p.y == kOutside || p.z == kOutside) return border_of(image);
  const uint8_t* element = memory + static_cast<uint64_t>(p.z) * image.slice +
                           static_cast<uint64_t>(p.y) * image.pitch +
                           static_cast<uint64_t>(p.x) * image.element_bytes();
  Texel t{{0, 0, 0, reads_floats(image) ? bits_of(1.0f) : 1u}};
  for (uint32_t c = 0; c < image.channels; ++c) t.bits[c] = channel_bits(image, element, c);
  return t;
}

// --- coordinates ---

// Wrapping and mirroring are for normalized coordinates; else they clamp.
AddressMode mode_of(const Image& image, AddressMode asked) {
  const bool repeats = asked == AddressMode::wrap || asked == AddressMode::mirror;
  return repeats && image.normalized == 0 ? AddressMode::clamp : asked;
}

// In elements. Infinities and huge numbers stay, NaN is 0.
double in_elements(const Image& image, float coordinate, uint32_t size, AddressMode mode) {
  if (std::isnan(coordinate)) return 0;
  if (image.normalized == 0) return coordinate;
  double x = coordinate;
  if (std::isinf(coordinate) && (mode == AddressMode::wrap || mode == AddressMode::mirror)) return 0;
  if (mode == AddressMode::wrap) x -= std::floor(x);
  if (mode == AddressMode::mirror) {
    const double whole = std::floor(x);
    x = std::fmod(whole, 2) == 0 ? x - whole : 1 - (x - whole);
  }
  return x * size;
}

int64_t limit(double value, uint32_t size) {
  return static_cast<int64_t>(std::clamp(std::floor(value), -2.0, static_cast<double>(size) + 1));
}

int64_t place_on_axis(int64_t index, uint32_t size, AddressMode mode) {
  const auto end = static_cast<int64_t>(size);
  if (index >= 0 && index < end) return index;
  if (mode == AddressMode::border) return kOutside;
  if (mode == AddressMode::wrap) return (index % end + end) % end;
  return std::clamp<int64_t>(index, 0, end - 1);  // a mirrored coordinate is one step outside at most
}

struct Axis {
  int64_t low = 0, high = 0;  // the two elements that linear filtering mixes
  double part = 0;            // of the higher one
};

Axis nearest_on(const Image& image, float coordinate, uint32_t size, AddressMode asked) {
  const AddressMode mode = mode_of(image, asked);
  const double x = in_elements(image, coordinate, size, mode);
  return {place_on_axis(limit(x, size), size, mode), 0, 0};
}

Axis linear_on(const Image& image, float coordinate, uint32_t size, AddressMode asked) {
  const AddressMode mode = mode_of(image, asked);
  const double x = in_elements(image, coordinate, size, mode);
  const double fixed = std::clamp(std::floor((x - 0.5) * kFractionOne + 0.5), -2.0 * kFractionOne,
                                  (size + 1.0) * kFractionOne);
  const auto steps = static_cast<int64_t>(fixed);
  const int64_t low = steps >> 8;
  return {place_on_axis(low, size, mode), place_on_axis(low + 1, size, mode),
          static_cast<double>(steps & (kFractionOne - 1)) / kFractionOne};
}

// Which face of a cube a direction meets, and where, in 0 to 1 (programming guide, "Cubemap Textures").
struct OnFace {
  uint32_t face;
  float s, t;
};

OnFace face_of(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  uint32_t face;
  float m, s, t;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1;
    m = ax, s = x >= 0 ? -z : z, t = -y;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3;
    m = ay, s = x, t = y >= 0 ? z : -z;
  } else {
    face = z >= 0 ? 4 : 5;
    m = az, s = z >= 0 ? x : -x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

// --- what a shape has ---

bool is_cube(const Image& image) {
  return image.shape == ImageShape::cube || image.shape == ImageShape::cubes;
}
bool has_rows(const Image& image) {
  return image.shape == ImageShape::plane || image.shape == ImageShape::volume ||
         image.shape == ImageShape::planes || is_cube(image);
}

int64_t layer_of(const Image& image, uint32_t layer) {
  const uint32_t layers = image.shape == ImageShape::cubes ? image.depth / 6 : image.depth;
  return std::min(layer, layers - 1);
}

// An image as three axes: the third may be a layer or a face, which is never filtered.
struct Axes {
  Axis x, y, z;
};

template <class OnAxis>
Axes axes_of(const Image& image, const float (&at)[3], uint32_t layer, OnAxis on_axis) {
  Axes a;
  if (is_cube(image)) {
    const OnFace f = face_of(at[0], at[1], at[2]);
    Image clamped = image;
    clamped.normalized = 1;
    a.x = on_axis(clamped, f.s, image.width, AddressMode::clamp);
    a.y = on_axis(clamped, f.t, image.height, AddressMode::clamp);
    a.z.low = f.face + (image.shape == ImageShape::cubes ? 6 * layer_of(image, layer) : 0);
    return a;
  }
  a.x = on_axis(image, at[0], image.width, image.modes[0]);
  if (has_rows(image)) a.y = on_axis(image, at[1], image.height, image.modes[1]);
  // A line is read at 0 on an axis of one row, as an H200 does: filtered, half of it is what lies before
  // that row.
  if (image.shape == ImageShape::line) a.y = on_axis(image, 0.0f, 1, image.modes[1]);
  if (image.shape == ImageShape::volume) a.z = on_axis(image, at[2], image.depth, image.modes[2]);
  if (image.shape == ImageShape::lines || image.shape == ImageShape::planes) a.z.low = layer_of(image, layer);
  return a;
}

Texel mix(const Image& image, const uint8_t* memory, const Axes& a) {
  double sum[4] = {};
  for (int corner = 0; corner < 8; ++corner) {
    const bool x = corner & 1, y = corner & 2, z = corner & 4;
    const double weight =
        (x ? a.x.part : 1 - a.x.part) * (y ? a.y.part : 1 - a.y.part) * (z ? a.z.part : 1 - a.z.part);
    if (weight == 0) continue;
    const Texel t =
        read(image, memory, {x ? a.x.high : a.x.low, y ? a.y.high : a.y.low, z ? a.z.high : a.z.low});
    for (int c = 0; c < 4; ++c) sum[c] += weight * double(float_of(t.bits[c]));
  }
  Texel mixed;
  for (int c = 0; c < 4; ++c) mixed.bits[c] = bits_of(static_cast<float>(sum[c]));
  return mixed;
}

Texel fetch_linear(const Image& image, const uint8_t* memory, int64_t index) {
  return index >= 0 && index < image.width ? read(image, memory, {index, 0, 0}) : Texel{};
}

}  // namespace

Texel sample(const Image& image, const uint8_t* memory, const float (&at)[3], uint32_t layer) {
  if (image.shape == ImageShape::linear)
    return fetch_linear(image, memory, std::isnan(at[0]) ? 0 : limit(at[0], image.width));
  if (image.filters != 0 && reads_floats(image))
    return mix(image, memory, axes_of(image, at, layer, linear_on));
  const Axes a = axes_of(image, at, layer, nearest_on);
  return read(image, memory, {a.x.low, a.y.low, a.z.low});
}

Texel fetch(const Image& image, const uint8_t* memory, const int32_t (&at)[3], uint32_t layer) {
  if (image.shape == ImageShape::linear) return fetch_linear(image, memory, at[0]);
  const auto place = [&](int axis, uint32_t size) {
    return place_on_axis(at[axis], size, mode_of(image, image.modes[axis]));
  };
  Place p{place(0, image.width), 0, 0};
  if (has_rows(image)) p.y = place(1, image.height);
  if (image.shape == ImageShape::volume) p.z = place(2, image.depth);
  if (image.shape == ImageShape::lines || image.shape == ImageShape::planes) p.z = layer_of(image, layer);
  return read(image, memory, p);
}

Texel gather(const Image& image, const uint8_t* memory, const float (&at)[3], uint32_t channel) {
  const Axes a = axes_of(image, at, 0, linear_on);
  const Place places[4] = {{a.x.low, a.y.high, a.z.low},
                           {a.x.high, a.y.high, a.z.low},
                           {a.x.high, a.y.low, a.z.low},
                           {a.x.low, a.y.low, a.z.low}};
  Texel t;
  for (int k = 0; k < 4; ++k) t.bits[k] = read(image, memory, places[k]).bits[channel];
  return t;
}

}  // namespace warpgrade::emu
