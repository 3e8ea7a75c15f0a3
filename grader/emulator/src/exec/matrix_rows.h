// Matrices between registers and arrays of numbers, eight rows of 32-bit words at a time: a tile of a fragment
// (program/matrix.h) and a matrix of shared memory both consist of such rows. Vectors are written out, since the
// compiler's own choice was four times slower for integers. For exec_*.cpp only.
#pragma once
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "exec/half.h"
#include "exec/lane_loops.h"
#include "program/matrix.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

inline constexpr uint32_t kTileRows = 8, kTileWords = 4;         // of a tile: a register's words of all lanes
inline constexpr uint32_t kTileNumbers = kTileRows * kTileRows;  // of an accumulator's tile

inline uint32_t float_bits(double value) {
  return value != value ? 0x7fffffffu : bits_as<uint32_t>(float(value));
}
inline uint32_t half_bits(double value) {
  return from_double<Half>(value).bits;
}
inline int32_t integer_result(int64_t value, bool saturate) {
  if (!saturate) return int32_t(uint32_t(uint64_t(value)));
  return int32_t(smaller<int64_t>(larger<int64_t>(value, INT32_MIN), INT32_MAX));
}

template <class T, uint32_t kCount>
struct VectorOf {
  typedef T type __attribute__((vector_size(kCount * sizeof(T))));
};
template <class T, uint32_t kCount = kTileRows>
using Vector = typename VectorOf<T, kCount>::type;

template <class V>
[[gnu::always_inline]] inline V load_vector(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
[[gnu::always_inline]] inline void store_vector(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}

// The small floats as floats: their fields are moved to those of a float, whose exponent a multiplication corrects. That is
// exact, for numbers without a leading one, too.
template <uint32_t kCount>
[[gnu::always_inline]] inline Vector<float, kCount> widened(Vector<uint32_t, kCount> sign,
                                                            Vector<uint32_t, kCount> magnitude, float unit,
                                                            uint32_t first_special) {
  const auto scaled =
      reinterpret_cast<Vector<uint32_t, kCount>>(reinterpret_cast<Vector<float, kCount>>(magnitude) * unit);
  return reinterpret_cast<Vector<float, kCount>>(
      sign | (magnitude >= first_special ? magnitude | 0x7f800000u : scaled));
}

// Element 0 of each word as a number: double for floats, int32_t for integers.
template <Element kType, uint32_t kCount>
[[gnu::always_inline]] inline auto decode_vector(Vector<uint32_t, kCount> w) {
  using Floats = Vector<float, kCount>;
  using Integers = Vector<int32_t, kCount>;
  if constexpr (kType == Element::f16 || kType == Element::e5m2) {
    if constexpr (kType == Element::e5m2) w = w << 8;
    const Floats f = widened<kCount>((w & 0x8000u) << 16, (w & 0x7fffu) << 13, 0x1p112f, 0x7c00u << 13);
    return __builtin_convertvector(f, Vector<double, kCount>);
  } else if constexpr (kType == Element::e4m3) {  // no infinities, and one NaN
    const Floats f = widened<kCount>((w & 0x80u) << 24, (w & 0x7fu) << 20, 0x1p120f, 0x7fu << 20);
    return __builtin_convertvector(f, Vector<double, kCount>);
  } else if constexpr (kType == Element::bf16) {
    return __builtin_convertvector(reinterpret_cast<Floats>(w << 16), Vector<double, kCount>);
  } else if constexpr (kType == Element::tf32) {  // the low 13 bits do not take part
    return __builtin_convertvector(reinterpret_cast<Floats>(w & 0xffffe000u), Vector<double, kCount>);
  } else if constexpr (kType == Element::s8) {
    return reinterpret_cast<Integers>(w << 24) >> 24;
  } else if constexpr (kType == Element::u8) {
    return reinterpret_cast<Integers>(w & 255u);
  } else if constexpr (kType == Element::s4) {
    return reinterpret_cast<Integers>(w << 28) >> 28;
  } else if constexpr (kType == Element::u4) {
    return reinterpret_cast<Integers>(w & 15u);
  } else {  // words: s32, and bits
    return reinterpret_cast<Integers>(w);
  }
}

// Calls use(tag) with a type whose kType is `type`: loops over elements are compiled for each.
template <Element kElement>
struct ElementTag {
  static constexpr Element kType = kElement;
  static constexpr uint32_t kBits = kElement == Element::b1 ? 32 : bits_of_element(kElement);
  static constexpr uint32_t kPacked = kBits >= 32 ? 1 : 32 / kBits;  // elements of a word
};
template <class Use>
[[gnu::always_inline]] inline void with_elements(Element type, double*, Use use) {
  switch (type) {
    case Element::f16:
      return use(ElementTag<Element::f16>());
    case Element::bf16:
      return use(ElementTag<Element::bf16>());
    case Element::e4m3:
      return use(ElementTag<Element::e4m3>());
    case Element::e5m2:
      return use(ElementTag<Element::e5m2>());
    default:
      return use(ElementTag<Element::tf32>());
  }
}
template <class Use>
[[gnu::always_inline]] inline void with_elements(Element type, int32_t*, Use use) {
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

// out[row * stride + element] for eight rows of `count` words; row r begins at words[r * row_words].
template <class Tag, class Sum>
void decode_rows(const uint32_t* words, uint32_t row_words, uint32_t count, Sum* out, uint32_t stride) {
  for (uint32_t row = 0; row < kTileRows; ++row) {
    const uint32_t* from = words + row * row_words;
    Sum* to = out + row * stride;
    if constexpr (Tag::kPacked == 1) {
      for (uint32_t k = 0; k < count; k += 4)
        store_vector(to + k, decode_vector<Tag::kType, 4>(load_vector<Vector<uint32_t, 4>>(from + k)));
    } else if constexpr (Tag::kPacked == 2) {
      for (uint32_t k = 0; k < count; k += 4) {
        const auto narrow = load_vector<Vector<uint16_t>>(from + k);
        store_vector(to + 2 * k,
                     decode_vector<Tag::kType, 8>(__builtin_convertvector(narrow, Vector<uint32_t>)));
      }
    } else if constexpr (Tag::kPacked == 4) {
      for (uint32_t k = 0; k < count; k += 2) {
        const auto narrow = load_vector<Vector<uint8_t>>(from + k);
        store_vector(to + 4 * k,
                     decode_vector<Tag::kType, 8>(__builtin_convertvector(narrow, Vector<uint32_t>)));
      }
    } else {
      for (uint32_t k = 0; k < count; ++k) {
        const Vector<uint32_t> shifts = {0, 4, 8, 12, 16, 20, 24, 28};
        store_vector(to + 8 * k, decode_vector<Tag::kType, 8>(from[k] >> shifts));
      }
    }
  }
}

// The same, transposed: out[element * stride + row].
template <class Tag, class Sum>
void decode_columns(const uint32_t* words, uint32_t row_words, uint32_t count, Sum* out, uint32_t stride) {
  for (uint32_t k = 0; k < count; ++k) {
    Vector<uint32_t> column;
    for (uint32_t row = 0; row < kTileRows; ++row) column[row] = words[row * row_words + k];
    for (uint32_t e = 0; e < Tag::kPacked; ++e)
      store_vector(out + (k * Tag::kPacked + e) * stride,
                   decode_vector<Tag::kType, 8>(column >> e * Tag::kBits % 32));
  }
}

// a * b + c, rounded once.
[[gnu::always_inline]] inline Vector<double> fused(double a, Vector<double> b, Vector<double> c) {
#if defined(__AVX512F__)
  return reinterpret_cast<Vector<double>>(
      _mm512_fmadd_pd(_mm512_set1_pd(a), reinterpret_cast<__m512d>(b), reinterpret_cast<__m512d>(c)));
#elif defined(__FMA__)
  for (uint32_t half = 0; half < 2; ++half) {
    const double* from = reinterpret_cast<const double*>(&b) + 4 * half;
    double* to = reinterpret_cast<double*>(&c) + 4 * half;
    _mm256_storeu_pd(to, _mm256_fmadd_pd(_mm256_set1_pd(a), _mm256_loadu_pd(from), _mm256_loadu_pd(to)));
  }
  return c;
#else
  for (uint32_t k = 0; k < kTileRows; ++k) c[k] = __builtin_fma(a, b[k], c[k]);
  return c;
#endif
}

// How a product is added. Exact: no product is rounded, so one rounding and two are the same.
struct AddFused {
  [[gnu::always_inline]] static Vector<double> apply(double a, Vector<double> b, Vector<double> c) {
    return fused(a, b, c);
  }
};
struct AddExact {
  [[gnu::always_inline]] static Vector<double> apply(double a, Vector<double> b, Vector<double> c) {
#ifdef __FMA__
    return fused(a, b, c);
#else
    return c + a * b;
#endif
  }
  [[gnu::always_inline]] static Vector<int32_t> apply(int32_t a, Vector<int32_t> b, Vector<int32_t> c) {
    return c + a * b;
  }
};

// d[row][column] += a[row][step] * b[step][column], steps rising; rows and columns are multiples of eight.
template <class Add, class Sum>
void add_products(const Sum* a, const Sum* b, Sum* d, uint32_t rows, uint32_t columns, uint32_t steps) {
  constexpr uint32_t kTogether = 4;  // rows, so that sums do not wait for one another
  for (uint32_t first = 0; first < columns; first += kTileRows) {
    for (uint32_t row = 0; row < rows; row += kTogether) {
      Vector<Sum> sum[kTogether];
      for (uint32_t r = 0; r < kTogether; ++r)
        sum[r] = load_vector<Vector<Sum>>(d + (row + r) * columns + first);
      for (uint32_t step = 0; step < steps; ++step) {
        const auto y = load_vector<Vector<Sum>>(b + step * columns + first);
        for (uint32_t r = 0; r < kTogether; ++r) sum[r] = Add::apply(a[(row + r) * steps + step], y, sum[r]);
      }
      for (uint32_t r = 0; r < kTogether; ++r) store_vector(d + (row + r) * columns + first, sum[r]);
    }
  }
}

// A tile of an accumulator has two neighbouring columns a lane: two registers, or one of two halves.
struct TilePlace {
  uint32_t row, column;
  static constexpr TilePlace of(uint32_t tile, uint32_t rows) {
    const uint32_t tiles = rows / kTileRows;
    return {tile % tiles * kTileRows, tile / tiles * kTileRows};
  }
};

// Two rows of the tile from eight lanes' words, as they lie there and interleaved.
template <class Number, class Word>
void read_pairs(const Word* first, const Word* second, Number* d, uint32_t columns) {
  for (uint32_t row = 0; row < kTileRows; row += 2) {
    const auto even = load_vector<Vector<Word>>(first + kTileWords * row);
    const auto odd = load_vector<Vector<Word>>(second + kTileWords * row);
    store_vector(d + row * columns,
                 __builtin_convertvector(__builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11),
                                         Vector<Number>));
    store_vector(d + (row + 1) * columns,
                 __builtin_convertvector(__builtin_shufflevector(even, odd, 4, 12, 5, 13, 6, 14, 7, 15),
                                         Vector<Number>));
  }
}

template <class Word>
void write_words(Warp& w, uint32_t slot, const Word* words) {
  assign<Word>(w, slot, [=](uint32_t l) { return words[l]; });
}

// convert(eight numbers of a row) to eight words, and these to the registers of the even and the odd columns.
template <class Word, class Number, class Convert>
void split_pairs(const Number* d, uint32_t columns, Word* even, Word* odd, Convert convert) {
  for (uint32_t row = 0; row < kTileRows; row += 2) {
    const Vector<Word> here = convert(load_vector<Vector<Number>>(d + row * columns));
    const Vector<Word> next = convert(load_vector<Vector<Number>>(d + (row + 1) * columns));
    store_vector(even + kTileWords * row, __builtin_shufflevector(here, next, 0, 2, 4, 6, 8, 10, 12, 14));
    store_vector(odd + kTileWords * row, __builtin_shufflevector(here, next, 1, 3, 5, 7, 9, 11, 13, 15));
  }
}

// The accumulator of `rows` x `columns`, from its registers' slots and back.
inline void read_accumulator(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t columns,
                             double* d) {
  for (uint32_t tile = 0; tile < rows * columns / kTileNumbers; ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    double* to = d + p.row * columns + p.column;
    if (type == Element::f16) {
      decode_rows<ElementTag<Element::f16>>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords, to,
                                            columns);
    } else {
      read_pairs(lanes<float>(w, slots[2 * tile]), lanes<float>(w, slots[2 * tile + 1]), to, columns);
    }
  }
}

inline void write_accumulator(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t columns,
                              const double* d) {
  for (uint32_t tile = 0; tile < rows * columns / kTileNumbers; ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    const double* from = d + p.row * columns + p.column;
    alignas(64) uint32_t even[kLanes], odd[kLanes];
    if (type == Element::f16) {
      split_pairs(from, columns, even, odd, [](Vector<double> x) {
        Vector<uint32_t> words;
        for (uint32_t k = 0; k < kTileRows; ++k) words[k] = half_bits(x[k]);
        return words;
      });
      for (uint32_t l = 0; l < kLanes; ++l) even[l] |= odd[l] << 16;
      write_words(w, slots[tile], even);
    } else {
      split_pairs(from, columns, even, odd, [](Vector<double> x) {
        const auto floats = __builtin_convertvector(x, Vector<float>);
        const auto bits = reinterpret_cast<Vector<uint32_t>>(floats);
        return floats == floats ? bits : Vector<uint32_t>{} + 0x7fffffffu;
      });
      write_words(w, slots[2 * tile], even);
      write_words(w, slots[2 * tile + 1], odd);
    }
  }
}

// Numbers that stay what they are: f64 and s32.
template <class Number>
void read_numbers(Warp& w, const uint32_t* slots, uint32_t rows, uint32_t columns, Number* c) {
  for (uint32_t tile = 0; tile < rows * columns / kTileNumbers; ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    read_pairs(lanes<Number>(w, slots[2 * tile]), lanes<Number>(w, slots[2 * tile + 1]),
               c + p.row * columns + p.column, columns);
  }
}
template <class Number>
void write_numbers(Warp& w, const uint32_t* slots, uint32_t rows, uint32_t columns, const Number* d) {
  for (uint32_t tile = 0; tile < rows * columns / kTileNumbers; ++tile) {
    const TilePlace p = TilePlace::of(tile, rows);
    alignas(64) Number even[kLanes], odd[kLanes];
    split_pairs(d + p.row * columns + p.column, columns, even, odd, [](Vector<Number> x) { return x; });
    write_words(w, slots[2 * tile], even);
    write_words(w, slots[2 * tile + 1], odd);
  }
}

// d = c + products, wrapped or saturated.
inline void write_integers(Warp& w, const uint32_t* slots, bool saturate, uint32_t rows, uint32_t columns,
                           const int32_t* c, int32_t* products) {
  for (uint32_t k = 0; k < rows * columns; ++k)
    products[k] = integer_result(int64_t(c[k]) + products[k], saturate);
  write_numbers(w, slots, rows, columns, products);
}

// The registers of A as rows of `steps` numbers; those of B as `steps` rows of `columns` numbers.
template <class Sum>
void read_a(Warp& w, const uint32_t* slots, Element type, uint32_t rows, uint32_t steps, Sum* a) {
  with_elements(type, a, [&](auto tag) {
    constexpr uint32_t kWidth = kTileWords * decltype(tag)::kPacked;
    const uint32_t tiles = rows / kTileRows;
    for (uint32_t tile = 0; tile < tiles * (steps / kWidth); ++tile) {
      decode_rows<decltype(tag)>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords,
                                 a + tile % tiles * kTileRows * steps + tile / tiles * kWidth, steps);
    }
  });
}
template <class Sum>
void read_b(Warp& w, const uint32_t* slots, Element type, uint32_t columns, uint32_t steps, Sum* b) {
  with_elements(type, b, [&](auto tag) {
    constexpr uint32_t kWidth = kTileWords * decltype(tag)::kPacked;
    const uint32_t tiles = steps / kWidth;
    for (uint32_t tile = 0; tile < columns / kTileRows * tiles; ++tile) {
      decode_columns<decltype(tag)>(lanes<uint32_t>(w, slots[tile]), kTileWords, kTileWords,
                                    b + tile % tiles * kWidth * columns + tile / tiles * kTileRows, columns);
    }
  });
}

// A as sparse products store it, with zeros between. Of a chunk each pair of bits is the place of an element; of tf32,
// which has one a chunk, the upper pair is that of its upper half.
template <class Sum>
void spread(const SparseChunks& chunks, const uint32_t* metadata, uint32_t selector, const Sum* stored,
            Sum* out) {
  const MatrixShape& shape = chunks.shape;
  __builtin_memset(out, 0, sizeof(Sum) * shape.m * shape.k);
  for (uint32_t row = 0; row < shape.m; ++row) {
    for (uint32_t chunk = 0; chunk < chunks.count(); ++chunk) {
      const auto [lane, bit] = chunks.place(row, chunk, selector);
      const uint32_t places = metadata[lane] >> bit;
      const Sum* from = stored + row * (shape.k / 2) + chunk * chunks.stored();
      Sum* to = out + row * shape.k + chunk * chunks.width();
      if (chunks.stored() == 1) {
        to[places >> 3 & 1] = from[0];
      } else {
        to[places & 3] = from[0];
        to[places >> 2 & 3] = from[1];
      }
    }
  }
}

}  // namespace
}  // namespace warpgrade::emu::WARPEMU_ISA
