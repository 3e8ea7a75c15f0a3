// Stands for tar_archive.cpp where the project is built without libarchive.
#include "tar_archive.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

[[noreturn]] void refuse_tar(const std::filesystem::path& path) {
  throw DatasetError(
      "{}: this program was built without libarchive and cannot read tar archives; unpack the archive and "
      "give "
      "the file, or install libarchive's headers and build again",
      path.string());
}

}  // namespace

std::vector<ContainerMember> list_tar(const std::filesystem::path& path) {
  refuse_tar(path);
}

std::unique_ptr<ByteStream> open_tar_member(const std::filesystem::path& path, const std::string&) {
  refuse_tar(path);
}

}  // namespace warpgrade::datasets
