// The emulator's halves against the compiler's _Float16 (ISO/IEC TS 18661-3), and bfloats against a plain rounding
// of the exact value: every half, every 251st float, doubles at random and beside every middle of two halves.
#define WARPEMU_ISA isa_of_this_test
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "exec/half.h"
#include "warpemu/half_type.h"

namespace warpgrade::emu {
namespace {

using isa_of_this_test::BFloat;
using isa_of_this_test::bits_as;
using isa_of_this_test::Half;

constexpr uint16_t kNan = 0x7fff;  // PTX has one NaN for results

uint16_t wanted_half(double v) {
  return std::isnan(v) ? kNan : bits_as<uint16_t>(HalfType(v));
}

// To eight bits, to nearest even: at least multiples of the least bfloat.
uint16_t wanted_bfloat(double v) {
  if (std::isnan(v)) return kNan;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (std::isinf(v)) return uint16_t(sign | 0x7f80);
  int exponent = 0;
  std::frexp(v, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 8, -133));
  const double rounded = std::fabs(std::nearbyint(v / unit) * unit);
  if (rounded >= 0x1p128) return uint16_t(sign | 0x7f80);
  return uint16_t(sign | bits_as<uint32_t>(float(rounded)) >> 16);
}

void expect_rounded_once(double v) {
  EXPECT_EQ(isa_of_this_test::from_double<Half>(v).bits, wanted_half(v)) << std::hexfloat << v;
  EXPECT_EQ(isa_of_this_test::from_double<BFloat>(v).bits, wanted_bfloat(v)) << std::hexfloat << v;
}

TEST(Halves, are_the_floats_that_the_compiler_makes_of_them) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float want = float(bits_as<HalfType>(uint16_t(bits))), got = to_float(Half{uint16_t(bits)});
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(bits_as<uint32_t>(got), bits_as<uint32_t>(want)) << bits;
    }
  }
}

TEST(Halves, of_floats_are_rounded_as_the_compiler_rounds) {
  for (uint64_t bits = 0; bits <= 0xffffffff; bits += 251) {
    const auto f = bits_as<float>(uint32_t(bits));
    ASSERT_EQ(isa_of_this_test::from_float<Half>(f).bits, wanted_half(f)) << std::hexfloat << f;
    ASSERT_EQ(isa_of_this_test::from_float<BFloat>(f).bits, wanted_bfloat(f)) << std::hexfloat << f;
  }
}

TEST(Halves, of_doubles_are_rounded_once_beside_every_middle) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const double low = to_float(Half{uint16_t(bits)}), high = to_float(Half{uint16_t(bits + 1)});
    const double middle = bits == 0x7bff ? 65520.0 : (low + high) / 2;
    for (const double v : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e9)}) {
      expect_rounded_once(v);
      expect_rounded_once(-v);
    }
  }
}

TEST(Halves, of_doubles_at_random_are_rounded_once) {
  constexpr uint64_t kSeed = 20261129;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (int k = 0; k < 300'000; ++k) {
    const uint64_t fraction = random() & 0x800fffffffffffff;
    const uint64_t exponent = k % 2 == 0 ? random() % 2048 : 1023 - 140 + random() % 160;
    // Few bits are set in a third of them, so that middles are met.
    const uint64_t cut = k % 3 == 0 ? ~uint64_t(0) << (30 + random() % 15) : ~uint64_t(0);
    expect_rounded_once(bits_as<double>((fraction & cut) | exponent << 52));
  }
}

}  // namespace
}  // namespace warpgrade::emu
