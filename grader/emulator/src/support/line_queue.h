// JSON lines that wait to be fetched through a caller's buffer of limited size.
#pragma once
#include <cstddef>
#include <deque>
#include <string>

namespace warpgrade::emu {

class LineQueue {
 public:
  void push(std::string line) { lines_.push_back(std::move(line)); }
  // Whole lines that fit, each ended by a newline, and a final NUL; returns the bytes without the NUL. A line
  // that is longer than the buffer stays queued.
  size_t drain(char* buffer, size_t capacity);

 private:
  std::deque<std::string> lines_;
};

}  // namespace warpgrade::emu
