// The runner's side of the protocol as an attacker speaks it: what it does stands in the variable HOSTILE.
// Plain C++: it starts in a millisecond and needs neither nvcc nor a device.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "judge/protocol/protocol.h"

namespace {

using namespace warpgrade::protocol;

std::string habit;
int kept_fd = -1;  // of the last attached buffer
Command command;

bool is(const char* name) {
  return habit == name;
}

bool receive() {
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(kSocketFd, &message, 0) != static_cast<ssize_t>(sizeof command)) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_type == SCM_RIGHTS) std::memcpy(&kept_fd, CMSG_DATA(c), sizeof kept_fd);
  }
  return true;
}

void send_bytes(const void* data, std::size_t size, int flags = 0) {
  static_cast<void>(send(kSocketFd, data, size, MSG_NOSIGNAL | flags));
}

Reply reply_to(const Command& to) {
  Reply reply;
  reply.op = to.op;
  reply.sequence = to.sequence;
  return reply;
}

// The reply with eight descriptors, which nobody asked for.
void send_with_descriptors(Reply reply) {
  iovec part{&reply, sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(8 * sizeof(int));
  const int fds[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  std::memcpy(CMSG_DATA(header), fds, sizeof fds);
  static_cast<void>(sendmsg(kSocketFd, &message, MSG_NOSIGNAL));
}

// What can be done to memory that the judge maps, in one line: each word is a call that worked.
std::string harm_done() {
  std::string done;
  if (ftruncate(kept_fd, 0) == 0) done += "cut ";
  if (ftruncate(kept_fd, 1 << 30) == 0) done += "grown ";
  if (fcntl(kept_fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) done += "sealed ";
  if (mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, kept_fd, 0) != MAP_FAILED) done += "mapped-for-writing ";
  if (pwrite(kept_fd, "x", 1, 0) == 1) done += "written ";
  const std::string again = "/proc/self/fd/" + std::to_string(kept_fd);
  const int fd = open(again.c_str(), O_RDWR);
  if (fd >= 0 && mmap(nullptr, 4096, PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED) done += "opened-again ";
  return done;
}

// A report of the habit's kind into the judge's memory; its size, as claimed.
std::uint64_t write_report() {
  const char* file = std::getenv("HOSTILE_REPORT");
  std::string text;
  if (is("deep_report")) {
    text = R"({"kind":"out_of_bounds","a":)" + std::string(300'000, '[') + std::string(300'000, ']') + "}\n";
  } else if (file != nullptr) {
    text = file;
  }
  if (is("cut_report") && ftruncate(kept_fd, 0) != 0) text = "{\"kind\":\"trap\"}\n";
  static_cast<void>(!pwrite(kept_fd, text.data(), text.size(), 0));
  return is("endless_report") ? ~std::uint64_t{0} : text.size();
}

void answer_run() {
  Reply reply = reply_to(command);
  if (is("fault")) reply.status = Status::kRunnerFault;
  if (is("status")) reply.status = static_cast<Status>(77);
  if (is("nan")) reply.event_us = std::nan("");
  if (is("infinity")) reply.event_us = INFINITY;
  if (is("negative")) reply.event_us = -1;
  if (is("magic")) reply.magic = 1;
  if (is("op")) reply.op = Op::kPlan;
  if (is("throws")) {
    reply.status = Status::kException;
    std::memset(reply.message, '\xff', sizeof reply.message);  // no end, no UTF-8
    std::memcpy(reply.message, "std::runtime_error: \x1b[2J", 24);
  }
  if (is("harm")) std::snprintf(reply.message, sizeof reply.message, "%s", harm_done().c_str());
  if (is("harm")) reply.status = Status::kCudaError;
  if (is("dies")) raise(SIGSEGV);
  if (is("aborts")) std::abort();
  if (is("silent")) pause();
  if (is("short")) return send_bytes(&reply, 10);
  if (is("empty")) return send_bytes(&reply, 0);
  if (is("long")) {
    char wide[8192] = {};
    std::memcpy(wide, &reply, sizeof reply);
    return send_bytes(wide, sizeof wide);
  }
  if (is("descriptors")) return send_with_descriptors(reply);
  send_bytes(&reply, sizeof reply);
  if (is("ahead")) ++reply.sequence, send_bytes(&reply, sizeof reply);
  if (is("flood")) {
    for (int i = 0; i < 100'000; ++i) send_bytes(&reply, sizeof reply, MSG_DONTWAIT);
  }
}

}  // namespace

int main() {
  habit = std::getenv("HOSTILE") != nullptr ? std::getenv("HOSTILE") : "";
  if (is("exits_first")) return 3;
  if (is("crashes_first")) raise(SIGSEGV);
  if (is("talks_first")) {
    const Reply reply;
    send_bytes(&reply, sizeof reply);
  }
  while (receive()) {
    if (command.op == Op::kRun) {
      answer_run();
      continue;
    }
    Reply reply = reply_to(command);
    if (is("fault_first")) {
      reply.status = Status::kRunnerFault;
      std::strcpy(reply.message, "no CUDA device: forged");
    }
    if (command.op == Op::kReport) reply.bytes = write_report();
    send_bytes(&reply, sizeof reply);
  }
  return 0;
}
