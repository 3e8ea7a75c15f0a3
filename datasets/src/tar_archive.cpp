// libarchive reads the format. gzip stays with byte_stream.h: its errors name the byte of the file, it limits
// how far an archive may inflate, and it reads to the end, where the checksum stands.
#include "tar_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <exception>
#include <memory>
#include <set>
#include <vector>

#include "base/utf8_locale.h"
#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kMostMembers = 100000, kTarChunk = 1 << 17;

class TarReader {
 public:
  explicit TarReader(const fs::path& path)
      : path_(path), name_(path.string()), stream_(Source{path, ""}.open()), chunk_(kTarChunk) {
    if (tar_ == nullptr || archive_read_support_format_tar(tar_.get()) != ARCHIVE_OK)
      throw DatasetError("{}: libarchive does not start", name_);
    if (archive_read_open(tar_.get(), this, nullptr, &TarReader::give, nullptr) != ARCHIVE_OK) fail();
  }
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // The next regular file; its content follows from read(). False at the archive's end.
  bool next(ContainerMember& member) {
    while (next_entry()) {
      const char* name = archive_entry_pathname(entry_);
      member.name = name != nullptr ? name : "";
      check_member_name(member.name, path_);
      // Folders, links and devices are of no interest.
      if (archive_entry_filetype(entry_) != AE_IFREG || archive_entry_hardlink(entry_) != nullptr) continue;
      member.bytes = static_cast<std::uint64_t>(archive_entry_size(entry_));
      return true;
    }
    return false;
  }

  // A few bytes may stand for any number of zeros, so holes are no way to store a graph.
  bool has_holes() const { return archive_entry_sparse_count(entry_) > 0; }

  std::size_t read(std::span<std::byte> into) {
    if (into.empty()) return 0;
    const la_ssize_t n = archive_read_data(tar_.get(), into.data(), into.size());
    if (n < 0) fail();
    return static_cast<std::size_t>(n);
  }
  std::uint64_t consumed() const { return stream_->consumed(); }

 private:
  struct Free {
    void operator()(archive* tar) const { archive_read_free(tar); }
  };

  // libarchive asks for bytes. It is C: an exception waits until it has returned.
  static la_ssize_t give(archive*, void* self, const void** bytes) {
    auto& reader = *static_cast<TarReader*>(self);
    try {
      const std::size_t n = reader.stream_->read(reader.chunk_);
      reader.given_ += n;
      reader.at_end_ = n == 0;
      *bytes = reader.chunk_.data();
      return static_cast<la_ssize_t>(n);
    } catch (...) {
      reader.thrown_ = std::current_exception();
      return ARCHIVE_FATAL;
    }
  }

  bool next_entry() {
    if (entry_ != nullptr && archive_read_data_skip(tar_.get()) < ARCHIVE_WARN) fail();
    header_at_ = archive_filter_bytes(tar_.get(), 0);
    const Utf8Locale utf8;
    const int status = archive_read_next_header(tar_.get(), &entry_);
    if (status == ARCHIVE_EOF) {
      drain();
      return false;
    }
    // RETRY is a damaged header: the next call would look for another one behind it and leave members out.
    if (status == ARCHIVE_RETRY || status < ARCHIVE_WARN) fail();
    if (++members_ > kMostMembers)
      throw DatasetError("{}: more than {} members; give the one you want as a file", name_, kMostMembers);
    return true;
  }

  // What follows the archive's end is of no interest, but gzip's checksum stands behind it.
  void drain() {
    while (stream_->read(chunk_) > 0) {
    }
  }

  [[noreturn]] void fail() {
    if (thrown_) std::rethrow_exception(thrown_);
    if (at_end_) throw DatasetError("{}: byte {}: the archive is cut off; fetch it again", name_, given_);
    const char* why = archive_error_string(tar_.get());
    throw DatasetError("{}: byte {}: expected a tar header ({}); fetch it again", name_, header_at_,
                       why != nullptr ? why : "it is damaged");
  }

  fs::path path_;
  std::string name_;
  std::unique_ptr<ByteStream> stream_;
  std::vector<std::byte> chunk_;
  std::unique_ptr<archive, Free> tar_{archive_read_new()};
  archive_entry* entry_ = nullptr;
  std::exception_ptr thrown_;
  std::uint64_t given_ = 0;
  std::int64_t header_at_ = 0;
  bool at_end_ = false;
  std::size_t members_ = 0;
};

class TarMember : public ByteStream {
 public:
  TarMember(const fs::path& path, const std::string& wanted) : reader_(path) {
    for (ContainerMember member; reader_.next(member);) {
      if (member.name != wanted) continue;
      if (!reader_.has_holes()) return;
      throw DatasetError("{}: {} is stored with holes; pack it again without tar's option --sparse",
                         path.string(), wanted);
    }
    throw DatasetError("{}: there is no member {}", path.string(), wanted);
  }
  std::size_t read(std::span<std::byte> into) override { return reader_.read(into); }
  std::uint64_t consumed() const override { return reader_.consumed(); }

 private:
  TarReader reader_;
};

}  // namespace

std::vector<ContainerMember> list_tar(const fs::path& path) {
  std::vector<ContainerMember> members;
  std::set<std::string> names;
  TarReader reader(path);
  for (ContainerMember member; reader.next(member); members.push_back(member)) {
    if (!names.insert(member.name).second)
      throw DatasetError("{}: a second member is named {}; pack it again into a new archive", path.string(),
                         member.name);
  }
  return members;
}

std::unique_ptr<ByteStream> open_tar_member(const fs::path& path, const std::string& wanted) {
  return std::make_unique<TarMember>(path, wanted);
}

}  // namespace warpgrade::datasets
