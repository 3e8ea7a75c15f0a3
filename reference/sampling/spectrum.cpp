#include "sampling/spectrum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "sampling/statistics.h"

namespace warpgrade::sampling {
namespace {

// The turns of a transform of this length, by radix-2 stage: stage with `half` butterflies begins at half
// - 1.
template <int kLength>
struct Turns {
  std::array<float, kLength> cosine{}, sine{};
  Turns() {
    for (int half = 1; half < kLength; half *= 2) {
      for (int k = 0; k < half; ++k) {
        const double turn = std::numbers::pi * k / half;
        cosine[half - 1 + k] = static_cast<float>(std::cos(turn));
        sine[half - 1 + k] = static_cast<float>(std::sin(turn));
      }
    }
  }
};

// One stage's step for `count` lines, a multiple of 32: b is turned, then a and b become their sum
// and difference.
#if defined(__x86_64__) && defined(__GNUC__)
[[gnu::target_clones("arch=haswell", "default")]]
#endif
void butterflies(float* __restrict ar, float* __restrict ai, float* __restrict br, float* __restrict bi,
                 int count, float cosine, float sine) {
  constexpr int kAtOnce = 32;  // a known number, for the vectorizer
  for (int begin = 0; begin < count; begin += kAtOnce) {
    for (int i = begin; i < begin + kAtOnce; ++i) {
      const float r = cosine * br[i] - sine * bi[i], m = cosine * bi[i] + sine * br[i];
      br[i] = ar[i] - r;
      bi[i] = ai[i] - m;
      ar[i] += r;
      ai[i] += m;
    }
  }
}

// The discrete Fourier transform along the first dimension of [kLength, kInner], all lines at once: radix 2
// (Cooley and Tukey 1965).
template <int kLength, int kInner>
void transform_first(float* real, float* imaginary) {
  static_assert(kInner % 32 == 0);
  static const Turns<kLength> turns;
  for (int i = 0, reversed = 0; i < kLength; ++i) {
    if (i < reversed) {
      std::swap_ranges(real + i * kInner, real + (i + 1) * kInner, real + reversed * kInner);
      std::swap_ranges(imaginary + i * kInner, imaginary + (i + 1) * kInner, imaginary + reversed * kInner);
    }
    int bit = kLength / 2;
    for (; bit > 0 && (reversed & bit) != 0; bit /= 2) reversed ^= bit;
    reversed |= bit;
  }
  for (int half = 1; half < kLength; half *= 2) {
    for (int k = 0; k < half; ++k) {
      const float cosine = turns.cosine[half - 1 + k], sine = turns.sine[half - 1 + k];
      for (int first = k; first < kLength; first += 2 * half) {
        const int second = first + half;
        butterflies(real + first * kInner, imaginary + first * kInner, real + second * kInner,
                    imaginary + second * kInner, kInner, cosine, sine);
      }
    }
  }
}

template <int kLength>
void transpose(float* table) {
  for (int i = 0; i < kLength; ++i) {
    for (int j = 0; j < i; ++j) std::swap(table[i * kLength + j], table[j * kLength + i]);
  }
}

template <int kLength>
void transform_square(float* real, float* imaginary) {
  transform_first<kLength, kLength>(real, imaginary);
  for (float* part : {real, imaginary}) transpose<kLength>(part);
  transform_first<kLength, kLength>(real, imaginary);
  for (float* part : {real, imaginary}) transpose<kLength>(part);
}

// The transform of a table of kLength^kDimensions counts, less their mean; single precision, since a sum of
// counts needs no more. Of real numbers the second half of the first dimension holds the conjugates of the
// first half: it is not computed.
template <int kLength, int kDimensions>
class Spectrum {
 public:
  static_assert(kDimensions == 2 || kDimensions == 3);
  static constexpr std::size_t size() {
    std::size_t all = 1;
    for (int d = 0; d < kDimensions; ++d) all *= kLength;
    return all;
  }
  // The first kLength / 2 + 1 planes, or lines, of the first dimension.
  static constexpr std::size_t computed() { return size() / 2 + size() / kLength; }

  template <typename Count>
  Spectrum(const Count* counts, double mean) : real(size()), imaginary(size()) {
    for (std::size_t i = 0; i < size(); ++i)
      real[i] = static_cast<float>(static_cast<double>(counts[i]) - mean);
    if constexpr (kDimensions == 2) {
      transform_square<kLength>(real.data(), imaginary.data());
    } else {
      constexpr int kPlane = kLength * kLength;
      transform_first<kLength, kPlane>(real.data(), imaginary.data());
      for (std::size_t plane = 0; plane < computed(); plane += kPlane)
        transform_square<kLength>(&real[plane], &imaginary[plane]);
    }
  }
  std::vector<float> real, imaginary;
};

template <int kLength>
int signed_coefficient(std::size_t k) {
  const int value = static_cast<int>(k);
  return value < kLength / 2 ? value : value - kLength;
}

// The strongest form among those with two coefficients or more that are not 0; the newest of these must leave
// at least four phases.
template <int kLength, int kDimensions, typename Count>
Form strongest(const Count* counts) {
  using Table = Spectrum<kLength, kDimensions>;
  constexpr std::size_t kSize = Table::size();
  double n = 0;
  for (std::size_t i = 0; i < kSize; ++i) n += static_cast<double>(counts[i]);
  if (n == 0) return {};
  const Table table(counts, n / static_cast<double>(kSize));
  Form best;
  double most = 0;
  float enough = 0;  // a little less than the most
  int least = 0;
  // The second half holds the negatives of the first half's forms, whose sums are the same up to sign.
  for (std::size_t i = 0; i < Table::computed(); ++i) {
    constexpr double kTie = 1e-5;
    const float part = std::max(std::abs(table.real[i]), std::abs(table.imaginary[i]));
    if (part <= enough) continue;
    std::size_t rest = i, newest = 0;
    int used = 0, sum = 0;
    int coefficients[3] = {};
    for (int d = kDimensions - 1; d >= 0; --d, rest /= kLength) {
      const std::size_t k = rest % kLength;
      if (k != 0 && used++ == 0) newest = k;
      coefficients[d] = signed_coefficient<kLength>(k);
      sum += coefficients[d] * coefficients[d];
    }
    // Multiples of a constant form are as strong: the shortest is named.
    if (used < 2 || newest == kLength / 2 || (part <= most * (1 + kTie) && sum >= least)) continue;
    most = std::max(most, static_cast<double>(part));
    enough = static_cast<float>(most * (1 - kTie));
    least = sum;
    std::copy(coefficients, coefficients + 3, best.coefficients);
    best.strength = std::hypot(table.real[i], table.imaginary[i]) / n;
  }
  // Half of the forms, two parts, two signs. Rounding moves a sum by less than one part in 10,000.
  constexpr double kRounding = 2e-4;
  best.log_tail =
      std::min(0.0, std::log(2.0 * static_cast<double>(kSize)) - most * most / n * (1 - kRounding));
  return best;
}

}  // namespace

Form strongest_form(const LagCounts& counts) {
  return strongest<kLevels, 2>(counts.joint);
}

Form strongest_form(const TripleCounts& counts) {
  return strongest<kTripleLevels, 3>(counts.joint);
}

double detectable_strength(double n, bool triples) {
  const double forms = triples ? std::pow(kTripleLevels, 3) : std::pow(kLevels, 2);
  // The real part is at least |S| / sqrt(2) or the imaginary part is; 1.3 deviations above the threshold is
  // 9 in 10.
  return std::sqrt(2.0) * (std::sqrt(std::log(2 * forms / kTestAlarm)) + 1) / std::sqrt(n);
}

}  // namespace warpgrade::sampling
