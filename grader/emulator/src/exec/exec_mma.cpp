// mma.sync, mma.sp and wmma.mma: d = a * b + c by a whole warp.
//
// Integers and f64 are exact as PTX defines them (f64: fused multiply-adds along k, rising). For the others
// PTX leaves order and rounding open: here products are exact, the sum is formed in double and rounded once
// to the type of d. A GPU's d differs from this one by at most (k + 1) * 2^-22 * (|c| + sum |a b|), plus one
// rounding of d to f16 where d is f16.
#include "exec/matrix.h"
#include "exec/matrix_rows.h"
#include "program/program.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

constexpr uint32_t kLargestOperand = 32 * 32;  // elements of A or B; 64 * 16 for 4-bit ones

// Operands as row-major arrays, in the type of the sum.
template <class Sum>
struct Matrices {
  alignas(64) Sum a[kLargestOperand];
  alignas(64) Sum b[kLargestOperand];
  alignas(64) Sum d[kLargestOperand];
  alignas(64) Sum c[kLargestOperand];
};

template <class Sum>
void read_sparse_a(Warp& w, const MatrixOperands& o, Sum* out) {
  alignas(64) Sum stored[kLargestOperand];
  read_a(w, o.a, o.a_type, o.shape.m, o.shape.k / 2u, stored);
  spread({o.shape, bits_of_element(o.a_type)}, lanes<uint32_t>(w, o.metadata), o.selector, stored, out);
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
  const MatrixShape& s = o.shape;
  Matrices<double> x;
  kSparse ? read_sparse_a(w, o, x.a) : read_a(w, o.a, o.a_type, s.m, s.k, x.a);
  read_b(w, o.b, o.b_type, s.n, s.k, x.b);
  read_accumulator(w, o.c, o.accumulator, s.m, s.n, x.d);
  add_products<AddExact>(x.a, x.b, x.d, s.m, s.n, s.k);
  write_accumulator(w, o.d, o.result, s.m, s.n, x.d);
}

void binary_products(const MatrixOperands& o, uint32_t words, Matrices<int32_t>& x) {
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

// No sum of products of one instruction leaves 32 bits: 64 products of at most 2^16 are the largest.
template <bool kSparse>
void mma_integer(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const bool bits = o.a_type == Element::b1;
  // Bits are taken 32 at a time: words along k, one a register.
  const MatrixShape s = bits ? MatrixShape{o.shape.m, o.shape.n, uint16_t(o.shape.k / 32)} : o.shape;
  Matrices<int32_t> x;
  kSparse ? read_sparse_a(w, o, x.a) : read_a(w, o.a, o.a_type, s.m, s.k, x.a);
  read_b(w, o.b, o.b_type, s.n, s.k, x.b);
  __builtin_memset(x.d, 0, sizeof(int32_t) * s.m * s.n);
  bits ? binary_products(o, s.k, x) : add_products<AddExact>(x.a, x.b, x.d, s.m, s.n, s.k);
  read_numbers(w, o.c, s.m, s.n, x.c);
  write_integers(w, o.d, o.saturate, s.m, s.n, x.c, x.d);
}

void read_double_tiles(Warp& w, const MatrixOperands& o, Matrices<double>& x) {
  const MatrixShape& s = o.shape;
  const uint32_t row_tiles = s.m / kTileRows, step_tiles = s.k / kTileWords;
  for (uint32_t tile = 0; tile < row_tiles * step_tiles; ++tile) {
    const double* values = lanes<double>(w, o.a[tile]);
    double* to = x.a + tile % row_tiles * kTileRows * s.k + tile / row_tiles * kTileWords;
    for (uint32_t row = 0; row < kTileRows; ++row)
      store_vector(to + row * s.k, load_vector<Vector<double, kTileWords>>(values + row * kTileWords));
  }
  for (uint32_t tile = 0; tile < s.n / kTileRows * step_tiles; ++tile) {
    const double* values = lanes<double>(w, o.b[tile]);
    double* to = x.b + tile % step_tiles * kTileWords * s.n + tile / step_tiles * kTileRows;
    for (uint32_t step = 0; step < kTileWords; ++step) {
      Vector<double> column;
      for (uint32_t l = 0; l < kTileRows; ++l) column[l] = values[l * kTileWords + step];
      store_vector(to + step * s.n, column);
    }
  }
}

void mma_double(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const MatrixOperands& o = operands_of(w, i);
  const MatrixShape& s = o.shape;
  Matrices<double> x;
  read_double_tiles(w, o, x);
  read_numbers(w, o.c, s.m, s.n, x.d);
  add_products<AddFused>(x.a, x.b, x.d, s.m, s.n, s.k);
  write_numbers(w, o.d, s.m, s.n, x.d);
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

double half_of(uint32_t word, uint32_t index) {
  return to_float(Half{uint16_t(word >> 16 * index)});
}

double accumulator_of(Warp& w, const MatrixOperands& o, uint32_t lane, uint32_t index) {
  if (o.accumulator == Element::f16) return half_of(lanes<uint32_t>(w, o.c[index / 2])[lane], index % 2);
  return lanes<float>(w, o.c[index])[lane];
}

void multiply_quad_pair(Warp& w, const MatrixOperands& o, QuadPair q, double result[8][8]) {
  double a[8][4] = {}, b[8][4] = {};
  for (uint32_t l = 0; l < kLanes; ++l) {
    if (!q.holds(l)) continue;
    for (uint32_t e = 0; e < 4; ++e) {
      const Position pa = QuadPair::element(l, e, !o.a_column_major);
      const Position pb = QuadPair::element(l, e, o.b_column_major);
      a[pa.row][pa.column] = half_of(lanes<uint32_t>(w, o.a[e / 2])[l], e % 2);
      b[pb.row][pb.column] = half_of(lanes<uint32_t>(w, o.b[e / 2])[l], e % 2);
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
