#include "line_reader.h"

#include <cstring>

namespace warpgrade::datasets {
namespace {

constexpr std::size_t kLongestLine = 1 << 20;

}  // namespace

LineReader::LineReader(const Source& source, Progress progress)
    : name_(source.name()),
      progress_(std::move(progress)),
      stream_(source.open()),
      file_bytes_(source.file_bytes()),
      buffer_(kLongestLine + (1 << 18)) {}

LineReader::LineReader(int fd, std::string name)
    : name_(std::move(name)),
      stream_(gunzip(stream_of_descriptor(fd, name_), name_)),
      buffer_(2 * kLongestLine) {}

bool LineReader::fill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  std::size_t n = 0;
  try {
    n = stream_->read(std::as_writable_bytes(std::span(buffer_).subspan(end_)));
  } catch (const DatasetError& error) {
    // The compressed byte is known; the line helps whoever looks at the text.
    throw DatasetError("{} [after line {}]", error.what(), number_);
  }
  at_end_ = n == 0;
  end_ += n;
  if (progress_) progress_(stream_->consumed(), file_bytes_);
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
      if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
        has_crlf_ = true;
      }
      if (++number_ == 1 && line.starts_with("\xEF\xBB\xBF")) {
        line.remove_prefix(3);
        has_mark_ = true;
      }
      return true;
    }
    if (end_ - begin_ > kLongestLine)
      throw DatasetError("{}:{}: a line of more than 1 MiB: not a text file", name_, number_ + 1);
    if (!fill() && begin_ == end_) return false;
  }
}

std::vector<std::string> LineReader::repairs() const {
  std::vector<std::string> repairs;
  if (has_mark_) repairs.emplace_back("a byte order mark stands in front: left out");
  if (has_crlf_) repairs.emplace_back("line ends are CRLF");
  return repairs;
}

void LineReader::fail(const std::string& expected, std::string_view got) const {
  std::string shown(got.substr(0, 60));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 32) c = '?';
  }
  throw DatasetError("{}:{}: expected {}, got '{}'", name_, number_, expected, shown);
}

}  // namespace warpgrade::datasets
