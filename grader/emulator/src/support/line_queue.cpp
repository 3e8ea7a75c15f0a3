#include "support/line_queue.h"

#include <cstring>

namespace warpgrade::emu {

size_t LineQueue::drain(char* buffer, size_t capacity) {
  if (buffer == nullptr || capacity == 0) return 0;
  size_t used = 0;
  while (!lines_.empty() && used + lines_.front().size() + 2 <= capacity) {
    const std::string& line = lines_.front();
    std::memcpy(buffer + used, line.data(), line.size());
    used += line.size();
    buffer[used++] = '\n';
    lines_.pop_front();
  }
  buffer[used] = '\0';
  return used;
}

}  // namespace warpgrade::emu
