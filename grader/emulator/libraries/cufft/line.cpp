#include "cufft/line.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace warpgrade::cufft {
namespace {

// Up to this prime factor kissfft's own loop is faster than a convolution, which takes three
// longer transforms.
constexpr size_t kLargestFactor = 61;

size_t largest_factor(size_t n) {
  size_t largest = 1;
  for (size_t p = 2; p * p <= n; ++p) {
    while (n % p == 0) {
      largest = std::max(largest, p);
      n /= p;
    }
  }
  return std::max(largest, n);
}

// No transform of the convolution may wrap around.
size_t convolution_size(size_t n) {
  size_t size = 1;
  while (size < 2 * n - 1) size *= 2;
  return size;
}

bool is_direct(size_t n) {
  return largest_factor(n) <= kLargestFactor;
}

}  // namespace

Line::Line(size_t size, bool is_inverse)
    : size_(size), forward_(is_direct(size) ? size : convolution_size(size), is_direct(size) && is_inverse) {
  if (is_direct(size)) return;
  // Bluestein: j * k = (j^2 + k^2 - (k - j)^2) / 2 makes a convolution with a chirp of the transform.
  const size_t length = convolution_size(size);
  const double sign = is_inverse ? 1 : -1;
  chirp_.resize(size);
  std::vector<Complex> filter(length);
  size_t square = 0;  // k * k, as a part of the circle: modulo 2 * size
  for (size_t k = 0; k < size; ++k) {
    chirp_[k] =
        std::polar(1.0, sign * std::numbers::pi * static_cast<double>(square) / static_cast<double>(size));
    filter[k] = std::conj(chirp_[k]) / static_cast<double>(length);
    filter[(length - k) % length] = filter[k];
    square = (square + 2 * k + 1) % (2 * size);
  }
  filter_.resize(length);
  forward_.transform(filter.data(), filter_.data());
}

void Line::transform(const Complex* from, Complex* to) const {
  if (chirp_.empty()) {
    forward_.transform(from, to);
  } else {
    convolve(from, to);
  }
}

void Line::convolve(const Complex* from, Complex* to) const {
  std::vector<Complex> padded(filter_.size()), product(filter_.size());
  for (size_t k = 0; k < size_; ++k) padded[k] = from[k] * chirp_[k];
  forward_.transform(padded.data(), product.data());
  // Conjugated before and after, the forward transform is the inverse one.
  for (size_t k = 0; k < product.size(); ++k) product[k] = std::conj(product[k] * filter_[k]);
  forward_.transform(product.data(), padded.data());
  for (size_t k = 0; k < size_; ++k) to[k] = std::conj(padded[k]) * chirp_[k];
}

}  // namespace warpgrade::cufft
