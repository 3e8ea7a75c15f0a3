// ldmatrix, stmatrix, movmatrix, and the loads and stores of wmma fragments.
#include "exec/matrix.h"
#include "exec/memory_access.h"
#include "program/program.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

constexpr uint32_t kRowBytes = 16;  // of an 8 x 8 matrix of 16-bit elements

// Lanes 8 k ... 8 k + 7 hold the rows' addresses of matrix k.
uint32_t address_lanes(uint32_t matrices) {
  return matrices >= 4 ? kAllLanes : (1u << 8 * matrices) - 1;
}

// The row addresses, resolved as one access of 16 bytes by the lanes that hold them.
void resolve_rows(Warp& w, const Inst& i, AccessKind kind, Access& x) {
  const uint32_t all = w.mask;
  w.mask = all & address_lanes(i.vec_count);
  if (w.mask != 0) resolve(w, i, kRowBytes, kind, x);
  w.mask = all;
}

// variant 1: transposed. Lane l gets elements 2 (l % 4) and the next of row l / 4.
void load_matrix(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  Access x;
  resolve_rows(w, i, AccessKind::load, x);
  const bool transposed = i.variant != 0;
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    uint16_t element[8][8] = {};
    for (uint32_t row = 0; row < 8; ++row) {
      if (w.mask >> (8 * k + row) & 1)
        __builtin_memcpy(element[row], reinterpret_cast<const void*>(x.host[8 * k + row]), kRowBytes);
    }
    alignas(64) uint32_t words[kLanes];
    if (transposed) {
      for (uint32_t outer = 0; outer < 8; ++outer) {
        for (uint32_t t = 0; t < 4; ++t)
          words[4 * outer + t] = element[2 * t][outer] | uint32_t(element[2 * t + 1][outer]) << 16;
      }
    } else {
      __builtin_memcpy(words, element, sizeof words);
    }
    assign<uint32_t>(w, i.vec[k], [&](uint32_t l) { return words[l]; });
  }
}

void collect(Warp& w, uint32_t slot, bool transposed, uint16_t element[8][8]) {
  const uint32_t* words = lanes<uint32_t>(w, slot);
  for (uint32_t l = 0; l < kLanes; ++l) {
    for (uint32_t e = 0; e < 2; ++e) {
      const uint32_t outer = l / 4, inner = l % 4 * 2 + e;
      (transposed ? element[inner][outer] : element[outer][inner]) = uint16_t(words[l] >> 16 * e);
    }
  }
}

void store_matrix(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  Access x;
  resolve_rows(w, i, AccessKind::store, x);
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    uint16_t element[8][8];
    collect(w, i.vec[k], i.variant != 0, element);
    for (uint32_t row = 0; row < 8; ++row) {
      if (w.mask >> (8 * k + row) & 1)
        __builtin_memcpy(reinterpret_cast<void*>(x.host[8 * k + row]), element[row], kRowBytes);
    }
  }
}

void transpose_matrix(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  uint16_t element[8][8];
  collect(w, i.a, true, element);
  assign<uint32_t>(w, i.d, [&](uint32_t l) {
    const uint32_t outer = l / 4, inner = l % 4 * 2;
    return element[outer][inner] | uint32_t(element[outer][inner + 1]) << 16;
  });
}

// How the elements of one fragment lie in registers and memory. Bits (b1) and 4-bit elements are moved as the
// bytes or words that hold them: a register's elements are neighbours along k, which is the contiguous
// dimension for these types.
struct FragmentAccess {
  Fragment2D layout;
  uint32_t element_bits;
  bool column_major;
  uint32_t stride;  // elements between neighbouring rows (columns if column-major)

  uint64_t bit_offset(uint32_t lane, uint32_t index) const {
    const Position p = layout.at(lane, index);
    const uint64_t major = column_major ? p.column : p.row, minor = column_major ? p.row : p.column;
    return (major * stride + minor) * element_bits;
  }
  // Neighbouring elements of a lane that one access moves.
  uint32_t run() const {
    const uint32_t together = layout.per_register;
    if (together == 1) return 1;
    const bool along_columns = layout.part != Part::b;  // elements of a register lie in one row
    return along_columns != column_major ? together : 1;
  }
};

// Moves `bytes` of each lane at `bit` of its register: to the register, or from it.
template <class Word>
void move_words(Warp& w, const Access& x, uint32_t done, uint8_t* registers, uint32_t width, bool loads) {
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    auto* const memory = reinterpret_cast<uint8_t*>(x.host[l] + done);
    uint8_t* const lane = registers + l * width;
    __builtin_memcpy(loads ? lane : memory, loads ? memory : lane, sizeof(Word));
  }
}
void move_piece(Warp& w, const Access& x, uint32_t done, uint8_t* registers, uint32_t width, uint32_t bytes,
                bool loads) {
  switch (bytes) {
    case 1:
      return move_words<uint8_t>(w, x, done, registers, width, loads);
    case 2:
      return move_words<uint16_t>(w, x, done, registers, width, loads);
    case 4:
      return move_words<uint32_t>(w, x, done, registers, width, loads);
    default:
      return move_words<uint64_t>(w, x, done, registers, width, loads);
  }
}

// Each run of each lane's elements, one access a run. A lane's place is its own offset plus the run's.
void move_fragment(Warp& w, const Inst& i, const MatrixOperands& o, AccessKind kind) {
  const uint32_t bits = bits_of_element(o.result), stored = bits == 64 ? 64 : 32;
  const uint32_t* strides = lanes<uint32_t>(w, o.stride_slot);
  const FragmentAccess f{Fragment2D(o.part, o.shape, bits), bits, o.column_major,
                         strides[__builtin_ctz(w.mask)]};
  const uint32_t run = f.run(), bytes = larger(run * bits / 8, 1u);
  const auto first = uint32_t(__builtin_ctz(w.mask));
  alignas(64) uint64_t own[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) own[l] = f.bit_offset((w.mask >> l & 1) ? l : first, 0);
  Access begin;
  lane_addresses(w, i, begin);
  for (uint32_t e = 0; e < f.layout.elements_per_lane(); e += run) {
    const uint64_t offset = f.bit_offset(0, e);
    Access x;
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = begin.host[l] + (own[l] + offset) / 8;
    resolve_addresses(w, i, bytes, kind, x);
    for (uint32_t done = 0; done < bytes;) {  // a run of two f32 or f64 fills two registers
      const uint32_t bit = e * bits + done * 8;
      const uint32_t piece = smaller(bytes - done, stored / 8);
      move_piece(w, x, done, w.regs + o.d[bit / stored] + bit % stored / 8, stored / 8, piece,
                 kind == AccessKind::load);
      done += piece;
    }
  }
}

void load_fragment(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = w.block->program->matrices[i.target];
  const uint32_t width = bits_of_element(o.result) == 64 ? 8 : 4;
  move_fragment(w, i, o, AccessKind::load);
  // Registers beyond the matrix repeat it.
  const uint32_t used = Fragment2D(o.part, o.shape, bits_of_element(o.result)).elements_per_lane() *
                        bits_of_element(o.result) / (8 * width);
  for (uint32_t r = used; r < o.d_count; ++r) {
    const uint32_t* from = lanes<uint32_t>(w, o.d[r % used]);
    assign<uint32_t>(w, o.d[r], [=](uint32_t l) { return from[l]; });
  }
}

void store_fragment(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  move_fragment(w, i, w.block->program->matrices[i.target], AccessKind::store);
}

}  // namespace

void add_matrix_handlers(HandlerTable& t) {
  t.add(load_matrix, "ldmatrix");
  t.add(store_matrix, "stmatrix");
  t.add(transpose_matrix, "movmatrix");
  t.add(load_fragment, "wmma.load");
  t.add(store_fragment, "wmma.store");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
