#include "judge/labs/declared/draw.h"

#include <bit>
#include <cstring>

#include "judge/labs/declared/ranges.h"

namespace warpgrade::declared {
namespace {

using declaration::Draw;
using declaration::DrawKind;
using declaration::Scalar;

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

// Cells [begin, end) of the field.
void draw_some(const FieldDraw& draw, const Cells& cells) {
  const bool floating = is_floating(draw.type);
  const auto bits = [&draw](std::int64_t i) { return random_bits(draw.seed, static_cast<std::uint64_t>(i)); };
  const auto whole = [&](std::int64_t i) { return whole_between(draw.whole_low, draw.whole_high, bits(i)); };
  switch (draw.kind) {
    case DrawKind::kUniform:
      if (!floating) return cells.write_wholes(whole);
      return cells.write_reals([&](std::int64_t i) { return real_between(draw.low, draw.high, bits(i)); });
    case DrawKind::kIntegers:
      return cells.write_wholes(whole);
    case DrawKind::kNormal:
      return cells.write_reals(
          [&draw, known = std::int64_t{-1}, pair = TwoNumbers()](std::int64_t i) mutable {
            if (i / 2 != known) pair = standard_normals(draw.seed, known = i / 2);
            return plus(draw.mean, times(draw.deviation, i % 2 == 0 ? pair.first : pair.second));
          });
    default:
      for (std::int64_t i = cells.begin; i < cells.end; ++i)
        write_full_cell(draw, i, cells.first + static_cast<std::size_t>(i) * cells.stride);
  }
}

// Sets the cells that thin rows do not keep to 0.
void thin_out(const FieldDraw& draw, std::byte* first, int threads) {
  const std::int64_t rows = draw.count / draw.row, per = draw.thin_rows;
  for_ranges((rows + per - 1) / per, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const ThinRow thin = thin_row(group, per, draw.row, draw.seed);
      if (thin.number >= rows) continue;
      for (std::int64_t cell = thin.number * draw.row; cell < (thin.number + 1) * draw.row; ++cell) {
        if (keeps_cell(thin, cell, draw.row, draw.seed)) continue;
        std::memset(first + static_cast<std::size_t>(cell) * draw.stride, 0, bytes_of(draw.type));
      }
    }
  });
}

std::int64_t bits_of(double number) {
  return std::bit_cast<std::int64_t>(number);
}

FieldDraw field_draw(const Draw& draw, Scalar type, std::uint64_t seed) {
  FieldDraw field;
  field.kind = draw.kind;
  field.type = type;
  field.low = draw.low;
  field.high = draw.high;
  field.mean = draw.mean;
  field.deviation = draw.deviation;
  field.whole_low = draw.whole_low;
  field.whole_high = draw.whole_high;
  field.thin_rows = draw.thin_rows;
  field.count = 1;
  field.seed = seed;
  return field;
}

}  // namespace

std::vector<FieldDraw> field_draws(const declaration::Draws& draws, const declaration::ElementType& type,
                                   std::int64_t row, std::uint64_t seed, std::int64_t count) {
  std::vector<FieldDraw> fields;
  for (std::size_t f = 0; f < type.fields.size(); ++f) {
    const declaration::Field& field = type.fields[f];
    fields.push_back(field_draw(draws[f], field.type, mix_bits(seed + f)));
    FieldDraw& one = fields.back();
    one.count = count;
    one.row = row;
    one.offset = field.offset;
    one.stride = type.bytes;
  }
  return fields;
}

void draw_cells(const declaration::Draws& draws, const declaration::ElementType& type, std::int64_t row,
                std::uint64_t seed, int threads, std::span<std::byte> cells) {
  const auto count = static_cast<std::int64_t>(cells.size() / type.bytes);
  if (type.is_structure) std::memset(cells.data(), 0, cells.size());  // the padding too
  for (const FieldDraw& field : field_draws(draws, type, row, seed, count)) {
    std::byte* first = cells.data() + field.offset;
    for_ranges(count, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
      draw_some(field, {field.type, begin, end, first, field.stride});
    });
    if (field.thin_rows > 0) thin_out(field, first, threads);
  }
}

std::int64_t draw_scalar(const declaration::NumberDeclaration& scalar, std::uint64_t seed) {
  alignas(8) std::byte number[8] = {};
  write_cell(field_draw(scalar.draw, scalar.type, seed), 0, number);
  if (facts(scalar.type).is_float) return bits_of(read_real(scalar.type, number));
  return read_whole(scalar.type, number);
}

std::int64_t argument_of(const declaration::NumberDeclaration& number, const declaration::Value& value) {
  return facts(number.type).is_float ? bits_of(value.real) : value.whole;
}

}  // namespace warpgrade::declared
