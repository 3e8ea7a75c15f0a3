// Beside what cudart/fat_binary.cpp says of containers:
//   entry: kind (1 PTX, 2 machine code), header size, payload size, ..., architecture, ..., flags
#include "loader/fatbin.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>

#include "cudart/fat_binary.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kContainerMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;
constexpr uint64_t kCompressedFlags = 0x2000 | 0x8000;

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t entries_bytes;
};

struct EntryHeader {
  uint16_t kind;
  uint16_t attributes;
  uint32_t header_bytes;
  uint64_t payload_bytes;
  uint32_t compressed_bytes;
  uint32_t options_offset;
  uint16_t minor_version;
  uint16_t major_version;
  uint32_t arch;
  uint32_t name_offset;
  uint32_t name_bytes;
  uint64_t flags;
};

struct Search {
  unsigned arch;
  bool found_compressed = false;
  std::optional<uint32_t> best_arch;
  std::string text;
  std::string damage;  // the first thing that cannot be; what was found before it is used

  bool better(uint32_t candidate) const {
    if (!best_arch) return true;
    const bool fits = candidate <= arch, best_fits = *best_arch <= arch;
    if (fits != best_fits) return fits;
    return fits ? candidate > *best_arch : candidate < *best_arch;
  }

  // Sizes are checked against what the container has left: a damaged one must not lead out of it.
  void visit(std::span<const uint8_t> container) {
    ContainerHeader header;
    if (container.size() < sizeof header) return note_damage("a container is missing");
    std::memcpy(&header, container.data(), sizeof header);
    if (header.magic != kContainerMagic) return note_damage("a container has an unknown format");
    if (header.header_bytes < sizeof header) return note_damage("a container's header is too short");
    if (header.header_bytes > container.size()) return note_damage("a container's header is too long");
    const uint8_t* at = container.data() + header.header_bytes;
    uint64_t left = std::min<uint64_t>(header.entries_bytes, container.size() - header.header_bytes);
    while (left >= sizeof(EntryHeader)) {
      EntryHeader entry;
      std::memcpy(&entry, at, sizeof entry);
      if (entry.header_bytes < sizeof entry || entry.header_bytes > left ||
          entry.payload_bytes > left - entry.header_bytes) {
        return note_damage("an entry of " + std::to_string(entry.header_bytes) + " + " +
                           std::to_string(entry.payload_bytes) + " bytes stands where " +
                           std::to_string(left) + " are left");
      }
      if (entry.kind == kPtx) take(entry, at + entry.header_bytes);
      at += entry.header_bytes + entry.payload_bytes;
      left -= entry.header_bytes + entry.payload_bytes;
    }
  }

  void note_damage(std::string what) {
    if (damage.empty()) damage = std::move(what);
  }

  void take(const EntryHeader& entry, const uint8_t* payload) {
    if (entry.flags & kCompressedFlags) {
      found_compressed = true;
    } else if (better(entry.arch)) {
      best_arch = entry.arch;
      const auto* characters = reinterpret_cast<const char*>(payload);
      text.assign(characters, strnlen(characters, entry.payload_bytes));
    }
  }
};

}  // namespace

FatbinPtx ptx_of_fatbin(const void* wrapper, unsigned arch) {
  return ptx_of_containers(cudart::containers_of(wrapper), arch);
}

FatbinPtx ptx_of_containers(const std::vector<std::span<const uint8_t>>& containers, unsigned arch) {
  if (containers.empty()) return {"", "the program's fat binary has an unknown format"};
  std::string text, damage;
  bool found_compressed = false;
  for (const std::span<const uint8_t> container : containers) {
    Search search{arch, false, {}, {}, {}};
    search.visit(container);
    if (!text.empty() && !search.text.empty()) text += "\n";
    text += search.text;
    found_compressed |= search.found_compressed;
    if (damage.empty()) damage = search.damage;
  }
  if (!text.empty()) return {std::move(text), ""};
  if (found_compressed) {
    return {
        "",
        "the program's PTX is compressed; build it with `nvcc -no-compress` (and code=[compute_XX,sm_XX])"};
  }
  if (!damage.empty()) {
    return {"", "the program's fat binary is damaged: " + damage + "; build the program again"};
  }
  return {"",
          "the program holds no PTX; build it with `nvcc -gencode arch=compute_80,code=[compute_80,sm_80] "
          "-no-compress`"};
}

}  // namespace warpgrade::emu
