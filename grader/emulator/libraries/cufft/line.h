// The transform of one row of complex numbers, of any length.
#pragma once
#include <complex>
#include <cstddef>
#include <kissfft/kissfft.hh>
#include <vector>

namespace warpgrade::cufft {

using Complex = std::complex<double>;

class Line {
 public:
  Line(size_t size, bool is_inverse);
  // Not normalized, as cuFFT has it. `to` is not `from`.
  void transform(const Complex* from, Complex* to) const;

 private:
  void convolve(const Complex* from, Complex* to) const;

  size_t size_;
  // Of the row's length, or of the convolution's that takes its place.
  kissfft<double> forward_;
  // For lengths with a large prime factor, for which kissfft's time grows with the factor.
  std::vector<Complex> chirp_{}, filter_{};
};

}  // namespace warpgrade::cufft
