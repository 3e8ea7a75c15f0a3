// The texture and surface objects of the program. Kernels name them by number.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cudart/image.h"

namespace warpgrade::emu {

// An object's number is its place in the list and, above that, how many objects had the place, counted from
// 1: a destroyed object's number does not come back.
inline constexpr unsigned kImagePlaceBits = 16;
inline constexpr uint64_t kMostImages = uint64_t{1} << kImagePlaceBits;  // at a time

struct ImageObject {
  cudart::Image image;
  uint64_t generation = 0;
  bool destroyed = false;
};

using ImageList = std::vector<ImageObject>;

class Images {
 public:
  static Images& instance();

  // Empty when the image does not lie inside one allocation of the device or contradicts itself, and when
  // there are too many.
  std::optional<uint64_t> add(const cudart::Image& image);
  // False for a number that is no object's.
  bool remove(uint64_t object);
  void remove_all();
  // What a launch works on: it does not change.
  std::shared_ptr<const ImageList> snapshot();

 private:
  std::mutex mutex_;
  ImageList images_;
  std::vector<size_t> free_;  // places
  std::shared_ptr<const ImageList> snapshot_;
};

}  // namespace warpgrade::emu
