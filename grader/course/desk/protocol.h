// What a student's program and the desk say to each other: JSON lines, and an archive whose length the line
// before it tells. protocol.md here is its specification. Both sides treat what arrives as hostile: a line
// and an archive have a bound, and each read and write a time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

namespace warpgrade::desk {

// The versions that this program speaks, on either side.
inline constexpr int kProtocol = 1, kOldestProtocol = 1;
inline constexpr std::size_t kMostAskBytes = 4096;         // a line to the desk
inline constexpr std::size_t kMostTellBytes = 256 << 10;   // a line from the desk
inline constexpr std::size_t kMostArchiveBytes = 4 << 20;  // a submission, packed
inline constexpr std::size_t kMostPageBytes = 16 << 20;    // a feedback page, packed

// The other side broke the protocol, took too long, or is gone.
class ChannelError : public std::runtime_error {
 public:
  enum class Kind { kEnded, kTooLong, kTooSlow, kMalformed };
  ChannelError(Kind why, const std::string& what) : std::runtime_error(what), kind(why) {}
  Kind kind;
};

// Two descriptors, which stay the caller's.
class Channel {
 public:
  using Clock = std::chrono::steady_clock;
  Channel(int input, int output, std::size_t most_line) : in_(input), out_(output), most_line_(most_line) {}

  // The next line, a JSON object; nothing when none has come by `until`. Throws ChannelError: the other side
  // is gone, the line is too long or no JSON object; Interrupted after Ctrl-C.
  std::optional<nlohmann::json> next(Clock::time_point until);
  // Exactly so many bytes. Throws ChannelError.
  std::string bytes(std::size_t count, Clock::time_point until);
  // After Ctrl-C the last words are still exchanged.
  void outlive_interrupt() { interruptible_ = false; }
  // Throws ChannelError where the other side reads nothing for half a minute, or has closed the connection.
  void send(const nlohmann::json& line);
  void send_bytes(const std::string& bytes);

 private:
  bool fill(Clock::time_point until);

  int in_, out_;
  std::size_t most_line_;
  bool interruptible_ = true;
  std::string buffer_;
};

// "version 3", "versions 3 to 5".
std::string versions_text(std::int64_t oldest, std::int64_t newest);

// Fields of an object that came from outside; of another kind: as if absent.
std::string text_of(const nlohmann::json& object, const char* key);
std::optional<std::int64_t> whole_of(const nlohmann::json& object, const char* key);

}  // namespace warpgrade::desk
