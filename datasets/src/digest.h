// SHA-256 of arrays and files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "base/hash.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

// Adds the values' bytes.
template <typename Value>
void add_to(Sha256& hash, std::span<const Value> values) {
  hash.raw({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

// Throws DatasetError when the file can't be read.
std::string sha256_of_file(const std::filesystem::path& path, const Progress& progress = {});

}  // namespace warpgrade::datasets
