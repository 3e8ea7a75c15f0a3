// datasets.lock: what a published file's bytes and the matrix made of it hashed to when first seen. A file
// that has changed since is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warpgrade::datasets {

struct PinnedFile {
  std::string url, sha256;
  std::uint64_t bytes = 0;
};

struct Pin {
  std::vector<PinnedFile> files;
  std::string content;  // of the matrix: CsrFile::content_hash
  std::string pinned;   // the day, 2026-11-21
};

class PinFile {
 public:
  // A file that is not there holds no pins. Throws DatasetError with the line of what is not a pin.
  explicit PinFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  std::optional<Pin> find(const std::string& name) const;
  // Adds or replaces, and writes the file; safe when several processes do.
  void set(const std::string& name, const Pin& pin);

 private:
  void read();

  std::filesystem::path path_;
  std::map<std::string, Pin> pins_;
};

}  // namespace warpgrade::datasets
