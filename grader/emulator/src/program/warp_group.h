// wgmma: the product of 64 rows that the four warps of a group form together. Each warp holds 16 rows of A
// and of the result, laid out as mma.sync's (program/matrix.h).
#pragma once
#include <cstdint>
#include <vector>

#include "program/matrix.h"

namespace warpgrade::emu {

inline constexpr uint32_t kWarpGroupRows = 64, kWarpGroupWarps = 4, kMostWarpGroupColumns = 256;

// Operands of wgmma.mma_async; Inst::target indexes Program::warp_group_products.
struct WarpGroupProduct {
  MatrixShape shape;  // of a warp: m is 16
  // wgmma.mma_async.sp: A holds half of its k, as mma.sp's (MatrixOperands).
  bool is_sparse = false;
  uint32_t metadata = 0, selector = 0;
  Element a_type = Element::none, b_type = Element::none, result = Element::none;
  bool saturate = false;
  bool a_in_registers = false;
  bool a_m_major = false, b_n_major = false;  // else neighbours along k are neighbours in shared memory
  bool negates_a = false, negates_b = false;
  uint32_t a[4] = {};  // slots, when A is in registers; else a[0] is that of its descriptor
  uint32_t b = 0;      // of the descriptor of B
  uint32_t scale_d = 0;
  uint8_t scale_d_negated = 0;
  std::vector<uint32_t> d;
};

// A descriptor of a matrix in shared memory (PTX ISA, "Matrix Descriptor Format" of wgmma). Offsets are of
// pieces of 16 bytes, in which the layouts of the PTX ISA are made.
struct SharedMatrix {
  uint32_t start, leading, stride;  // bytes
  uint32_t base_offset;
  uint32_t row_bytes;  // of the swizzle: 16 (none), 32, 64 or 128

  static constexpr SharedMatrix of(uint64_t descriptor) {
    constexpr uint32_t kRowBytes[] = {16, 128, 64, 32};
    const auto field = [&](uint32_t at) { return uint32_t(descriptor >> at & 0x3fff) << 4; };
    return {field(0), field(16), field(32), uint32_t(descriptor >> 49 & 7), kRowBytes[descriptor >> 62]};
  }
  constexpr bool is_swizzled() const { return row_bytes > 16; }
  // The piece of the bytes 16 `piece` ... of a row (of A) or column (of B), contiguous along k.
  constexpr uint32_t along_k(uint32_t outer, uint32_t piece) const {
    const uint32_t next = is_swizzled() ? 16 : leading;
    return place(outer % 8 * row_bytes + outer / 8 * stride + piece * next);
  }
  // The piece of eight neighbouring 16-bit elements of one k, contiguous along rows or columns.
  constexpr uint32_t across_k(uint32_t piece, uint32_t k) const {
    if (!is_swizzled()) return place(piece * stride + k % 8 * 16 + k / 8 * leading);
    const uint32_t pieces = row_bytes / 16;
    return place(piece % pieces * 16 + piece / pieces * leading + k % 8 * row_bytes + k / 8 * stride);
  }

 private:
  // The swizzle exchanges pieces of a row by the row's number in its pattern of eight.
  constexpr uint32_t place(uint32_t offset) const {
    const uint32_t address = start + offset, row = (address >> 7) - base_offset;
    return address ^ (row & (row_bytes / 16 - 1)) << 4;
  }
};

}  // namespace warpgrade::emu
