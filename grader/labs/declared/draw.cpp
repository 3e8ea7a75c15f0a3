#include "labs/declared/draw.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "labs/declared/ranges.h"
#include "measure/random.h"

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

double normal(const Draw& draw, std::uint64_t seed, std::uint64_t i) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(random_bits(seed, i))));
  const double angle = 2 * std::numbers::pi * unit(random_bits(seed ^ kSecond, i));
  return draw.mean + draw.deviation * radius * std::cos(angle);
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

void write_cell(const Draw& draw, Scalar type, const Cell& cell, std::uint64_t seed, std::byte* at) {
  const bool is_float = facts(type).is_float;
  const auto i = static_cast<std::uint64_t>(cell.number);
  switch (draw.kind) {
    case DrawKind::kUniform:
      if (is_float)
        return write_real(type, draw.low + (draw.high - draw.low) * unit(random_bits(seed, i)), at);
      [[fallthrough]];
    case DrawKind::kIntegers:
      return write_whole(type, whole_between(draw.whole_low, draw.whole_high, random_bits(seed, i)), at);
    case DrawKind::kNormal:
      return write_real(type, normal(draw, seed, i), at);
    case DrawKind::kPermutation:
      return write_whole(type, permuted(cell.number, cell.count, seed), at);
    case DrawKind::kSorted:
      return write_sorted(draw, type, cell, unit(random_bits(seed, i)), at);
    case DrawKind::kConstant:
      return is_float ? write_real(type, draw.low, at) : write_whole(type, draw.whole_low, at);
    case DrawKind::kNpy:
    case DrawKind::kCsr:
      return;  // what is not drawn at all (case_arrays.cpp); of no cells here
    case DrawKind::kOneHot: {
      const std::int64_t hot =
          whole_between(0, cell.row - 1, random_bits(seed, i / static_cast<std::uint64_t>(cell.row)));
      const bool is_hot = cell.number % cell.row == hot;
      return is_float ? write_real(type, is_hot ? draw.low : 0, at)
                      : write_whole(type, is_hot ? draw.whole_low : 0, at);
    }
  }
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
      for (std::int64_t i = begin; i < end; ++i)
        write_cell(draws[f], field.type, {i, count, row}, own,
                   cells.data() + static_cast<std::size_t>(i) * type.bytes + field.offset);
    });
  }
}

std::int64_t draw_scalar(const declaration::NumberDeclaration& scalar, std::uint64_t seed) {
  std::byte number[8] = {};
  write_cell(scalar.draw, scalar.type, {0, 1, 1}, seed, number);
  if (facts(scalar.type).is_float) return bits_of(read_real(scalar.type, number));
  return read_whole(scalar.type, number);
}

std::int64_t argument_of(const declaration::NumberDeclaration& number, const declaration::Value& value) {
  return facts(number.type).is_float ? bits_of(value.real) : value.whole;
}

}  // namespace warpgrade::declared
