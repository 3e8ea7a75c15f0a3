// Philox against the known answers that its authors publish with Random123.
#include "warpgrade/philox.h"

#include <gtest/gtest.h>

#include <array>

namespace warpgrade {
namespace {

std::array<std::uint32_t, 4> words(PhiloxWords counter, std::uint64_t key) {
  const PhiloxWords random = philox(counter, key);
  return {random.x, random.y, random.z, random.w};
}

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, gives_the_published_words) {
  EXPECT_EQ(words({0, 0, 0, 0}, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(words({~0u, ~0u, ~0u, ~0u}, ~0ull), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, a_draw_is_below_its_range_and_reaches_both_ends) {
  EXPECT_EQ(draw_below(0, 7), 0u);
  EXPECT_EQ(draw_below(~0u, 7), 6u);
  EXPECT_EQ(draw_below(~0u, 1), 0u);
}

}  // namespace
}  // namespace warpgrade
