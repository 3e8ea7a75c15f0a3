#include "texture/images.h"

#include "memory/device_memory.h"

namespace warpgrade::emu {
namespace {

using cudart::Image;

constexpr uint64_t kMostElements = uint64_t{1} << 31;  // along an axis

bool is_sound(const Image& i) {
  const bool format = (i.channels == 1 || i.channels == 2 || i.channels == 4) &&
                      (i.channel_bits == 8 || i.channel_bits == 16 || i.channel_bits == 32) &&
                      i.kind <= cudart::ChannelKind::floating &&
                      (i.kind != cudart::ChannelKind::floating || i.channel_bits != 8);
  if (!format || i.shape > cudart::ImageShape::cubes) return false;
  for (const cudart::AddressMode mode : i.modes) {
    if (mode > cudart::AddressMode::border) return false;
  }
  const bool faces = i.shape != cudart::ImageShape::cube || i.depth == 6;
  return faces && i.width != 0 && i.height != 0 && i.depth != 0 && i.width < kMostElements &&
         i.height < kMostElements && i.depth < kMostElements;
}

bool is_in_memory(const Image& i) {
  const auto a = DeviceMemory::instance().find(i.address);
  return a && !a->freed && i.address % (i.channel_bits / 8) == 0 && i.bytes() <= a->end - i.address;
}

}  // namespace

Images& Images::instance() {
  // Never destroyed: programs destroy objects in their own static destructors.
  static Images* images = new Images;
  return *images;
}

std::optional<uint64_t> Images::add(const Image& image) {
  if (!is_sound(image) || !is_in_memory(image)) return std::nullopt;
  std::lock_guard lock(mutex_);
  size_t place = free_.empty() ? images_.size() : free_.back();
  if (place >= kMostImages) return std::nullopt;
  if (free_.empty()) {
    images_.emplace_back();
  } else {
    free_.pop_back();
  }
  ImageObject& object = images_[place];
  object = {image, object.generation + 1, false};
  snapshot_.reset();
  return object.generation << kImagePlaceBits | place;
}

bool Images::remove(uint64_t object) {
  std::lock_guard lock(mutex_);
  const size_t place = object & (kMostImages - 1);
  if (place >= images_.size() || images_[place].destroyed ||
      images_[place].generation != object >> kImagePlaceBits)
    return false;
  images_[place].destroyed = true;
  free_.push_back(place);
  snapshot_.reset();
  return true;
}

void Images::remove_all() {
  std::lock_guard lock(mutex_);
  for (size_t place = 0; place < images_.size(); ++place) {
    if (!images_[place].destroyed) free_.push_back(place);
    images_[place].destroyed = true;
  }
  snapshot_.reset();
}

std::shared_ptr<const ImageList> Images::snapshot() {
  std::lock_guard lock(mutex_);
  if (!snapshot_) snapshot_ = std::make_shared<const ImageList>(images_);
  return snapshot_;
}

}  // namespace warpgrade::emu
