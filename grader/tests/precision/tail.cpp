#include "precision/tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "judge/labs/spmm/precision.h"

namespace warpgrade::spmm {
namespace {

constexpr int kLanes = 16;  // columns at once, so that the compiler vectorizes

// Sums of `terms` products, kLanes columns that share A's values; xorshift (Marsaglia 2003) and
// a multiplication.
class Sums {
 public:
  explicit Sums(std::uint64_t seed) : a_state_(mix_bits(seed)) {
    for (int lane = 0; lane < kLanes; ++lane)
      states_[lane] = static_cast<std::uint32_t>(random_bits(seed, lane)) | 1;
  }
  // Errors over u sum|a||b|.
  std::array<double, kLanes> errors(int terms) {
    std::array<float, kLanes> sums{};
    std::array<double, kLanes> exact{}, abs_sums{};
    for (int i = 0; i < terms; ++i) {
      const std::uint64_t bits = random_bits(a_state_, ++drawn_);
      const float a = bits % kUnitShare == 0 ? unit_value(bits) : uniform_value(bits);
      for (int lane = 0; lane < kLanes; ++lane) {
        std::uint32_t state = states_[lane];
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        states_[lane] = state;
        std::uint32_t mixed = state * 0x9E3779B1u;
        mixed ^= mixed >> 15;
        const float b = static_cast<float>(static_cast<std::int32_t>(mixed)) * 0x1p-31f;
        const double product = static_cast<double>(a) * b;
        sums[lane] = std::fma(a, b, sums[lane]);
        exact[lane] += product;
        abs_sums[lane] += std::fabs(product);
      }
    }
    for (int lane = 0; lane < kLanes; ++lane)
      exact[lane] = std::fabs(sums[lane] - exact[lane]) / (kUnitRoundoff * abs_sums[lane]);
    return exact;
  }

 private:
  std::uint64_t a_state_, drawn_ = 0;
  std::array<std::uint32_t, kLanes> states_;
};

}  // namespace

std::string measure_tail(double terms, std::uint64_t seed) {
  std::string table =
      "| terms | sums | rms | > 1 | > 2 | > 3 | > 4 | > 5 | > 6 | > 7 | > 8 | largest |\n|---:|";
  for (int i = 0; i < 11; ++i) table += "---:|";
  table += "\n";
  for (const int length : {8, 16, 32, 64, 256, 2048}) {
    Sums sums(seed + static_cast<std::uint64_t>(length));
    std::array<std::int64_t, 9> beyond{};  // [x]: errors of more than x
    double squares = 0, largest = 0;
    const auto count = static_cast<std::int64_t>(terms / length / kLanes) * kLanes;
    for (std::int64_t cell = 0; cell < count; cell += kLanes) {
      for (const double error : sums.errors(length)) {
        squares += error * error;
        largest = std::max(largest, error);
        for (int x = std::min(8, static_cast<int>(std::ceil(error)) - 1); x > 0; --x) ++beyond[x];
      }
    }
    table +=
        fmt::format("| {} | {} | {:.3f} |", length, count, std::sqrt(squares / static_cast<double>(count)));
    for (int x = 1; x <= 8; ++x) table += fmt::format(" {} |", beyond[x]);
    table += fmt::format(" {:.2f} |\n", largest);
  }
  return table;
}

}  // namespace warpgrade::spmm
