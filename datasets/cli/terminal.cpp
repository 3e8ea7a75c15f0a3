#include "terminal.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/say.h"

namespace warpgrade::datasets {

Progress terminal_progress(const std::string& what) {
  if (isatty(STDERR_FILENO) != 1) return {};
  using Clock = std::chrono::steady_clock;
  return [what, last = Clock::time_point(), begin = Clock::now()](std::uint64_t done,
                                                                  std::uint64_t total) mutable {
    const auto now = Clock::now();
    if (total == 0 || (now - last < std::chrono::milliseconds(100) && done < total)) return;
    last = now;
    if (done >= total) {
      say("\r\033[K");
      return;
    }
    constexpr int kWidth = 30;
    const double share = static_cast<double>(done) / static_cast<double>(total);
    const double elapsed = std::chrono::duration<double>(now - begin).count();
    const auto left = static_cast<std::int64_t>(share > 0 ? elapsed / share - elapsed : 0);
    const int filled = static_cast<int>(share * kWidth);
    say("\r\033[K{}{}[{}{}] {:3.0f} %  {}:{:02} left", what, what.empty() ? "" : " ",
        std::string(filled, '#'), std::string(kWidth - filled, '.'), 100 * share, left / 60, left % 60);
    std::fflush(stderr);
  };
}

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool boundary = (digits.size() - i) % 3 == 0 && i > 0 && digits[i - 1] != '-';
    if (boundary) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace warpgrade::datasets
