#include "course/ingest/arrival.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/hash.h"

namespace warpgrade {
namespace fs = std::filesystem;

Arrival arrival_of(const RawAttempt& attempt) {
  std::vector<fs::path> places;
  for (const RawFile& file : attempt.files) places.push_back(file.path);
  if (!attempt.folder.empty()) {
    places.push_back(attempt.folder);
    std::error_code gone;  // what vanishes meanwhile changes the stamp, and is looked at again
    for (fs::recursive_directory_iterator entry(attempt.folder, gone), end; !gone && entry != end;
         entry.increment(gone))
      places.push_back(entry->path());
  }
  std::sort(places.begin(), places.end());
  Arrival arrival;
  Sha256 stamp;
  for (const fs::path& place : places) {
    struct stat about = {};
    if (lstat(place.c_str(), &about) != 0) continue;
    arrival.at = std::max<std::int64_t>(arrival.at, about.st_ctim.tv_sec);
    stamp.part(place.string());
    for (const std::int64_t figure :
         {static_cast<std::int64_t>(about.st_ino), static_cast<std::int64_t>(about.st_size),
          static_cast<std::int64_t>(about.st_mtim.tv_sec), static_cast<std::int64_t>(about.st_mtim.tv_nsec),
          static_cast<std::int64_t>(about.st_ctim.tv_sec), static_cast<std::int64_t>(about.st_ctim.tv_nsec)})
      stamp.part(std::to_string(figure));
  }
  arrival.stamp = stamp.hex().substr(0, 32);
  return arrival;
}

}  // namespace warpgrade
