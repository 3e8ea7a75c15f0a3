#include "course/desk/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/process.h"
#include "base/text.h"

namespace warpgrade::desk {
using nlohmann::json;

namespace {

using Clock = Channel::Clock;
constexpr std::chrono::seconds kHello{120};  // a person may have to type a passphrase
constexpr std::chrono::seconds kSilence{60};

[[noreturn]] void no_desk(const Address& address, int exit_code) {
  throw NoDesk(
      "no desk answered at {0} (account {1}; ssh ended with {2}; its message is above).\n"
      "Ask your instructor: is {0} the host of the course's desk, is {1} its account, and does it have your "
      "public key? The key is what `cat ~/.ssh/id_ed25519.pub` shows; `ssh-keygen -t ed25519` makes one",
      address.host, address.account, exit_code);
}

// Words of a command, split at spaces.
std::vector<std::string> ssh_command() {
  const char* named = std::getenv("WARPGRADE_SSH");
  std::istringstream words(named != nullptr && *named != '\0' ? named : "ssh");
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  if (command.empty()) command.emplace_back("ssh");
  return command;
}

std::vector<std::string> command_for(const Address& address) {
  std::vector<std::string> command = ssh_command();
  const auto option = [&](const char* text) { command.insert(command.end(), {"-o", text}); };
  command.emplace_back("-T");
  option("ClearAllForwardings=yes");
  option("ForwardAgent=no");
  option("ForwardX11=no");
  option("RequestTTY=no");
  option("ConnectTimeout=20");
  option("ServerAliveInterval=15");
  option("ServerAliveCountMax=4");
  if (isatty(STDIN_FILENO) != 1) option("BatchMode=yes");
  if (address.port != 0) command.insert(command.end(), {"-p", std::to_string(address.port)});
  command.insert(command.end(), {"-l", address.account, "--", address.host});
  return command;
}

bool is_name(const std::string& text) {
  for (const unsigned char c : text)
    if (std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_') return false;
  return !text.empty() && text[0] != '-' && text.size() <= 253;
}

}  // namespace

Address Address::parse(const std::string& text) {
  Address address;
  std::string rest = text;
  if (const std::size_t at = rest.find('@'); at != std::string::npos) {
    address.account = rest.substr(0, at);
    rest.erase(0, at + 1);
  }
  bool sound = true;
  if (const std::size_t colon = rest.find(':'); colon != std::string::npos) {
    const std::string digits = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    sound = error == std::errc() && end == digits.data() + digits.size() && address.port > 0 &&
            address.port < 65536;
    rest.resize(colon);
  }
  address.host = rest;
  if (!sound || !is_name(address.host) || !is_name(address.account))
    throw UsageError("REMOTE: expected a host such as gpu.example.edu, or account@host:port, got '{}'",
                     plain_line(text, 100));
  return address;
}

Connection::Connection(const Address& address) {
  start(address);
  channel_ = std::make_unique<Channel>(in_, out_, kMostTellBytes);
  try {
    take_hello(address);
  } catch (const ChannelError& error) {
    const int code = end();
    if (error.kind == ChannelError::Kind::kEnded) no_desk(address, code);
    throw UsageError("{} answers, but not as a desk ({}); ask your instructor for the host's name",
                     address.host, error.what());
  } catch (...) {
    end();
    throw;
  }
}

// What the desk is, and which version of the protocol both sides speak.
void Connection::take_hello(const Address& address) {
  const auto hello = channel_->next(Clock::now() + kHello);
  if (!hello) throw UsageError("{} does not answer; try again, or tell your instructor", address.host);
  if (text_of(*hello, "tell") == "refused")
    throw Refused(text_of(*hello, "reason"),
                  plain_line(text_of(*hello, "message") + "; " + text_of(*hello, "next_step"), 600));
  if (text_of(*hello, "tell") != "hello")
    throw UsageError("{} answers, but not as a desk; ask your instructor for the host's name", address.host);
  hello_ = *hello;
  const std::int64_t newest = whole_of(hello_, "protocol").value_or(1);
  const std::int64_t oldest = whole_of(hello_, "oldest").value_or(newest);
  if (newest < kOldestProtocol || oldest > kProtocol)
    throw UsageError(
        "the desk at {} speaks {} of the protocol, and this program {}; take the program that belongs to the "
        "desk: the course's newest hand-out, or `ssh {}@{} get-client`",
        address.host, versions_text(oldest, newest), versions_text(kOldestProtocol, kProtocol),
        address.account, address.host);
  protocol_ = std::min<std::int64_t>(newest, kProtocol);
}

Connection::~Connection() {
  end();
}

// Ctrl-C is for this program, which has last words for the desk: ssh leaves it alone, since it finds
// it ignored.
void Connection::start(const Address& address) {
  std::vector<std::string> command = command_for(address);
  int input[2], output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    throw JudgeFault("the system gave no pipe for ssh");
  FileDescriptor their_input(input[0]), their_output(output[1]);
  out_ = input[1];
  in_ = output[0];
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ < 0) throw JudgeFault("cannot start ssh");
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    dup2(their_input.get(), 0);
    dup2(their_output.get(), 1);
    execvp(arguments[0], arguments.data());
    constexpr char kWords[] = "ssh cannot be started: install OpenSSH's client\n";
    if (write(2, kWords, sizeof kWords - 1) < 0) _exit(126);
    _exit(127);
  }
}

int Connection::end() {
  for (int* end : {&in_, &out_}) {
    if (*end >= 0) close(*end);
    *end = -1;
  }
  if (pid_ <= 0) return 0;
  int status = 0;
  for (int i = 0; i < 100; ++i) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    usleep(20'000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return 128 + SIGKILL;
}

void Connection::ask(json question) {
  question["protocol"] = protocol_;
  channel_->send(question);
}

json Connection::next() {
  for (;;) {
    auto line = channel_->next(Clock::now() + kSilence);
    if (!line) throw ChannelError(ChannelError::Kind::kTooSlow, "the desk does not answer");
    make_plain(*line);
    const std::string tell = text_of(*line, "tell");
    if (tell == "refused")
      throw Refused(text_of(*line, "reason"),
                    plain_line(text_of(*line, "message") + "; " + text_of(*line, "next_step"), 600));
    if (tell != "alive") return *line;
  }
}

}  // namespace warpgrade::desk
