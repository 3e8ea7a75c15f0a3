// Lines of a plain or gzip-compressed text, with their numbers, in bounded memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "byte_stream.h"
#include "warpgrade/datasets/csr_file.h"

namespace warpgrade::datasets {

class LineReader {
 public:
  // Throws DatasetError when the source can't be opened.
  LineReader(const Source& source, Progress progress);
  // Reads an open descriptor (a pipe), which it closes.
  LineReader(int fd, std::string name);

  // False at the end. Line ends (LF, CRLF) and a byte order mark are not part of the line. Throws
  // DatasetError for truncated or damaged compression and for a line of more than 1 MiB.
  bool next(std::string_view& line);

  std::int64_t number() const { return number_; }
  const std::string& name() const { return name_; }
  // What was taken off the lines so far, a sentence each.
  std::vector<std::string> repairs() const;

  // Throws DatasetError "file:line: expected ..., got '...'".
  [[noreturn]] void fail(const std::string& expected, std::string_view got) const;

 private:
  bool fill();

  std::string name_;
  Progress progress_;
  std::unique_ptr<ByteStream> stream_;
  std::uint64_t file_bytes_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false, has_crlf_ = false, has_mark_ = false;
};

}  // namespace warpgrade::datasets
