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

// Throws DatasetError naming `name`: no .npy, Fortran order of a matrix, fewer bytes than the shape needs.
NpyArray parse_npy(std::span<const std::byte> content, const std::string& name);

// The header of a one-dimensional array (scalars: count < 0), padded to a multiple of 64 bytes.
std::string npy_header(const std::string& type, std::int64_t count);

}  // namespace warpgrade::datasets
