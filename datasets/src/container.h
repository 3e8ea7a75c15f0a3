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

// Throws DatasetError for a name that climbs out of the archive (absolute, with .., with control characters):
// such an archive is hostile.
void check_member_name(const std::string& name, const std::filesystem::path& archive);

// Regular files of the archive. Throws DatasetError for a damaged archive, for hostile names, and for two
// members of one name.
std::vector<ContainerMember> list_container(const std::filesystem::path& path);

}  // namespace warpgrade::datasets
