// wgmma: products of four warps, whose operands lie in shared memory behind descriptors.
//
// Each warp forms its 16 rows when the instruction is issued, which is one of the times at which a GPU
// may read the operands. Products are exact, sums are formed in double (in 64 bits for integers) and
// rounded once.
#include "exec/matrix.h"
#include "exec/matrix_rows.h"
#include "program/program.h"
#include "state/access.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

constexpr uint32_t kPieceBytes = 16, kRows = 16, kMostK = 64;

// Row-major, in the type of the sum: A is 16 x k, B k x n.
template <class Sum>
struct GroupMatrices {
  alignas(64) Sum a[kRows * kMostK];
  alignas(64) Sum b[kMostK * kMostWarpGroupColumns];
  alignas(64) Sum d[kRows * kMostWarpGroupColumns];
};

// Pieces of 16 bytes from shared memory, 32 at a time as one access.
class PieceReader {
 public:
  PieceReader(Warp& w, const Inst& i) : w_(w), i_(i) {}

  // Calls use(number, four words) for each of `count` pieces at address(number). False: the block stops.
  template <class Address, class Use>
  bool read(uint32_t count, Address address, Use use) {
    const uint32_t all = w_.mask;
    for (uint32_t first = 0; first < count && w_.stop == Stop::none; first += kLanes) {
      const uint32_t here = smaller(count - first, kLanes);
      w_.mask = here == kLanes ? kAllLanes : (1u << here) - 1;
      Access x;
      for (uint32_t l = 0; l < kLanes; ++l) x.host[l] = address(first + smaller(l, here - 1));
      x.space = Space::shared;
      resolve_slowly(w_, i_, kPieceBytes, AccessKind::load, x);
      if (w_.worker->observe) observe_access(w_, i_, kPieceBytes, AccessKind::load, x);
      for (uint32_t l = 0; l < here; ++l) {
        uint32_t words[4];
        __builtin_memcpy(words, reinterpret_cast<const void*>(x.host[l]), kPieceBytes);
        use(first + l, words);
      }
    }
    w_.mask = all;
    return w_.stop == Stop::none;
  }

 private:
  Warp& w_;
  const Inst& i_;
};

uint64_t uniform(Warp& w, uint32_t slot) {
  return lanes<uint64_t>(w, slot)[__builtin_ctz(w.mask)];
}

// k as the sums see it: of bits, words.
uint32_t steps_along_k(const WarpGroupProduct& p) {
  return p.a_type == Element::b1 ? p.shape.k / 32u : p.shape.k;
}

constexpr uint32_t kPieceWords = kPieceBytes / 4, kMostPieces = 4;  // of a row along k

// What is read of an operand: `outer` rows of A or columns of B from `begin` on, and `steps` of k.
struct Extent {
  uint32_t begin, outer, steps;
};

// With neighbours along k as neighbours in memory. by_rows: to out[outer][k]; else to out[k][outer]. Eight rows are
// decoded when their pieces have been read.
template <class Sum>
bool read_along_k(Warp& w, const Inst& i, const SharedMatrix& m, Element type, const Extent& e, bool by_rows,
                  Sum* out, uint32_t stride) {
  alignas(64) uint32_t words[kMostWarpGroupColumns * kMostPieces * kPieceWords];
  const uint32_t element_bits = type == Element::b1 ? 32 : bits_of_element(type);
  const uint32_t pieces = e.steps * element_bits / (8 * kPieceBytes), row_words = pieces * kPieceWords;
  PieceReader reader(w, i);
  if (!reader.read(
          e.outer * pieces, [&](uint32_t p) { return m.along_k(e.begin + p / pieces, p % pieces); },
          [&](uint32_t p, const uint32_t* piece) {
            __builtin_memcpy(words + p * kPieceWords, piece, kPieceBytes);
          })) {
    return false;
  }
  with_elements(type, out, [&](auto tag) {
    for (uint32_t first = 0; first < e.outer; first += kTileRows) {
      const uint32_t* from = words + first * row_words;
      by_rows ? decode_rows<decltype(tag)>(from, row_words, row_words, out + first * stride, stride)
              : decode_columns<decltype(tag)>(from, row_words, row_words, out + first, stride);
    }
  });
  return true;
}

// The same with eight neighbouring rows or columns a piece.
template <class Sum>
bool read_across_k(Warp& w, const Inst& i, const SharedMatrix& m, Element type, const Extent& e, bool by_rows,
                   Sum* out, uint32_t stride) {
  alignas(64)
      uint32_t words[kMostWarpGroupColumns / kTileRows * kMostK / 2 * kPieceWords];  // of 16-bit types
  PieceReader reader(w, i);
  if (!reader.read(
          e.outer / kTileRows * e.steps,
          [&](uint32_t p) { return m.across_k(e.begin / kTileRows + p / e.steps, p % e.steps); },
          [&](uint32_t p, const uint32_t* piece) {
            __builtin_memcpy(words + p * kPieceWords, piece, kPieceBytes);
          })) {
    return false;
  }
  with_elements(type, out, [&](auto tag) {
    for (uint32_t p = 0; p < e.outer / kTileRows * e.steps; p += kTileRows) {
      const uint32_t first = p / e.steps * kTileRows, step = p % e.steps;
      const uint32_t* from = words + p * kPieceWords;
      by_rows
          ? decode_columns<decltype(tag)>(from, kPieceWords, kPieceWords, out + first * stride + step, stride)
          : decode_rows<decltype(tag)>(from, kPieceWords, kPieceWords, out + step * stride + first, stride);
    }
  });
  return true;
}

template <class Sum>
bool read_shared(Warp& w, const Inst& i, uint64_t descriptor, Element type, bool across, const Extent& e,
                 bool by_rows, Sum* out, uint32_t stride) {
  const SharedMatrix m = SharedMatrix::of(descriptor);
  return across ? read_across_k(w, i, m, type, e, by_rows, out, stride)
                : read_along_k(w, i, m, type, e, by_rows, out, stride);
}

template <class Sum>
void negate(Sum* numbers, uint32_t count) {
  for (uint32_t k = 0; k < count; ++k) numbers[k] = -numbers[k];
}

// The warp's rows of A as they are stored, `steps` of k.
template <class Sum>
bool read_stored_a(Warp& w, const Inst& i, const WarpGroupProduct& p, uint32_t steps, Sum* a) {
  if (p.a_in_registers) {
    read_a(w, p.a, p.a_type, kRows, steps, a);
    return true;
  }
  const Extent rows{w.index % kWarpGroupWarps * kRows, kRows, steps};
  return read_shared(w, i, uniform(w, p.a[0]), p.a_type, p.a_m_major, rows, true, a, steps);
}

// A and B, with their signs. False: the block stops.
template <class Sum>
bool read_operands(Warp& w, const Inst& i, const WarpGroupProduct& p, GroupMatrices<Sum>& x) {
  const uint32_t k = steps_along_k(p), n = p.shape.n;
  if (p.is_sparse) {
    alignas(64) Sum stored[kRows * kMostK / 2];
    if (!read_stored_a(w, i, p, k / 2, stored)) return false;
    spread({p.shape, bits_of_element(p.a_type)}, lanes<uint32_t>(w, p.metadata), p.selector, stored, x.a);
  } else if (!read_stored_a(w, i, p, k, x.a)) {
    return false;
  }
  const uint64_t b = uniform(w, p.b);
  if (p.is_sparse && !p.b_n_major && SharedMatrix::of(b).row_bytes == 32) {
    refuse_short_lines(w, i);
    return false;
  }
  if (!read_shared(w, i, b, p.b_type, p.b_n_major, {0, n, k}, false, x.b, n)) return false;
  if (p.negates_a) negate(x.a, kRows * k);
  if (p.negates_b) negate(x.b, k * n);
  return true;
}

bool adds_to_d(Warp& w, const WarpGroupProduct& p) {
  const uint32_t mask = p.scale_d_negated != 0 ? ~predicate(w, p.scale_d) : predicate(w, p.scale_d);
  return (mask & w.mask) != 0;
}

void multiply_floats(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const WarpGroupProduct& p = w.block->program->warp_group_products[i.target];
  const uint32_t k = steps_along_k(p), n = p.shape.n;
  GroupMatrices<double> x;
  if (!read_operands(w, i, p, x)) return;
  if (adds_to_d(w, p)) {
    read_accumulator(w, p.d.data(), p.result, kRows, n, x.d);
  } else {
    __builtin_memset(x.d, 0, sizeof(double) * kRows * n);
  }
  add_products<AddExact>(x.a, x.b, x.d, kRows, n, k);
  write_accumulator(w, p.d.data(), p.result, kRows, n, x.d);
}

void count_common_bits(const int32_t* a, const int32_t* b, int32_t* d, uint32_t n, uint32_t words) {
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      for (uint32_t step = 0; step < words; ++step) {
        const uint32_t common = uint32_t(a[row * words + step]) & uint32_t(b[step * n + column]);
        d[row * n + column] += __builtin_popcount(common);
      }
    }
  }
}

void multiply_integers(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const WarpGroupProduct& p = w.block->program->warp_group_products[i.target];
  const uint32_t k = steps_along_k(p), n = p.shape.n, numbers = kRows * n;
  GroupMatrices<int32_t> x;
  alignas(64) int32_t c[kRows * kMostWarpGroupColumns];
  if (!read_operands(w, i, p, x)) return;
  __builtin_memset(x.d, 0, sizeof(int32_t) * numbers);
  __builtin_memset(c, 0, sizeof(int32_t) * numbers);
  if (adds_to_d(w, p)) read_numbers(w, p.d.data(), kRows, n, c);
  if (p.a_type == Element::b1) {
    count_common_bits(x.a, x.b, x.d, n, k);
  } else {
    add_products<AddExact>(x.a, x.b, x.d, kRows, n, k);
  }
  write_integers(w, p.d.data(), p.saturate, kRows, n, c, x.d);
}

}  // namespace

void add_warp_group_handlers(HandlerTable& t) {
  t.add(multiply_floats, "wgmma.float");
  t.add(multiply_integers, "wgmma.integer");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
