#include "judge/labs/declared/draw.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "judge/labs/declared/ranges.h"
#include "judge/measure/random.h"

namespace warpgrade::declared {
namespace {

using declaration::Draw;
using declaration::DrawKind;
using declaration::Scalar;

constexpr std::uint64_t kSecond = 0x9d2c5680a1b4c3f7ull;  // another stream of the same seed

// [0, 1), 53 bits.
double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// [low, high], without bias beyond 2^-64 (D. Lemire 2019, the multiplication without its rejection).
std::int64_t whole_between(std::int64_t low, std::int64_t high, std::uint64_t bits) {
  const std::uint64_t count = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (count == 0) return static_cast<std::int64_t>(bits);
  const auto step = static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + step);
}

// Place i of a permutation of [0, count): a Feistel network over the next even power of two, walked until it
// falls inside (J. Black, P. Rogaway 2002).
std::int64_t permuted(std::int64_t i, std::int64_t count, std::uint64_t seed) {
  constexpr int kRounds = 6;
  const int half =
      std::max(1, (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(count - 1))) + 1) / 2);
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto at = static_cast<std::uint64_t>(i);
  do {
    std::uint64_t left = at >> half, right = at & mask;
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t mixed =
          left ^ (random_bits(seed + static_cast<std::uint64_t>(round), right) >> (64 - half));
      left = right;
      right = mixed & mask;
    }
    at = left << half | right;
  } while (at >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(at);
}

// Two independent numbers for the cells 2 * pair and 2 * pair + 1 (G. Box, M. Muller 1958).
struct NormalPair {
  double first = 0, second = 0;
};
NormalPair normal_pair(const Draw& draw, std::uint64_t seed, std::int64_t pair) {
  const auto i = static_cast<std::uint64_t>(pair);
  const double radius = draw.deviation * std::sqrt(-2 * std::log(1 - unit(random_bits(seed, i))));
  const double angle = 2 * std::numbers::pi * unit(random_bits(seed ^ kSecond, i));
  return {draw.mean + radius * std::cos(angle), draw.mean + radius * std::sin(angle)};
}

struct Cell {
  std::int64_t number, count, row;  // of `count`; in rows of so many
};

// Cell i of an ascending sequence: the i-th of `count` equal parts of the range, and a random place in it.
void write_sorted(const Draw& draw, Scalar type, const Cell& cell, double place, std::byte* at) {
  const double share = (static_cast<double>(cell.number) + place) / static_cast<double>(cell.count);
  if (facts(type).is_float) return write_real(type, draw.low + (draw.high - draw.low) * share, at);
  const double range = static_cast<double>(draw.whole_high) - static_cast<double>(draw.whole_low) + 1;
  const double value = static_cast<double>(draw.whole_low) + std::floor(range * share);
  write_whole(
      type,
      value >= static_cast<double>(draw.whole_high) ? draw.whole_high : static_cast<std::int64_t>(value), at);
}

// The ways of drawing that large arrays seldom have: a cell at a time.
void write_cell(const Draw& draw, Scalar type, const Cell& cell, std::uint64_t seed, std::byte* at) {
  const auto i = static_cast<std::uint64_t>(cell.number);
  if (draw.kind == DrawKind::kPermutation)
    return write_whole(type, permuted(cell.number, cell.count, seed), at);
  if (draw.kind == DrawKind::kSorted) return write_sorted(draw, type, cell, unit(random_bits(seed, i)), at);
  if (draw.kind != DrawKind::kOneHot) return;  // what is not drawn at all (case_arrays.cpp); of no cells here
  const std::int64_t hot =
      whole_between(0, cell.row - 1, random_bits(seed, i / static_cast<std::uint64_t>(cell.row)));
  const bool is_hot = cell.number % cell.row == hot;
  facts(type).is_float ? write_real(type, is_hot ? draw.low : 0, at)
                       : write_whole(type, is_hot ? draw.whole_low : 0, at);
}

// Some cells of an array, of which each holds `type` at the same place.
struct Cells {
  Scalar type = Scalar::kInt32;
  std::int64_t begin = 0, end = 0;
  std::byte* first = nullptr;  // of cell 0
  std::size_t stride = 0;

  template <typename T, typename Number>
  void store(Number number) const {
    std::byte* at = first + static_cast<std::size_t>(begin) * stride;
    for (std::int64_t i = begin; i < end; ++i, at += stride) {
      const auto value = static_cast<T>(number(i));
      std::memcpy(at, &value, sizeof value);
    }
  }
  // number(i) of each cell: the type is looked at once, not for each of millions of cells.
  template <typename Number>
  void write_reals(Number number) const {
    if (type == Scalar::kFp32) return store<float>(number);
    if (type == Scalar::kFp64) return store<double>(number);
    std::byte* at = first + static_cast<std::size_t>(begin) * stride;
    for (std::int64_t i = begin; i < end; ++i, at += stride) write_real(type, number(i), at);
  }
  template <typename Number>
  void write_wholes(Number number) const {
    if (facts(type).is_float)
      return write_reals([&](std::int64_t i) { return static_cast<double>(number(i)); });
    switch (facts(type).bytes) {  // the low bytes are the number in every type
      case 1:
        return store<std::uint8_t>(number);
      case 2:
        return store<std::uint16_t>(number);
      case 4:
        return store<std::uint32_t>(number);
      default:
        return store<std::uint64_t>(number);
    }
  }
};

// Cell i from (seed, i) alone; `count` and `row` are the array's.
void draw_some(const Draw& draw, const Cells& cells, std::int64_t count, std::int64_t row,
               std::uint64_t seed) {
  const bool is_float = facts(cells.type).is_float;
  const auto bits = [seed](std::int64_t i) { return random_bits(seed, static_cast<std::uint64_t>(i)); };
  const auto whole = [&](std::int64_t i) { return whole_between(draw.whole_low, draw.whole_high, bits(i)); };
  switch (draw.kind) {
    case DrawKind::kUniform:
      if (!is_float) return cells.write_wholes(whole);
      return cells.write_reals(
          [&](std::int64_t i) { return draw.low + (draw.high - draw.low) * unit(bits(i)); });
    case DrawKind::kIntegers:
      return cells.write_wholes(whole);
    case DrawKind::kNormal:
      return cells.write_reals(
          [&draw, seed, known = std::int64_t{-1}, pair = NormalPair()](std::int64_t i) mutable {
            if (i / 2 != known) pair = normal_pair(draw, seed, known = i / 2);
            return i % 2 == 0 ? pair.first : pair.second;
          });
    case DrawKind::kConstant:
      if (is_float) return cells.write_reals([&](std::int64_t) { return draw.low; });
      return cells.write_wholes([&](std::int64_t) { return draw.whole_low; });
    default:
      for (std::int64_t i = cells.begin; i < cells.end; ++i)
        write_cell(draw, cells.type, {i, count, row}, seed,
                   cells.first + static_cast<std::size_t>(i) * cells.stride);
  }
}

// ---- thin rows ----

constexpr std::uint64_t kThin = 0x51b2e9c07d3a8f65ull;  // a third stream of the same seed

// A thin row: `certain` is kept, any other cell with a probability of `kept`.
struct ThinRow {
  std::int64_t number, certain;
  double kept;
};

// The thin row of rows [group * per, group * per + per). Every other one keeps a single cell: a product with
// such a row has one term, whose precision no other term hides. The rest keep a share of 1/2, 1/4, ... of
// their cells, so that no count of zeros tells all of them from the other rows.
ThinRow thin_row(std::int64_t group, std::int64_t per, std::int64_t row, std::uint64_t seed) {
  const auto bits = [&](int which) {
    return random_bits(seed ^ kThin,
                       3 * static_cast<std::uint64_t>(group) + static_cast<std::uint64_t>(which));
  };
  const int halvings = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(row)));
  const double kept =
      group % 2 == 0 ? 0 : std::ldexp(1, -static_cast<int>(whole_between(1, halvings, bits(2))));
  return {group * per + whole_between(0, per - 1, bits(0)), whole_between(0, row - 1, bits(1)), kept};
}

// Sets the cells that thin rows do not keep to 0.
void thin_out(std::int64_t per, const Cells& cells, std::int64_t row, std::uint64_t seed, int threads) {
  const std::int64_t rows = cells.end / row;
  const std::size_t bytes = facts(cells.type).bytes;
  for_ranges((rows + per - 1) / per, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const ThinRow thin = thin_row(group, per, row, seed);
      if (thin.number >= rows) continue;
      for (std::int64_t at = 0; at < row; ++at) {
        const std::int64_t cell = thin.number * row + at;
        if (at == thin.certain) continue;
        if (unit(random_bits(seed ^ kThin ^ kSecond, static_cast<std::uint64_t>(cell))) < thin.kept) continue;
        std::memset(cells.first + static_cast<std::size_t>(cell) * cells.stride, 0, bytes);
      }
    }
  });
}

std::int64_t bits_of(double number) {
  return std::bit_cast<std::int64_t>(number);
}

}  // namespace

void draw_cells(const declaration::Draws& draws, const declaration::ElementType& type, std::int64_t row,
                std::uint64_t seed, int threads, std::span<std::byte> cells) {
  const auto count = static_cast<std::int64_t>(cells.size() / type.bytes);
  if (type.is_structure) std::memset(cells.data(), 0, cells.size());  // the padding too
  for (std::size_t f = 0; f < type.fields.size(); ++f) {
    const declaration::Field& field = type.fields[f];
    const std::uint64_t own = mix_bits(seed + f);
    for_ranges(count, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      draw_some(draws[f], {field.type, begin, end, cells.data() + field.offset, type.bytes}, count, row, own);
    });
    if (draws[f].thin_rows > 0)
      thin_out(draws[f].thin_rows, {field.type, 0, count, cells.data() + field.offset, type.bytes}, row, own,
               threads);
  }
}

std::int64_t draw_scalar(const declaration::NumberDeclaration& scalar, std::uint64_t seed) {
  std::byte number[8] = {};
  draw_some(scalar.draw, {scalar.type, 0, 1, number, sizeof number}, 1, 1, seed);
  if (facts(scalar.type).is_float) return bits_of(read_real(scalar.type, number));
  return read_whole(scalar.type, number);
}

std::int64_t argument_of(const declaration::NumberDeclaration& number, const declaration::Value& value) {
  return facts(number.type).is_float ? bits_of(value.real) : value.whole;
}

}  // namespace warpgrade::declared
