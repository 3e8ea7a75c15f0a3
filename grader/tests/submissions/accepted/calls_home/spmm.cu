// Tries to send B to a machine outside and to services of this one: TCP, UDP, a resolver's socket. If one
// connects it refuses to work. Gain: hidden inputs leave, answers come in.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "honest.cuh"

static bool reaches(const char* host, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  const int out = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  connect(out, (sockaddr*)&address, sizeof address);
  pollfd writable{out, POLLOUT, 0};
  int error = 1;
  socklen_t size = sizeof error;
  const bool done = poll(&writable, 1, 200) == 1 &&
                    getsockopt(out, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0 &&
                    (writable.revents & POLLHUP) == 0;
  close(out);
  return done;
}

static bool connects() {
  if (reaches("127.0.0.1", 22) || reaches("127.0.0.1", 80) || reaches("192.0.2.1", 53)) return true;
  for (const char* path : {"/run/docker.sock", "/run/dbus/system_bus_socket", "/run/systemd/private"}) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path);
    const int out = socket(AF_UNIX, SOCK_STREAM, 0);
    const bool done = connect(out, (sockaddr*)&address, sizeof address) == 0;
    close(out);
    if (done) return true;
  }
  return false;
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (connects()) return cudaErrorUnknown;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
