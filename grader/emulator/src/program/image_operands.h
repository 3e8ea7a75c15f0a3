// How the decoder packs the operands of texture and surface instructions into an instruction: Inst::a is the
// object's register, Inst::vec the values (four, from kImageValues) and the coordinates (from
// kImageCoordinates), Inst::variant the ImageShape that the instruction names, Inst::imm the rest.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

inline constexpr int kImageValues = 0, kImageCoordinates = 4;

enum ImageFlag : uint8_t { kIntegerCoordinates = 1, kResident = 2 };

// What a surface access does outside of the surface.
enum SurfaceBoundary : uint8_t { kSurfaceTrap, kSurfaceClamp, kSurfaceZero };

// txq and suq.
enum ImageQuery : uint8_t {
  kQueryWidth,
  kQueryHeight,
  kQueryDepth,
  kQueryLayers,
  kQueryNormalized,
  kQueryFilter,
  kQueryAddress0
};

}  // namespace warpgrade::emu
