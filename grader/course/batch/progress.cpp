#include "course/batch/progress.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "base/say.h"
#include "base/terminal.h"
#include "base/text.h"

namespace warpgrade {

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(takes_escape_codes(STDERR_FILENO)) {}

Progress::~Progress() {
  const std::lock_guard lock(mutex_);
  clear();
}

void Progress::clear() {
  if (shown_) say("\r\033[K");
  shown_ = false;
}

void Progress::update(const std::string& text) {
  if (quiet_ || !terminal_) return;
  const std::lock_guard lock(mutex_);
  winsize size = {};
  const int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1 : 79;
  clear();
  say("{}", plain_line(text, static_cast<size_t>(columns)));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::note(const std::string& text) {
  if (quiet_) return;
  const std::lock_guard lock(mutex_);
  clear();
  say("{}\n", text);
}

}  // namespace warpgrade
