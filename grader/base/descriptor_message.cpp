#include "base/descriptor_message.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

namespace warpgrade {

bool send_message(int socket, const void* message, std::size_t bytes, int fd) {
  iovec part{const_cast<void*>(message), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* beside = CMSG_FIRSTHDR(&header);
    beside->cmsg_level = SOL_SOCKET;
    beside->cmsg_type = SCM_RIGHTS;
    beside->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(beside), &fd, sizeof fd);
  }
  return sendmsg(socket, &header, MSG_NOSIGNAL) >= 0;
}

}  // namespace warpgrade
