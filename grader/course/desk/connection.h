// A student's side of the wire: OpenSSH's client, and what it carries.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "course/desk/protocol.h"

namespace warpgrade::desk {

// "[account@]host[:port]"; without an account `warpgrade`. Throws UsageError for what is no such name.
struct Address {
  std::string account = "warpgrade", host;
  int port = 0;  // 0: ssh's own choice
  static Address parse(const std::string& text);
  std::string text() const { return host; }
};

// A desk said no. What it said is for the student.
class Refused : public std::runtime_error {
 public:
  Refused(std::string why, const std::string& text) : std::runtime_error(text), reason(std::move(why)) {}
  std::string reason;
};

// No desk answered at all: there is none, the key is not known there, or the network is down.
class NoDesk : public UsageError {
 public:
  using UsageError::UsageError;
};

// An open connection to a desk that has said hello. $WARPGRADE_SSH is the client's command, `ssh` without it.
class Connection {
 public:
  // Throws NoDesk where no desk answers: it says what to ask the instructor for. Throws UsageError where it
  // speaks another version of the protocol, or is no desk.
  explicit Connection(const Address& address);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Channel& channel() { return *channel_; }
  const nlohmann::json& hello() const { return hello_; }

  void ask(nlohmann::json question);
  // The next line, waited for as long as the desk gives signs of life. Throws ChannelError, and Refused.
  nlohmann::json next();

 private:
  void start(const Address& address);
  void take_hello(const Address& address);
  int end();

  int pid_ = -1, in_ = -1, out_ = -1;
  std::unique_ptr<Channel> channel_;
  nlohmann::json hello_;
  std::int64_t protocol_ = kProtocol;  // the newest version that both sides speak
};

}  // namespace warpgrade::desk
