// Messages over a Unix socket that bring a file descriptor along.
#pragma once

#include <cstddef>

namespace warpgrade {

// One message of `bytes` bytes, with a copy of the descriptor `fd` unless that is negative. False: the other
// side is gone, or the socket takes nothing; errno says which.
bool send_message(int socket, const void* message, std::size_t bytes, int fd);

}  // namespace warpgrade
