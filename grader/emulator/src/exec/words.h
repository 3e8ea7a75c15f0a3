// Words of memory that are read and written whole. For exec_*.cpp only (see handlers.h).
#pragma once
#include <cstddef>
#include <cstdint>

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

// One instruction of the host reads or writes it, which does not tear at aligned addresses (on every CPU
// with AVX).
using Word16 [[gnu::vector_size(16)]] = long long;

template <size_t kBytes>
struct Word;
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};
template <>
struct Word<16> {
  using type = Word16;
};

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
