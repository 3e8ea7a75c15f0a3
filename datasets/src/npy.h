// NumPy's .npy: a header in Python's literal syntax, then the array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace warpgrade::datasets {

struct NpyArray {
  std::string type;  // "<i4", "<f4", "|S3", ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> data;
  std::int64_t count() const;
};

// What an .npy says before its array.
struct NpyHeader {
  std::string type;
  std::vector<std::int64_t> shape;
  std::size_t bytes = 0;  // up to the array
  std::int64_t item_bytes = 0;
  std::int64_t count() const;
};

// `front`: the file's beginning, at least its first 12 bytes; `total`: how long the file is. Throws
// DatasetError naming `name`, also when the array would not fit into `total`.
NpyHeader parse_npy_header(std::span<const std::byte> front, std::uint64_t total, const std::string& name);
// How many bytes of the beginning hold the header: from its first 12 bytes.
std::size_t npy_header_bytes(std::span<const std::byte> front, const std::string& name);

// Throws DatasetError naming `name`: no .npy, Fortran order of a matrix, fewer bytes than the shape needs.
NpyArray parse_npy(std::span<const std::byte> content, const std::string& name);

// The header of a one-dimensional array (scalars: count < 0), padded to a multiple of 64 bytes.
std::string npy_header(const std::string& type, std::int64_t count);

}  // namespace warpgrade::datasets
