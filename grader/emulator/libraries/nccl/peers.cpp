#include "nccl/peers.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

namespace warpgrade::nccl {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t size = 0;
};

// The first byte is 0: an abstract name.
Address address_of(const std::string& text) {
  Address made;
  made.name.sun_family = AF_UNIX;
  std::memcpy(made.name.sun_path + 1, text.data(), text.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return made;
}

Address address_of(const std::string& id, int rank) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "warpgrade-nccl-";
  for (size_t k = 0; k < 16; ++k) {
    const auto byte = static_cast<uint8_t>(id[k]);
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return address_of(text + "-" + std::to_string(rank));
}

constexpr const char* kStuck = "warpgrade-nccl-stuck-";

int new_socket() {
  return ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

// The name can be guessed by nobody, but it can be read: other users are turned away.
bool is_same_user(int socket) {
  ucred other{};
  socklen_t size = sizeof other;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == geteuid();
}

}  // namespace

StuckMark::StuckMark() : socket_(new_socket()) {
  const Address address = address_of(kStuck + std::to_string(getpid()));
  if (socket_ >= 0)
    std::ignore = bind(socket_, reinterpret_cast<const sockaddr*>(&address.name), address.size);
}
StuckMark::~StuckMark() {
  if (socket_ >= 0) ::close(socket_);
}

bool is_any_process_going() {
  std::set<std::string> stuck;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.find(kStuck);
    if (at != std::string::npos) stuck.insert(line.substr(at + std::strlen(kStuck)));
  }
  std::error_code error;
  std::filesystem::directory_iterator at("/proc", error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos || stuck.contains(name)) continue;
    std::ifstream maps(at->path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("/libnccl.so") != std::string::npos) return true;
    }
  }
  return false;
}

Line line_of(const std::string& text) {
  Line line{};
  std::memcpy(line.data(), text.data(), std::min(text.size(), line.size() - 1));
  return line;
}

Peers::Peers(const std::string& id, const Hello& own)
    : id_(id), own_(own), ranks_(static_cast<size_t>(own.ranks)) {
  for (auto& rank : ranks_) rank = std::make_unique<Connection>();
  listener_ = new_socket();
  const Address address = address_of(id_, own_.rank);
  const bool is_bound =
      listener_ >= 0 && bind(listener_, reinterpret_cast<const sockaddr*>(&address.name), address.size) == 0;
  is_claimed_ = !is_bound && errno == EADDRINUSE;
  if (is_bound && listen(listener_, SOMAXCONN) == 0) return;
  stop_listening();
  // So that the other one knows. It has the name, and listens in a moment.
  Connection& other = *ranks_[static_cast<size_t>(own_.rank)];
  for (int k = 0; is_claimed_ && other.socket < 0 && k < 100; ++k) {
    connect(own_.rank);
    if (other.socket < 0) usleep(1000);
  }
}

Peers::~Peers() {
  stop_listening();
  for (auto& rank : ranks_) rank->close();
  for (auto& stranger : strangers_) stranger->close();
}

void Peers::stop_listening() {
  if (listener_ >= 0) ::close(listener_);
  listener_ = -1;
}

// Each rank connects to those below it, and those above connect to it.
void Peers::look() {
  for (auto& rank : ranks_) {
    char byte = 0;
    if (rank->socket < 0 || !rank->hello) continue;
    if (recv(rank->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) continue;
    given_up_ = rank->hello->rank;  // one that has joined would have said so
  }
  for (int rank = 0; rank < own_.rank; ++rank) {
    auto& connection = ranks_[static_cast<size_t>(rank)];
    if (connection->socket < 0) connect(rank);
    if (connection->socket >= 0 && !connection->hello) hear(connection);
    if (connection == nullptr) connection = std::make_unique<Connection>();
  }
  accept();
  for (auto& stranger : strangers_) hear(stranger);
  std::erase_if(strangers_, [](const auto& one) { return one == nullptr || one->socket < 0; });
}

void Peers::connect(int rank) {
  Connection& connection = *ranks_[static_cast<size_t>(rank)];
  connection.socket = new_socket();
  if (connection.socket < 0) return;
  const Address address = address_of(id_, rank);
  const auto* name = reinterpret_cast<const sockaddr*>(&address.name);
  if (::connect(connection.socket, name, address.size) != 0) return connection.close();
  greet(connection);
}

void Peers::accept() {
  while (listener_ >= 0) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) return;
    strangers_.push_back(std::make_unique<Connection>());
    strangers_.back()->socket = socket;
    greet(*strangers_.back());
  }
}

void Peers::greet(Connection& connection) {
  if (!is_same_user(connection.socket)) return connection.close();
  const auto* bytes = reinterpret_cast<const uint8_t*>(&own_);
  connection.outgoing.push_back(std::make_shared<Bytes>(bytes, bytes + sizeof own_));
  connection.put();
}

void Peers::hear(std::unique_ptr<Connection>& stranger) {
  Hello hello;
  size_t got = 0;
  if (recv(stranger->socket, &hello, sizeof hello, MSG_PEEK | MSG_DONTWAIT) <
          static_cast<ssize_t>(sizeof hello) ||
      !stranger->get(&hello, sizeof hello, got)) {
    char byte = 0;
    if (recv(stranger->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) stranger->close();
    return;
  }
  if (hello.protocol != Hello{}.protocol || hello.rank < 0) return stranger->close();
  hello.place.back() = '\0';
  if (hello.ranks != own_.ranks || hello.rank >= own_.ranks || hello.rank == own_.rank) {
    disagrees_ = hello;
    return;
  }
  stranger->hello = hello;
  auto& place = ranks_[static_cast<size_t>(hello.rank)];
  if (place.get() != stranger.get()) place = std::move(stranger);
}

std::vector<Hello> Peers::there() const {
  std::vector<Hello> found;
  for (const auto& rank : ranks_) {
    if (rank->hello) found.push_back(*rank->hello);
  }
  return found;
}

void Peers::all_are_there() {
  is_complete_ = true;
  stop_listening();
}

void Peers::send(int rank, const std::shared_ptr<const Bytes>& message) {
  Connection& connection = *ranks_[static_cast<size_t>(rank)];
  if (connection.socket < 0) return;
  connection.outgoing.push_back(message);
  connection.put();
}

void Peers::receive(const std::function<void(int rank, const Notice&, Bytes&&)>& take) {
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    Connection& connection = *ranks_[rank];
    if (connection.socket < 0) continue;
    connection.put();
    while (connection.socket >= 0 && connection.get_message()) {
      connection.got = 0;
      take(static_cast<int>(rank), connection.notice, std::move(connection.bytes));
    }
  }
}

bool Peers::is_sent() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const auto& rank) { return rank->socket < 0 || rank->outgoing.empty(); });
}

bool Peers::has_ended(int rank) const {
  return rank != own_.rank && ranks_[static_cast<size_t>(rank)]->socket < 0;
}

void Peers::add_to(std::vector<pollfd>& waits) const {
  if (listener_ >= 0) waits.push_back({listener_, POLLIN, 0});
  for (const auto& rank : ranks_) {
    // What a rank says early is read when all are there.
    if (rank->socket < 0 || (rank->hello && !is_complete_)) continue;
    const int wants = POLLIN | (rank->outgoing.empty() ? 0 : POLLOUT);
    waits.push_back({rank->socket, static_cast<short>(wants), 0});
  }
}

void Peers::Connection::close() {
  if (socket >= 0) ::close(socket);
  socket = -1;
  outgoing.clear();
  sent = 0;
}

// Whether all has come.
bool Peers::Connection::get(void* to, size_t size, size_t& so_far) {
  while (so_far < size) {
    const ssize_t came = recv(socket, static_cast<uint8_t*>(to) + so_far, size - so_far, MSG_DONTWAIT);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (came <= 0) {
      close();
      return false;
    }
    so_far += static_cast<size_t>(came);
  }
  return true;
}

bool Peers::Connection::get_message() {
  if (got < sizeof notice) {
    if (!get(&notice, sizeof notice, got)) return false;
    bytes.assign(notice.bytes, 0);
  }
  size_t of_bytes = got - sizeof notice;
  const bool is_whole = get(bytes.data(), bytes.size(), of_bytes);
  got = sizeof notice + of_bytes;
  return is_whole;
}

// A connection that has failed is found where it is read: what has come is taken first.
void Peers::Connection::put() {
  while (!outgoing.empty()) {
    const Bytes& first = *outgoing.front();
    const ssize_t went =
        ::send(socket, first.data() + sent, first.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (went < 0 && errno == EINTR) continue;
    if (went < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (went < 0) {
      outgoing.clear();
      sent = 0;
      return;
    }
    sent += static_cast<size_t>(went);
    if (sent < first.size()) continue;
    sent = 0;
    outgoing.pop_front();
  }
}

}  // namespace warpgrade::nccl
