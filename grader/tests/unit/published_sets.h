// The published sets: records as judges wrote them on GPUs, of every lab.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/toolchain.h"
#include "course/ingest/unpack.h"

namespace warpgrade {

// Each of reports/published unpacked from its archive; below path() they have the names that pages give them.
class PublishedSets {
 public:
  PublishedSets() {
    constexpr std::string_view kSuffix = ".tar.xz";
    namespace fs = std::filesystem;
    for (const auto& entry : fs::recursive_directory_iterator(project_root() / "reports/published")) {
      std::string name = entry.path().filename().string();
      if (!name.ends_with(kSuffix)) continue;
      name.resize(name.size() - kSuffix.size());
      const fs::path folder = path() / entry.path().parent_path().filename() / name;
      fs::create_directories(folder);
      if (const auto refusal = unpack(entry.path(), folder))
        throw UsageError("{}: {}", name, refusal->message);
    }
  }

  const std::filesystem::path& path() const { return folder_.path(); }

  std::vector<std::filesystem::path> all() const {
    std::vector<std::filesystem::path> sets;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path()))
      if (entry.path().filename() == "run.json") sets.push_back(entry.path().parent_path());
    std::ranges::sort(sets);
    return sets;
  }

 private:
  TemporaryDirectory folder_{"warpgrade-sets"};
};

}  // namespace warpgrade
