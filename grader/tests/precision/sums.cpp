#include "precision/sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace warpgrade::spmm {
namespace {

using Floats = std::span<const float>;
// Compiled without contraction: a product followed by an addition rounds twice, std::fma once.

float in_order(Floats a, Floats b, std::uint64_t) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

float without_fma(Floats a, Floats b, std::uint64_t) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<int> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random_bits(seed, i) % i]);
  return order;
}

float random_order(Floats a, Floats b, std::uint64_t seed) {
  float sum = 0;
  for (const int i : shuffled(a.size(), seed)) sum = std::fma(a[i], b[i], sum);
  return sum;
}

float pairwise(Floats a, Floats b, std::uint64_t seed) {
  if (a.size() <= 1) return a.empty() ? 0 : a[0] * b[0];
  const std::size_t half = a.size() / 2;
  return pairwise(a.first(half), b.first(half), seed) + pairwise(a.subspan(half), b.subspan(half), seed);
}

// 32 lanes, each every 32nd term, then a butterfly.
float warp_tree(Floats a, Floats b, std::uint64_t) {
  std::array<float, 32> lanes{};
  for (std::size_t i = 0; i < a.size(); ++i) lanes[i % 32] = std::fma(a[i], b[i], lanes[i % 32]);
  for (std::size_t step = 16; step > 0; step /= 2)
    for (std::size_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
  return lanes[0];
}

// Parts of 32, 64 or 256 terms, added to the cell in whatever order they arrive.
float split_rows(Floats a, Floats b, std::uint64_t seed) {
  constexpr std::array<std::size_t, 3> kSizes{32, 64, 256};
  const std::size_t size = kSizes[seed % kSizes.size()];
  std::vector<float> parts;
  for (std::size_t begin = 0; begin < a.size(); begin += size) {
    const std::size_t count = std::min(size, a.size() - begin);
    parts.push_back(in_order(a.subspan(begin, count), b.subspan(begin, count), 0));
  }
  float sum = 0;
  for (const int part : shuffled(parts.size(), seed)) sum += parts[part];
  return sum;
}

float kahan(Floats a, Floats b, std::uint64_t) {
  float sum = 0, lost = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float term = a[i] * b[i] - lost, next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  return sum;
}

float four_accumulators(Floats a, Floats b, std::uint64_t) {
  std::array<float, 4> sums{};
  for (std::size_t i = 0; i < a.size(); ++i) sums[i % 4] = std::fma(a[i], b[i], sums[i % 4]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

float with_bits(float value, int bits) {
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// B as three numbers of BF16, 24 bits in all, each with a sum of its own, as tensor cores emulate fp32.
// (Added up in one sum they would round three times as often.)
float three_parts(Floats a, Floats b, std::uint64_t) {
  std::array<float, 3> sums{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    float left = b[i];
    for (float& sum : sums) {
      const float held = with_bits(left, 8);
      sum = std::fma(a[i], held, sum);
      left -= held;
    }
  }
  return sums[0] + (sums[1] + sums[2]);
}

const std::array<Order, 9> kOrders{{{"one after the other", in_order},
                                    {"the same without FMA", without_fma},
                                    {"random order", random_order},
                                    {"pairwise", pairwise},
                                    {"warp tree", warp_tree},
                                    {"split rows, atomics", split_rows},
                                    {"Kahan", kahan},
                                    {"four accumulators", four_accumulators},
                                    {"B in three parts", three_parts}}};

// ---- formats: the value nearest to it that has so many significant bits ----

float as_bf16(float value) {
  return with_bits(value, 8);
}
float as_tf32(float value) {
  return with_bits(value, 11);
}
// With its subnormals: steps of 2^-24 below 2^-14.
float as_fp16(float value) {
  return std::abs(value) < 0x1p-14f ? std::ldexp(std::nearbyint(std::ldexp(value, 24)), -24)
                                    : with_bits(value, 11);
}
float as_int16(float value) {
  return std::nearbyint(value * 32767.0f) / 32767.0f;
}
// Two numbers of BF16: 16 bits, too.
float as_two_bf16(float value) {
  const float high = with_bits(value, 8);
  return high + with_bits(value - high, 8);
}

using Scale = Format::Scale;
const std::array<Format, 14> kFormats{
    {{"int16 B", false, true, as_int16},
     {"int16 B, a scale a row", false, true, as_int16, Scale::kRow},
     {"int16 B, a scale a column", false, true, as_int16, Scale::kColumn},
     {"int16 B, a scale for 16 values", false, true, as_int16, Scale::kBlock},
     {"FP16 B", false, true, as_fp16},
     {"FP16 A and B", true, true, as_fp16},
     {"TF32 B", false, true, as_tf32},
     {"TF32 A", true, false, as_tf32},
     {"TF32 A and B", true, true, as_tf32},
     {"BF16 B", false, true, as_bf16},
     {"BF16 A and B", true, true, as_bf16},
     {"two BF16 for B", false, true, as_two_bf16},
     {"FP16 in rows beyond 2048", false, true, as_fp16, Scale::kNone, 2048},
     {"BF16 in 1 % of rows", false, true, as_bf16, Scale::kNone, 0, 100}}};

// What value (row, col) of B is divided by before it is rounded.
std::vector<float> scales_of(const Inputs& inputs, Scale scale) {
  const std::size_t k = static_cast<std::size_t>(inputs.k), block = 16;
  std::vector<float> scales(inputs.b.size(), 1.0f);
  if (scale == Scale::kNone) return scales;
  const auto group = [&](std::size_t i) {
    return scale == Scale::kRow ? i / k : scale == Scale::kColumn ? i % k : i / block;
  };
  std::vector<float> largest(inputs.b.size() / (scale == Scale::kBlock ? block : 1) + k);
  for (std::size_t i = 0; i < inputs.b.size(); ++i)
    largest[group(i)] = std::max(largest[group(i)], std::abs(inputs.b[i]));
  for (std::size_t i = 0; i < inputs.b.size(); ++i)
    if (largest[group(i)] > 0) scales[i] = largest[group(i)];
  return scales;
}

// Calls cell(row, col, a, b) with each cell's factors.
template <typename Cell>
void for_each_cell(const Inputs& inputs, Floats b, Floats b_in_some, Floats a_in_some, auto in_some_rows,
                   Cell cell) {
  std::vector<float> column;
  for (int row = 0; row < inputs.a.rows; ++row) {
    const int begin = inputs.a.row_offsets[row], count = inputs.a.row_offsets[row + 1] - begin;
    const bool other = in_some_rows(row, count);
    const Floats a = (other ? a_in_some : inputs.values).subspan(begin, count), from = other ? b_in_some : b;
    column.resize(static_cast<std::size_t>(count));
    for (int col = 0; col < inputs.k; ++col) {
      for (int e = 0; e < count; ++e)
        column[e] = from[static_cast<std::size_t>(inputs.a.columns[begin + e]) * inputs.k + col];
      cell(row, col, a, Floats(column));
    }
  }
}

}  // namespace

std::span<const Order> orders() {
  return kOrders;
}

std::span<const Format> formats() {
  return kFormats;
}

std::vector<float> multiply(const Inputs& inputs, const Order& order, std::uint64_t seed) {
  std::vector<float> c(static_cast<std::size_t>(inputs.a.rows) * inputs.k);
  for_each_cell(
      inputs, inputs.b, inputs.b, inputs.values, [](int, int) { return false; },
      [&](int row, int col, Floats a, Floats b) {
        const std::size_t cell = static_cast<std::size_t>(row) * inputs.k + col;
        c[cell] = order.sum(a, b, mix_bits(seed + cell));
      });
  return c;
}

std::vector<float> multiply_in(const Inputs& inputs, const Format& format) {
  std::vector<float> a(inputs.values.begin(), inputs.values.end()), b(inputs.b.begin(), inputs.b.end());
  if (format.rounds_a) std::transform(a.begin(), a.end(), a.begin(), format.round);
  if (format.rounds_b) {
    const std::vector<float> scales = scales_of(inputs, format.scale);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = format.round(b[i] / scales[i]) * scales[i];
  }
  std::vector<float> c(static_cast<std::size_t>(inputs.a.rows) * inputs.k);
  for_each_cell(
      inputs, inputs.b, b, a,
      [&](int row, int count) { return count > format.longer_than && row % format.every == 0; },
      [&](int row, int col, Floats x, Floats y) {
        c[static_cast<std::size_t>(row) * inputs.k + col] = in_order(x, y, 0);
      });
  return c;
}

}  // namespace warpgrade::spmm
