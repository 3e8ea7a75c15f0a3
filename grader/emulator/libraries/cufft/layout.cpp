// Where cuFFT's arrays have their elements ("Data Layout" and "Advanced Data Layout" of its documentation).
#include "cufft/plan.h"

namespace warpgrade::cufft {
namespace {

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), CUFFT_INVALID_SIZE);
  return product;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), CUFFT_INVALID_SIZE);
  return sum;
}

int64_t product_of(const std::vector<int64_t>& factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) product = times(product, factor);
  return product;
}

bool is_complex_type(cufftType type) {
  return type == CUFFT_C2C || type == CUFFT_Z2Z;
}

// Real numbers in place have room for the complex ones that take their place.
Request::Array dense_array(const Request& request, const std::vector<int64_t>& count, bool is_padded) {
  Request::Array array{count};
  if (is_padded) array.embed.back() = times(2, request.size.back() / 2 + 1);
  array.distance = product_of(array.embed);
  return array;
}

void check_array(const Request::Array& array, int64_t batch) {
  require(array.stride >= 1 && array.distance >= (batch > 1 ? 1 : 0), CUFFT_INVALID_VALUE);
  for (size_t d = 1; d < array.embed.size(); ++d) require(array.embed[d] >= 1, CUFFT_INVALID_VALUE);
}

}  // namespace

bool is_double(cufftType type) {
  return type == CUFFT_Z2Z || type == CUFFT_D2Z || type == CUFFT_Z2D;
}

bool is_known(cufftType type) {
  return is_double(type) || type == CUFFT_C2C || type == CUFFT_R2C || type == CUFFT_C2R;
}

bool is_real(cufftType type, End end) {
  return end == End::input ? type == CUFFT_R2C || type == CUFFT_D2Z : type == CUFFT_C2R || type == CUFFT_Z2D;
}

size_t element_bytes(cufftType type, End end) {
  return (is_double(type) ? sizeof(double) : sizeof(float)) * (is_real(type, end) ? 1 : 2);
}

std::vector<int64_t> complex_size(const Request& request) {
  std::vector<int64_t> size = request.size;
  if (!is_complex_type(request.type)) size.back() = size.back() / 2 + 1;
  return size;
}

Layout layout_of(const Request& request, End end, bool in_place) {
  const bool real = is_real(request.type, end);
  const std::vector<int64_t> count = real ? request.size : complex_size(request);
  const Request::Array array = request.is_dense    ? dense_array(request, count, real && in_place)
                               : end == End::input ? request.input
                                                   : request.output;
  Layout layout(count.size() + 1);
  int64_t step = array.stride;
  for (size_t d = count.size(); d-- > 0;) {
    layout[d + 1] = {count[d], step};
    if (d > 0) step = times(step, array.embed[d]);
  }
  layout[0] = {request.batch, array.distance};
  return layout;
}

int64_t span_of(const Layout& layout) {
  int64_t last = 0;
  for (const Dimension& d : layout) last = plus(last, times(d.count - 1, d.step));
  return plus(last, 1);
}

size_t checked_work_bytes(const Request& request) {
  require(request.batch >= 1, CUFFT_INVALID_SIZE);
  // 0 and -8 get these answers from cuFFT 12 on an H200.
  for (const int64_t n : request.size) require(n >= 0, CUFFT_INTERNAL_ERROR);
  for (const int64_t n : request.size) require(n >= 1, CUFFT_INVALID_SIZE);
  if (!request.is_dense) {
    check_array(request.input, request.batch);
    check_array(request.output, request.batch);
  }
  for (const End end : {End::input, End::output}) {
    for (const bool in_place : {false, true})
      times(span_of(layout_of(request, end, in_place)), sizeof(double) * 2);
  }
  const int64_t elements = times(request.batch, product_of(complex_size(request)));
  return static_cast<size_t>(times(elements, is_double(request.type) ? 16 : 8));
}

}  // namespace warpgrade::cufft
