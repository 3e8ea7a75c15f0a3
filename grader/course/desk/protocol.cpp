#include "course/desk/protocol.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json.h"
#include "base/process.h"

namespace warpgrade::desk {
using nlohmann::json;

namespace {

constexpr std::chrono::seconds kWrite{30};
constexpr std::chrono::milliseconds kLook{100};  // how soon Ctrl-C is noticed

// How deep a line's objects may stand in each other: ours have four levels.
constexpr int kDeepest = 12;

std::optional<json> parsed(const std::string& line) {
  bool deep = false;
  const json value = json::parse(
      line,
      [&](int depth, json::parse_event_t, json&) {
        deep = deep || depth > kDeepest;
        return !deep;
      },
      false);
  if (deep || !value.is_object()) return std::nullopt;
  return value;
}

}  // namespace

// Reads what there is; false: nothing has come by `until`.
bool Channel::fill(Clock::time_point until) {
  for (;;) {
    if (interruptible_) throw_if_interrupted();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd ready{in_, POLLIN, 0};
    const auto wait = std::clamp(left, std::chrono::milliseconds(0), kLook);
    if (poll(&ready, 1, static_cast<int>(wait.count())) <= 0) {
      if (left <= std::chrono::milliseconds(0)) return false;
      continue;
    }
    char chunk[65536];
    const ssize_t n = read(in_, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) throw ChannelError(ChannelError::Kind::kEnded, "the other side has closed the connection");
    buffer_.append(chunk, static_cast<std::size_t>(n));
    return true;
  }
}

std::optional<json> Channel::next(Clock::time_point until) {
  for (;;) {
    const std::size_t end = buffer_.find('\n');
    if (end != std::string::npos ? end > most_line_ : buffer_.size() > most_line_)
      throw ChannelError(ChannelError::Kind::kTooLong,
                         fmt::format("a line of more than {} bytes", most_line_));
    if (end != std::string::npos) {
      const auto line = parsed(buffer_.substr(0, end));
      buffer_.erase(0, end + 1);
      if (!line) throw ChannelError(ChannelError::Kind::kMalformed, "a line that is not a JSON object");
      return line;
    }
    if (!fill(until)) return std::nullopt;
  }
}

std::string Channel::bytes(std::size_t count, Clock::time_point until) {
  while (buffer_.size() < count) {
    if (!fill(until))
      throw ChannelError(ChannelError::Kind::kTooSlow,
                         fmt::format("only {} of {} bytes came in time", buffer_.size(), count));
  }
  std::string taken = buffer_.substr(0, count);
  buffer_.erase(0, count);
  return taken;
}

void Channel::send(const json& line) {
  send_bytes(json_text(line) + "\n");
}

void Channel::send_bytes(const std::string& bytes) {
  auto until = Clock::now() + kWrite;
  for (std::size_t done = 0; done < bytes.size();) {
    pollfd ready{out_, POLLOUT, 0};
    if (poll(&ready, 1, static_cast<int>(kLook.count())) <= 0) {
      if (Clock::now() > until)
        throw ChannelError(ChannelError::Kind::kTooSlow, "the other side does not read what is sent");
      continue;
    }
    if ((ready.revents & (POLLERR | POLLNVAL)) != 0)
      throw ChannelError(ChannelError::Kind::kEnded, "the other side has closed the connection");
    // What a pipe surely takes at once: a larger write would block beyond the time limit.
    const ssize_t n = write(out_, bytes.data() + done, std::min<std::size_t>(bytes.size() - done, 4096));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) throw ChannelError(ChannelError::Kind::kEnded, "the other side has closed the connection");
    done += static_cast<std::size_t>(n);
    until = Clock::now() + kWrite;
  }
}

std::string versions_text(std::int64_t oldest, std::int64_t newest) {
  return oldest == newest ? fmt::format("version {}", newest)
                          : fmt::format("versions {} to {}", oldest, newest);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::int64_t> whole_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

}  // namespace warpgrade::desk
