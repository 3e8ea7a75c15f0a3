// A .npy file of NumPy's: an array of numbers with its type and shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade::declaration {

struct NpyHeader {
  std::string dtype;  // "<f4"
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;  // of the first number, in bytes
};

// Throws std::invalid_argument saying what is wrong: no such file, another format, Fortran's order, a file
// that is shorter than its numbers.
NpyHeader read_npy_header(const std::filesystem::path& file);

}  // namespace warpgrade::declaration
