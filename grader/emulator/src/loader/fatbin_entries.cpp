// Beside what cudart/fat_binary.cpp says of containers:
//   entry: kind (1 PTX, 2 machine code), header size, payload size, ..., architecture, ..., flags
#include "loader/fatbin_entries.h"

#include <algorithm>
#include <cstring>

namespace warpgrade::emu {
namespace {

constexpr uint32_t kContainerMagic = 0xba55ed50;
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

}  // namespace

// Sizes are checked against what the container has left: a damaged one must not lead out of it.
std::string visit_entries(std::span<const uint8_t> container,
                          const std::function<void(const FatbinEntry&)>& visit) {
  ContainerHeader header;
  if (container.size() < sizeof header) return "a container is missing";
  std::memcpy(&header, container.data(), sizeof header);
  if (header.magic != kContainerMagic) return "a container has an unknown format";
  if (header.header_bytes < sizeof header) return "a container's header is too short";
  if (header.header_bytes > container.size()) return "a container's header is too long";
  std::span<const uint8_t> left = container.subspan(header.header_bytes);
  left = left.first(std::min<uint64_t>(header.entries_bytes, left.size()));
  while (left.size() >= sizeof(EntryHeader)) {
    EntryHeader entry;
    std::memcpy(&entry, left.data(), sizeof entry);
    if (entry.header_bytes < sizeof entry || entry.header_bytes > left.size() ||
        entry.payload_bytes > left.size() - entry.header_bytes) {
      return "an entry of " + std::to_string(entry.header_bytes) + " + " +
             std::to_string(entry.payload_bytes) + " bytes stands where " + std::to_string(left.size()) +
             " are left";
    }
    visit({FatbinEntry::Kind{entry.kind}, entry.arch, (entry.flags & kCompressedFlags) != 0,
           left.subspan(entry.header_bytes, entry.payload_bytes)});
    left = left.subspan(entry.header_bytes + entry.payload_bytes);
  }
  return "";
}

}  // namespace warpgrade::emu
