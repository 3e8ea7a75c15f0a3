// NCCL with a process for each rank, after the user guide's "Examples": "Example 2: One Device per Process or Thread".
// The guide gives the id to the ranks by MPI_Bcast, this program by a pipe to processes that it forks before its first
// call of CUDA. Each rank compares what it gets with plain sums on the host. With an argument: what one rank does
// wrong, at the line of the others' call that carries MISTAKE <argument>; each prints the result that it sees.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "check.h"
#include "nccl_check.h"

int g_ranks = 0, g_rank = 0;
ncclComm_t g_comm = nullptr;
cudaStream_t g_stream = nullptr;

// Small whole numbers, which every rank knows of every other: sums are exact in each type.
template <class T>
T element(int rank, size_t k) {
  return static_cast<T>((k * 7 + static_cast<size_t>(rank) * 13 + 1) % 11);
}

using Call = std::function<ncclResult_t(const void* from, void* to)>;

// `from` and `to` elements; `want(k)` is what element k of recvbuff has to be. In place: sendbuff lies in recvbuff, or
// the other way round, `offset` elements behind its begin.
template <class T>
void expect_each(const char* what, size_t from, size_t to, const Call& call,
                 const std::function<T(size_t)>& want, long in_place = -1) {
  const size_t larger = std::max({from, to, size_t{1}});
  std::vector<T> host(larger);
  T *sent = nullptr, *got = nullptr;
  CHECK_CUDA(cudaMalloc(&sent, larger * sizeof(T)));
  for (size_t k = 0; k < from; ++k) host[k] = element<T>(g_rank, k);
  T* source = sent;
  if (in_place >= 0) {
    source = from <= to ? sent + in_place : sent;
    got = from <= to ? sent : sent + in_place;
    CHECK_CUDA(cudaMemset(sent, 0, larger * sizeof(T)));
  } else {
    CHECK_CUDA(cudaMalloc(&got, larger * sizeof(T)));
    CHECK_CUDA(cudaMemset(got, 0, larger * sizeof(T)));
  }
  CHECK_CUDA(cudaMemcpy(source, host.data(), from * sizeof(T), cudaMemcpyHostToDevice));
  CHECK_CUDA(cudaDeviceSynchronize());
  CHECK_NCCL(call(source, got));
  CHECK_CUDA(cudaStreamSynchronize(g_stream));
  CHECK_CUDA(cudaMemcpy(host.data(), got, to * sizeof(T), cudaMemcpyDeviceToHost));
  bool is_right = true;
  for (size_t k = 0; k < to; ++k) is_right = is_right && host[k] == want(k);
  expect(is_right, what);
  if (in_place < 0) CHECK_CUDA(cudaFree(got));
  CHECK_CUDA(cudaFree(sent));
}

template <class T>
T over_ranks(size_t k, T start, const std::function<T(T, T)>& join) {
  T all = start;
  for (int rank = 0; rank < g_ranks; ++rank) all = join(all, element<T>(rank, k));
  return all;
}
template <class T>
T sum(size_t k) {
  return over_ranks<T>(k, 0, [](T a, T b) { return a + b; });
}

template <class T>
void reductions(size_t n, ncclDataType_t type) {
  const auto all_reduce = [&](ncclRedOp_t op) -> Call {
    return [=](const void* from, void* to) { return ncclAllReduce(from, to, n, type, op, g_comm, g_stream); };
  };
  expect_each<T>("all-reduce", n, n, all_reduce(ncclSum), sum<T>);
  expect_each<T>("all-reduce in place", n, n, all_reduce(ncclSum), sum<T>, 0);
  expect_each<T>("product", n, n, all_reduce(ncclProd),
                 [](size_t k) { return over_ranks<T>(k, 1, [](T a, T b) { return a * b; }); });
  expect_each<T>("largest", n, n, all_reduce(ncclMax),
                 [](size_t k) { return over_ranks<T>(k, 0, [](T a, T b) { return std::max(a, b); }); });
  const int root = g_ranks - 1;
  expect_each<T>(
      "reduce", n, g_rank == root ? n : 0,
      [&](const void* from, void* to) {
        return ncclReduce(from, to, n, type, ncclSum, root, g_comm, g_stream);
      },
      sum<T>);
  for (const long in_place : {-1L, static_cast<long>(g_rank * n)})
    expect_each<T>(
        "reduce-scatter", n * g_ranks, n,
        [&](const void* from, void* to) {
          return ncclReduceScatter(from, to, n, type, ncclSum, g_comm, g_stream);
        },
        [&](size_t k) { return sum<T>(g_rank * n + k); }, in_place);
  // The factor is the rank's own, as the documentation of ncclRedOpCreatePreMulSum allows.
  T factor = static_cast<T>(g_rank + 2);
  ncclRedOp_t scaled;
  CHECK_NCCL(ncclRedOpCreatePreMulSum(&scaled, &factor, type, ncclScalarHostImmediate, g_comm));
  expect_each<T>("scaled sum", n, n, all_reduce(scaled), [](size_t k) {
    T all = 0;
    for (int rank = 0; rank < g_ranks; ++rank) all += static_cast<T>(rank + 2) * element<T>(rank, k);
    return all;
  });
  CHECK_NCCL(ncclRedOpDestroy(scaled, g_comm));
}

template <class T>
void copies(size_t n, ncclDataType_t type) {
  const int root = g_ranks / 2;
  expect_each<T>(
      "broadcast", n, n,
      [&](const void* from, void* to) { return ncclBroadcast(from, to, n, type, root, g_comm, g_stream); },
      [&](size_t k) { return element<T>(root, k); });
  for (const long in_place : {-1L, static_cast<long>(g_rank * n)})
    expect_each<T>(
        "all-gather", n, n * g_ranks,
        [&](const void* from, void* to) { return ncclAllGather(from, to, n, type, g_comm, g_stream); },
        [&](size_t k) { return element<T>(static_cast<int>(k / n), k % n); }, in_place);
}

// Sends and receives in a group: each rank gives to the next one.
template <class T>
void messages(size_t n, ncclDataType_t type) {
  const int next = (g_rank + 1) % g_ranks, before = (g_rank + g_ranks - 1) % g_ranks;
  expect_each<T>(
      "ring", n, n,
      [&](const void* from, void* to) {
        CHECK_NCCL(ncclGroupStart());
        CHECK_NCCL(ncclSend(from, n, type, next, g_comm, g_stream));
        CHECK_NCCL(ncclRecv(to, n, type, before, g_comm, g_stream));
        return ncclGroupEnd();
      },
      [&](size_t k) { return element<T>(before, k); });
  // From the first rank to the last alone: the others go on.
  if (g_ranks == 1 || (g_rank != 0 && g_rank != g_ranks - 1)) return;
  const bool sends = g_rank == 0;
  expect_each<T>(
      "message", sends ? n : 0, sends ? 0 : n,
      [&](const void* from, void* to) {
        return sends ? ncclSend(from, n, type, g_ranks - 1, g_comm, g_stream)
                     : ncclRecv(to, n, type, 0, g_comm, g_stream);
      },
      [&](size_t k) { return element<T>(0, k); });
}

int compare() {
  // The last is more than a socket keeps.
  for (const size_t n : {size_t{1}, size_t{1000}, size_t{300'001}}) {
    reductions<float>(n, ncclFloat);
    reductions<int64_t>(n, ncclInt64);
    copies<double>(n, ncclDouble);
    copies<uint8_t>(n, ncclUint8);
    messages<float>(n, ncclFloat);
  }
  CHECK_NCCL(ncclCommDestroy(g_comm));
  return g_failures;
}

// Of a null communicator nothing is destroyed.
int tell(ncclResult_t result) {
  std::printf("rank %d: result %d\n", g_rank, static_cast<int>(result));
  std::fflush(stdout);
  ncclCommDestroy(g_comm);
  return 0;
}

int run_rank(const ncclUniqueId& id, const std::string& mistake) {
  CHECK_CUDA(cudaSetDevice(g_rank));
  CHECK_CUDA(cudaStreamCreate(&g_stream));
  const bool errs = g_rank == 1;
  if (mistake == "missing" && errs) return 0;
  if (mistake == "late" && errs) sleep(11);
  if (mistake == "twice" && errs) g_rank = 0;
  const int ranks = mistake == "other_count" && errs ? g_ranks + 1 : g_ranks;
  const ncclResult_t joined = ncclCommInitRank(&g_comm, ranks, id, g_rank);  // MISTAKE init
  if (joined != ncclSuccess) return tell(joined);
  if (mistake.empty() || mistake == "late") return compare();
  float* data = nullptr;  // freed when its process ends
  CHECK_CUDA(cudaMalloc(&data, 100 * sizeof(float)));
  CHECK_CUDA(cudaMemset(data, 0, 100 * sizeof(float)));
  CHECK_CUDA(cudaDeviceSynchronize());
  const auto all_reduce = [&](size_t count) {
    return ncclAllReduce(data, data, count, ncclFloat, ncclSum, g_comm, g_stream);  // MISTAKE call
  };
  CHECK_NCCL(all_reduce(100));
  if (mistake == "killed" && errs) std::raise(SIGKILL);
  // On a GPU small messages of this kind may pass.
  if (mistake == "crossed" && g_rank < 2)
    return tell(ncclSend(data, 100, ncclFloat, 1 - g_rank, g_comm, g_stream));  // MISTAKE crossed
  if (mistake == "destroyed" && errs) return ncclCommDestroy(g_comm);
  return tell(all_reduce(mistake == "counts" && errs ? 99 : 100));
}

// The id is in names of the system as hexadecimal digits.
bool is_left_behind(const ncclUniqueId& id) {
  std::string name;
  for (int k = 0; k < 16; ++k) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<uint8_t>(id.internal[k]));
    name += digits;
  }
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    if (line.find(name) != std::string::npos) return true;
  }
  for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
    if (file.path().string().find(name) != std::string::npos) return true;
  }
  return false;
}

// The first process is rank 0, as in the guide.
int main(int argc, char** argv) {
  g_ranks = std::atoi(argv[1]);
  const std::string mistake = argc > 2 ? argv[2] : "";
  int ends[2];
  if (pipe(ends) != 0) return 101;
  for (int rank = 1; rank < g_ranks; ++rank) {
    if (fork() != 0) continue;
    g_rank = rank;
    ncclUniqueId id;
    if (read(ends[0], &id, sizeof id) != sizeof id) return 102;
    std::exit(run_rank(id, mistake));
  }
  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  for (int rank = 1; rank < g_ranks; ++rank) {
    if (write(ends[1], &id, sizeof id) != sizeof id) return 103;
  }
  int failed = run_rank(id, mistake);
  for (int status = 0; wait(&status) > 0;) failed += status == 0 || !mistake.empty() ? 0 : 1;
  expect(!is_left_behind(id), "a name of the communicator is left behind");
  return failed + g_failures;
}
