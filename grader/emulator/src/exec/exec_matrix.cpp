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
    assign<uint32_t>(w, i.vec[k], [&](uint32_t l) {
      const uint32_t outer = l / 4, inner = l % 4 * 2;
      const uint32_t low = transposed ? element[inner][outer] : element[outer][inner];
      const uint32_t high = transposed ? element[inner + 1][outer] : element[outer][inner + 1];
      return low | high << 16;
    });
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

// Calls move(host, register slot, lane, bit position, bytes) for each run of each lane's elements.
template <class Move>
void for_each_run(Warp& w, const Inst& i, const MatrixOperands& o, AccessKind kind, Move move) {
  const uint32_t bits = bits_of_element(o.result), stored = bits == 64 ? 64 : 32;
  const uint32_t* strides = lanes<uint32_t>(w, o.stride_slot);
  FragmentAccess f{Fragment2D(o.part, o.shape, bits), bits, o.column_major, strides[__builtin_ctz(w.mask)]};
  const uint32_t run = f.run(), bytes = larger(run * bits / 8, 1u);
  for (uint32_t e = 0; e < f.layout.elements_per_lane(); e += run) {
    Access x;
    lane_addresses(w, i, x);
    const auto first = uint32_t(__builtin_ctz(w.mask));
    for (uint32_t l = 0; l < kLanes; ++l) x.host[l] += f.bit_offset((w.mask >> l & 1) ? l : first, e) / 8;
    resolve_addresses(w, i, bytes, kind, x);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      for (uint32_t done = 0; done < bytes;) {  // a run of two f32 or f64 fills two registers
        const uint32_t bit = e * bits + done * 8;
        const uint32_t piece = smaller(bytes - done, stored / 8);
        move(x.host[l] + done, o.d[bit / stored], l, bit % stored, piece);
        done += piece;
      }
    }
  }
}

void load_fragment(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = w.block->program->matrices[i.target];
  const uint32_t width = bits_of_element(o.result) == 64 ? 8 : 4;
  for_each_run(
      w, i, o, AccessKind::load, [&](uint64_t host, uint32_t slot, uint32_t l, uint32_t bit, uint32_t n) {
        __builtin_memcpy(w.regs + slot + l * width + bit / 8, reinterpret_cast<const void*>(host), n);
      });
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
  const MatrixOperands& o = w.block->program->matrices[i.target];
  const uint32_t width = bits_of_element(o.result) == 64 ? 8 : 4;
  for_each_run(w, i, o, AccessKind::store,
               [&](uint64_t host, uint32_t slot, uint32_t l, uint32_t bit, uint32_t n) {
                 __builtin_memcpy(reinterpret_cast<void*>(host), w.regs + slot + l * width + bit / 8, n);
               });
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
