#include "tensor/tensor_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace warpgrade::emu {
namespace {

constexpr uint64_t kMark = 0x70616d2072736e74ull;  // "tnsr map"
constexpr uint64_t kMostSize = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
constexpr uint32_t kMostBox = 256, kMostStep = 8;
constexpr unsigned kTypes = 16, kInterleaves = 3, kSwizzles = 7, kPromotions = 4, kFills = 2;
constexpr int kInvalidValue = 1, kNotSupported = 801;  // CUresult

uint64_t checksum(const TensorMap& map) {
  constexpr size_t kFrom = offsetof(TensorMap, address);
  uint64_t words[(sizeof map - kFrom) / sizeof(uint64_t)], sum = 0x9e3779b97f4a7c15ull;
  std::memcpy(words, reinterpret_cast<const uint8_t*>(&map) + kFrom, sizeof words);
  for (const uint64_t word : words) sum = (sum ^ word) * 0x100000001b3ull + (sum >> 29);
  return sum;
}

std::string is_and_must_be(const std::string& what, uint64_t is, const std::string& must) {
  return what + " is " + std::to_string(is) + ", and must be " + must;
}

std::string of_axis(const char* what, uint32_t axis) {
  return std::string(what) + " of axis " + std::to_string(axis);
}

std::string what_is_wrong_with_axis(const TensorMap& m, uint32_t axis) {
  if (m.size[axis] == 0 || m.size[axis] > kMostSize)
    return is_and_must_be(of_axis("the size", axis), m.size[axis], "1 to 2^32");
  if (m.box[axis] == 0 || m.box[axis] > kMostBox)
    return is_and_must_be(of_axis("the box", axis), m.box[axis], "1 to 256 elements");
  if (m.step[axis] == 0 || m.step[axis] > kMostStep)
    return is_and_must_be(of_axis("the element stride", axis), m.step[axis], "1 to 8");
  if (axis == 0) return {};
  const uint64_t stride = m.stride[axis - 1];
  if (stride % 16 != 0 || stride >= kMostStride)
    return is_and_must_be(of_axis("the stride", axis), stride, "a multiple of 16 bytes below 2^40");
  return {};
}

uint32_t line_of(uint8_t swizzle) {
  return 16u << swizzle;
}

// Where CUDA and the emulator differ.
std::string what_is_left_out(const TensorMap& m) {
  if (m.interleave != 0) return "interleaved layouts";
  if (m.swizzle > 3) return "swizzles of 32 or 64 bytes at a time";
  if (m.swizzle != 0 && m.row_bytes() < line_of(m.swizzle))
    return "a box whose rows have " + std::to_string(m.row_bytes()) + " bytes where the swizzle's have " +
           std::to_string(line_of(m.swizzle));
  return {};
}

}  // namespace

void TensorMap::seal() {
  mark = kMark;
  check = checksum(*this);
}

bool TensorMap::is_sealed() const {
  return mark == kMark && check == checksum(*this);
}

bool TensorMap::is_blank() const {
  static constexpr TensorMap kBlank;
  return std::memcmp(this, &kBlank, sizeof kBlank) == 0;
}

uint32_t TensorMap::box_bytes() const {
  uint32_t bytes = row_bytes();
  for (uint32_t axis = 1; axis < rank; ++axis) bytes *= count(axis);
  return bytes;
}

std::string what_is_wrong(const TensorMap& m, bool& is_supported) {
  is_supported = true;
  if (m.rank == 0 || m.rank > kMostTensorAxes) return is_and_must_be("the rank", m.rank, "1 to 5");
  if (m.interleave != 0 && m.rank < 3)
    return is_and_must_be("the rank of an interleaved tensor", m.rank, "at least 3");
  if (m.address % 16 != 0) return "the address is no multiple of 16 bytes";
  for (uint32_t axis = 0; axis < m.rank; ++axis) {
    if (std::string wrong = what_is_wrong_with_axis(m, axis); !wrong.empty()) return wrong;
  }
  if (m.interleave == 0 && m.row_bytes() % 16 != 0)
    return is_and_must_be("the number of bytes of the box along axis 0", m.row_bytes(), "a multiple of 16");
  const uint32_t line = line_of(std::min<uint8_t>(m.swizzle, 3));
  if (m.interleave == 0 && m.swizzle != 0 && m.row_bytes() > line)
    return is_and_must_be("the number of bytes of the box along axis 0", m.row_bytes(),
                          "at most the swizzle's " + std::to_string(line));
  if (m.fills_nan != 0 && !is_float(m.type)) return "NaN fills tensors of floating-point numbers alone";
  if (std::string left_out = what_is_left_out(m); !left_out.empty()) {
    is_supported = false;
    return left_out;
  }
  return {};
}

int encode_tiled(void* map, unsigned type, uint32_t rank, void* address, const uint64_t* size,
                 const uint64_t* stride, const uint32_t* box, const uint32_t* step, unsigned interleave,
                 unsigned swizzle, unsigned promotion, unsigned fill, std::string& problem) {
  const auto fail = [&](std::string why, int error = kInvalidValue) {
    problem = std::move(why);
    return error;
  };
  if (map == nullptr || size == nullptr || box == nullptr || step == nullptr || address == nullptr ||
      (stride == nullptr && rank > 1))
    return fail("a pointer is null");
  if (reinterpret_cast<uint64_t>(map) % 64 != 0) return fail("the map's address is no multiple of 64 bytes");
  if (type >= kTypes || interleave >= kInterleaves || swizzle >= kSwizzles || promotion >= kPromotions ||
      fill >= kFills)
    return fail("an enumerator is none of CUDA's");
  if (type > unsigned(TensorType::tf32_ftz)) return fail("elements of 4 or 6 bits", kNotSupported);
  if (rank == 0 || rank > kMostTensorAxes) return fail(is_and_must_be("the rank", rank, "1 to 5"));
  TensorMap m;
  m.address = reinterpret_cast<uint64_t>(address);
  m.rank = static_cast<uint8_t>(rank);
  m.type = static_cast<TensorType>(type);
  m.interleave = static_cast<uint8_t>(interleave);
  m.swizzle = static_cast<uint8_t>(swizzle);
  m.fills_nan = static_cast<uint8_t>(fill);
  for (uint32_t axis = 0; axis < rank; ++axis) {
    m.size[axis] = size[axis];
    if (axis > 0) m.stride[axis - 1] = stride[axis - 1];
    m.box[axis] = static_cast<uint16_t>(std::min(box[axis], kMostBox + 1));
    m.step[axis] = static_cast<uint8_t>(std::min(step[axis], kMostStep + 1));
  }
  bool is_supported = true;
  if (std::string wrong = what_is_wrong(m, is_supported); !wrong.empty())
    return fail(std::move(wrong), is_supported ? kInvalidValue : kNotSupported);
  m.seal();
  std::memcpy(map, &m, sizeof m);
  return 0;
}

}  // namespace warpgrade::emu
