// SHA-256.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void add(std::span<const std::byte> bytes);
  std::string hex();  // ends it

 private:
  void* context_;
};

std::string sha256_of(const std::string& text);
// Throws DatasetError when the file can't be read.
std::string sha256_of_file(const std::filesystem::path& path, const Progress& progress = {});

}  // namespace warpgrade::datasets
