#include "judge/labs/declared/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "judge/judging/shared_buffer.h"
#include "judge/labs/declared/ranges.h"

namespace warpgrade::declared {
namespace {

using declaration::Check;
using declaration::CheckKind;
using declaration::ElementType;
using declaration::Field;
using declaration::Scalar;

constexpr std::size_t kCellsShown = 8;

// ---- whole pieces of an output that is right, as most are: the same arithmetic, without a look at type and
// check for each of millions of cells. What does not pass is looked at cell by cell. ----

constexpr std::int64_t kPiece = 2048;

template <typename T>
T cell_of(std::span<const std::byte> cells, std::int64_t cell) {
  T value;
  std::memcpy(&value, cells.data() + static_cast<std::size_t>(cell) * sizeof value, sizeof value);
  return value;
}

template <typename T>
bool rounds_exactly(const OutputView& output, std::int64_t begin, std::int64_t end) {
  bool right = true;
  for (std::int64_t i = begin; i < end; ++i)
    right &= static_cast<T>(cell_of<double>(output.want, i)) == cell_of<T>(output.got, i);
  return right;
}

// What is summed up of right cells: the largest error over its bound, and the squares of all.
struct Shares {
  double most = 0, squares = 0;

  void add(double share) {
    most = std::max(most, share);
    squares += share * share;
  }
};

// Whether every error is within allowed(cell, wanted), which is finite; `shares` get the errors then.
template <typename T, typename Allowed>
bool is_within(const OutputView& output, std::int64_t begin, std::int64_t end, Shares& shares,
               const Allowed& allowed) {
  bool right = true;
  double largest = 0, squares = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    const double wanted = cell_of<double>(output.want, i);
    const double error = std::fabs(static_cast<double>(cell_of<T>(output.got, i)) - wanted);
    const double limit = allowed(i, wanted);
    const double share = error == 0 ? 0 : error / limit;
    right &= share <= 1 && limit <= std::numeric_limits<double>::max() && (limit > 0 || error == 0);
    largest = share > largest ? share : largest;
    squares += share * share;
  }
  if (right) {
    shares.most = std::max(shares.most, largest);
    shares.squares += squares;
  }
  return right;
}

template <typename T>
bool reals_are_right(const OutputView& output, std::int64_t begin, std::int64_t end, Shares& shares) {
  const Check& check = *output.check;
  switch (check.kind) {
    case CheckKind::kExact:
      return rounds_exactly<T>(output, begin, end);
    case CheckKind::kTolerance:
      return is_within<T>(output, begin, end, shares, [&](std::int64_t, double wanted) {
        return check.absolute + check.relative * std::fabs(wanted);
      });
    case CheckKind::kBound: {
      const int bits = facts(output.array->type.fields.front().type).significand_bits;
      const double unit = check.factor * std::ldexp(1, -bits);
      return is_within<T>(output, begin, end, shares, [&](std::int64_t i, double) {
        return unit * cell_of<double>(output.magnitude, i);
      });
    }
    default:
      return false;
  }
}

// True: these cells are right. False: who knows.
bool piece_is_right(const OutputView& output, std::int64_t begin, std::int64_t end, Shares& shares) {
  const ElementType& type = output.array->type;
  if (type.is_structure) return false;
  const Scalar scalar = type.fields.front().type;
  if (scalar == Scalar::kFp32) return reals_are_right<float>(output, begin, end, shares);
  if (scalar == Scalar::kFp64) return reals_are_right<double>(output, begin, end, shares);
  if (facts(scalar).is_float) return false;
  const std::size_t at = static_cast<std::size_t>(begin) * type.bytes;
  return std::memcmp(output.got.data() + at, output.want.data() + at,
                     static_cast<std::size_t>(end - begin) * type.bytes) == 0;
}

class Comparer {
 public:
  explicit Comparer(const OutputView& output)
      : output_(output), type_(output.array->type), truth_(truth_type(type_)) {}

  // Whether the cell is right; `shares` get its error then.
  bool is_right(std::int64_t cell, Shares& shares) const {
    for (std::size_t f = 0; f < type_.fields.size(); ++f) {
      const Field& field = type_.fields[f];
      const std::byte* got = got_at(cell) + field.offset;
      const std::byte* want = want_at(cell) + truth_.fields[f].offset;
      if (!facts(field.type).is_float) {
        if (std::memcmp(got, want, facts(field.type).bytes) != 0) return false;
        continue;
      }
      const double magnitude = output_.magnitude.empty() ? 0 : cell_of<double>(output_.magnitude, cell);
      const double share = error_over_bound(cell_check(*output_.check, field.type), field.type, got,
                                            read_real(Scalar::kFp64, want), magnitude);
      if (!(share <= 1)) return false;
      shares.add(share);
    }
    return true;
  }

  bool holds_poison(std::int64_t cell) const {
    const std::size_t begin = static_cast<std::size_t>(cell) * type_.bytes;
    for (std::size_t i = begin; i < begin + type_.bytes; ++i)
      if (output_.got[i] != static_cast<std::byte>(kPoison >> (8 * (i % 4)))) return false;
    return output_.initial.empty();
  }
  bool is_unchanged(std::int64_t cell) const {
    if (output_.initial.empty()) return false;
    return std::memcmp(got_at(cell), output_.initial.data() + static_cast<std::size_t>(cell) * type_.bytes,
                       type_.bytes) == 0;
  }

  const std::byte* got_at(std::int64_t cell) const {
    return output_.got.data() + static_cast<std::size_t>(cell) * type_.bytes;
  }
  const std::byte* want_at(std::int64_t cell) const {
    return output_.want.data() + static_cast<std::size_t>(cell) * truth_.bytes;
  }

  std::string got_text(std::int64_t cell) const {
    return holds_poison(cell) ? "nothing" : text_of(type_, got_at(cell));
  }
  std::string want_text(std::int64_t cell) const { return text_of(type_, truth_, want_at(cell)); }

 private:
  static std::string text_of(const ElementType& type, const std::byte* at) { return text_of(type, type, at); }
  // What lies at `at` as `laid_out`, to the digits of `type`.
  static std::string text_of(const ElementType& type, const ElementType& laid_out, const std::byte* at) {
    std::string text;
    for (std::size_t f = 0; f < type.fields.size(); ++f) {
      const std::byte* number = at + laid_out.fields[f].offset;
      const bool narrower =
          type.fields[f].type != laid_out.fields[f].type && type.fields[f].type != Scalar::kFp64;
      const std::string one = narrower ? fmt::format("{:.9g}", read_real(Scalar::kFp64, number))
                                       : number_text(laid_out.fields[f].type, number);
      text += (text.empty() ? "" : ", ") + (type.is_structure ? type.fields[f].name + "=" : "") + one;
    }
    return type.is_structure ? "{" + text + "}" : text;
  }

  const OutputView& output_;
  const ElementType& type_;
  ElementType truth_;
};

std::vector<std::int64_t> index_of(const OutputView& output, std::int64_t cell) {
  std::vector<std::int64_t> index(output.shape.size());
  for (std::size_t d = output.shape.size(); d-- > 0;) {
    index[d] = cell % output.shape[d];
    cell /= output.shape[d];
  }
  return index;
}

std::string place_of(const OutputView& output, std::int64_t cell) {
  return fmt::format("{}[{}]", output.array->name, fmt::join(index_of(output, cell), ","));
}

// Whether the first wrong cells hold what cells so far away should.
bool is_shifted(const Comparer& comparer, const Comparison& comparison, std::int64_t distance,
                std::size_t bytes, const ElementType& type) {
  std::int64_t looked = 0;
  for (const std::int64_t cell : comparison.shown) {
    const std::int64_t from = cell + distance;
    if (from < 0 || from >= comparison.cells) continue;
    for (std::size_t f = 0; f < type.fields.size(); ++f) {
      const Field& field = type.fields[f];
      if (facts(field.type).is_float) {
        const double want = read_real(Scalar::kFp64, comparer.want_at(from));
        if (!(std::fabs(read_real(field.type, comparer.got_at(cell)) - want) <= 1e-6 * std::fabs(want)))
          return false;
      } else if (std::memcmp(comparer.got_at(cell), comparer.want_at(from), bytes) != 0) {
        return false;
      }
    }
    ++looked;
  }
  return looked >= 3;
}

// got / want of the first wrong cells, where it is the same number in all of them.
double common_factor(const OutputView& output, const Comparer& comparer, const Comparison& comparison) {
  const ElementType& type = output.array->type;
  const Scalar number = type.fields.front().type, truth = truth_type(type).fields.front().type;
  double factor = 0;
  for (const std::int64_t cell : comparison.shown) {
    const double want = read_real(truth, comparer.want_at(cell)),
                 got = read_real(number, comparer.got_at(cell));
    const double share = got / want;
    if (want == 0 || !std::isfinite(share)) return 0;
    if (factor == 0) factor = share;
    // Errors of rounding are near 1, too: a factor is much further from 1 than shares are from each other.
    if (!(std::fabs(share - factor) <= std::min(1e-3 * std::fabs(factor), std::fabs(factor - 1) / 20)))
      return 0;
  }
  return comparison.shown.size() >= 3 ? factor : 0;
}

// ---- how the arithmetic of wrong cells went wrong, for outputs of single numbers ----

// The first wrong cells as numbers.
struct WrongNumbers {
  Scalar type;
  std::vector<double> got, want, scale;  // scale: the sum of the terms' sizes where it is known, else |want|
  std::vector<std::int64_t> whole_got, whole_want;
};

WrongNumbers wrong_numbers(const OutputView& output, const Comparer& comparer, const Comparison& c) {
  const ElementType& type = output.array->type;
  WrongNumbers numbers{type.fields.front().type, {}, {}, {}, {}, {}};
  for (const std::int64_t cell : c.shown) {
    const std::byte *got = comparer.got_at(cell), *want = comparer.want_at(cell);
    if (!facts(numbers.type).is_float) {
      numbers.whole_got.push_back(read_whole(numbers.type, got));
      numbers.whole_want.push_back(read_whole(numbers.type, want));
      continue;
    }
    numbers.got.push_back(read_real(numbers.type, got));
    numbers.want.push_back(read_real(Scalar::kFp64, want));
    numbers.scale.push_back(output.magnitude.empty() ? std::fabs(numbers.want.back())
                                                     : cell_of<double>(output.magnitude, cell));
  }
  return numbers;
}

template <typename T, typename Holds>
bool all_pairs(const std::vector<T>& got, const std::vector<T>& want, const Holds& holds) {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!holds(got[i], want[i])) return false;
  return !got.empty();
}

// The number that an output holds before a program writes it, repeated to the type's width.
std::int64_t poison_of(Scalar type) {
  std::byte bytes[8];
  for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<std::byte>(kPoison >> (8 * (i % 4)));
  return read_whole(type, bytes);
}

std::string whole_pattern(const OutputView& output, const WrongNumbers& numbers) {
  const std::size_t bytes = facts(numbers.type).bytes;
  const std::uint64_t mask = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  const auto poison = static_cast<std::uint64_t>(poison_of(numbers.type));
  const auto bits = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  if (bytes >= 4 &&
      all_pairs(numbers.whole_got, numbers.whole_want, [&](std::int64_t got, std::int64_t want) {
        return ((bits(got) - bits(want) - poison) & mask) == 0;
      })) {
    return fmt::format(
        "the right values were added to what {} held before: outputs are not 0 at first. Set them before the "
        "first `+=` or atomicAdd",
        output.array->name);
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (bytes == 8 &&
      all_pairs(numbers.whole_got, numbers.whole_want, [&](std::int64_t got, std::int64_t want) {
        const bool is_half = got == static_cast<std::int32_t>(bits(want)) ||
                             got == static_cast<std::int64_t>(static_cast<std::uint32_t>(bits(want)));
        return is_half && (want > kMost || want < -kMost - 1);
      })) {
    return "the wrong cells hold the last 32 bits of the right values: a sum or product was formed in 32 "
           "bits, which end at 2147483647. Form it in long long";
  }
  return "";
}

// What is not a finite number.
std::string not_finite_pattern(const OutputView& output, const WrongNumbers& numbers) {
  const auto only = [&](auto&& is) {
    return all_pairs(numbers.got, numbers.want,
                     [&](double got, double want) { return is(got) && std::isfinite(want); });
  };
  if (only([](double value) { return std::isnan(value); })) {
    return fmt::format(
        "the wrong cells are NaN, which is no number. Was {} read before it was set, as `+=` and atomicAdd "
        "do? (It holds NaN at first.) Or did a step divide infinity by infinity, or 0 by 0? expf(x) is "
        "infinite from x = 88.73 on: subtract the largest x before",
        output.array->name);
  }
  if (only([](double value) { return std::isinf(value); })) {
    return "the wrong cells are infinite: a step overflowed. expf(x) does from x = 88.73 on, a half beyond "
           "65504, and so does a division by 0";
  }
  return "";
}

bool is_fp16(double value) {
  std::byte bytes[8];
  write_real(Scalar::kFp16, value, bytes);
  return read_real(Scalar::kFp16, bytes) == value;
}

// Errors of a size that a type of fewer bits makes. They are in cells of every kind, so three alone
// say little.
std::string precision_pattern(const WrongNumbers& numbers) {
  constexpr double kLeast = 0x1p-16, kHalf = 0x1p-10, kBfloat = 0x1p-7;
  const bool is_wide = numbers.type == Scalar::kFp32 || numbers.type == Scalar::kFp64;
  if (!is_wide || numbers.got.size() < kCellsShown) return "";
  double largest = 0;
  for (std::size_t i = 0; i < numbers.got.size(); ++i) {
    const double share = std::fabs(numbers.got[i] - numbers.want[i]) / numbers.scale[i];
    if (!(share <= kBfloat)) return "";
    largest = std::max(largest, share);
  }
  if (largest < kLeast) return "";
  if (std::all_of(numbers.got.begin(), numbers.got.end(), is_fp16))
    return "the wrong cells are the right values with the precision of half: keep the results in float";
  return fmt::format(
      "the errors are up to {:.2g} of the values, as when {} is used: float's own rounding is 6e-08. Is the "
      "sum formed in float?",
      largest, largest <= kHalf ? "half or TF32" : "bfloat16");
}

std::string arithmetic_pattern(const OutputView& output, const Comparer& comparer, const Comparison& c) {
  if (output.array->type.is_structure) return "";
  const WrongNumbers numbers = wrong_numbers(output, comparer, c);
  return facts(numbers.type).is_float ? not_finite_pattern(output, numbers) : whole_pattern(output, numbers);
}

void compare_cells(const Comparer& comparer, std::int64_t begin, std::int64_t end, Comparison& part,
                   Shares& shares) {
  for (std::int64_t cell = begin; cell < end; ++cell) {
    if (comparer.is_right(cell, shares)) continue;
    if (part.first < 0) part.first = cell;
    part.last = cell;
    ++part.wrong;
    part.unwritten += comparer.holds_poison(cell) ? 1 : 0;
    part.unchanged += comparer.is_unchanged(cell) ? 1 : 0;
    if (part.shown.size() < kCellsShown) part.shown.push_back(cell);
  }
}

}  // namespace

const char* method_name(CheckKind kind) {
  switch (kind) {
    case CheckKind::kExact:
      return "exact_every_cell";
    case CheckKind::kTolerance:
      return "tolerance_every_cell";
    case CheckKind::kUlps:
      return "ulps_every_cell";
    case CheckKind::kBound:
      return "error_bound_every_cell";
    case CheckKind::kScript:
      return "check_script";
  }
  return "";
}

CellCheck cell_check(const Check& check, Scalar type) {
  return {check.kind, check.absolute, check.relative, check.ulps,
          check.factor * std::ldexp(1, -facts(type).significand_bits)};
}

ElementType truth_type(const ElementType& type) {
  const auto kept = [](Scalar scalar) { return facts(scalar).is_float ? Scalar::kFp64 : scalar; };
  if (!type.is_structure) return declaration::element_of(kept(type.fields.front().type));
  std::vector<Field> fields = type.fields;
  for (Field& field : fields) field.type = kept(field.type);
  return declaration::structure_of(type.name, std::move(fields));
}

Comparison compare(const OutputView& output, int threads) {
  const Comparer comparer(output);
  Comparison sum;
  sum.cells = declaration::cells_in(output.shape);
  std::mutex mutex;
  for_ranges(sum.cells, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    Comparison part;
    Shares shares;
    for (std::int64_t at = begin; at < end; at += kPiece) {
      const std::int64_t piece_end = std::min(end, at + kPiece);
      if (!piece_is_right(output, at, piece_end, shares))
        compare_cells(comparer, at, piece_end, part, shares);
    }
    const std::lock_guard lock(mutex);
    sum.wrong += part.wrong;
    sum.unwritten += part.unwritten;
    sum.unchanged += part.unchanged;
    sum.max_error_over_bound = std::max(sum.max_error_over_bound, shares.most);
    sum.squares += shares.squares;
    sum.shown.insert(sum.shown.end(), part.shown.begin(), part.shown.end());
    if (part.wrong > 0) {
      sum.first = sum.first < 0 ? part.first : std::min(sum.first, part.first);
      sum.last = std::max(sum.last, part.last);
    }
  });
  std::sort(sum.shown.begin(), sum.shown.end());
  if (sum.shown.size() > kCellsShown) sum.shown.resize(kCellsShown);
  return sum;
}

double rms_over_limit(const Check& check, const Comparison& comparison) {
  // Few errors may be large together: the curve of judge/labs/spmm/precision.cpp, which ends at 1 here.
  constexpr double kFew = 125, kExponent = -0.9;
  if (check.rms == 0 || comparison.cells == 0) return 0;
  const auto cells = static_cast<double>(comparison.cells);
  const double limit = check.rms * std::sqrt(1 + kFew * std::pow(cells, kExponent));
  return check.factor * std::sqrt(comparison.squares / cells) / limit;
}

std::string message_of(const OutputView& output, const Comparison& comparison) {
  const Comparer comparer(output);
  return fmt::format("{} want {} got {}; {} of {} cells are wrong", place_of(output, comparison.first),
                     comparer.want_text(comparison.first), comparer.got_text(comparison.first),
                     comparison.wrong, comparison.cells);
}

std::string pattern_of(const OutputView& output, const Comparison& c) {
  const Comparer comparer(output);
  const ElementType& type = output.array->type;
  const std::string& name = output.array->name;
  if (type.bytes > 1 && c.unwritten == c.wrong)
    return fmt::format("the wrong cells of {} were never written", name);
  if (c.unchanged == c.wrong) return fmt::format("the wrong cells of {} were not changed", name);
  if (std::string arithmetic = arithmetic_pattern(output, comparer, c); !arithmetic.empty())
    return arithmetic;
  if (c.wrong == 1 && c.cells > 1 && c.first == c.cells - 1)
    return fmt::format("only the last cell of {} is wrong", name);
  if (c.wrong >= 3) {
    for (const std::int64_t distance : {-1, 1}) {
      if (is_shifted(comparer, c, distance, type.bytes, type))
        return fmt::format("each wrong cell holds the right value of the cell {} it: is an index off by one?",
                           distance < 0 ? "before" : "behind");
    }
    if (const double factor = common_factor(output, comparer, c); factor != 0)
      return fmt::format("the first wrong cells are {:.6g} times what they should be", factor);
  }
  const bool is_tail = c.last == c.cells - 1 && c.wrong == c.last - c.first + 1 && c.first > 0;
  if (is_tail)
    return fmt::format(
        "the wrong cells are the last {} of {}: does the program process a block or tile that is not full?",
        c.wrong, c.cells);
  if (!type.is_structure && facts(type.fields.front().type).is_float) {
    std::string precision = precision_pattern(wrong_numbers(output, comparer, c));
    if (!precision.empty()) return precision;
  }
  if (c.first > 0 && c.first % 32 == 0) return fmt::format("the first {} cells are right", c.first);
  return "";
}

nlohmann::json mismatches_of(const OutputView& output, const Comparison& comparison) {
  const Comparer comparer(output);
  const ElementType& type = output.array->type;
  nlohmann::json cells = nlohmann::json::array();
  for (const std::int64_t cell : comparison.shown) {
    nlohmann::json entry{{"output", output.array->name}};
    const std::vector<std::int64_t> index = index_of(output, cell);
    if (!index.empty()) entry["row"] = index[0];
    if (index.size() == 2) entry["col"] = index[1];
    if (index.size() > 2) entry["index"] = index;
    entry["want"] = comparer.want_text(cell);
    entry["got"] = comparer.got_text(cell);
    // Numbers stay numbers, for readers that count with them.
    if (!type.is_structure && !facts(type.fields.front().type).is_float && !comparer.holds_poison(cell)) {
      entry["want"] = read_whole(type.fields.front().type, comparer.want_at(cell));
      entry["got"] = read_whole(type.fields.front().type, comparer.got_at(cell));
    }
    cells.push_back(std::move(entry));
  }
  return cells;
}

}  // namespace warpgrade::declared
