// mma.sync, mma.sp and wmma.mma: d = a * b + c by a whole warp.
//
// Integers and f64 are exact as PTX defines them (f64: fused multiply-adds along k, rising). For the others
// PTX leaves order and rounding open: here products are exact, the sum is formed in double and rounded once
// to the type of d. A GPU's d differs from this one by at most (k + 1) * 2^-22 * (|c| + sum |a b|), plus one
// rounding of d to f16 where d is f16.
#include "exec/matrix.h"
#include "exec/matrix_elements.h"
#include "program/program.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

constexpr uint32_t kLargestOperand = 32 * 32;  // elements of A or B; 64 * 16 for 4-bit ones

// Operands as row-major arrays; A and B in the type of the sum.
template <class Sum>
struct Matrices {
  alignas(64) Sum a[kLargestOperand];
  alignas(64) Sum b[kLargestOperand];
  alignas(64) Sum d[kLargestOperand];  // holds c first
};

uint32_t width(const Fragment2D& f) {
  return f.columns;
}

template <class Sum>
void gather(Warp& w, const Fragment2D& layout, const uint32_t* slots, Element type, Sum* out) {
  const bool packed = bits_of_element(type) < 32 && type != Element::b1;
  const uint32_t per_register = packed ? 32 / bits_of_element(type) : 1;
  const uint32_t n = layout.elements_per_lane();
  for (uint32_t e = 0; e < n; ++e) {
    const uint32_t* words = lanes<uint32_t>(w, slots[e / per_register]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Position p = layout.at(l, e);
      out[p.row * width(layout) + p.column] = decode_element<Sum>(words[l], e % per_register, type);
    }
  }
}

void gather_doubles(Warp& w, const Fragment2D& layout, const uint32_t* slots, double* out) {
  for (uint32_t e = 0; e < layout.elements_per_lane(); ++e) {
    const double* values = lanes<double>(w, slots[e]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Position p = layout.at(l, e);
      out[p.row * width(layout) + p.column] = values[l];
    }
  }
}

template <class Sum>
void multiply_add(const MatrixShape& s, Matrices<Sum>& x) {
  for (uint32_t row = 0; row < s.m; ++row) {
    Sum* d = x.d + row * s.n;
    for (uint32_t k = 0; k < s.k; ++k) {
      const Sum a = x.a[row * s.k + k];
      const Sum* b = x.b + k * s.n;
      for (uint32_t column = 0; column < s.n; ++column) d[column] += a * b[column];
    }
  }
}

void scatter_floats(Warp& w, const Fragment2D& layout, const MatrixOperands& o, const double* d) {
  const bool halves = o.result == Element::f16;
  for (uint32_t e = 0; e < layout.elements_per_lane(); ++e) {
    uint32_t* words = lanes<uint32_t>(w, o.d[halves ? e / 2 : e]);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      const Position p = layout.at(l, e);
      const double value = d[p.row * width(layout) + p.column];
      if (!halves) {
        words[l] = float_bits(value);
      } else if (e % 2 == 0) {
        words[l] = (words[l] & 0xffff0000u) | half_bits(value);
      } else {
        words[l] = (words[l] & 0xffffu) | half_bits(value) << 16;
      }
    }
  }
}

// A as mma.sp stores it, with zeros between. Of a chunk each pair of bits is the place of an element; of tf32, which
// has one a chunk, the upper pair is that of its upper half.
template <class Sum>
void gather_sparse(Warp& w, const MatrixOperands& o, Sum* out) {
  MatrixShape half = o.shape;
  half.k /= 2;
  alignas(64) Sum stored[kLargestOperand];
  gather(w, Fragment2D(Part::a, half, bits_of_element(o.a_type)), o.a, o.a_type, stored);
  std::memset(static_cast<void*>(out), 0, sizeof(Sum) * o.shape.m * o.shape.k);
  const uint32_t* words = lanes<uint32_t>(w, o.metadata);
  const SparseChunks chunks{o.shape, bits_of_element(o.a_type)};
  for (uint32_t row = 0; row < o.shape.m; ++row) {
    for (uint32_t chunk = 0; chunk < chunks.count(); ++chunk) {
      const auto [lane, bit] = chunks.place(row, chunk, o.selector);
      const uint32_t places = words[lane] >> bit;
      const Sum* from = stored + row * half.k + chunk * chunks.stored();
      Sum* to = out + row * o.shape.k + chunk * chunks.width();
      if (chunks.stored() == 1) {
        to[places >> 3 & 1] = from[0];
      } else {
        to[places & 3] = from[0];
        to[places >> 2 & 3] = from[1];
      }
    }
  }
}

const MatrixOperands& operands_of(const Warp& w, const Inst& i) {
  return w.block->program->matrices[i.target];
}

template <bool kSparse>
void mma_float(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const Fragment2D accumulator(Part::accumulator, o.shape, 32);
  Matrices<double> x;
  if (kSparse)
    gather_sparse(w, o, x.a);
  else
    gather(w, Fragment2D(Part::a, o.shape, bits_of_element(o.a_type)), o.a, o.a_type, x.a);
  gather(w, Fragment2D(Part::b, o.shape, bits_of_element(o.b_type)), o.b, o.b_type, x.b);
  gather(w, accumulator, o.c, o.accumulator, x.d);
  multiply_add(o.shape, x);
  scatter_floats(w, accumulator, o, x.d);
}

void binary_products(const MatrixOperands& o, uint32_t words, Matrices<int64_t>& x) {
  for (uint32_t row = 0; row < o.shape.m; ++row) {
    for (uint32_t column = 0; column < o.shape.n; ++column) {
      for (uint32_t k = 0; k < words; ++k) {
        const auto a = uint32_t(x.a[row * words + k]), b = uint32_t(x.b[k * o.shape.n + column]);
        x.d[row * o.shape.n + column] +=
            __builtin_popcount(o.operation == MatrixOperation::xor_popc ? a ^ b : a & b);
      }
    }
  }
}

template <bool kSparse>
void mma_integer(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const bool bits = o.a_type == Element::b1;
  // Bits are taken 32 at a time: words along k, one a register.
  const MatrixShape s = bits ? MatrixShape{o.shape.m, o.shape.n, uint16_t(o.shape.k / 32)} : o.shape;
  const Fragment2D accumulator(Part::accumulator, s, 32);
  Matrices<int64_t> x;
  if (kSparse)
    gather_sparse(w, o, x.a);
  else
    gather(w, Fragment2D(Part::a, s, bits ? 32 : bits_of_element(o.a_type)), o.a, o.a_type, x.a);
  gather(w, Fragment2D(Part::b, s, bits ? 32 : bits_of_element(o.b_type)), o.b, o.b_type, x.b);
  gather(w, accumulator, o.c, Element::s32, x.d);
  bits ? binary_products(o, s.k, x) : multiply_add(s, x);
  for (uint32_t e = 0; e < accumulator.elements_per_lane(); ++e) {
    int32_t* words = lanes<int32_t>(w, o.d[e]);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      const Position p = accumulator.at(l, e);
      words[l] = integer_result(x.d[p.row * s.n + p.column], o.saturate);
    }
  }
}

void mma_double(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const MatrixShape& s = o.shape;
  const Fragment2D accumulator(Part::accumulator, s, 64);
  Matrices<double> x;
  gather_doubles(w, Fragment2D(Part::a, s, 64), o.a, x.a);
  gather_doubles(w, Fragment2D(Part::b, s, 64), o.b, x.b);
  gather_doubles(w, accumulator, o.c, x.d);
  for (uint32_t row = 0; row < s.m; ++row) {
    for (uint32_t k = 0; k < s.k; ++k) {
      for (uint32_t column = 0; column < s.n; ++column) {
        double& d = x.d[row * s.n + column];
        d = __builtin_fma(x.a[row * s.k + k], x.b[k * s.n + column], d);
      }
    }
  }
  for (uint32_t e = 0; e < accumulator.elements_per_lane(); ++e) {
    double* values = lanes<double>(w, o.d[e]);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      const Position p = accumulator.at(l, e);
      values[l] = x.d[p.row * s.n + p.column];
    }
  }
}

// mma.m8n8k4.f16, of the first tensor cores: four products at once, of lanes 4 q ... 4 q + 3 and the same
// plus 16, for q = 0 ... 3.
struct QuadPair {
  uint32_t quad;
  // Row (of A and of the accumulator) or column (of B) of a lane's vector.
  static uint32_t outer(uint32_t lane) { return lane % 4 + (lane < 16 ? 0 : 4); }
  // Rows of four along k: element `index` of the lane. Otherwise the lane holds a k, and four
  // outer positions.
  static Position element(uint32_t lane, uint32_t index, bool along_k) {
    if (along_k) return {outer(lane), index};
    return {index + (lane < 16 ? 0 : 4), lane % 4};
  }
  static Position accumulator(uint32_t lane, uint32_t index, bool halves) {
    if (halves) return {outer(lane), index};
    return {(lane & 1) + (index & 2) + (lane < 16 ? 0 : 4), (index & 4) + (lane & 2) + (index & 1)};
  }
  bool holds(uint32_t lane) const { return lane % 16 / 4 == quad; }
};

double accumulator_of(Warp& w, const MatrixOperands& o, uint32_t lane, uint32_t index) {
  const bool halves = o.accumulator == Element::f16;
  return decode_element<double>(lanes<uint32_t>(w, o.c[halves ? index / 2 : index])[lane], index % 2,
                                o.accumulator);
}

void multiply_quad_pair(Warp& w, const MatrixOperands& o, QuadPair q, double result[8][8]) {
  double a[8][4] = {}, b[8][4] = {};
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!q.holds(l)) continue;
    for (uint32_t e = 0; e < 4; ++e) {
      const Position pa = QuadPair::element(l, e, !o.a_column_major);
      const Position pb = QuadPair::element(l, e, o.b_column_major);
      a[pa.row][pa.column] = decode_element<double>(lanes<uint32_t>(w, o.a[e / 2])[l], e % 2, Element::f16);
      b[pb.row][pb.column] = decode_element<double>(lanes<uint32_t>(w, o.b[e / 2])[l], e % 2, Element::f16);
    }
    for (uint32_t e = 0; e < 8; ++e) {
      const Position p = QuadPair::accumulator(l, e, o.accumulator == Element::f16);
      result[p.row][p.column] = accumulator_of(w, o, l, e);
    }
  }
  for (uint32_t row = 0; row < 8; ++row) {
    for (uint32_t column = 0; column < 8; ++column) {
      for (uint32_t k = 0; k < 4; ++k) result[row][column] += a[row][k] * b[column][k];
    }
  }
}

void mma_quad_pairs(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const bool halves = o.result == Element::f16;
  for (uint32_t quad = 0; quad < 4; ++quad) {
    double result[8][8];
    multiply_quad_pair(w, o, {quad}, result);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      if (!QuadPair{quad}.holds(l)) continue;
      for (uint32_t e = 0; e < 8; ++e) {
        const Position p = QuadPair::accumulator(l, e, halves);
        const double value = result[p.row][p.column];
        uint32_t& word = lanes<uint32_t>(w, o.d[halves ? e / 2 : e])[l];
        if (!halves) word = float_bits(value);
        if (halves) word = e % 2 == 0 ? half_bits(value) : word | half_bits(value) << 16;
      }
    }
  }
}

}  // namespace

void add_mma_handlers(HandlerTable& t) {
  t.add(mma_float<false>, "mma.float");
  t.add(mma_float<true>, "mma.sparse_float");
  t.add(mma_integer<false>, "mma.integer");
  t.add(mma_integer<true>, "mma.sparse_integer");
  t.add(mma_double, "mma.double");
  t.add(mma_quad_pairs, "mma.m8n8k4");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
