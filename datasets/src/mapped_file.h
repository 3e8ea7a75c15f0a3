// A file mapped for reading.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace warpgrade::datasets {

class MappedFile {
 public:
  // Throws DatasetError: not there, empty.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(memory_), size_}; }

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace warpgrade::datasets
