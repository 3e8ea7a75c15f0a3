// Bytes in order from files, pipes, gzip, members of zip and tar archives: in bounded memory, and never
// unpacked to disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace warpgrade::datasets {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Fills the front of `into`; 0 at the end only. Throws DatasetError for damage, with the place.
  virtual std::size_t read(std::span<std::byte> into) = 0;
  // Bytes of the file below that are used up, for progress.
  virtual std::uint64_t consumed() const = 0;
};

// A file, or a member of an archive; can be opened again and again. Text that is gzipped (by content, not by
// name) is unpacked on the way.
struct Source {
  std::filesystem::path path;
  std::string member;  // of a .zip, .tar or .tar.gz; empty: the file itself

  std::string name() const { return member.empty() ? path.string() : path.string() + ":" + member; }
  std::uint64_t file_bytes() const;  // of the file below, for progress
  // Throws DatasetError: not there, a folder, no such member.
  std::unique_ptr<ByteStream> open() const;
  // Without unpacking gzip.
  std::unique_ptr<ByteStream> open_raw() const;
};

// Reads an open descriptor, which it closes.
std::unique_ptr<ByteStream> stream_of_descriptor(int fd, std::string name);
// `size` bytes of a file from `offset`.
std::unique_ptr<ByteStream> stream_of_range(const std::filesystem::path& path, std::uint64_t offset,
                                            std::uint64_t size);
// gzip (several members in a row too) when it begins like gzip; otherwise as it is.
std::unique_ptr<ByteStream> gunzip(std::unique_ptr<ByteStream> inner, std::string name);
// Deflate without a header, which must give exactly `bytes` with checksum `crc`.
std::unique_ptr<ByteStream> inflate_raw(std::unique_ptr<ByteStream> inner, std::string name,
                                        std::uint64_t bytes, std::uint32_t crc);
// Passes bytes on and compares their checksum at the end.
std::unique_ptr<ByteStream> with_crc(std::unique_ptr<ByteStream> inner, std::string name, std::uint32_t crc);

// Fills all of `into`; throws DatasetError "NAME: byte N: the file ends too early" otherwise.
void read_exactly(ByteStream& stream, std::span<std::byte> into, const std::string& name,
                  std::uint64_t offset);

}  // namespace warpgrade::datasets
