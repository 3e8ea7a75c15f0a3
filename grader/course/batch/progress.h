// One line that says what is going on, on a terminal; only the lasting notes elsewhere. Safe from
// several threads.
#pragma once

#include <mutex>
#include <string>

namespace warpgrade {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress();
  void update(const std::string& text);  // replaces the line; nothing when standard error is no terminal
  void note(const std::string& text);    // stays

 private:
  void clear();

  bool quiet_, terminal_;
  bool shown_ = false;
  std::mutex mutex_;
};

}  // namespace warpgrade
