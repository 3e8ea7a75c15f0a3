// Tensor maps that kernels change: tensormap.replace.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "exec/handlers.h"
#include "simt/copy_engine.h"
#include "tensor/tensor_map.h"

namespace warpgrade::emu {
namespace {

void set_field(TensorMap& map, MapField field, uint32_t axis, uint64_t value) {
  // The numbers of PTX: those of CUtensorMapDataType but for f32.ftz and f64, bf16 and so on.
  constexpr TensorType kTypes[] = {TensorType::u8,      TensorType::u16, TensorType::u32,  TensorType::s32,
                                   TensorType::u64,     TensorType::s64, TensorType::f16,  TensorType::f32,
                                   TensorType::f32_ftz, TensorType::f64, TensorType::bf16, TensorType::tf32,
                                   TensorType::tf32_ftz};
  switch (field) {
    case MapField::global_address:
      map.address = value;
      break;
    case MapField::rank:
      map.rank = static_cast<uint8_t>(value + 1);
      break;
    case MapField::box_dim:
      map.box[axis] = static_cast<uint16_t>(std::min<uint64_t>(value, 0xffff));
      break;
    case MapField::global_dim:
      map.size[axis] = value;
      break;
    case MapField::global_stride:
      if (axis < std::size(map.stride)) map.stride[axis] = value;
      break;
    case MapField::element_stride:
      map.step[axis] = static_cast<uint8_t>(std::min<uint64_t>(value, 0xff));
      break;
    case MapField::elemtype:
      map.type = kTypes[std::min<uint64_t>(value, std::size(kTypes) - 1)];
      break;
    case MapField::interleave_layout:
      map.interleave = static_cast<uint8_t>(value);
      break;
    case MapField::swizzle_mode:
      map.swizzle = static_cast<uint8_t>(value);
      break;
    case MapField::fill_mode:
      map.fills_nan = static_cast<uint8_t>(value);
      break;
  }
}

// What a kernel leaves wrong shows at the copy.
void replace_in_lane(const LaneCopy& c) {
  const PackedAddress place{c.i.a, c.i.imm, c.i.address_is_32};
  const Stretch at(c, c.address(place), sizeof(TensorMap), c.i.space, AccessKind::store, 64);
  if (c.stops()) return;
  at.look_at(0, sizeof(TensorMap));
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), at.host(), sizeof map);
  // A kernel may begin with 128 zeros and set each field: Triton does.
  const bool is_map = map.is_sealed() || map.is_blank();
  const uint64_t value =
      c.i.bytes == 8 ? lanes<uint64_t>(c.w, c.i.b)[c.lane] : lanes<uint32_t>(c.w, c.i.b)[c.lane];
  set_field(map, static_cast<MapField>(c.i.variant), c.i.vec[0], value);
  if (is_map) map.seal();
  std::memcpy(at.host(), &map, sizeof map);
}

}  // namespace

void add_tensor_map_handlers(HandlerTable& t) {
  t.add(each_lane_copies<replace_in_lane>, "tensormap.replace");
}

}  // namespace warpgrade::emu
