#include "sampling/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "sampling/statistics.h"

namespace warpgrade::sampling {
namespace {

using Complex = std::complex<double>;

// The discrete Fourier transform of kLength numbers that lie `stride` apart: radix 2 (Cooley and Tukey 1965).
template <int kLength>
void transform_line(Complex* line, std::size_t stride) {
  static const std::array<Complex, kLength / 2> roots = [] {
    std::array<Complex, kLength / 2> made;
    for (int k = 0; k < kLength / 2; ++k) made[k] = std::polar(1.0, 2 * std::numbers::pi * k / kLength);
    return made;
  }();
  std::array<Complex, kLength> x;
  for (int i = 0, reversed = 0; i < kLength; ++i) {
    x[reversed] = line[i * stride];
    int bit = kLength / 2;
    for (; bit > 0 && (reversed & bit) != 0; bit /= 2) reversed ^= bit;
    reversed |= bit;
  }
  for (int half = 1; half < kLength; half *= 2) {
    for (int begin = 0; begin < kLength; begin += 2 * half) {
      for (int k = 0; k < half; ++k) {
        const Complex root = roots[k * (kLength / 2 / half)], b = x[begin + half + k];
        // Written out: the operator looks for infinities.
        const Complex turned(root.real() * b.real() - root.imag() * b.imag(),
                             root.real() * b.imag() + root.imag() * b.real());
        x[begin + half + k] = x[begin + k] - turned;
        x[begin + k] += turned;
      }
    }
  }
  for (int i = 0; i < kLength; ++i) line[i * stride] = x[i];
}

// A table of kLength^dimensions numbers, transformed along each of its dimensions.
template <int kLength>
void transform(std::vector<Complex>& table) {
  for (std::size_t stride = 1; stride < table.size(); stride *= kLength) {
    for (std::size_t line = 0; line < table.size() / kLength; ++line) {
      const std::size_t begin = line / stride * stride * kLength + line % stride;
      transform_line<kLength>(table.data() + begin, stride);
    }
  }
}

template <int kLength>
int signed_coefficient(std::size_t k) {
  const int value = static_cast<int>(k);
  return value < kLength / 2 ? value : value - kLength;
}

// The strongest form among those with two coefficients or more that are not 0; the newest of these must leave
// at least four phases.
template <int kLength, int kDimensions, typename Count>
Form strongest(const Count* counts, std::size_t size) {
  std::vector<Complex> table(size);
  double n = 0;
  for (std::size_t i = 0; i < size; ++i) n += static_cast<double>(counts[i]);
  if (n == 0) return {};
  for (std::size_t i = 0; i < size; ++i)
    table[i] = static_cast<double>(counts[i]) - n / static_cast<double>(size);
  transform<kLength>(table);
  Form best;
  double most = 0;
  int least = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t rest = i, newest = 0;
    int used = 0;
    int coefficients[3] = {};
    for (int d = kDimensions - 1; d >= 0; --d, rest /= kLength) {
      const std::size_t k = rest % kLength;
      if (k != 0 && used++ == 0) newest = k;
      coefficients[d] = signed_coefficient<kLength>(k);
    }
    if (used < 2 || newest == kLength / 2) continue;
    // Multiples of a constant form are as strong: the one with the smallest coefficients is named.
    constexpr double kTie = 1e-9;
    int size_of_form = 0;
    for (const int c : coefficients) size_of_form += std::abs(c);
    const double part = std::max(std::abs(table[i].real()), std::abs(table[i].imag()));
    if (part <= most * (1 - kTie) || (part <= most * (1 + kTie) && size_of_form >= least)) continue;
    most = std::max(most, part);
    least = size_of_form;
    std::copy(coefficients, coefficients + 3, best.coefficients);
    best.strength = std::abs(table[i]) / n;
  }
  // A form and its negative have the same sums, up to sign: half of them, two parts, two signs.
  best.log_tail = std::min(0.0, std::log(2.0 * static_cast<double>(size)) - most * most / n);
  return best;
}

}  // namespace

Form strongest_form(const LagCounts& counts) {
  return strongest<kLevels, 2>(counts.joint, std::size(counts.joint));
}

Form strongest_form(const TripleCounts& counts) {
  return strongest<kTripleLevels, 3>(counts.joint, std::size(counts.joint));
}

double detectable_strength(double n, bool triples) {
  const double forms = triples ? std::pow(kTripleLevels, 3) : std::pow(kLevels, 2);
  // The real part is at least |S| / sqrt(2) or the imaginary part is; 1.3 deviations above the threshold is 9
  // in 10.
  return std::sqrt(2.0) * (std::sqrt(std::log(2 * forms / kTestAlarm)) + 1) / std::sqrt(n);
}

}  // namespace warpgrade::sampling
