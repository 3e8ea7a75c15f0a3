// Leaves its answer in /tmp, /dev/shm, /var/tmp and the working folder, and in the name of an abstract
// socket; a later process that finds one of them refuses to work. Accepted proves that nothing outlives a
// process. Gain: answers carried from case to case.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "honest.cuh"

static const char* const kNotes[] = {"/tmp/answer", "/dev/shm/answer", "/var/tmp/answer", "answer",
                                     "/tmp/../answer"};

static bool found_notes() {
  for (const char* note : kNotes) {
    if (access(note, F_OK) == 0) return true;
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strcpy(address.sun_path + 1, "warpgrade-answer");
  const int found = socket(AF_UNIX, SOCK_STREAM, 0);
  const bool connected = connect(found, (sockaddr*)&address, offsetof(sockaddr_un, sun_path) + 17) == 0;
  close(found);
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(left, (sockaddr*)&address, offsetof(sockaddr_un, sun_path) + 17) == 0) listen(left, 4);
  return connected;
}
static const bool kFound = found_notes();  // before anything of this process can be there

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  if (kFound) return cudaErrorUnknown;
  for (const char* note : kNotes) {
    const int file = open(note, O_CREAT | O_WRONLY, 0666);
    if (file >= 0) (void)!write(file, "42", 2), close(file);
  }
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
