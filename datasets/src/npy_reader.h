// One .npy as a stream of numbers, a chunk at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "byte_stream.h"
#include "npy.h"

namespace warpgrade::datasets {

class NpyReader {
 public:
  // `bytes`: how long the .npy is. Throws DatasetError naming `name`.
  NpyReader(std::unique_ptr<ByteStream> stream, std::uint64_t bytes, std::string name);

  const NpyHeader& header() const { return header_; }
  std::int64_t count() const { return header_.count(); }

  // The next numbers, as many as fit; int32 and int64. Throws DatasetError for another type, damage, or an
  // end before the array's.
  void whole(std::span<std::int64_t> into);
  // The same for float32, float64, int32, int64, bool and small integers, as fp32.
  void real(std::span<float> into);

  // The only item, a text: NumPy stores it as bytes or as 32-bit characters.
  std::string word();

  // Behind the last number: nothing may follow, and checksums must fit.
  void finish();

 private:
  std::span<const std::byte> next(std::size_t items);

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  NpyHeader header_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> chunk_;
};

}  // namespace warpgrade::datasets
