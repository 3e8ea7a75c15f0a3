#include "judge/sandbox/gpu_files.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace warpgrade {
namespace fs = std::filesystem;

namespace {

// "gpu0/gi1/ci0/access 7". An instance of a GPU and a part of its cores need one file each.
std::vector<fs::path> instance_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::ifstream minors(root / "proc/driver/nvidia-caps/mig-minors");
  for (std::string what, number; minors >> what >> number;) {
    const fs::path file = root / "dev/nvidia-caps" / ("nvidia-cap" + number);
    std::error_code none;
    if (what.ends_with("/access") && fs::exists(file, none)) files.push_back(file);
  }
  return files;
}

}  // namespace

std::vector<fs::path> gpu_device_files(const fs::path& root) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "dev", none))
    if (entry.path().filename().string().starts_with("nvidia") && !entry.is_directory())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  const std::vector<fs::path> instances = instance_files(root);
  files.insert(files.end(), instances.begin(), instances.end());
  return files;
}

}  // namespace warpgrade
