// libarchive reads tar (tar_archive.cpp). Zip goes through zip_archive.h, not through libarchive: .npz
// files need that reader for its offsets (zip_archive.cpp says why), so libarchive would be a second reader
// of one format.
#include "container.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "byte_stream.h"
#include "mapped_file.h"
#include "tar_archive.h"
#include "text_numbers.h"
#include "warpgrade/datasets/error.h"
#include "zip_archive.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512, kLongestName = 4096;

std::unique_ptr<ByteStream> open_zip_member(const fs::path& path, const std::string& wanted) {
  const MappedFile file(path);
  for (const ArchiveMember& member : read_archive(file.bytes(), path.string())) {
    if (member.name != wanted) continue;
    const std::string name = path.string() + ":" + wanted;
    auto raw = stream_of_range(path, member.data_offset, member.stored_bytes);
    return member.deflated ? inflate_raw(std::move(raw), name, member.bytes, member.crc)
                           : with_crc(std::move(raw), name, member.crc);
  }
  throw DatasetError("{}: there is no member {}", path.string(), wanted);
}

}  // namespace

void check_member_name(const std::string& name, const fs::path& archive) {
  bool hostile = name.empty() || name.front() == '/' || name.size() > kLongestName;
  for (const fs::path& part : fs::path(name)) hostile = hostile || part == "..";
  std::string shown;
  for (char c : name) {
    hostile = hostile || static_cast<unsigned char>(c) < 32 || c == '\\';
    shown += static_cast<unsigned char>(c) < 32 ? '?' : c;
  }
  if (hostile) {
    throw DatasetError("{}: a member is named '{}', which leads out of the archive; do not trust this file",
                       archive.string(), shown.substr(0, 80));
  }
}

bool is_zip(const fs::path& path) {
  char magic[4] = {};
  const auto stream = stream_of_range(path, 0, sizeof magic);
  stream->read(std::as_writable_bytes(std::span(magic)));
  return std::memcmp(magic, "PK\3\4", 4) == 0 || std::memcmp(magic, "PK\5\6", 4) == 0;
}

bool is_tar(const fs::path& path) {
  try {
    const auto stream = Source{path, ""}.open();
    std::array<char, kBlock> block = {};
    std::size_t done = 0;
    for (std::size_t n = 1; n > 0 && done < kBlock; done += n)
      n = stream->read(std::as_writable_bytes(std::span(block)).subspan(done));
    if (done < kBlock) return false;
    // A block of zeros ends an archive; other files begin so, too.
    const std::string name = lower(path.filename().string());
    const bool empty = (name.ends_with(".tgz") || name.find(".tar") != std::string::npos) &&
                       std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
    return empty || std::memcmp(block.data() + 257, "ustar", 5) == 0;
  } catch (const DatasetError&) {
    return false;
  }
}

std::vector<ContainerMember> list_container(const fs::path& path) {
  if (!is_zip(path)) return list_tar(path);
  std::vector<ContainerMember> members;
  const MappedFile file(path);
  for (const ArchiveMember& member : read_archive(file.bytes(), path.string())) {
    check_member_name(member.name, path);
    if (!member.name.ends_with('/')) members.push_back({member.name, member.bytes});
  }
  return members;
}

std::unique_ptr<ByteStream> Source::open_raw() const {
  if (member.empty()) return stream_of_range(path, 0, UINT64_MAX);
  return is_zip(path) ? open_zip_member(path, member) : open_tar_member(path, member);
}

}  // namespace warpgrade::datasets
