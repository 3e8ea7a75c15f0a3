#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw DatasetError("cannot read {}: {}", path.string(), std::strerror(errno));
  struct stat status = {};
  fstat(fd, &status);
  size_ = static_cast<std::size_t>(status.st_size);
  memory_ = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  close(fd);
  if (memory_ == MAP_FAILED) throw DatasetError("{}: the file is empty or cannot be mapped", path.string());
}

MappedFile::~MappedFile() {
  munmap(memory_, size_);
}

}  // namespace warpgrade::datasets
