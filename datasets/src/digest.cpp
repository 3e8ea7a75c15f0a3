#include "digest.h"

#include <vector>

#include "byte_stream.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {

std::string sha256_of_file(const std::filesystem::path& path, const Progress& progress) {
  const Source source{path, ""};
  const auto stream = source.open_raw();
  Sha256 hash;
  std::vector<std::byte> chunk(1 << 18);
  while (const std::size_t n = stream->read(chunk)) {
    add_to(hash, std::span<const std::byte>(chunk).first(n));
    if (progress) progress(stream->consumed(), source.file_bytes());
  }
  return hash.hex();
}

}  // namespace warpgrade::datasets
