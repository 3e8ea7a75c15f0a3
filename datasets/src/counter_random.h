// Random numbers that are functions of (seed, stream, index) alone, in integers: equal on every machine, in
// every thread, on CPU and GPU.
#pragma once

#include <cstdint>

#include "warpgrade/datasets/mix_bits.h"

namespace warpgrade::datasets {

using u64 = std::uint64_t;

WARPGRADE_HOST_DEVICE inline u64 stream_key(u64 seed, u64 stream) {
  return mix_bits(seed ^ mix_bits(stream + 0x9E3779B97F4A7C15ull));
}

// The number `index` of a stream.
WARPGRADE_HOST_DEVICE inline u64 draw_of(u64 key, u64 index) {
  return mix_bits(key + (index + 1) * 0xD1B54A32D192ED03ull);
}

WARPGRADE_HOST_DEVICE inline u64 draw(u64 seed, u64 stream, u64 index) {
  return draw_of(stream_key(seed, stream), index);
}

WARPGRADE_HOST_DEVICE inline u64 multiply_high(u64 a, u64 b) {
#ifdef __CUDA_ARCH__
  return __umul64hi(a, b);
#else
  return static_cast<u64>((static_cast<unsigned __int128>(a) * b) >> 64);
#endif
}

// A number below `bound` from 64 random bits (Lemire's multiply-high; the bias is below bound / 2^64).
WARPGRADE_HOST_DEVICE inline u64 below(u64 bits, u64 bound) {
  return multiply_high(bits, bound);
}

// The value of entry `entry`: a multiple of 2^-10 in [-1, 1).
WARPGRADE_HOST_DEVICE inline float draw_value(u64 seed, u64 entry) {
  return static_cast<float>(static_cast<int>(draw(seed, 3, entry) >> 53) - 1024) / 1024.0f;
}

}  // namespace warpgrade::datasets
