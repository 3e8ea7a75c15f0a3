#include "judge/executor/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace warpgrade::executor {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

Descriptor sealed_memory(const char* name, size_t bytes) {
  Descriptor fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) fail("cannot make shared memory");
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail("cannot seal shared memory");
  return fd;
}

void check_size(const Descriptor& fd, size_t bytes) {
  struct stat facts {};
  if (fstat(fd.get(), &facts) != 0) fail("cannot look at shared memory");
  if (static_cast<size_t>(facts.st_size) != bytes)
    throw std::runtime_error("the shared memory has " + std::to_string(facts.st_size) + " bytes, wanted " +
                             std::to_string(bytes) + ": the library and the executor differ in version");
}

// Ranges are shared in pages of 4 KiB. ARM's kernels may have larger ones.
void check_pages() {
  const long page = sysconf(_SC_PAGESIZE);
  if (page != static_cast<long>(wire::kPage))
    throw std::runtime_error("this machine's pages of memory have " + std::to_string(page) +
                             " bytes, wanted " + std::to_string(wire::kPage) +
                             ": start a kernel with pages of 4 KiB");
}

constexpr char kGreeting = 'W';

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (fd_ >= 0 && fd_ != other.fd_) close(fd_);
  fd_ = other.release();
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

int Descriptor::release() {
  return std::exchange(fd_, -1);
}

SharedMemory::SharedMemory(Descriptor calls, Descriptor window)
    : calls_fd_(std::move(calls)), window_fd_(std::move(window)) {
  check_pages();
  check_size(calls_fd_, wire::kCallBytes);
  check_size(window_fd_, wire::kWindowBytes);
  void* low = mmap(nullptr, wire::kCallBytes, PROT_READ | PROT_WRITE, MAP_SHARED, calls_fd_.get(), 0);
  if (low == MAP_FAILED) fail("cannot map the calls' memory");
  calls_ = static_cast<uint8_t*>(low);
  void* wanted = reinterpret_cast<void*>(wire::kWindowAddress);
  void* high = mmap(wanted, wire::kWindowBytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, window_fd_.get(), 0);
  if (high != wanted) {
    if (high != MAP_FAILED) munmap(high, wire::kWindowBytes);
    fail("cannot map the window of pinned memory at its address");
  }
  window_ = static_cast<uint8_t*>(high);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : calls_fd_(std::move(other.calls_fd_)),
      window_fd_(std::move(other.window_fd_)),
      calls_(std::exchange(other.calls_, nullptr)),
      window_(std::exchange(other.window_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (calls_ != nullptr) munmap(calls_, wire::kCallBytes);
  if (window_ != nullptr) munmap(window_, wire::kWindowBytes);
}

SharedMemory SharedMemory::create() {
  return SharedMemory(sealed_memory("warpgrade-calls", wire::kCallBytes),
                      sealed_memory("warpgrade-window", wire::kWindowBytes));
}

void SharedMemory::renew() {
  Descriptor calls = sealed_memory("warpgrade-calls", wire::kCallBytes);
  Descriptor window = sealed_memory("warpgrade-window", wire::kWindowBytes);
  if (mmap(calls_, wire::kCallBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, calls.get(), 0) !=
      calls_)
    fail("cannot map the calls' memory anew");
  if (mmap(window_, wire::kWindowBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
           window.get(), 0) != window_)
    fail("cannot map the window of pinned memory anew");
  calls_fd_ = std::move(calls);
  window_fd_ = std::move(window);
}

SharedMemory SharedMemory::open(Descriptor calls, Descriptor window) {
  SharedMemory memory(std::move(calls), std::move(window));
  if (memory.control().magic != wire::kMagic || memory.control().version != wire::kVersion)
    throw std::runtime_error("the executor speaks another version of the protocol");
  return memory;
}

bool send_descriptors(int socket, int calls, int window) {
  char greeting = kGreeting;
  iovec part{&greeting, 1};
  const int fds[2] = {calls, window};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fds);
  std::memcpy(CMSG_DATA(header), fds, sizeof fds);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

bool receive_descriptors(int socket, Descriptor& calls, Descriptor& window) {
  char greeting = 0;
  iovec part{&greeting, 1};
  int fds[2] = {-1, -1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || greeting != kGreeting) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof fds))
    return false;
  std::memcpy(fds, CMSG_DATA(header), sizeof fds);
  calls = Descriptor(fds[0]);
  window = Descriptor(fds[1]);
  return true;
}

void wait_for_change(std::atomic<uint32_t>& word, uint32_t value, unsigned microseconds) {
  const timespec limit{microseconds / 1'000'000, static_cast<long>(microseconds % 1'000'000) * 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, 1 << 30, nullptr, nullptr, 0);
}

bool is_closed(int socket) {
  pollfd p{socket, POLLIN, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace warpgrade::executor
