// Archives as lists of members: .zip, .tar, .tar.gz. Members are read where they lie; nothing is ever
// unpacked into a folder, so a name such as ../../x reaches no file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace warpgrade::datasets {

struct ContainerMember {
  std::string name;
  std::uint64_t bytes = 0;
};

// By content.
bool is_zip(const std::filesystem::path& path);
bool is_tar(const std::filesystem::path& path);  // gzipped or not

// Regular files of the archive. Throws DatasetError for a damaged archive and for names that climb out of
// it (absolute, with .., with control characters): such an archive is hostile.
std::vector<ContainerMember> list_container(const std::filesystem::path& path);

}  // namespace warpgrade::datasets
