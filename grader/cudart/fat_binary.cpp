// wrapper: magic, version, pointer to a container; version 2, of relocatable device code (-rdc=true), adds a
//   null-terminated array of the linked files' containers
// container: magic, version, header size, size of the entries that follow
#include "cudart/fat_binary.h"

#include <cstring>

namespace warpgrade::cudart {
namespace {

constexpr uint32_t kWrapperMagic = 0x466243b1, kContainerMagic = 0xba55ed50;

struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const uint8_t* container;
  const uint8_t* const* more_containers;
};

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t entries_bytes;
};

// The header alone when it is damaged, so that whoever reads it can say so.
std::span<const uint8_t> container_at(const uint8_t* begin) {
  if (begin == nullptr) return {};
  const uint64_t bytes = container_bytes({begin, sizeof(ContainerHeader)});
  return {begin, bytes != 0 ? bytes : sizeof(ContainerHeader)};
}

}  // namespace

uint64_t container_bytes(std::span<const uint8_t> bytes) {
  ContainerHeader header;
  if (bytes.size() < sizeof header) return 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kContainerMagic || header.header_bytes < sizeof header) return 0;
  const uint64_t all = header.header_bytes + header.entries_bytes;
  return all < header.entries_bytes ? 0 : all;
}

std::vector<std::span<const uint8_t>> containers_of(const void* opaque) {
  Wrapper wrapper{};
  if (opaque != nullptr) std::memcpy(&wrapper, opaque, sizeof wrapper);
  if (wrapper.magic != kWrapperMagic) return {};
  std::vector<std::span<const uint8_t>> all{container_at(wrapper.container)};
  if (wrapper.version >= 2 && wrapper.more_containers != nullptr) {
    for (const uint8_t* const* more = wrapper.more_containers; *more != nullptr; ++more)
      all.push_back(container_at(*more));
  }
  return all;
}

}  // namespace warpgrade::cudart
