#include "container.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "archive.h"
#include "byte_stream.h"
#include "mapped_file.h"
#include "text_numbers.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kBlock = 512, kMostMembers = 100000, kLongestName = 4096;

void check_name(const std::string& name, const fs::path& archive) {
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

// ---- tar: ustar, GNU long names, pax sizes and paths (POSIX.1-2001, "pax Interchange Format") ----

using Block = std::array<char, kBlock>;

std::uint64_t octal(const Block& block, std::size_t at, std::size_t size, const std::string& name,
                    std::uint64_t offset) {
  const auto first = static_cast<unsigned char>(block[at]);
  if (first & 0x80) {  // base 256, for sizes beyond 8 GB
    std::uint64_t value = first & 0x3f;
    for (std::size_t i = 1; i < size; ++i) {
      if (value >> 55) throw DatasetError("{}: byte {}: a member of more than 2^63 bytes", name, offset);
      value = value << 8 | static_cast<unsigned char>(block[at + i]);
    }
    return value;
  }
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const char c = block[at + i];
    if (c == ' ' || c == '\0') continue;
    if (c < '0' || c > '7') throw DatasetError("{}: byte {}: no tar header here", name, offset);
    value = value * 8 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::string text_field(const Block& block, std::size_t at, std::size_t size) {
  return {block.data() + at, strnlen(block.data() + at, size)};
}

bool checksum_fits(const Block& block) {
  std::uint64_t sum = 0, stated = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
  for (std::size_t i = 148; i < 156; ++i) {
    if (block[i] >= '0' && block[i] <= '7') stated = stated * 8 + static_cast<std::uint64_t>(block[i] - '0');
  }
  return sum == stated;
}

class TarReader {
 public:
  explicit TarReader(const fs::path& path)
      : path_(path), name_(path.string()), stream_(Source{path, ""}.open()) {}

  // The next regular file; its content follows in the stream. False at the archive's end.
  bool next(ContainerMember& member) {
    skip(left_ + padding_);
    left_ = padding_ = 0;
    std::string long_name;
    std::int64_t pax_size = -1;
    for (;;) {
      const std::uint64_t at = offset_;
      Block block;
      if (!read_block(block) || std::all_of(block.begin(), block.end(), [](char c) { return c == 0; })) {
        drain();
        return false;
      }
      if (!checksum_fits(block))
        throw DatasetError("{}: byte {}: expected a tar header, its checksum is wrong", name_, at);
      std::uint64_t size = octal(block, 124, 12, name_, at);
      const char type = block[156];
      if (type == 'L' || type == 'x' || type == 'g') {
        const std::string text = content(size, at);
        if (type == 'L') long_name = text.c_str();
        if (type == 'x') read_pax(text, long_name, pax_size);
        continue;
      }
      if (pax_size >= 0) size = static_cast<std::uint64_t>(pax_size);
      if (++members_ > kMostMembers)
        throw DatasetError("{}: more than {} members; give the one you want as a file", name_, kMostMembers);
      member.name = long_name;
      if (long_name.empty()) {
        const std::string prefix = text_field(block, 345, 155), base = text_field(block, 0, 100);
        member.name =
            prefix.empty() || std::memcmp(block.data() + 257, "ustar", 5) != 0 ? base : prefix + "/" + base;
      }
      check_name(member.name, path_);
      member.bytes = size;
      left_ = size;
      padding_ = (kBlock - size % kBlock) % kBlock;
      if (type == '0' || type == '\0') return true;
      skip(left_ + padding_);  // folders, links, devices: of no interest
      left_ = padding_ = 0;
      long_name.clear();
      pax_size = -1;
    }
  }

  std::size_t read(std::span<std::byte> into) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
    if (size == 0) return 0;
    const std::size_t n = stream_->read(into.first(size));
    if (n == 0) throw DatasetError("{}: byte {}: the archive is cut off; fetch it again", name_, offset_);
    offset_ += n;
    left_ -= n;
    return n;
  }
  std::uint64_t consumed() const { return stream_->consumed(); }

 private:
  bool read_block(Block& block) {
    std::size_t done = 0;
    while (done < kBlock) {
      const std::size_t n = stream_->read(std::as_writable_bytes(std::span(block)).subspan(done));
      if (n == 0 && done == 0) return false;
      if (n == 0) throw DatasetError("{}: byte {}: the archive is cut off; fetch it again", name_, offset_);
      done += n;
    }
    offset_ += kBlock;
    return true;
  }

  // What follows the archive's end is of no interest, but gzip's checksum stands behind it.
  void drain() {
    std::vector<std::byte> dump(1 << 17);
    while (stream_->read(dump) > 0) {
    }
  }

  void skip(std::uint64_t bytes) {
    std::vector<std::byte> dump(std::min<std::uint64_t>(bytes, 1 << 17));
    while (bytes > 0) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, dump.size()));
      const std::size_t n = stream_->read(std::span(dump).first(size));
      if (n == 0) throw DatasetError("{}: byte {}: the archive is cut off; fetch it again", name_, offset_);
      offset_ += n;
      bytes -= n;
    }
  }

  std::string content(std::uint64_t size, std::uint64_t at) {
    if (size > (1 << 20)) throw DatasetError("{}: byte {}: a header of {} bytes", name_, at, size);
    std::string text(size, '\0');
    read_exactly(*stream_, std::as_writable_bytes(std::span(text)), name_, offset_);
    offset_ += size;
    skip((kBlock - size % kBlock) % kBlock);
    return text;
  }

  // Records "length key=value\n"; only path and size matter.
  void read_pax(const std::string& text, std::string& path, std::int64_t& size) const {
    for (std::size_t at = 0; at < text.size();) {
      const std::uint64_t length = std::strtoull(text.c_str() + at, nullptr, 10);
      const std::size_t blank = text.find(' ', at), equals = text.find('=', at);
      if (length < 5 || length > text.size() - at || equals == std::string::npos || blank > equals ||
          equals >= at + length)
        return;
      const std::string key = text.substr(blank + 1, equals - blank - 1);
      const std::string value = text.substr(equals + 1, at + length - equals - 2);
      if (key == "path") path = value;
      if (key == "size") {
        size = std::strtoll(value.c_str(), nullptr, 10);
        if (size < 0 || size == INT64_MAX)
          throw DatasetError("{}: byte {}: a member of '{}' bytes", name_, offset_, value.substr(0, 40));
      }
      at += length;
    }
  }

  fs::path path_;
  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  std::uint64_t offset_ = 0, left_ = 0, padding_ = 0;
  std::size_t members_ = 0;
};

class TarMember : public ByteStream {
 public:
  TarMember(const fs::path& path, const std::string& wanted) : reader_(path) {
    for (ContainerMember member; reader_.next(member);) {
      if (member.name == wanted) return;
    }
    throw DatasetError("{}: there is no member {}", path.string(), wanted);
  }
  std::size_t read(std::span<std::byte> into) override { return reader_.read(into); }
  std::uint64_t consumed() const override { return reader_.consumed(); }

 private:
  TarReader reader_;
};

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

bool is_zip(const fs::path& path) {
  char magic[4] = {};
  const auto stream = stream_of_range(path, 0, sizeof magic);
  stream->read(std::as_writable_bytes(std::span(magic)));
  return std::memcmp(magic, "PK\3\4", 4) == 0 || std::memcmp(magic, "PK\5\6", 4) == 0;
}

bool is_tar(const fs::path& path) {
  try {
    const auto stream = Source{path, ""}.open();
    Block block = {};
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
  std::vector<ContainerMember> members;
  if (is_zip(path)) {
    const MappedFile file(path);
    for (const ArchiveMember& member : read_archive(file.bytes(), path.string())) {
      check_name(member.name, path);
      if (!member.name.ends_with('/')) members.push_back({member.name, member.bytes});
    }
    return members;
  }
  TarReader reader(path);
  for (ContainerMember member; reader.next(member);) members.push_back(member);
  return members;
}

std::unique_ptr<ByteStream> Source::open_raw() const {
  if (!member.empty()) {
    if (is_zip(path)) return open_zip_member(path, member);
    return std::make_unique<TarMember>(path, member);
  }
  return stream_of_range(path, 0, UINT64_MAX);
}

}  // namespace warpgrade::datasets
