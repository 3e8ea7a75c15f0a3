// The descriptors of tensors (CUtensorMap) as the emulator writes and reads them. NVIDIA's own format is not
// public, so this is another: a map that something else made is refused.
#pragma once
#include <cstdint>
#include <string>

namespace warpgrade::emu {

inline constexpr uint32_t kMostTensorAxes = 5;

// The numbers of CUtensorMapDataType.
enum class TensorType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
};

constexpr uint32_t bytes_of(TensorType t) {
  switch (t) {
    case TensorType::u8:
      return 1;
    case TensorType::u16:
    case TensorType::f16:
    case TensorType::bf16:
      return 2;
    case TensorType::u64:
    case TensorType::s64:
    case TensorType::f64:
      return 8;
    default:
      return 4;
  }
}
constexpr bool is_float(TensorType t) {
  return t >= TensorType::f16;
}

// Axis 0 is the innermost, whose elements are neighbours in memory.
struct TensorMap {
  uint64_t mark = 0;
  uint64_t check = 0;  // over all that follows
  uint64_t address = 0;
  uint64_t size[kMostTensorAxes] = {};        // elements
  uint64_t stride[kMostTensorAxes - 1] = {};  // bytes, from axis 1 on
  uint16_t box[kMostTensorAxes] = {};         // elements
  uint8_t step[kMostTensorAxes] = {};         // elements from one that is copied to the next
  uint8_t rank = 0;
  TensorType type = TensorType::u8;
  uint8_t swizzle = 0;     // CUtensorMapSwizzle: 0 none, then lines of 32, 64 and 128 bytes
  uint8_t fills_nan = 0;   // elements outside of the tensor are NaN, not zero
  uint8_t interleave = 0;  // CUtensorMapInterleave
  uint8_t spare[12] = {};

  void seal();
  // Whether the emulator made it, and it can be copied with.
  bool is_sealed() const;
  // Elements of a box along an axis that are copied.
  uint32_t count(uint32_t axis) const {
    return axis == 0 ? box[0] : (uint32_t(box[axis]) + step[axis] - 1) / step[axis];
  }
  uint32_t row_bytes() const { return box[0] * bytes_of(type); }
  uint32_t box_bytes() const;
  bool is_blank() const;  // nothing but zeros
};
static_assert(sizeof(TensorMap) == 128);

// What is wrong with a map; empty where all is right. `is_supported` false: CUDA has it, the emulator
// has not.
std::string what_is_wrong(const TensorMap& map, bool& is_supported);

// cuTensorMapEncodeTiled: fills the 128 bytes of a map. Returns a CUresult; `problem` is what is wrong.
int encode_tiled(void* map, unsigned type, uint32_t rank, void* address, const uint64_t* size,
                 const uint64_t* stride, const uint32_t* box, const uint32_t* step, unsigned interleave,
                 unsigned swizzle, unsigned promotion, unsigned fill, std::string& problem);

}  // namespace warpgrade::emu
