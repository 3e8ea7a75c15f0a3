// Tar archives, gzipped or not, read by libarchive.
#pragma once

#include "byte_stream.h"
#include "container.h"

namespace warpgrade::datasets {

// The regular files of the archive, in its order. Throws DatasetError for damage (with the byte of the
// unpacked archive) and for hostile names.
std::vector<ContainerMember> list_tar(const std::filesystem::path& path);

// The member's bytes, read where they lie. Throws DatasetError: no such member, or one with holes.
std::unique_ptr<ByteStream> open_tar_member(const std::filesystem::path& path, const std::string& wanted);

}  // namespace warpgrade::datasets
