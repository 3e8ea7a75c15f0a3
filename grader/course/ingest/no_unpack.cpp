// In place of unpack.cpp where libarchive is missing.
#include "base/error.h"
#include "course/ingest/unpack.h"

namespace warpgrade {

bool can_unpack() {
  return false;
}

std::optional<Refusal> unpack(const std::filesystem::path& archive, const std::filesystem::path&,
                              const UnpackLimits&, const std::function<void(const Refusal&)>&) {
  throw UsageError(
      "{}: this warpgrade was built without libarchive and cannot unpack it; install libarchive-dev and "
      "build again, or unpack it yourself",
      archive.string());
}

}  // namespace warpgrade
