// Zip by hand, though libarchive is at hand: arrays of an .npz are used in place in a mapped file, and for
// that members are written at multiples of 64 bytes and found by their offsets. libarchive gives neither.
#include "zip_archive.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50,
                        kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr std::uint64_t kAlignment = 64;
constexpr std::uint16_t kPaddingField = 0x5057;  // "WP": an extra field that readers skip
constexpr std::uint32_t kSaturated = 0xFFFFFFFF;

// Little-endian numbers at an offset; bounds are checked.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string name) : file_(file), name_(std::move(name)) {}

  template <typename T>
  T at(std::uint64_t offset) const {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) fail(offset, "the file ends too early");
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  std::string text(std::uint64_t offset, std::uint64_t size) const {
    if (offset > file_.size() || file_.size() - offset < size) fail(offset, "the file ends too early");
    return {reinterpret_cast<const char*>(file_.data() + offset), size};
  }
  [[noreturn]] void fail(std::uint64_t offset, const std::string& what) const {
    throw DatasetError("{}: byte {}: {}; is it a whole .npz or .zip file?", name_, offset, what);
  }
  std::uint64_t size() const { return file_.size(); }

 private:
  std::span<const std::byte> file_;
  std::string name_;
};

struct Directory {
  std::uint64_t offset = 0, entries = 0;
};

Directory find_directory(const Reader& reader) {
  if (reader.size() < 22) reader.fail(0, "expected a zip archive, but the file is too short");
  const std::uint64_t first = reader.size() > 22 + 65535 ? reader.size() - 22 - 65535 : 0;
  for (std::uint64_t at = reader.size() - 22 + 1; at-- > first;) {
    if (reader.at<std::uint32_t>(at) != kEnd) continue;
    Directory directory{reader.at<std::uint32_t>(at + 16), reader.at<std::uint16_t>(at + 10)};
    if (at >= 20 && reader.at<std::uint32_t>(at - 20) == kEnd64Locator) {
      const auto end64 = reader.at<std::uint64_t>(at - 20 + 8);
      if (reader.at<std::uint32_t>(end64) != kEnd64) reader.fail(end64, "expected a Zip64 record");
      directory = {reader.at<std::uint64_t>(end64 + 48), reader.at<std::uint64_t>(end64 + 32)};
    }
    return directory;
  }
  reader.fail(reader.size(), "expected the end of a zip archive");
}

// Sizes and offset that did not fit into 32 bits stand in the Zip64 extra field, in this order.
void read_zip64(const Reader& reader, std::uint64_t extra, std::uint64_t extra_size, ArchiveMember& member,
                std::uint64_t& header) {
  for (std::uint64_t at = extra; at + 4 <= extra + extra_size;) {
    const auto id = reader.at<std::uint16_t>(at);
    const auto size = reader.at<std::uint16_t>(at + 2);
    std::uint64_t field = at + 4;
    at += 4u + size;
    if (id != 1) continue;
    for (std::uint64_t* value : {&member.bytes, &member.stored_bytes, &header}) {
      if (*value != kSaturated) continue;
      *value = reader.at<std::uint64_t>(field);
      field += 8;
    }
  }
}

// ---- writing ----

void append(std::string& text, auto value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Writes to a file without a name where the file system has those (O_TMPFILE), so that nothing stays even
// after SIGKILL, and to PATH.tmp-PID elsewhere.
class Output {
 public:
  explicit Output(const std::filesystem::path& path) : path_(path), temporary_(path) {
    temporary_ += fmt::format(".tmp-{}", getpid());
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    fd_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    named_ = fd_ < 0;
    if (named_) fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd_ < 0) throw DatasetError("cannot write {}: {}", path.string(), std::strerror(errno));
  }
  ~Output() {
    if (fd_ >= 0) {
      close(fd_);
      if (named_) unlink(temporary_.c_str());
    }
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    position_ += size;
    while (size > 0) {
      const ssize_t n = ::write(fd_, at, std::min<std::size_t>(size, 1 << 30));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) fail(n < 0 ? errno : ENOSPC);
      at += n;
      size -= static_cast<std::size_t>(n);
    }
  }
  std::uint64_t position() const { return position_; }

  void finish() {
    if (fsync(fd_) != 0) fail(errno);
    if (!named_) give_name();
    close(fd_);
    fd_ = -1;
    if (rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int why = errno;
      unlink(temporary_.c_str());
      throw DatasetError("cannot write {}: {}", path_.string(), std::strerror(why));
    }
  }

 private:
  // A link does not replace a file, a rename does: the data gets its temporary name first.
  void give_name() {
    unlink(temporary_.c_str());  // of a process that had our id and was killed between link and rename
    const std::string data = fmt::format("/proc/self/fd/{}", fd_);
    if (linkat(AT_FDCWD, data.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) fail(errno);
    named_ = true;
  }
  [[noreturn]] void fail(int why) {
    throw DatasetError("cannot write {}: {}; nothing was left behind", path_.string(), std::strerror(why));
  }

  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  bool named_ = false;
  std::uint64_t position_ = 0;
};

std::uint32_t crc_of(const MemberSource& member) {
  uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(member.head.data()), member.head.size());
  // zlib takes a null pointer for "begin anew", and an empty span may have one.
  if (!member.data.empty())
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(member.data.data()), member.data.size());
  return static_cast<std::uint32_t>(crc);
}

void check_crc(std::span<const std::byte> content, const ArchiveMember& member, const std::string& name) {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (crc != member.crc) {
    throw DatasetError(
        "{}: byte {}: {}: expected the checksum {:08x}, got {:08x}; fetch or save the file again", name,
        member.data_offset, member.name, member.crc, crc);
  }
}

// The part that local and central headers share, from "version needed" to the name's length.
std::string common_header(std::uint32_t crc, bool zip64, std::uint64_t size, std::size_t name_size) {
  std::string text;
  append(text, std::uint16_t(zip64 ? 45 : 20));
  append(text, std::uint16_t(0));       // flags
  append(text, std::uint16_t(0));       // stored
  append(text, std::uint16_t(0));       // time: none, so that equal content is equal bytes
  append(text, std::uint16_t(0x0021));  // date: 1980-01-01
  append(text, crc);
  append(text, zip64 ? kSaturated : std::uint32_t(size));
  append(text, zip64 ? kSaturated : std::uint32_t(size));
  append(text, std::uint16_t(name_size));
  return text;
}

std::string zip64_field(std::uint64_t size) {
  std::string text;
  append(text, std::uint16_t(1));
  append(text, std::uint16_t(16));
  append(text, size);
  append(text, size);
  return text;
}

// A member and where its local header begins.
struct Placed {
  const MemberSource& member;
  std::uint64_t header, size;
  std::uint32_t crc;
  bool zip64() const { return size >= kSaturated || header >= kSaturated; }
};

// Padded so that the data, behind the member's own head, starts at a multiple of 64.
std::string local_header(const Placed& placed) {
  const MemberSource& member = placed.member;
  std::string extra = placed.zip64() ? zip64_field(placed.size) : "";
  const std::uint64_t unpadded =
      placed.header + 30 + member.name.size() + extra.size() + 4 + member.head.size();
  const std::uint64_t padding = (kAlignment - unpadded % kAlignment) % kAlignment;
  append(extra, kPaddingField);
  append(extra, std::uint16_t(padding));
  extra.append(padding, '\0');

  std::string local;
  append(local, kLocalHeader);
  local += common_header(placed.crc, placed.zip64(), placed.size, member.name.size());
  append(local, std::uint16_t(extra.size()));
  return local + member.name + extra;
}

std::string directory_entry(const Placed& placed) {
  const MemberSource& member = placed.member;
  std::string extra;
  if (placed.zip64()) {
    extra = zip64_field(placed.size);
    extra[2] = 24;
    append(extra, placed.header);
  }
  std::string entry;
  append(entry, kCentralHeader);
  append(entry, std::uint16_t(45));
  entry += common_header(placed.crc, placed.zip64(), placed.size, member.name.size());
  append(entry, std::uint16_t(extra.size()));
  entry.append(2 + 2 + 2 + 4, '\0');  // comment, disk, attributes
  append(entry, placed.zip64() ? kSaturated : std::uint32_t(placed.header));
  return entry + member.name + extra;
}

// What stands behind a directory of `count` entries and `bytes` that begins at `start`.
std::string end_of_directory(std::uint64_t start, std::uint64_t bytes, std::uint64_t count) {
  std::string end;
  if (start >= kSaturated) {
    append(end, kEnd64);
    append(end, std::uint64_t(44));
    append(end, std::uint16_t(45));
    append(end, std::uint16_t(45));
    append(end, std::uint64_t(0));  // disks
    append(end, count);
    append(end, count);
    append(end, bytes);
    append(end, start);
    append(end, kEnd64Locator);
    append(end, std::uint32_t(0));
    append(end, start + bytes);
    append(end, std::uint32_t(1));
  }
  append(end, kEnd);
  append(end, std::uint32_t(0));
  append(end, std::uint16_t(count));
  append(end, std::uint16_t(count));
  append(end, std::uint32_t(bytes));
  append(end, start >= kSaturated ? kSaturated : std::uint32_t(start));
  append(end, std::uint16_t(0));
  return end;
}

}  // namespace

std::vector<ArchiveMember> read_archive(std::span<const std::byte> file, const std::string& name) {
  const Reader reader(file, name);
  const Directory directory = find_directory(reader);
  if (directory.entries > 1000) reader.fail(directory.offset, "expected a few members");
  std::vector<ArchiveMember> members;
  std::set<std::string> names;
  std::uint64_t at = directory.offset;
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (reader.at<std::uint32_t>(at) != kCentralHeader)
      reader.fail(at, "expected a central directory header");
    ArchiveMember member;
    const auto method = reader.at<std::uint16_t>(at + 10);
    member.crc = reader.at<std::uint32_t>(at + 16);
    member.stored_bytes = reader.at<std::uint32_t>(at + 20);
    member.bytes = reader.at<std::uint32_t>(at + 24);
    const auto name_size = reader.at<std::uint16_t>(at + 28), extra_size = reader.at<std::uint16_t>(at + 30),
               comment_size = reader.at<std::uint16_t>(at + 32);
    std::uint64_t header = reader.at<std::uint32_t>(at + 42);
    member.name = reader.text(at + 46, name_size);
    read_zip64(reader, at + 46 + name_size, extra_size, member, header);
    if (reader.at<std::uint16_t>(at + 8) & 1)
      reader.fail(at, member.name + " is encrypted: unpack the archive and pack it without a password");
    if (!names.insert(member.name).second)
      reader.fail(at, fmt::format("a second member is named {}", member.name));
    if (method != 0 && method != 8)
      reader.fail(at, fmt::format("{}: a compression that is not supported", member.name));
    member.deflated = method == 8;
    if (!member.deflated && member.bytes != member.stored_bytes)
      reader.fail(at, member.name + ": sizes do not agree");
    if (reader.at<std::uint32_t>(header) != kLocalHeader)
      reader.fail(header, member.name + ": expected its header");
    member.data_offset =
        header + 30 + reader.at<std::uint16_t>(header + 26) + reader.at<std::uint16_t>(header + 28);
    if (member.data_offset > file.size() || file.size() - member.data_offset < member.stored_bytes) {
      reader.fail(member.data_offset, fmt::format("{} claims {} bytes, more than the file has", member.name,
                                                  member.stored_bytes));
    }
    // Deflate shrinks at most 1032 times: a larger claim is a lie, or a bomb.
    if (member.deflated && member.bytes / 1040 > member.stored_bytes) {
      reader.fail(at, fmt::format("{} claims {} bytes from {} compressed ones", member.name, member.bytes,
                                  member.stored_bytes));
    }
    members.push_back(std::move(member));
    at += 46u + name_size + extra_size + comment_size;
  }
  return members;
}

std::span<const std::byte> member_content(std::span<const std::byte> file, const ArchiveMember& member,
                                          std::vector<std::byte>& scratch, const std::string& name) {
  const auto stored = file.subspan(member.data_offset, member.stored_bytes);
  if (!member.deflated) {
    check_crc(stored, member, name);
    return stored;
  }
  scratch.resize(member.bytes);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw DatasetError("{}: zlib does not start", name);
  int result = Z_OK;
  std::uint64_t in = 0, out = 0;
  while (result == Z_OK && (in < stored.size() || out < scratch.size())) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data() + in));
    stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(stored.size() - in, 1 << 30));
    stream.next_out = reinterpret_cast<Bytef*>(scratch.data() + out);
    stream.avail_out = static_cast<uInt>(std::min<std::uint64_t>(scratch.size() - out, 1 << 30));
    const auto in_before = stream.avail_in, out_before = stream.avail_out;
    result = inflate(&stream, Z_NO_FLUSH);
    in += in_before - stream.avail_in;
    out += out_before - stream.avail_out;
    if (result == Z_BUF_ERROR || (in_before == stream.avail_in && out_before == stream.avail_out)) break;
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END || out != scratch.size()) {
    throw DatasetError("{}: byte {}: {} does not inflate to the {} bytes it claims", name,
                       member.data_offset + in, member.name, member.bytes);
  }
  check_crc(scratch, member, name);
  return scratch;
}

void write_archive(const std::filesystem::path& path, const std::vector<MemberSource>& members) {
  Output output(path);
  std::string directory;
  for (const MemberSource& member : members) {
    const Placed placed{member, output.position(), member.head.size() + member.data.size(), crc_of(member)};
    const std::string local = local_header(placed) + member.head;
    output.write(local.data(), local.size());
    output.write(member.data.data(), member.data.size());
    directory += directory_entry(placed);
  }
  const std::string end = end_of_directory(output.position(), directory.size(), members.size());
  output.write(directory.data(), directory.size());
  output.write(end.data(), end.size());
  output.finish();
}

}  // namespace warpgrade::datasets
