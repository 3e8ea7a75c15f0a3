// Memory that the judge and a runner both map: guard words, the payload, guard words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace warpgrade {

// Guard bytes in front of the payload; those behind it fill the mapping and are at least as many.
inline constexpr std::size_t kGuardBytes = 4096;
inline constexpr std::uint64_t kGuardSeed = 0x6775617264776f72ull;
// A NaN that no arithmetic produces: a cell that still holds it was never written.
inline constexpr std::uint32_t kPoison = 0xFFFEDEAD;

struct SharedBuffer {
  std::string name;
  int fd = -1;
  std::size_t offset = kGuardBytes;  // of the payload
  std::size_t bytes = 0;             // of the payload
  std::size_t mapped_bytes = 0;
  std::uint32_t element_bytes = 0;  // 0: messages count in bytes
};

}  // namespace warpgrade
