#include "cusparse/values.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "warpemu/half_type.h"

namespace warpgrade::cusparse {
namespace {

struct Bfloat {
  uint16_t bits;
};

double wide_of(HalfType value) {
  return static_cast<double>(value);
}
double wide_of(Bfloat value) {
  const uint32_t bits = uint32_t{value.bits} << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}
double wide_of(float value) {
  return value;
}
double wide_of(double value) {
  return value;
}
double wide_of(int8_t value) {
  return value;
}
double wide_of(int32_t value) {
  return value;
}

// Rounded once, to nearest even.
Bfloat bfloat_of(double value) {
  if (std::isnan(value)) return {0x7fff};
  auto single = static_cast<float>(value);
  // Of two roundings the first must not make a tie: round to odd.
  if (std::isfinite(single) && single != value) {
    if (std::fabs(static_cast<double>(single)) > std::fabs(value)) single = std::nextafter(single, 0.0f);
    uint32_t odd;
    std::memcpy(&odd, &single, sizeof odd);
    odd |= 1;
    std::memcpy(&single, &odd, sizeof odd);
  }
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  if (std::isinf(single)) return {static_cast<uint16_t>(bits >> 16)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <class T>
T narrow_of(double value) {
  if constexpr (std::is_same_v<T, Bfloat>) {
    return bfloat_of(value);
  } else if constexpr (std::is_integral_v<T>) {  // sums of integers wrap
    return static_cast<T>(static_cast<int64_t>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T, class X>
void widen(const unsigned char* from, X* to, size_t count, bool complex) {
  const auto part = [&](size_t k) {
    T value;
    std::memcpy(&value, from + k * sizeof(T), sizeof(T));
    return wide_of(value);
  };
  for (size_t k = 0; k < count; ++k) {
    if constexpr (std::is_same_v<X, Complex>) {
      to[k] = complex ? Complex{part(2 * k), part(2 * k + 1)} : Complex{part(k)};
    } else {
      to[k] = part(k);
    }
  }
}

template <class T, class X>
void narrow(const X* from, unsigned char* to, size_t count, bool complex) {
  const auto put = [&](size_t k, double value) {
    const T part = narrow_of<T>(value);
    std::memcpy(to + k * sizeof(T), &part, sizeof(T));
  };
  for (size_t k = 0; k < count; ++k) {
    if constexpr (std::is_same_v<X, Complex>) {
      put(complex ? 2 * k : k, from[k].real());
      if (complex) put(2 * k + 1, from[k].imag());
    } else {
      put(k, from[k]);
    }
  }
}

// Calls `work` with a part of the type: a complex number has two.
template <class Work>
void with_part(cudaDataType type, Work work) {
  switch (type) {
    case CUDA_R_16F:
    case CUDA_C_16F:
      return work(HalfType{});
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      return work(Bfloat{});
    case CUDA_R_32F:
    case CUDA_C_32F:
      return work(float{});
    case CUDA_R_64F:
    case CUDA_C_64F:
      return work(double{});
    case CUDA_R_8I:
      return work(int8_t{});
    case CUDA_R_32I:
      return work(int32_t{});
    default:
      return;
  }
}

}  // namespace

size_t bytes_of(cudaDataType type) {
  size_t bytes = 0;
  with_part(type, [&](auto part) { bytes = sizeof part; });
  return is_complex(type) ? 2 * bytes : bytes;
}

bool is_complex(cudaDataType type) {
  return type == CUDA_C_16F || type == CUDA_C_16BF || type == CUDA_C_32F || type == CUDA_C_64F;
}

template <class X>
std::vector<X> numbers_of(const std::vector<unsigned char>& bytes, cudaDataType type) {
  require_supported(!is_complex(type) || std::is_same_v<X, Complex>,
                    "complex values need a complex compute type");
  std::vector<X> numbers(bytes.size() / bytes_of(type));
  with_part(type, [&](auto part) {
    widen<decltype(part)>(bytes.data(), numbers.data(), numbers.size(), is_complex(type));
  });
  return numbers;
}

template <class X>
std::vector<unsigned char> bytes_of_numbers(const std::vector<X>& numbers, cudaDataType type) {
  std::vector<unsigned char> bytes(numbers.size() * bytes_of(type));
  with_part(type, [&](auto part) {
    narrow<decltype(part)>(numbers.data(), bytes.data(), numbers.size(), is_complex(type));
  });
  return bytes;
}

template std::vector<double> numbers_of(const std::vector<unsigned char>&, cudaDataType);
template std::vector<Complex> numbers_of(const std::vector<unsigned char>&, cudaDataType);
template std::vector<unsigned char> bytes_of_numbers(const std::vector<double>&, cudaDataType);
template std::vector<unsigned char> bytes_of_numbers(const std::vector<Complex>&, cudaDataType);

void require_product_types(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType compute) {
  const auto large = [](cudaDataType type) {
    return type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F || type == CUDA_C_64F;
  };
  const bool alike = large(compute) && b == compute && c == compute;
  const bool real_matrix = (a == CUDA_R_32F && (compute == CUDA_C_32F || compute == CUDA_R_64F)) ||
                           (a == CUDA_R_64F && compute == CUDA_C_64F);
  const bool bytes = a == CUDA_R_8I && b == a && c == compute && (c == CUDA_R_32I || c == CUDA_R_32F);
  const bool halves =
      (a == CUDA_R_16F || a == CUDA_R_16BF) && b == a && (c == a || c == CUDA_R_32F) && compute == CUDA_R_32F;
  const bool complex_halves =
      (a == CUDA_C_16F || a == CUDA_C_16BF) && b == a && c == a && compute == CUDA_C_32F;
  require_supported((alike && (a == compute || real_matrix)) || bytes || halves || complex_halves,
                    "this combination of value types and compute type is none that cuSPARSE documents");
}

void require_values(const void* values, cudaDataType type, int64_t count) {
  const size_t bytes = bytes_of(type);
  require(bytes != 0, "valueType is none that cuSPARSE has");
  require(count == 0 || reinterpret_cast<uintptr_t>(values) % bytes == 0,
          "a pointer to values must be aligned to their size");
}

void require_indices(const void* indices, cusparseIndexType_t type, cusparseIndexBase_t base, int64_t count) {
  const size_t bytes = bytes_of(type);
  require(bytes != 0, "there is no such type of indices");
  require(base == CUSPARSE_INDEX_BASE_ZERO || base == CUSPARSE_INDEX_BASE_ONE, "there is no such index base");
  require(count == 0 || reinterpret_cast<uintptr_t>(indices) % bytes == 0,
          "a pointer to indices must be aligned to their size");
}

// NVIDIA's library does not ask it of indices of 16 bits.
void require_fits(int64_t size, cusparseIndexType_t type, cusparseIndexBase_t base) {
  require(type != CUSPARSE_INDEX_32I || size <= std::numeric_limits<int32_t>::max() - base,
          "a size is too large for indices of 32 bits");
}

}  // namespace warpgrade::cusparse
