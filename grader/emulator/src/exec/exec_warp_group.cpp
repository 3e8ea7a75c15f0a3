// wgmma: products of four warps, whose operands lie in shared memory behind descriptors.
//
// Each warp forms its 16 rows when the instruction is issued, which is one of the times at which a GPU
// may read the operands. Products are exact, sums are formed in double (in 64 bits for integers) and
// rounded once.
#include "exec/access.h"
#include "exec/matrix.h"
#include "exec/matrix_elements.h"
#include "program/program.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

constexpr uint32_t kPieceBytes = 16, kRows = 16, kMostK = 32;

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

// Elements that a register holds; a bit matrix is one of words.
uint32_t per_register(Element type) {
  return type == Element::b1 ? 1 : 32 / bits_of_element(type);
}

// `outer` rows of A or columns of B from row `begin`; store(outer, k, element).
template <class Sum, class Store>
bool read_shared(Warp& w, const Inst& i, uint64_t descriptor, Element type, bool across, uint32_t begin,
                 uint32_t outer, Store store) {
  const SharedMatrix m = SharedMatrix::of(descriptor);
  const uint32_t packed = per_register(type), elements = 4 * packed;
  PieceReader reader(w, i);
  const auto decode = [&](const uint32_t* words, uint32_t e) {
    return decode_element<Sum>(words[e / packed], e % packed, type);
  };
  if (across) {  // 16 of k, eight outer elements a piece
    return reader.read(
        outer / 8 * 16, [&](uint32_t p) { return m.across_k(begin / 8 + p / 16, p % 16); },
        [&](uint32_t p, const uint32_t* words) {
          for (uint32_t e = 0; e < 8; ++e) store(p / 16 * 8 + e, p % 16, decode(words, e));
        });
  }
  return reader.read(
      outer * 2, [&](uint32_t p) { return m.along_k(begin + p / 2, p % 2); },
      [&](uint32_t p, const uint32_t* words) {
        for (uint32_t e = 0; e < elements; ++e) store(p / 2, p % 2 * elements + e, decode(words, e));
      });
}

// k as the sums see it: of bits, words.
uint32_t steps_along_k(const WarpGroupProduct& p) {
  return p.a_type == Element::b1 ? p.shape.k / 32u : p.shape.k;
}

template <class Sum>
void read_registers(Warp& w, const WarpGroupProduct& p, Sum* a) {
  const uint32_t k = steps_along_k(p), packed = per_register(p.a_type);
  const Fragment2D layout(Part::a, {kRows, 8, uint16_t(k)}, 32 / packed);
  for (uint32_t e = 0; e < layout.elements_per_lane(); ++e) {
    const uint32_t* words = lanes<uint32_t>(w, p.a[e / packed]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Position at = layout.at(l, e);
      a[at.row * k + at.column] = decode_element<Sum>(words[l], e % packed, p.a_type);
    }
  }
}

// A and B, with their signs. False: the block stops.
template <class Sum>
bool read_operands(Warp& w, const Inst& i, const WarpGroupProduct& p, GroupMatrices<Sum>& x) {
  const uint32_t k = steps_along_k(p), n = p.shape.n, begin = w.index % kWarpGroupWarps * kRows;
  const Sum sign_a = p.negates_a ? Sum(-1) : Sum(1), sign_b = p.negates_b ? Sum(-1) : Sum(1);
  if (p.a_in_registers) {
    read_registers(w, p, x.a);
    for (uint32_t e = 0; e < kRows * k; ++e) x.a[e] *= sign_a;
  } else if (!read_shared<Sum>(
                 w, i, uniform(w, p.a[0]), p.a_type, p.a_m_major, begin, kRows,
                 [&](uint32_t row, uint32_t step, Sum value) { x.a[row * k + step] = sign_a * value; })) {
    return false;
  }
  return read_shared<Sum>(
      w, i, uniform(w, p.b), p.b_type, p.b_n_major, 0, n,
      [&](uint32_t column, uint32_t step, Sum value) { x.b[step * n + column] = sign_b * value; });
}

bool adds_to_d(Warp& w, const WarpGroupProduct& p) {
  const uint32_t mask = p.scale_d_negated != 0 ? ~predicate(w, p.scale_d) : predicate(w, p.scale_d);
  return (mask & w.mask) != 0;
}

template <class Sum>
void read_result(Warp& w, const WarpGroupProduct& p, Sum* d) {
  const Fragment2D layout(Part::accumulator, p.shape, 32);
  const bool adds = adds_to_d(w, p);
  const uint32_t packed = p.result == Element::f16 ? 2 : 1;
  for (uint32_t e = 0; e < layout.elements_per_lane(); ++e) {
    const uint32_t* words = lanes<uint32_t>(w, p.d[e / packed]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      const Position at = layout.at(l, e);
      d[at.row * p.shape.n + at.column] = adds ? decode_element<Sum>(words[l], e % packed, p.result) : Sum(0);
    }
  }
}

template <class Sum>
void add_products(const WarpGroupProduct& p, GroupMatrices<Sum>& x) {
  const uint32_t k = steps_along_k(p), n = p.shape.n;
  for (uint32_t row = 0; row < kRows; ++row) {
    Sum* d = x.d + row * n;
    for (uint32_t step = 0; step < k; ++step) {
      const Sum a = x.a[row * k + step];
      const Sum* b = x.b + step * n;
      for (uint32_t column = 0; column < n; ++column) d[column] += a * b[column];
    }
  }
}

// write(word, position in it, value) for each element of the active lanes.
template <class Sum, class Write>
void write_result(Warp& w, const WarpGroupProduct& p, const Sum* d, Write write) {
  const Fragment2D layout(Part::accumulator, p.shape, 32);
  const uint32_t packed = p.result == Element::f16 ? 2 : 1;
  for (uint32_t e = 0; e < layout.elements_per_lane(); ++e) {
    uint32_t* words = lanes<uint32_t>(w, p.d[e / packed]);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      const Position at = layout.at(l, e);
      write(words[l], e % packed, d[at.row * p.shape.n + at.column]);
    }
  }
}

void multiply_floats(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const WarpGroupProduct& p = w.block->program->warp_group_products[i.target];
  GroupMatrices<double> x;
  if (!read_operands(w, i, p, x)) return;
  read_result(w, p, x.d);
  add_products(p, x);
  const bool halves = p.result == Element::f16;
  write_result(w, p, x.d, [halves](uint32_t& word, uint32_t at, double value) {
    if (!halves) {
      word = float_bits(value);
    } else {
      word = (word & 0xffffu << 16 * (1 - at)) | half_bits(value) << 16 * at;
    }
  });
}

void count_common_bits(const WarpGroupProduct& p, GroupMatrices<int64_t>& x) {
  const uint32_t k = steps_along_k(p), n = p.shape.n;
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      for (uint32_t step = 0; step < k; ++step) {
        const uint32_t common = uint32_t(x.a[row * k + step]) & uint32_t(x.b[step * n + column]);
        x.d[row * n + column] += __builtin_popcount(common);
      }
    }
  }
}

void multiply_integers(Warp& w, const Inst& i) {
  const Gathering gathering(w, i, i.e);
  if (w.mask == 0) return;
  check_whole_warp(w, i);
  const WarpGroupProduct& p = w.block->program->warp_group_products[i.target];
  GroupMatrices<int64_t> x;
  if (!read_operands(w, i, p, x)) return;
  read_result(w, p, x.d);
  p.a_type == Element::b1 ? count_common_bits(p, x) : add_products(p, x);
  write_result(w, p, x.d, [&p](uint32_t& word, uint32_t, int64_t value) {
    word = uint32_t(integer_result(value, p.saturate));
  });
}

}  // namespace

void add_warp_group_handlers(HandlerTable& t) {
  t.add(multiply_floats, "wgmma.float");
  t.add(multiply_integers, "wgmma.integer");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
