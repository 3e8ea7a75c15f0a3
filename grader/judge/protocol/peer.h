// The answering side of the protocol: one command in, one reply out. Used by the executor and by the
// runner without one.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "judge/protocol/protocol.h"

namespace warpgrade::protocol {

// One command and the descriptor that came along, else -1. False when the judge has hung up.
inline bool receive(int socket, Command& command, int& fd) {
  fd = -1;
  iovec part{&command, sizeof command};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof command) || command.magic != kMagic) return false;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(c), sizeof fd);
  }
  return true;
}

inline Reply reply_to(const Command& command) {
  Reply reply;
  reply.op = command.op;
  reply.sequence = command.sequence;
  return reply;
}

// False when the judge has hung up.
inline bool send_reply(int socket, const Reply& reply) {
  return send(socket, &reply, sizeof reply, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof reply);
}

}  // namespace warpgrade::protocol
