// The zip subset that .npz is: stored members mapped where they lie, deflated ones inflated, Zip64 beyond
// 4 GB.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace warpgrade::datasets {

struct ArchiveMember {
  std::string name;
  std::uint64_t data_offset = 0, stored_bytes = 0, bytes = 0;  // deflated: stored_bytes < bytes
  std::uint32_t crc = 0;
  bool deflated = false;
};

// Reads the central directory of a mapped archive. Throws DatasetError with the byte offset of what does
// not fit.
std::vector<ArchiveMember> read_archive(std::span<const std::byte> file, const std::string& name);

// The member's content; inflates into `scratch` when deflated.
std::span<const std::byte> member_content(std::span<const std::byte> file, const ArchiveMember& member,
                                          std::vector<std::byte>& scratch, const std::string& name);

// One member to write: its header text and its data, in that order.
struct MemberSource {
  std::string name;
  std::string head;  // padded by the caller so that the data is aligned
  std::span<const std::byte> data;
};

// Writes stored members, data at multiples of 64 bytes. Atomic; throws DatasetError.
void write_archive(const std::filesystem::path& path, const std::vector<MemberSource>& members);

}  // namespace warpgrade::datasets
