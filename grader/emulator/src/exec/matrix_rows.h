// Matrices between registers and arrays of numbers, eight rows of 32-bit words at a time: a tile of a fragment
// (program/matrix.h) and a matrix of shared memory both consist of such rows. For exec_*.cpp only.
#pragma once
#include "exec/matrix_elements.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

inline constexpr uint32_t kTileRows = 8, kTileWords = 4;  // of a tile: a register's words of all lanes

constexpr uint32_t elements_of_word(Element type) {
  const uint32_t bits = bits_of_element(type);
  return type == Element::b1 || bits >= 32 ? 1 : 32 / bits;
}

// Calls use(elements) with a type whose kType is `type`: the loops over elements are compiled for each.
template <Element kElement>
struct ElementTag {
  static constexpr Element kType = kElement;
};
template <class Use>
[[gnu::always_inline]] inline void with_floats(Element type, Use use) {
  switch (type) {
    case Element::f16:
      return use(ElementTag<Element::f16>());
    case Element::bf16:
      return use(ElementTag<Element::bf16>());
    case Element::tf32:
      return use(ElementTag<Element::tf32>());
    case Element::e4m3:
      return use(ElementTag<Element::e4m3>());
    case Element::e5m2:
      return use(ElementTag<Element::e5m2>());
    default:
      return use(ElementTag<Element::f32>());
  }
}
template <class Use>
[[gnu::always_inline]] inline void with_integers(Element type, Use use) {
  switch (type) {
    case Element::s8:
      return use(ElementTag<Element::s8>());
    case Element::u8:
      return use(ElementTag<Element::u8>());
    case Element::s4:
      return use(ElementTag<Element::s4>());
    case Element::u4:
      return use(ElementTag<Element::u4>());
    default:
      return use(ElementTag<Element::s32>());
  }
}
template <class Use>
[[gnu::always_inline]] inline void with_elements(Element type, double*, Use use) {
  with_floats(type, use);
}
template <class Use>
[[gnu::always_inline]] inline void with_elements(Element type, int32_t*, Use use) {
  with_integers(type, use);
}

// out[row * stride + element] for eight rows of `count` words; row r begins at words[r * row_words].
template <Element kType, class Sum>
void decode_rows(const uint32_t* words, uint32_t row_words, uint32_t count, Sum* out, uint32_t stride) {
  constexpr uint32_t kPacked = elements_of_word(kType);
  for (uint32_t row = 0; row < kTileRows; ++row) {
    const uint32_t* from = words + row * row_words;
    Sum* to = out + row * stride;
    for (uint32_t first = 0; first < count; first += kTileWords) {
      for (uint32_t e = 0; e < kPacked; ++e) {
        for (uint32_t t = 0; t < kTileWords; ++t)
          to[(first + t) * kPacked + e] = decode_element<Sum>(from[first + t], e, kType);
      }
    }
  }
}

// The same, transposed: out[element * stride + row].
template <Element kType, class Sum>
void decode_columns(const uint32_t* words, uint32_t row_words, uint32_t count, Sum* out, uint32_t stride) {
  constexpr uint32_t kPacked = elements_of_word(kType);
  for (uint32_t first = 0; first < count; first += kTileWords) {
    alignas(64) uint32_t turned[kTileWords][kTileRows];
    for (uint32_t row = 0; row < kTileRows; ++row) {
      for (uint32_t t = 0; t < kTileWords; ++t) turned[t][row] = words[row * row_words + first + t];
    }
    for (uint32_t t = 0; t < kTileWords; ++t) {
      for (uint32_t e = 0; e < kPacked; ++e) {
        Sum* to = out + ((first + t) * kPacked + e) * stride;
        WARPEMU_VECTORIZE for (uint32_t row = 0; row < kTileRows; ++row) to[row] =
            decode_element<Sum>(turned[t][row], e, kType);
      }
    }
  }
}

// How a product is added. Exact: no product is rounded, so one rounding and two are the same.
struct AddExact {
  [[gnu::always_inline]] static double apply(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return c + a * b;
#endif
  }
  [[gnu::always_inline]] static int32_t apply(int32_t a, int32_t b, int32_t c) {
    return c + a * b;
  }
};
struct AddFused {
  [[gnu::always_inline]] static double apply(double a, double b, double c) { return __builtin_fma(a, b, c); }
};

// d[row][column] += a[row][step] * b[step][column], steps rising; `columns` is a multiple of eight.
template <class Add, class Sum>
void add_products(const Sum* a, const Sum* b, Sum* d, uint32_t rows, uint32_t columns, uint32_t steps) {
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t first = 0; first < columns; first += kTileRows) {
      Sum sum[kTileRows];
      Sum* to = d + row * columns + first;
      for (uint32_t c = 0; c < kTileRows; ++c) sum[c] = to[c];
      for (uint32_t step = 0; step < steps; ++step) {
        const Sum x = a[row * steps + step];
        const Sum* y = b + step * columns + first;
        for (uint32_t c = 0; c < kTileRows; ++c) sum[c] = Add::apply(x, y[c], sum[c]);
      }
      for (uint32_t c = 0; c < kTileRows; ++c) to[c] = sum[c];
    }
  }
}

// An accumulator's registers, two neighbouring columns a lane and tile: 32-bit words, or one of two halves.
// Tile `tile` of a matrix of `rows` rows begins at this row and column.
struct TilePlace {
  uint32_t row, column;
  static constexpr TilePlace of(uint32_t tile, uint32_t rows) {
    const uint32_t tiles = rows / kTileRows;
    return {tile % tiles * kTileRows, tile / tiles * kTileRows};
  }
};

template <class Sum, class Word, class Convert>
void read_pairs(const Word* first, const Word* second, Sum* d, uint32_t columns, Convert convert) {
  for (uint32_t row = 0; row < kTileRows; ++row) {
    for (uint32_t t = 0; t < kTileWords; ++t) {
      d[row * columns + 2 * t] = convert(first[kTileWords * row + t]);
      d[row * columns + 2 * t + 1] = convert(second[kTileWords * row + t]);
    }
  }
}

// convert(number) of all 64 numbers of a tile, to the words of two registers.
template <class Word, class Sum, class Convert>
void write_pairs(Warp& w, uint32_t first, uint32_t second, const Sum* d, uint32_t columns, Convert convert) {
  alignas(64) Word words[2][kLanes];
  for (uint32_t row = 0; row < kTileRows; ++row) {
    for (uint32_t t = 0; t < kTileWords; ++t) {
      const uint32_t lane = kTileWords * row + t;
      words[0][lane] = convert(d[row * columns + 2 * t]);
      words[1][lane] = convert(d[row * columns + 2 * t + 1]);
    }
  }
  assign<Word>(w, first, [&](uint32_t l) { return words[0][l]; });
  assign<Word>(w, second, [&](uint32_t l) { return words[1][l]; });
}

template <class Sum>
void write_halves(Warp& w, uint32_t slot, const Sum* d, uint32_t columns) {
  alignas(64) uint32_t words[kLanes];
  for (uint32_t row = 0; row < kTileRows; ++row) {
    for (uint32_t t = 0; t < kTileWords; ++t) {
      words[kTileWords * row + t] =
          half_bits(d[row * columns + 2 * t]) | half_bits(d[row * columns + 2 * t + 1]) << 16;
    }
  }
  assign<uint32_t>(w, slot, [&](uint32_t l) { return words[l]; });
}

// The accumulator of `rows` x `columns`, from its registers' slots and back.
inline void read_accumulator(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t columns,
                             double* d) {
  for (uint32_t tile = 0; tile < rows * columns / (kTileRows * kTileRows); ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    double* to = d + p.row * columns + p.column;
    if (type == Element::f16) {
      decode_rows<Element::f16>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords, to, columns);
    } else {
      read_pairs(lanes<float>(w, slots[2 * tile]), lanes<float>(w, slots[2 * tile + 1]), to, columns,
                 [](float x) { return double(x); });
    }
  }
}

inline void write_accumulator(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t columns,
                              const double* d) {
  for (uint32_t tile = 0; tile < rows * columns / (kTileRows * kTileRows); ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    const double* from = d + p.row * columns + p.column;
    if (type == Element::f16) {
      write_halves(w, slots[tile], from, columns);
    } else {
      write_pairs<uint32_t>(w, slots[2 * tile], slots[2 * tile + 1], from, columns,
                            [](double x) { return float_bits(x); });
    }
  }
}

// d = c + products, wrapped or saturated.
inline void read_integers(Warp& w, const uint32_t* slots, uint32_t rows, uint32_t columns, int32_t* c) {
  for (uint32_t tile = 0; tile < rows * columns / (kTileRows * kTileRows); ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    read_pairs(lanes<int32_t>(w, slots[2 * tile]), lanes<int32_t>(w, slots[2 * tile + 1]),
               c + p.row * columns + p.column, columns, [](int32_t x) { return x; });
  }
}
inline void write_integers(Warp& w, const uint32_t* slots, bool saturate, uint32_t rows, uint32_t columns,
                           int32_t* c, const int32_t* products) {
  for (uint32_t k = 0; k < rows * columns; ++k) c[k] = integer_result(int64_t(c[k]) + products[k], saturate);
  for (uint32_t tile = 0; tile < rows * columns / (kTileRows * kTileRows); ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    write_pairs<int32_t>(w, slots[2 * tile], slots[2 * tile + 1], c + p.row * columns + p.column, columns,
                         [](int32_t x) { return x; });
  }
}

// The registers of A as rows of `steps` numbers; those of B as `steps` rows of `columns` numbers.
template <class Sum>
void read_a(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t steps, Sum* a) {
  with_elements(type, a, [&](auto tag) {
    constexpr uint32_t kWidth = kTileWords * elements_of_word(decltype(tag)::kType);
    for (uint32_t tile = 0; tile < rows / kTileRows * (steps / kWidth); ++tile) {
      const uint32_t tiles = rows / kTileRows;
      decode_rows<decltype(tag)::kType>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords,
                                        a + tile % tiles * kTileRows * steps + tile / tiles * kWidth, steps);
    }
  });
}
template <class Sum>
void read_b(Warp& w, const uint32_t* slots, Element type, uint32_t columns, uint32_t steps, Sum* b) {
  with_elements(type, b, [&](auto tag) {
    constexpr uint32_t kWidth = kTileWords * elements_of_word(decltype(tag)::kType);
    const uint32_t tiles = steps / kWidth;
    for (uint32_t tile = 0; tile < columns / kTileRows * tiles; ++tile) {
      decode_columns<decltype(tag)::kType>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords,
                                           b + tile % tiles * kWidth * columns + tile / tiles * kTileRows,
                                           columns);
    }
  });
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
