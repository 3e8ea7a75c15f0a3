#include "cufft/transform.h"

#include <algorithm>

namespace warpgrade::cufft {
namespace {

// As many columns are gathered together as a line of the cache has complex numbers, and some more.
constexpr size_t kColumns = 8;

// Where the rows of one transform begin: all dimensions but the last one.
std::vector<int64_t> row_starts(const Layout& layout) {
  std::vector<int64_t> starts{0};
  for (size_t d = 1; d + 1 < layout.size(); ++d) {
    std::vector<int64_t> finer;
    finer.reserve(starts.size() * static_cast<size_t>(layout[d].count));
    for (const int64_t start : starts) {
      for (int64_t k = 0; k < layout[d].count; ++k) finer.push_back(start + k * layout[d].step);
    }
    starts = std::move(finer);
  }
  return starts;
}

// The transforms of a batch, one after another, in double. `grid` holds one transform's complex
// numbers, dense.
template <class T>
class Batch {
 public:
  explicit Batch(Work& work)
      : work_(work),
        plan_(*work.plan),
        size_(complex_size(plan_.request)),
        input_rows_(row_starts(work.input_layout)),
        output_rows_(row_starts(work.output_layout)),
        row_(static_cast<size_t>(plan_.request.size.back())),
        result_(row_.size()),
        grid_(input_rows_.size() * static_cast<size_t>(size_.back())) {}

  void run() {
    const cufftType type = plan_.request.type;
    for (int64_t b = 0; b < plan_.request.batch; ++b) {
      const T* from = as<const T>(work_.input) + b * work_.input_layout[0].step * width(End::input);
      T* to = as<T>(work_.output) + b * work_.output_layout[0].step * width(End::output);
      if (is_real(type, End::input)) {
        real_rows(from);
      } else {
        read(from);
      }
      for (size_t d = 0; d + 1 < size_.size(); ++d) columns(d);
      if (is_real(type, End::output)) {
        write_real_rows(to);
      } else {
        if (!is_real(type, End::input)) rows();
        write(to);
      }
    }
  }

 private:
  template <class U>
  static U* as(std::vector<char>& bytes) {
    return reinterpret_cast<U*>(bytes.data());
  }
  // Numbers of type T an element has.
  int64_t width(End end) const { return is_real(plan_.request.type, end) ? 1 : 2; }
  const Line& row_line() { return plan_.line(plan_.request.size.back(), work_.is_inverse); }
  Complex* row_of_grid(size_t r) { return grid_.data() + r * static_cast<size_t>(size_.back()); }

  void read(const T* from) {
    const int64_t step = work_.input_layout.back().step;
    Complex* at = grid_.data();
    for (const int64_t start : input_rows_) {
      for (int64_t k = 0; k < size_.back(); ++k, ++at) {
        const T* number = from + 2 * (start + k * step);
        *at = Complex(number[0], number[1]);
      }
    }
  }
  void write(T* to) const {
    const int64_t step = work_.output_layout.back().step;
    const Complex* at = grid_.data();
    for (const int64_t start : output_rows_) {
      for (int64_t k = 0; k < size_.back(); ++k, ++at) {
        T* number = to + 2 * (start + k * step);
        number[0] = static_cast<T>(at->real());
        number[1] = static_cast<T>(at->imag());
      }
    }
  }

  void rows() {
    const Line& line = row_line();
    for (size_t r = 0; r < input_rows_.size(); ++r) {
      std::copy_n(row_of_grid(r), row_.size(), row_.data());
      line.transform(row_.data(), row_of_grid(r));
    }
  }

  // Real numbers: the second half of what comes out is the first one's conjugate.
  void real_rows(const T* from) {
    const Line& line = row_line();
    const int64_t step = work_.input_layout.back().step;
    for (size_t r = 0; r < input_rows_.size(); ++r) {
      for (size_t k = 0; k < row_.size(); ++k)
        row_[k] = static_cast<double>(from[input_rows_[r] + static_cast<int64_t>(k) * step]);
      line.transform(row_.data(), result_.data());
      std::copy_n(result_.data(), size_.back(), row_of_grid(r));
    }
  }
  // The elements that are their own conjugates are taken for real, as FFTW and numpy do; cuFFT leaves
  // it open.
  void write_real_rows(T* to) {
    const Line& line = row_line();
    const int64_t step = work_.output_layout.back().step;
    const size_t n = row_.size();
    for (size_t r = 0; r < output_rows_.size(); ++r) {
      const Complex* half = row_of_grid(r);
      for (size_t k = 1; 2 * k < n; ++k) {
        row_[k] = half[k];
        row_[n - k] = std::conj(half[k]);
      }
      row_[0] = half[0].real();
      if (n % 2 == 0) row_[n / 2] = half[n / 2].real();
      line.transform(row_.data(), result_.data());
      for (size_t k = 0; k < n; ++k)
        to[output_rows_[r] + static_cast<int64_t>(k) * step] = static_cast<T>(result_[k].real());
    }
  }

  // The transforms along a dimension whose elements are not adjacent.
  void columns(size_t dimension) {
    const auto n = static_cast<size_t>(size_[dimension]);
    if (n == 1) return;
    const Line& line = plan_.line(size_[dimension], work_.is_inverse);
    size_t inner = 1;
    for (size_t d = dimension + 1; d < size_.size(); ++d) inner *= static_cast<size_t>(size_[d]);
    std::vector<Complex> gathered(kColumns * n), transformed(n);
    for (size_t outer = 0; outer < grid_.size(); outer += n * inner) {
      for (size_t first = 0; first < inner; first += kColumns) {
        const size_t count = std::min(kColumns, inner - first);
        Complex* corner = grid_.data() + outer + first;
        for (size_t k = 0; k < n; ++k) {
          for (size_t c = 0; c < count; ++c) gathered[c * n + k] = corner[k * inner + c];
        }
        for (size_t c = 0; c < count; ++c) {
          line.transform(gathered.data() + c * n, transformed.data());
          std::copy_n(transformed.data(), n, gathered.data() + c * n);
        }
        for (size_t k = 0; k < n; ++k) {
          for (size_t c = 0; c < count; ++c) corner[k * inner + c] = gathered[c * n + k];
        }
      }
    }
  }

  Work& work_;
  Plan& plan_;
  std::vector<int64_t> size_;
  std::vector<int64_t> input_rows_, output_rows_;
  std::vector<Complex> row_, result_, grid_;
};

}  // namespace

void Work::transform() {
  const std::lock_guard lock(plan->transforms);
  if (is_double(plan->request.type)) {
    Batch<double>(*this).run();
  } else {
    Batch<float>(*this).run();
  }
}

}  // namespace warpgrade::cufft
