#include "nccl/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "warpemu/half_type.h"

namespace warpgrade::nccl {
namespace {

struct TypeFacts {
  size_t bytes;
  const char* name;
};
constexpr TypeFacts kTypes[ncclNumTypes] = {
    {1, "int8"},    {1, "uint8"},   {4, "int32"},   {4, "uint32"},   {8, "int64"},      {8, "uint64"},
    {2, "float16"}, {4, "float32"}, {8, "float64"}, {2, "bfloat16"}, {1, "float8e4m3"}, {1, "float8e5m2"}};

// How an element lies in memory, and what is computed with.
template <class T>
struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored x) { return x; }
  static Stored store(Value x) { return x; }
};
struct Half {
  using Stored = HalfType;
  using Value = float;
  static Value load(Stored x) { return static_cast<float>(x); }
  static Stored store(Value x) { return static_cast<HalfType>(x); }
};
struct Bfloat {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored x) { return std::bit_cast<float>(uint32_t{x} << 16); }
  static Stored store(Value x) {  // to the nearest, ties to even
    const auto bits = std::bit_cast<uint32_t>(x);
    if (std::isnan(x)) return 0x7fff;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

// Integers wrap around.
template <class V>
V sum(V a, V b) {
  if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return a + b;
}
template <class V>
V product(V a, V b) {
  if constexpr (std::is_integral_v<V>)
    return static_cast<V>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  return a * b;
}
// Of a number and NaN the number, as CUDA's fmaxf.
template <class V>
V larger(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return std::fmax(a, b);
  return std::max(a, b);
}
template <class V>
V smaller(V a, V b) {
  if constexpr (std::is_floating_point_v<V>) return std::fmin(a, b);
  return std::min(a, b);
}

template <class E, class Element, class Join, class End>
void join(std::span<const uint8_t* const> from, std::span<uint8_t* const> to, size_t count,
          const Element& element, const Join& joined, const End& end) {
  for (size_t k = 0; k < count; ++k) {
    typename E::Value value{};
    for (size_t rank = 0; rank < from.size(); ++rank) {
      typename E::Stored stored;
      std::memcpy(&stored, from[rank] + k * sizeof stored, sizeof stored);
      const typename E::Value mine = element(E::load(stored), rank);
      value = rank == 0 ? mine : joined(value, mine);
    }
    const typename E::Stored result = E::store(end(value));
    for (uint8_t* const target : to) std::memcpy(target + k * sizeof result, &result, sizeof result);
  }
}

template <class E>
void reduce_as(std::span<const uint8_t* const> from, std::span<uint8_t* const> to, size_t count,
               ncclRedOp_t op, std::span<const Scalar> scalars) {
  using V = typename E::Value;
  const auto plain = [](V x, size_t) { return x; };
  const auto same = [](V x) { return x; };
  switch (op) {
    case ncclSum:
      return join<E>(from, to, count, plain, sum<V>, same);
    case ncclProd:
      return join<E>(from, to, count, plain, product<V>, same);
    case ncclMax:
      return join<E>(from, to, count, plain, larger<V>, same);
    case ncclMin:
      return join<E>(from, to, count, plain, smaller<V>, same);
    case ncclAvg: {
      const auto ranks = static_cast<V>(from.size());
      return join<E>(from, to, count, plain, sum<V>, [=](V x) { return static_cast<V>(x / ranks); });
    }
    default: {
      std::array<V, 64> factors{};  // more ranks than devices there cannot be
      for (size_t rank = 0; rank < scalars.size(); ++rank) {
        typename E::Stored stored;
        std::memcpy(&stored, scalars[rank].data(), sizeof stored);
        factors[rank] = E::load(stored);
      }
      return join<E>(
          from, to, count, [&](V x, size_t rank) { return product<V>(x, factors[rank]); }, sum<V>, same);
    }
  }
}

}  // namespace

size_t bytes_of(ncclDataType_t type) {
  return type >= 0 && type < ncclNumTypes ? kTypes[type].bytes : 0;
}
const char* name_of(ncclDataType_t type) {
  return kTypes[type].name;
}
bool can_reduce(ncclDataType_t type) {
  return type < ncclFloat8e4m3;
}

void reduce(std::span<const uint8_t* const> from, std::span<uint8_t* const> to, size_t count,
            ncclDataType_t type, ncclRedOp_t op, std::span<const Scalar> scalars) {
  switch (type) {
    case ncclInt8:
      return reduce_as<Plain<int8_t>>(from, to, count, op, scalars);
    case ncclUint8:
      return reduce_as<Plain<uint8_t>>(from, to, count, op, scalars);
    case ncclInt32:
      return reduce_as<Plain<int32_t>>(from, to, count, op, scalars);
    case ncclUint32:
      return reduce_as<Plain<uint32_t>>(from, to, count, op, scalars);
    case ncclInt64:
      return reduce_as<Plain<int64_t>>(from, to, count, op, scalars);
    case ncclUint64:
      return reduce_as<Plain<uint64_t>>(from, to, count, op, scalars);
    case ncclFloat16:
      return reduce_as<Half>(from, to, count, op, scalars);
    case ncclFloat32:
      return reduce_as<Plain<float>>(from, to, count, op, scalars);
    case ncclFloat64:
      return reduce_as<Plain<double>>(from, to, count, op, scalars);
    case ncclBfloat16:
      return reduce_as<Bfloat>(from, to, count, op, scalars);
    default:
      return;
  }
}

}  // namespace warpgrade::nccl
