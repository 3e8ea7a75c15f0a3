// Matrices in memory whose elements are of other types than those in which they are multiplied.
#pragma once
#include <cuda_fp8.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "cublas/dense.h"
#include "warpemu/half_type.h"

namespace warpgrade::cublas {

struct Half {
  HalfType value;
};
struct Bfloat {
  uint16_t bits;
};
template <__nv_fp8_interpretation_t kKind>
struct Fp8 {
  __nv_fp8_storage_t bits;
};

inline float wide(Half h) {
  return static_cast<float>(h.value);
}
inline float wide(Bfloat b) {
  const uint32_t bits = uint32_t{b.bits} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
template <__nv_fp8_interpretation_t kKind>
float wide(Fp8<kKind> f) {
  Half h;
  const __half_raw raw = __nv_cvt_fp8_to_halfraw(f.bits, kKind);
  std::memcpy(&h, &raw.x, sizeof h);
  return wide(h);
}
template <class T>
T wide(T value) {
  return value;
}

template <class>
inline constexpr bool kIsFp8 = false;
template <__nv_fp8_interpretation_t kKind>
inline constexpr bool kIsFp8<Fp8<kKind>> = true;

inline Bfloat as_bfloat(float value) {
  if (std::isnan(value)) return {uint16_t(0x7fff)};
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}

template <__nv_fp8_interpretation_t kKind>
Fp8<kKind> as_fp8(Fp8<kKind>, float value) {
  return {__nv_cvt_float_to_fp8(value, __NV_SATFINITE, kKind)};
}

// Rounds to nearest even; 8-bit numbers saturate.
template <class To, class From>
To narrow(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return {static_cast<HalfType>(value)};
  } else if constexpr (std::is_same_v<To, Bfloat>) {
    return as_bfloat(static_cast<float>(value));
  } else if constexpr (kIsFp8<To>) {
    return as_fp8(To{}, static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, int8_t>) {
    const double rounded = std::nearbyint(static_cast<double>(value));
    return static_cast<int8_t>(std::isnan(rounded) ? 0 : std::min(127.0, std::max(-128.0, rounded)));
  } else {
    return static_cast<To>(value);
  }
}

// A matrix in memory: its first element, the type of its elements.
struct Place {
  const void* at = nullptr;
  cudaDataType type = CUDA_R_32F;
  int64_t ld = 1;
};

inline bool is_of_8_bit_floats(cudaDataType type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2;
}

// Calls `work` with an element of the type.
template <class Work>
auto with_element(cudaDataType type, Work work) {
  switch (type) {
    case CUDA_R_16F:
      return work(Half{});
    case CUDA_R_16BF:
      return work(Bfloat{});
    case CUDA_R_32F:
      return work(float{});
    case CUDA_R_64F:
      return work(double{});
    case CUDA_R_8I:
      return work(int8_t{});
    case CUDA_R_32I:
      return work(int32_t{});
    case CUDA_R_8F_E4M3:
      return work(Fp8<__NV_E4M3>{});
    case CUDA_R_8F_E5M2:
      return work(Fp8<__NV_E5M2>{});
    default:
      throw Failure{CUBLAS_STATUS_NOT_SUPPORTED};
  }
}

template <class T>
Matrix<T> load(Call& c, const Place& p, int64_t rows, int64_t columns) {
  return with_element(p.type, [&](auto element) {
    const auto stored = c.matrix(static_cast<const decltype(element)*>(p.at), rows, columns, p.ld);
    Matrix<T> m(rows, columns);
    for (size_t k = 0; k < m.data.size(); ++k) m.data[k] = static_cast<T>(wide(stored.data[k]));
    return m;
  });
}

template <class T>
void store(Call& c, const Place& p, const Matrix<T>& m) {
  with_element(p.type, [&](auto element) {
    using To = decltype(element);
    Matrix<To> stored(m.rows, m.columns);
    for (size_t k = 0; k < m.data.size(); ++k) stored.data[k] = narrow<To>(m.data[k]);
    c.put(static_cast<To*>(const_cast<void*>(p.at)), p.ld, stored);
  });
}

inline const void* further(const Place& p, int64_t elements) {
  return with_element(p.type, [&](auto element) -> const void* {
    return static_cast<const char*>(p.at) + elements * static_cast<int64_t>(sizeof element);
  });
}

}  // namespace warpgrade::cublas
