#include "line_reader.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>

namespace warpgrade::datasets {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, Progress progress)
    : name_(path.string()), progress_(std::move(progress)), buffer_(2 * kLongestLine) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) throw DatasetError("{} is a folder; give a file", name_);
  file_bytes_ = std::filesystem::file_size(path, error);
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw DatasetError("cannot read {}: {}", name_, std::strerror(errno));
  gzbuffer(file, 1 << 18);
  file_ = file;
}

LineReader::LineReader(int fd, std::string name) : name_(std::move(name)), buffer_(2 * kLongestLine) {
  file_ = gzdopen(fd, "rb");
  if (file_ == nullptr) throw DatasetError("cannot read {}", name_);
}

LineReader::~LineReader() {
  gzclose(static_cast<gzFile>(file_));
}

bool LineReader::fill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  auto* file = static_cast<gzFile>(file_);
  const int n = gzread(file, buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  int code = Z_OK;
  const char* words = gzerror(file, &code);
  if (n < 0 || (code != Z_OK && code != Z_STREAM_END)) {
    throw DatasetError("{}:{}: the compressed file is {} ({}); fetch it again", name_, number_ + 1,
                       code == Z_BUF_ERROR ? "cut off" : "damaged", words);
  }
  at_end_ = n == 0;
  end_ += static_cast<std::size_t>(n);
  if (progress_) progress_(static_cast<std::uint64_t>(gzoffset(file)), file_bytes_);
  return n > 0;
}

bool LineReader::next(std::string_view& line) {
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const auto* stop = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    if (stop != nullptr || (at_end_ && begin_ < end_)) {
      const std::size_t size = stop != nullptr ? static_cast<std::size_t>(stop - start) : end_ - begin_;
      line = {start, size};
      begin_ += size + (stop != nullptr ? 1 : 0);
      if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
      ++number_;
      return true;
    }
    if (end_ - begin_ > kLongestLine)
      throw DatasetError("{}:{}: a line of more than 1 MiB: not a text file", name_, number_ + 1);
    if (!fill() && begin_ == end_) return false;
  }
}

void LineReader::fail(const std::string& expected, std::string_view got) const {
  std::string shown(got.substr(0, 60));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32) c = '?';
  }
  throw DatasetError("{}:{}: expected {}, got '{}'", name_, number_, expected, shown);
}

}  // namespace warpgrade::datasets
