// Matrix fragments: which element of a matrix each lane's registers hold, and the operands of the
// warp-wide matrix instructions.
//
// Every shape of mma.sync but m8n8k4.f16 is made of tiles of eight rows and four registers: lane l holds
// row l / 4, and register l % 4 of it, with as many neighbouring elements as fit into 32 bits (64 for f64).
// Tiles follow one another along the rows first for A, along k first for B. Accumulators hold two
// neighbouring columns a lane and tile. PTX leaves the fragments of wmma open; here they are laid out alike,
// and registers beyond those that a matrix needs repeat the first ones.
#pragma once
#include <cstdint>

namespace warpgrade::emu {

enum class Element : uint8_t { none, f16, bf16, tf32, f32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, s32 };

constexpr uint32_t bits_of_element(Element e) {
  switch (e) {
    case Element::f64:
      return 64;
    case Element::f16:
    case Element::bf16:
      return 16;
    case Element::e4m3:
    case Element::e5m2:
    case Element::s8:
    case Element::u8:
      return 8;
    case Element::s4:
    case Element::u4:
      return 4;
    case Element::b1:
      return 1;
    default:
      return 32;
  }
}

enum class Part : uint8_t { a, b, accumulator };

struct MatrixShape {
  uint16_t m = 0, n = 0, k = 0;
};

// Position of an element: row and column of A (m x k), B (k x n) or the accumulator (m x n).
struct Position {
  uint32_t row, column;
};

// One matrix as it lies in registers.
struct Fragment2D {
  Part part;
  uint16_t rows, columns;
  uint32_t per_register;  // elements of a tile that one lane holds: neighbours along k, or two columns

  constexpr Fragment2D(Part p, MatrixShape s, uint32_t element_bits)
      : part(p),
        rows(p == Part::b ? s.k : s.m),
        columns(p == Part::a ? s.k : s.n),
        per_register(p == Part::accumulator || element_bits >= 32 ? (p == Part::accumulator ? 2 : 1)
                                                                  : 32 / element_bits) {}

  constexpr uint32_t elements_per_lane() const { return uint32_t(rows) * columns / 32; }
  // `index` counts a lane's elements in register order.
  constexpr Position at(uint32_t lane, uint32_t index) const {
    const uint32_t tile = index / per_register, within = index % per_register;
    const uint32_t outer = lane / 4, inner = lane % 4 * per_register + within;
    const uint32_t width = 4 * per_register;
    if (part == Part::b) {
      const uint32_t tiles = rows / width;
      return {tile % tiles * width + inner, tile / tiles * 8 + outer};
    }
    const uint32_t tiles = rows / 8u;
    return {tile % tiles * 8 + outer, tile / tiles * width + inner};
  }
};

inline constexpr uint32_t kMatrixRegisters = 8;  // at most, of one operand and lane

// Where mma.sp's metadata of a chunk of A lie, four bits each (PTX ISA, "Matrix fragments for multiply-accumulate
// operation with sparse matrix A"; the same as CUTLASS's host_reorder.h brings into ldmatrix's order). A chunk is four
// neighbours along k, or two of tf32. Of 8-bit elements a lane has eight chunks of one row; of others four chunks of row
// g and four of row g + 8.
struct SparseChunks {
  MatrixShape shape;
  uint32_t element_bits;

  constexpr uint32_t width() const { return element_bits == 32 ? 2 : 4; }
  constexpr uint32_t stored() const { return width() / 2; }
  constexpr uint32_t count() const { return shape.k / width(); }
  // Lanes of each four that hold metadata.
  constexpr uint32_t lanes_of_four() const { return count() / 4; }
  struct Place {
    uint32_t lane, bit;
  };
  constexpr Place place(uint32_t row, uint32_t chunk, uint32_t selector) const {
    const uint32_t first = row % 8 * 4 + selector * lanes_of_four(), lower = row / 8;
    if (element_bits == 8) return {first + chunk / 8 * 2 + lower, chunk % 8 * 4};
    return {first + chunk / 4, lower * 16 + chunk % 4 * 4};
  }
};

enum class MatrixOperation : uint8_t { multiply_add, xor_popc, and_popc };

// Operands of mma, wmma and the loads and stores of fragments; Inst::target indexes Program::matrices.
struct MatrixOperands {
  MatrixShape shape;
  Element a_type = Element::none, b_type = Element::none, accumulator = Element::none, result = Element::none;
  MatrixOperation operation = MatrixOperation::multiply_add;
  bool saturate = false;
  // mma.sp: A holds half of its k, and `metadata` where in k that is; of some lanes, which the selector names.
  uint32_t metadata = 0, selector = 0;
  bool a_column_major = false, b_column_major = false;  // matter to m8n8k4.f16 only
  // wmma.load and wmma.store: `d` holds the fragment.
  Part part = Part::a;
  bool column_major = false;
  uint32_t stride_slot = 0;
  uint32_t d[kMatrixRegisters] = {}, a[kMatrixRegisters] = {}, b[kMatrixRegisters] = {},
           c[kMatrixRegisters] = {};
  uint8_t d_count = 0, a_count = 0, b_count = 0, c_count = 0;
};

}  // namespace warpgrade::emu
