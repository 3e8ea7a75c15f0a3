// A container of a fat binary, entry by entry.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace warpgrade::emu {

struct FatbinEntry {
  enum class Kind : uint16_t { ptx = 1, machine_code = 2 };
  Kind kind;
  uint32_t arch;
  bool is_compressed;
  std::span<const uint8_t> payload;
};

// What cannot be in the container, or an empty text. Entries before it are visited.
std::string visit_entries(std::span<const uint8_t> container,
                          const std::function<void(const FatbinEntry&)>& visit);

}  // namespace warpgrade::emu
