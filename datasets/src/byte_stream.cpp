#include "byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "warpgrade/datasets/error.h"

namespace warpgrade::datasets {
namespace {

constexpr std::size_t kChunk = 1 << 17;
// Graphs as text shrink 3 to 20 times. More than this, beyond a quarter of a gigabyte, is a bomb.
constexpr std::uint64_t kMostExpansion = 300, kExpansionFrom = std::uint64_t{1} << 28;

class Descriptor : public ByteStream {
 public:
  Descriptor(int fd, std::string name, std::uint64_t most) : fd_(fd), name_(std::move(name)), left_(most) {}
  ~Descriptor() override { close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  std::size_t read(std::span<std::byte> into) override {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_));
    if (size == 0) return 0;
    ssize_t n = 0;
    do {
      n = ::read(fd_, into.data(), size);
    } while (n < 0 && errno == EINTR);
    if (n < 0) throw DatasetError("cannot read {}: {}", name_, std::strerror(errno));
    left_ -= static_cast<std::uint64_t>(n);
    consumed_ += static_cast<std::uint64_t>(n);
    return static_cast<std::size_t>(n);
  }
  std::uint64_t consumed() const override { return consumed_; }

 private:
  int fd_;
  std::string name_;
  std::uint64_t left_, consumed_ = 0;
};

// What gunzip and inflate_raw share: a z_stream fed from another stream.
class Inflater {
 public:
  Inflater(std::unique_ptr<ByteStream> inner, std::string name, int window_bits)
      : inner_(std::move(inner)), name_(std::move(name)), in_(kChunk) {
    if (inflateInit2(&z_, window_bits) != Z_OK) throw DatasetError("{}: zlib does not start", name_);
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Makes sure that there is input; false at its end.
  bool feed() {
    if (z_.avail_in > 0) return true;
    const std::size_t n = inner_->read(in_);
    z_.next_in = reinterpret_cast<Bytef*>(in_.data());
    z_.avail_in = static_cast<uInt>(n);
    taken_ += n;
    return n > 0;
  }
  [[noreturn]] void fail(const char* what) const {
    throw DatasetError("{}: byte {}: the compressed data are {} ({}); fetch it again", name_,
                       taken_ - z_.avail_in, what, z_.msg != nullptr ? z_.msg : "it ends too early");
  }

  std::unique_ptr<ByteStream> inner_;
  std::string name_;
  std::vector<std::byte> in_;
  z_stream z_ = {};
  std::uint64_t taken_ = 0, given_ = 0;
};

class Gunzip : public ByteStream {
 public:
  Gunzip(std::unique_ptr<ByteStream> inner, std::string name)
      : inflater_(std::move(inner), std::move(name), 15 + 16) {}

  std::size_t read(std::span<std::byte> into) override {
    if (into.empty()) return 0;
    if (!decided_) decide();
    return plain_ ? read_plain(into) : read_packed(into);
  }
  std::uint64_t consumed() const override { return inflater_.inner_->consumed(); }

 private:
  void decide() {
    decided_ = true;
    z_stream& z = inflater_.z_;
    // Two bytes tell; a pipe may hand them over one by one.
    while (z.avail_in < 2) {
      const std::size_t have = z.avail_in;
      const std::size_t n = inflater_.inner_->read(std::span(inflater_.in_).subspan(have));
      z.next_in = reinterpret_cast<Bytef*>(inflater_.in_.data());
      z.avail_in = static_cast<uInt>(have + n);
      inflater_.taken_ += n;
      if (n == 0) break;
    }
    plain_ = z.avail_in < 2 || z.next_in[0] != 0x1f || z.next_in[1] != 0x8b;
  }

  std::size_t read_plain(std::span<std::byte> into) {
    z_stream& z = inflater_.z_;
    if (!inflater_.feed()) return 0;
    const std::size_t n = std::min<std::size_t>(z.avail_in, into.size());
    std::memcpy(into.data(), z.next_in, n);
    z.next_in += n;
    z.avail_in -= static_cast<uInt>(n);
    return n;
  }

  std::size_t read_packed(std::span<std::byte> into) {
    z_stream& z = inflater_.z_;
    for (;;) {
      if (between_) {  // gzip files may be glued together
        if (!inflater_.feed()) return 0;
        inflateReset(&z);
        between_ = false;
      }
      if (!inflater_.feed()) inflater_.fail("cut off");
      z.next_out = reinterpret_cast<Bytef*>(into.data());
      z.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1 << 30));
      const uInt room = z.avail_out;
      const int result = inflate(&z, Z_NO_FLUSH);
      const std::size_t n = room - z.avail_out;
      if (result == Z_STREAM_END) between_ = true;
      if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) inflater_.fail("damaged");
      inflater_.given_ += n;
      check_expansion();
      if (n > 0) return n;
    }
  }

  void check_expansion() const {
    if (inflater_.given_ < kExpansionFrom || inflater_.given_ < kMostExpansion * inflater_.taken_) return;
    throw DatasetError(
        "{}: byte {}: unpacks to more than {} times its size, which no graph does; unpack it yourself if you "
        "trust it",
        inflater_.name_, inflater_.taken_, kMostExpansion);
  }

  Inflater inflater_;
  bool decided_ = false, plain_ = false, between_ = false;
};

class RawInflate : public ByteStream {
 public:
  RawInflate(std::unique_ptr<ByteStream> inner, std::string name, std::uint64_t bytes)
      : inflater_(std::move(inner), std::move(name), -MAX_WBITS), bytes_(bytes) {}

  std::size_t read(std::span<std::byte> into) override {
    if (into.empty() || ended_) return 0;
    z_stream& z = inflater_.z_;
    for (;;) {
      inflater_.feed();
      z.next_out = reinterpret_cast<Bytef*>(into.data());
      z.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1 << 30));
      const uInt room = z.avail_out, had = z.avail_in;
      const int result = inflate(&z, Z_NO_FLUSH);
      const std::size_t n = room - z.avail_out;
      inflater_.given_ += n;
      if (result == Z_DATA_ERROR || result == Z_NEED_DICT) inflater_.fail("damaged");
      ended_ = result == Z_STREAM_END;
      if (inflater_.given_ > bytes_ || (ended_ && inflater_.given_ != bytes_) ||
          (n == 0 && !ended_ && had == 0)) {
        throw DatasetError("{}: byte {}: does not inflate to the {} bytes it claims", inflater_.name_,
                           inflater_.taken_ - z.avail_in, bytes_);
      }
      if (n > 0 || ended_) return n;
    }
  }
  std::uint64_t consumed() const override { return inflater_.inner_->consumed(); }

 private:
  Inflater inflater_;
  std::uint64_t bytes_;
  bool ended_ = false;
};

class Checked : public ByteStream {
 public:
  Checked(std::unique_ptr<ByteStream> inner, std::string name, std::uint32_t crc)
      : inner_(std::move(inner)), name_(std::move(name)), want_(crc) {}

  std::size_t read(std::span<std::byte> into) override {
    const std::size_t n = inner_->read(into);
    if (n > 0) crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(into.data()), n);
    if (n == 0 && !into.empty() && crc_ != want_) {
      throw DatasetError("{}: expected the checksum {:08x}, got {:08x}; fetch or save the file again", name_,
                         want_, crc_);
    }
    return n;
  }
  std::uint64_t consumed() const override { return inner_->consumed(); }

 private:
  std::unique_ptr<ByteStream> inner_;
  std::string name_;
  uLong crc_ = 0;
  std::uint32_t want_;
};

int open_for_reading(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw DatasetError("{} is a folder; give a file", path.string());
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw DatasetError("cannot read {}: {}", path.string(), std::strerror(errno));
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return fd;
}

}  // namespace

std::unique_ptr<ByteStream> stream_of_descriptor(int fd, std::string name) {
  return std::make_unique<Descriptor>(fd, std::move(name), UINT64_MAX);
}

std::unique_ptr<ByteStream> stream_of_range(const std::filesystem::path& path, std::uint64_t offset,
                                            std::uint64_t size) {
  const int fd = open_for_reading(path);
  if (lseek(fd, static_cast<off_t>(offset), SEEK_SET) < 0) {
    close(fd);
    throw DatasetError("{}: cannot go to byte {}", path.string(), offset);
  }
  return std::make_unique<Descriptor>(fd, path.string(), size);
}

std::unique_ptr<ByteStream> gunzip(std::unique_ptr<ByteStream> inner, std::string name) {
  return std::make_unique<Gunzip>(std::move(inner), std::move(name));
}

std::unique_ptr<ByteStream> inflate_raw(std::unique_ptr<ByteStream> inner, std::string name,
                                        std::uint64_t bytes, std::uint32_t crc) {
  auto raw = std::make_unique<RawInflate>(std::move(inner), name, bytes);
  return std::make_unique<Checked>(std::move(raw), std::move(name), crc);
}

std::unique_ptr<ByteStream> with_crc(std::unique_ptr<ByteStream> inner, std::string name, std::uint32_t crc) {
  return std::make_unique<Checked>(std::move(inner), std::move(name), crc);
}

void read_exactly(ByteStream& stream, std::span<std::byte> into, const std::string& name,
                  std::uint64_t offset) {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t n = stream.read(into.subspan(done));
    if (n == 0)
      throw DatasetError("{}: byte {}: the file ends too early; fetch it again", name, offset + done);
    done += n;
  }
}

std::uint64_t Source::file_bytes() const {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::unique_ptr<ByteStream> Source::open() const {
  return gunzip(open_raw(), name());
}

}  // namespace warpgrade::datasets
