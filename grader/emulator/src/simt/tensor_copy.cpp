// Copies of boxes of tensors through maps: cp.async.bulk.tensor and cp.reduce.async.bulk.tensor.
#include <algorithm>
#include <cstring>
#include <vector>

#include "check/async_copies.h"
#include "exec/handlers.h"
#include "simt/copy_engine.h"
#include "simt/reduce_element.h"
#include "tensor/tensor_map.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kSharedAlign = 128;  // of a box in shared memory

bool read_map(const LaneCopy& c, TensorMap& map) {
  const Stretch place(c, c.address(c.copy.map), sizeof map, Space::generic, AccessKind::load, 64);
  if (c.stops()) return false;
  std::memcpy(static_cast<void*>(&map), place.host(), sizeof map);
  bool is_supported = true;
  std::string wrong = !map.is_sealed() ? "there is none at this address" : what_is_wrong(map, is_supported);
  if (wrong.empty() && map.rank != c.copy.rank)
    wrong = "it describes " + std::to_string(map.rank) + " axes, and the instruction " +
            std::to_string(c.copy.rank);
  if (wrong.empty()) return true;
  Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::trap);
  d.address = c.address(c.copy.map);
  d.message += "copies with a tensor map that cannot be used: " + wrong;
  d.advice =
      "Make the map with cuTensorMapEncodeTiled, look at what that returns, and pass it as a "
      "`const __grid_constant__ CUtensorMap`, or by its address in memory.";
  stop_launch(c.w, std::move(d), Fault::launch_failure);
  return false;
}

bool is_aligned_box(const LaneCopy& c, uint64_t shared) {
  if (shared % kSharedAlign == 0) return true;
  Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::misaligned);
  d.address = shared;
  d.message += "copies a box of a tensor whose place in shared memory is no multiple of 128 bytes";
  d.advice = "Declare the array with alignas(128), or with 1024 where the map swizzles lines of 128 bytes.";
  stop_launch(c.w, std::move(d), Fault::misaligned_address);
  return false;
}

constexpr uint32_t kPiece = 16;  // bytes of a row that hardware reads and writes at once

// An H200 calls another start along the first axis an illegal instruction.
bool is_aligned_start(const LaneCopy& c, const TensorMap& map) {
  const int64_t start = lanes<int32_t>(c.w, c.copy.coordinates[0])[c.lane];
  const int64_t byte = start * static_cast<int64_t>(bytes_of(map.type));
  if (byte % int64_t{kPiece} == 0) return true;
  Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::misaligned);
  d.address = map.address;
  d.message += "copies a box of a tensor that begins at element " + std::to_string(start) +
               " of the first axis, which is byte " + std::to_string(byte) + " of a row: no multiple of 16";
  d.advice =
      "Begin at an element whose bytes are a multiple of 16 along the first axis. A GPU ends the kernel with "
      "cudaErrorIllegalInstruction.";
  stop_launch(c.w, std::move(d), Fault::illegal_instruction);
  return false;
}

// Boxes that are loaded may begin before the tensor. An H200 calls a store of such a box an
// illegal instruction.
bool starts_inside(const LaneCopy& c, const TensorMap& map) {
  for (uint32_t axis = 0; axis < map.rank; ++axis) {
    const int32_t start = lanes<int32_t>(c.w, c.copy.coordinates[axis])[c.lane];
    if (start >= 0) continue;
    Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::out_of_bounds);
    d.address = map.address;
    d.message += "stores a box of a tensor that begins at element " + std::to_string(start) + " of axis " +
                 std::to_string(axis) + ", before the tensor";
    d.advice =
        "Begin at element 0 or behind it; only boxes that are loaded may begin before the tensor. A GPU ends "
        "the "
        "kernel with cudaErrorIllegalInstruction.";
    stop_launch(c.w, std::move(d), Fault::illegal_instruction);
    return false;
  }
  return true;
}

// A box of a tensor: its rows in global memory, its bytes in shared memory.
class Box {
 public:
  Box(const LaneCopy& c, const TensorMap& map) : c_(c), map_(map) {
    for (uint32_t axis = 0; axis < map.rank; ++axis)
      start_[axis] = lanes<int32_t>(c.w, c.copy.coordinates[axis])[c.lane];
  }

  // Calls use(row number, address of the part inside of the tensor, its first byte in the row, its bytes; 0
  // bytes: the row lies outside).
  template <class Use>
  void for_each_row(Use use) const {
    uint32_t rows = 1;
    for (uint32_t axis = 1; axis < map_.rank; ++axis) rows *= map_.count(axis);
    const auto size = static_cast<int64_t>(bytes_of(map_.type));
    const int64_t begin = std::max<int64_t>(start_[0], 0),
                  end = std::min(start_[0] + int64_t(map_.box[0]), int64_t(map_.size[0]));
    for (uint32_t row = 0; row < rows && !c_.stops(); ++row) {
      uint64_t address = map_.address;
      bool inside = begin < end;
      for (uint32_t axis = 1, rest = row; axis < map_.rank; ++axis) {
        const int64_t at = start_[axis] + int64_t(rest % map_.count(axis)) * map_.step[axis];
        rest /= map_.count(axis);
        inside = inside && at >= 0 && at < int64_t(map_.size[axis]);
        address += uint64_t(at) * map_.stride[axis - 1];
      }
      if (inside) {
        use(row, address + uint64_t(begin * size), uint32_t((begin - start_[0]) * size),
            uint32_t((end - begin) * size));
      } else {
        use(row, uint64_t{0}, 0u, 0u);
      }
    }
  }

  // The offset from the box's begin of a byte of a row: pieces of 16 bytes are exchanged by the address.
  uint64_t swizzled(uint64_t shared, uint32_t row, uint32_t byte) const {
    const uint64_t offset = uint64_t(row) * map_.row_bytes() + byte;
    const uint64_t exchanged = (uint64_t{1} << map_.swizzle) - 1;
    return offset ^ (((shared + offset) >> 7 & exchanged) << 4);
  }

 private:
  const LaneCopy& c_;
  const TensorMap& map_;
  int64_t start_[kMostTensorAxes] = {};
};

// Elements outside of the tensor.
void fill_outside(const TensorMap& map, uint8_t* at, uint32_t bytes) {
  std::memset(at, 0, bytes);
  if (map.fills_nan == 0) return;
  const uint64_t nan = map.type == TensorType::f64 ? 0x7fffffffffffffffull
                       : bytes_of(map.type) == 2   ? 0x7fffull
                                                   : 0x7fffffffull;
  for (uint32_t k = 0; k < bytes; k += bytes_of(map.type)) std::memcpy(at + k, &nan, bytes_of(map.type));
}

void flush_subnormals(const TensorMap& map, uint8_t* row, uint32_t bytes) {
  if (map.type != TensorType::f32_ftz && map.type != TensorType::tf32_ftz) return;
  for (uint32_t k = 0; k < bytes; k += sizeof(uint32_t)) {
    uint32_t bits;
    std::memcpy(&bits, row + k, sizeof bits);
    if ((bits & 0x7f800000u) == 0) bits &= 0x80000000u;
    std::memcpy(row + k, &bits, sizeof bits);
  }
}

// The pieces of a row in shared memory, in their exchanged places: use(its place there, its byte in the
// row, bytes).
template <class Use>
void for_each_piece(const TensorMap& map, const Box& box, uint64_t shared, uint32_t row, Use use) {
  const uint32_t piece = map.swizzle == 0 ? map.row_bytes() : 16;
  for (uint32_t byte = 0; byte < map.row_bytes(); byte += piece)
    use(static_cast<uint32_t>(box.swizzled(shared, row, byte)), byte, piece);
}

void load_box(const LaneCopy& c, const TensorMap& map, uint64_t shared, uint64_t barrier) {
  if (!is_aligned_box(c, shared) || !is_aligned_start(c, map)) return;
  const Stretch to(c, shared, map.box_bytes(), Space::shared, AccessKind::store, kSharedAlign);
  if (c.stops()) return;
  const Box box(c, map);
  std::vector<uint8_t> values(map.row_bytes());
  box.for_each_row([&](uint32_t row, uint64_t address, uint32_t first, uint32_t bytes) {
    fill_outside(map, values.data(), map.row_bytes());
    if (bytes != 0) {
      const Stretch from(c, address, bytes, Space::global, AccessKind::load, bytes_of(map.type));
      if (c.stops()) return;
      from.look_at(0, bytes);
      std::memcpy(values.data() + first, from.host(), bytes);
      flush_subnormals(map, values.data() + first, bytes);
    }
    for_each_piece(map, box, shared & kSharedOffsetMask, row, [&](uint32_t place, uint32_t byte, uint32_t n) {
      to.look_at(place, n);
      std::memcpy(to.host() + place, values.data() + byte, n);
    });
  });
  if (!c.stops()) follow_copy_to_shared(c.w, c.i, c.lane, shared, map.box_bytes(), barrier);
  if (!c.stops()) complete_at(c, barrier, map.box_bytes());
}

Type reduced_type(TensorType type, Reduction op) {
  const bool bits = op >= Reduction::bit_and;
  switch (type) {
    case TensorType::u32:
      return bits ? Type::b32 : Type::u32;
    case TensorType::s32:
      return bits ? Type::b32 : Type::s32;
    case TensorType::u64:
      return bits ? Type::b64 : Type::u64;
    case TensorType::s64:
      return bits ? Type::b64 : Type::s64;
    case TensorType::f16:
      return Type::f16;
    case TensorType::bf16:
      return Type::bf16;
    case TensorType::f64:
      return Type::f64;
    case TensorType::f32:
    case TensorType::f32_ftz:
      return Type::f32;
    default:
      return Type::none;
  }
}

bool has_tensor_reduction(Type type, Reduction op) {
  const bool is_half = type == Type::f16 || type == Type::bf16;
  if (type == Type::none) return false;
  if (op == Reduction::inc || op == Reduction::dec) return type == Type::u32;
  if (op == Reduction::add) return true;
  return is_half ? op == Reduction::min || op == Reduction::max : !is_float(type);
}

bool check_reduction(const LaneCopy& c, Type type) {
  if (c.copy.reduction == Reduction::none || has_tensor_reduction(type, c.copy.reduction)) return true;
  Diagnostic d = diagnose(c.w, c.i, c.lane, Finding::trap);
  d.message += "reduces a tensor whose elements have no such operation";
  d.advice = "Bits take integers, .min and .max no float or double, .inc and .dec 32-bit unsigned integers.";
  stop_launch(c.w, std::move(d), Fault::launch_failure);
  return false;
}

// Of a row's bytes that begin in the tensor: a store writes whole pieces, what is behind the end of a row
// among them (seen on an H200).
uint32_t bytes_written(const TensorMap& map, uint32_t first, uint32_t bytes) {
  const uint32_t end = (first + bytes + kPiece - 1) / kPiece * kPiece;
  return std::min(end, map.row_bytes()) - first;
}

void store_box(const LaneCopy& c, const TensorMap& map) {
  const Type type = reduced_type(map.type, c.copy.reduction);
  if (!check_reduction(c, type)) return;
  const uint64_t shared = c.address(c.copy.from);
  if (!is_aligned_box(c, shared) || !is_aligned_start(c, map) || !starts_inside(c, map)) return;
  const Stretch from(c, shared, map.box_bytes(), Space::shared, AccessKind::load, kSharedAlign);
  if (c.stops()) return;
  const Box box(c, map);
  const bool reduces = c.copy.reduction != Reduction::none;
  const AccessKind kind = reduces ? AccessKind::atomic : AccessKind::store;
  std::vector<uint8_t> values(map.row_bytes());
  box.for_each_row([&](uint32_t row, uint64_t address, uint32_t first, uint32_t bytes) {
    if (bytes == 0) return;
    for_each_piece(map, box, shared & kSharedOffsetMask, row, [&](uint32_t place, uint32_t byte, uint32_t n) {
      from.look_at(place, n);
      std::memcpy(values.data() + byte, from.host() + place, n);
    });
    const uint32_t written = bytes_written(map, first, bytes);
    const Stretch to(c, address, written, Space::global, kind, bytes_of(map.type));
    if (c.stops()) return;
    to.look_at(0, written);
    write_elements(c.copy, to.host(), values.data() + first, written, type);
  });
  if (!c.stops()) follow_copy_from_shared(c.w, c.i, c.lane, shared, map.box_bytes());
}

void copy_box(const LaneCopy& c) {
  TensorMap map;
  if (!read_map(c, map)) return;
  if (c.copy.to_global) return store_box(c, map);
  for_each_receiver(c, [&](uint64_t shared, uint64_t barrier) { load_box(c, map, shared, barrier); });
}

}  // namespace

void add_tensor_copy_handlers(HandlerTable& t) {
  t.add(each_lane_copies<copy_box>, "cp.tensor");
}

}  // namespace warpgrade::emu
