// NCCL among the devices of one process. What a call does is NVIDIA's documentation of it ("NCCL API": "Collective
// Communication Functions", "Point To Point Communication Functions", "Group Calls"). Every type and operation is
// compared with a plain sum on the host, one thread for all devices and one for each. With an argument: one mistake,
// at the line that carries MISTAKE <argument>; prints the results that the program sees.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "nccl_check.h"
#if !__has_include(<nccl.h>)
extern "C" ncclResult_t ncclCommShrink(ncclComm_t, int*, int, ncclComm_t*, ncclConfig_t*, int);
#endif

#include <functional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>

#include "check.h"

using Comms = std::vector<ncclComm_t>;

int g_devices = 0;
std::vector<cudaStream_t> g_streams;
std::mt19937_64 g_random;

// --- all ranks at once: in a group of one thread, or each in a thread of its own ---
enum class Way { group, threads };

void all_ranks(Way way, const std::function<void(int)>& call) {
  if (way == Way::group) {
    CHECK_NCCL(ncclGroupStart());
    for (int rank = 0; rank < g_devices; ++rank) call(rank);
    CHECK_NCCL(ncclGroupEnd());
    return;
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < g_devices; ++rank) threads.emplace_back([&, rank] { call(rank); });
  for (std::thread& t : threads) t.join();
}

// --- elements ---
template <class T>
double number(T x) {
  if constexpr (std::is_same_v<T, __half>)
    return __half2float(x);
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __bfloat162float(x);
  else
    return static_cast<double>(x);
}
template <class T>
T element(double x) {
  if constexpr (std::is_same_v<T, __half>)
    return __float2half(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return __float2bfloat16(static_cast<float>(x));
  else
    return static_cast<T>(x);
}
// Integers wrap around; of floating point numbers an error of a few roundings is allowed.
template <class T>
bool is_near(T got, double want, int64_t exact) {
  if constexpr (std::is_integral_v<T>) return got == static_cast<T>(exact);
  const double epsilon = sizeof(T) == 8              ? 1e-15
                         : sizeof(T) == 4            ? 1e-6
                         : std::is_same_v<T, __half> ? 1e-3
                                                     : 8e-3;
  return std::fabs(number(got) - want) <= 4 * g_devices * epsilon * (1 + std::fabs(want));
}

template <class T>
struct Buffers {
  explicit Buffers(size_t count) : count(count), host(g_devices), device(g_devices) {
    for (int d = 0; d < g_devices; ++d) {
      CHECK_CUDA(cudaSetDevice(d));
      CHECK_CUDA(cudaMalloc(&device[d], (count + 1) * sizeof(T)));
      host[d].resize(count);
      for (T& x : host[d]) {
        const auto bits = static_cast<int64_t>(g_random());
        x = std::is_integral_v<T> ? static_cast<T>(bits) : element<T>(static_cast<double>(bits % 1000) / 250);
      }
      CHECK_CUDA(cudaMemcpyAsync(device[d], host[d].data(), count * sizeof(T), cudaMemcpyHostToDevice,
                                 g_streams[d]));
    }
  }
  ~Buffers() {
    for (T* p : device) cudaFree(p);
  }
  std::vector<T> fetched(int d) const {
    std::vector<T> all(count);
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(
        cudaMemcpyAsync(all.data(), device[d], count * sizeof(T), cudaMemcpyDeviceToHost, g_streams[d]));
    CHECK_CUDA(cudaStreamSynchronize(g_streams[d]));
    return all;
  }
  size_t count;
  std::vector<std::vector<T>> host;
  std::vector<T*> device;
};

constexpr ncclRedOp_t kOperations[] = {ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg};

template <class T>
bool holds_reduced(const std::vector<T>& got, const Buffers<T>& from, size_t offset, ncclRedOp_t op) {
  for (size_t k = 0; k < got.size(); ++k) {
    double want = 0;
    int64_t exact = 0;
    for (int r = 0; r < g_devices; ++r) {
      const T x = from.host[r][offset + k];
      const double value = number(x);

      int64_t bits = 0;
      if constexpr (std::is_integral_v<T>) bits = static_cast<int64_t>(x);
      const bool first = r == 0;
      const auto join = [&](auto& all, auto one, auto add, auto multiply) {
        if (first)
          all = one;
        else if (op == ncclSum || op == ncclAvg)
          all = add(all, one);
        else if (op == ncclProd)
          all = multiply(all, one);
        else if (op == ncclMax)
          all = all < one ? one : all;
        else
          all = one < all ? one : all;
      };
      join(
          want, value, [](double a, double b) { return a + b; }, [](double a, double b) { return a * b; });
      if constexpr (std::is_same_v<T, uint64_t>) {
        auto all = static_cast<uint64_t>(exact);
        join(
            all, x, [](uint64_t a, uint64_t b) { return a + b; },
            [](uint64_t a, uint64_t b) { return a * b; });
        exact = static_cast<int64_t>(all);
      } else {
        const auto add = [](int64_t a, int64_t b) {
          return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
        };
        const auto multiply = [](int64_t a, int64_t b) {
          return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
        };
        join(exact, bits, add, multiply);
      }
    }
    if (op == ncclAvg) {
      want /= g_devices;
      if constexpr (std::is_integral_v<T>)
        exact = static_cast<int64_t>(static_cast<T>(static_cast<T>(exact) / static_cast<T>(g_devices)));
    }
    if (!is_near(got[k], want, exact)) return false;
  }
  return true;
}

template <class T>
void type(const char* name, ncclDataType_t nccl, const Comms& comms, Way way) {
  const size_t block = g_random() % 300, n = static_cast<size_t>(g_devices);
  const int root = static_cast<int>(g_random() % n);
  const auto expect_all = [&](const char* what, const std::function<bool(int)>& holds) {
    for (int d = 0; d < g_devices; ++d) expect(holds(d), (std::string(what) + " of " + name).c_str());
  };
  for (const ncclRedOp_t op : kOperations) {
    const bool in_place = g_random() % 2 == 0;
    {
      Buffers<T> from(block), to(block);
      all_ranks(way, [&](int r) {
        CHECK_NCCL(ncclAllReduce(from.device[r], in_place ? from.device[r] : to.device[r], block, nccl, op,
                                 comms[r], g_streams[r]));
      });
      expect_all("ncclAllReduce",
                 [&](int d) { return holds_reduced((in_place ? from : to).fetched(d), from, 0, op); });
    }
    {
      Buffers<T> from(block), to(block);
      all_ranks(way, [&](int r) {
        CHECK_NCCL(ncclReduce(from.device[r], r == root ? to.device[r] : nullptr, block, nccl, op, root,
                              comms[r], g_streams[r]));
      });
      expect(holds_reduced(to.fetched(root), from, 0, op), (std::string("ncclReduce of ") + name).c_str());
    }
    {
      Buffers<T> from(block * n), to(block);
      all_ranks(way, [&](int r) {
        CHECK_NCCL(ncclReduceScatter(from.device[r], in_place ? from.device[r] + block * r : to.device[r],
                                     block, nccl, op, comms[r], g_streams[r]));
      });
      expect_all("ncclReduceScatter", [&](int d) {
        std::vector<T> got = (in_place ? from : to).fetched(d);
        if (in_place)
          got = {got.begin() + static_cast<long>(block * d),
                 got.begin() + static_cast<long>(block * (d + 1))};
        return holds_reduced(got, from, block * static_cast<size_t>(d), op);
      });
    }
  }
  const auto same = [](const std::vector<T>& all, size_t at, const std::vector<T>& part, size_t from,
                       size_t count) {
    return count == 0 || std::memcmp(&all[at], &part[from], count * sizeof(T)) == 0;
  };
  {
    Buffers<T> from(block), to(block);
    all_ranks(way, [&](int r) {
      CHECK_NCCL(ncclBroadcast(r == root ? from.device[r] : nullptr, to.device[r], block, nccl, root,
                               comms[r], g_streams[r]));
    });
    expect_all("ncclBroadcast", [&](int d) { return same(to.fetched(d), 0, from.host[root], 0, block); });
    all_ranks(way, [&](int r) {
      CHECK_NCCL(ncclBcast(from.device[r], block, nccl, root, comms[r], g_streams[r]));
    });
    expect_all("ncclBcast", [&](int d) { return same(from.fetched(d), 0, from.host[root], 0, block); });
  }
  {
    Buffers<T> from(block), to(block * n);
    all_ranks(way, [&](int r) {
      CHECK_NCCL(ncclAllGather(from.device[r], to.device[r], block, nccl, comms[r], g_streams[r]));
    });
    expect_all("ncclAllGather", [&](int d) {
      bool ok = true;
      for (size_t r = 0; r < n; ++r) ok &= same(to.fetched(d), r * block, from.host[r], 0, block);
      return ok;
    });
  }
  {  // a ring, with a message to oneself
    Buffers<T> from(2 * block), to(2 * block);
    const auto shift = [&](int r) {
      const int right = (r + 1) % g_devices, left = (r + g_devices - 1) % g_devices;
      CHECK_NCCL(ncclGroupStart());
      CHECK_NCCL(ncclSend(from.device[r], block, nccl, right, comms[r], g_streams[r]));
      CHECK_NCCL(ncclSend(from.device[r] + block, block, nccl, r, comms[r], g_streams[r]));
      CHECK_NCCL(ncclRecv(to.device[r], block, nccl, left, comms[r], g_streams[r]));
      CHECK_NCCL(ncclRecv(to.device[r] + block, block, nccl, r, comms[r], g_streams[r]));
      CHECK_NCCL(ncclGroupEnd());
    };
    if (g_devices > 1) {
      all_ranks(way, shift);
      expect_all("ncclSend and ncclRecv", [&](int d) {
        const int left = (d + g_devices - 1) % g_devices;
        return same(to.fetched(d), 0, from.host[left], 0, block) &&
               same(to.fetched(d), block, from.host[d], block, block);
      });
    }
  }
}

void all_types(const Comms& comms, Way way) {
  type<int8_t>("int8", ncclInt8, comms, way);
  type<uint8_t>("uint8", ncclUint8, comms, way);
  type<int32_t>("int32", ncclInt32, comms, way);
  type<uint32_t>("uint32", ncclUint32, comms, way);
  type<int64_t>("int64", ncclInt64, comms, way);
  type<uint64_t>("uint64", ncclUint64, comms, way);
  type<float>("float32", ncclFloat32, comms, way);
  type<double>("float64", ncclFloat64, comms, way);
  type<__half>("float16", ncclFloat16, comms, way);
  type<__nv_bfloat16>("bfloat16", ncclBfloat16, comms, way);
}

void blocks(const Comms& comms) {
  const size_t n = static_cast<size_t>(g_devices), block = 7;
  Buffers<int> from(block * n), to(block * n);
  all_ranks(Way::group, [&](int r) {
    CHECK_NCCL(ncclAlltoAll(from.device[r], to.device[r], block, ncclInt, comms[r], g_streams[r]));
  });
  bool ok = true;
  for (size_t d = 0; d < n; ++d) {
    const std::vector<int> got = to.fetched(static_cast<int>(d));
    for (size_t k = 0; k < block * n; ++k) ok &= got[k] == from.host[k / block][d * block + k % block];
  }
  expect(ok, "ncclAlltoAll");
  Buffers<int> all(block * n), parts(block);
  all_ranks(Way::group, [&](int r) {
    CHECK_NCCL(
        ncclGather(parts.device[r], all.device[r], block, ncclInt, 1 % g_devices, comms[r], g_streams[r]));
  });
  const std::vector<int> gathered = all.fetched(1 % g_devices);
  for (size_t k = 0; k < block * n; ++k) ok &= gathered[k] == parts.host[k / block][k % block];
  expect(ok, "ncclGather");
  Buffers<int> back(block);
  all_ranks(Way::group, [&](int r) {
    CHECK_NCCL(
        ncclScatter(all.device[r], back.device[r], block, ncclInt, 1 % g_devices, comms[r], g_streams[r]));
  });
  for (int d = 0; d < g_devices; ++d) ok &= back.fetched(d) == parts.host[d];
  expect(ok, "ncclScatter");
}

void scaled_sum(const Comms& comms) {
  Buffers<float> from(20), to(20);
  std::vector<ncclRedOp_t> ops(comms.size());
  for (int r = 0; r < g_devices; ++r) {
    float factor = static_cast<float>(r + 1) / 4;
    CHECK_NCCL(ncclRedOpCreatePreMulSum(&ops[r], &factor, ncclFloat, ncclScalarHostImmediate, comms[r]));
  }
  all_ranks(Way::group, [&](int r) {
    CHECK_NCCL(ncclAllReduce(from.device[r], to.device[r], 20, ncclFloat, ops[r], comms[r], g_streams[r]));
  });
  const std::vector<float> got = to.fetched(0);
  bool ok = true;
  for (size_t k = 0; k < 20; ++k) {
    float want = 0;
    for (int r = 0; r < g_devices; ++r) want += from.host[r][k] * static_cast<float>(r + 1) / 4;
    ok &= std::fabs(got[k] - want) < 1e-4f;
  }
  expect(ok, "a sum of scaled elements");
  for (int r = 0; r < g_devices; ++r) CHECK_NCCL(ncclRedOpDestroy(ops[r], comms[r]));
}

// Odd and even ranks become communicators, the later ranks first.
void split(const Comms& comms) {
  Comms made(comms.size());
  all_ranks(Way::group, [&](int r) { CHECK_NCCL(ncclCommSplit(comms[r], r % 2, -r, &made[r], nullptr)); });
  bool ok = true;
  for (int r = 0; r < g_devices; ++r) {
    int count = 0, rank = -1, device = -1;
    CHECK_NCCL(ncclCommCount(made[r], &count));
    CHECK_NCCL(ncclCommUserRank(made[r], &rank));
    CHECK_NCCL(ncclCommCuDevice(made[r], &device));
    ok &= count == (g_devices + 1 - r % 2) / 2 && rank == (g_devices - 1 - r) / 2 && device == r;
  }
  expect(ok, "ncclCommSplit");
  Buffers<int> numbers(1);
  all_ranks(Way::group, [&](int r) {
    CHECK_NCCL(
        ncclAllReduce(numbers.device[r], numbers.device[r], 1, ncclInt, ncclMax, made[r], g_streams[r]));
  });
  for (int r = 0; r < g_devices; ++r) {
    int want = numbers.host[r][0];
    for (int other = r % 2; other < g_devices; other += 2) want = std::max(want, numbers.host[other][0]);
    ok &= numbers.fetched(r)[0] == want;
  }
  expect(ok, "a collective of a part");
  for (ncclComm_t c : made) CHECK_NCCL(ncclCommDestroy(c));
}

enum class Between { collective, message, nothing };

// Device 0 fills memory, device 1 copies it: in streams that a call of both ranks orders, or nothing does.
void hand_over(const Comms& comms, Between between) {
  Buffers<int> filled(64), copies(64), token(1);
  for (int r = 0; r < g_devices; ++r) CHECK_CUDA(cudaStreamSynchronize(g_streams[r]));
  const size_t bytes = 64 * sizeof(int);
  CHECK_CUDA(cudaSetDevice(0));
  CHECK_CUDA(cudaMemsetAsync(filled.device[0], 1, bytes, g_streams[0]));
  if (between == Between::collective)
    all_ranks(Way::group,
              [&](int r) { CHECK_NCCL(ncclBcast(token.device[r], 1, ncclInt, 0, comms[r], g_streams[r])); });
  if (between == Between::message) {
    CHECK_NCCL(ncclGroupStart());
    CHECK_NCCL(ncclSend(token.device[0], 1, ncclInt, 1, comms[0], g_streams[0]));
    CHECK_NCCL(ncclRecv(token.device[1], 1, ncclInt, 0, comms[1], g_streams[1]));
    CHECK_NCCL(ncclGroupEnd());
  }
  CHECK_CUDA(cudaSetDevice(1));
  int *const to = copies.device[1], *const from = filled.device[0];
  CHECK_CUDA(cudaMemcpyPeerAsync(to, 1, from, 0, bytes, g_streams[1]));  // MISTAKE no_order
  expect(copies.fetched(1)[63] == 0x01010101, "memory that is handed over");
}

void refusals(const Comms& comms) {
  ncclResult_t state = ncclInternalError;
  CHECK_NCCL(ncclCommGetAsyncError(comms[0], &state));
  expect(state == ncclSuccess, "no asynchronous error");
  int version = 0;
  CHECK_NCCL(ncclGetVersion(&version));
  expect(version >= 22800, "the version");
  expect(!std::strcmp(ncclGetErrorString(ncclSuccess), "no error"), "the text of success");
}

int make(const std::string& mistake, Comms comms) {
  Buffers<float> from(100), to(100 * static_cast<size_t>(g_devices));
  ncclResult_t result = ncclSuccess, mine[16] = {};
  float** const a = from.device.data();
  float** const b = to.device.data();
  cudaStream_t* const s = g_streams.data();
  if (mistake == "missing_rank") {
    ncclGroupStart();
    for (int r = 0; r + 1 < g_devices; ++r)
      ncclAllReduce(a[r], b[r], 100, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE missing_rank
    result = ncclGroupEnd();
  } else if (mistake == "no_thread") {
    std::vector<std::thread> threads;
    for (int r = 0; r + 1 < g_devices; ++r)
      threads.emplace_back([&, r] {
        mine[r] = ncclAllReduce(a[r], b[r], 100, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE no_thread
      });
    for (std::thread& t : threads) t.join();
  } else if (mistake == "no_group") {
    for (int r = 0; r < g_devices; ++r) {
      mine[r] = ncclAllReduce(a[r], b[r], 100, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE no_group
    }
  } else if (mistake == "counts") {
    ncclGroupStart();
    ncclAllReduce(a[0], b[0], 100, ncclFloat, ncclSum, comms[0], s[0]);
    for (int r = 1; r < g_devices; ++r)
      ncclAllReduce(a[r], b[r], 99, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE counts
    result = ncclGroupEnd();
  } else if (mistake == "roots") {
    ncclGroupStart();
    for (int r = 0; r < g_devices; ++r)
      ncclBroadcast(a[r], b[r], 100, ncclFloat, r, comms[r], s[r]);  // MISTAKE roots
    result = ncclGroupEnd();
  } else if (mistake == "no_receive") {
    ncclGroupStart();
    ncclSend(a[0], 100, ncclFloat, 1, comms[0], s[0]);  // MISTAKE no_receive
    result = ncclGroupEnd();
  } else if (mistake == "sizes") {
    ncclGroupStart();
    ncclSend(a[0], 100, ncclFloat, 1, comms[0], s[0]);
    ncclRecv(b[1], 50, ncclFloat, 0, comms[1], s[1]);  // MISTAKE sizes
    result = ncclGroupEnd();
  } else if (mistake == "overrun") {
    ncclGroupStart();
    for (int r = 0; r < g_devices; ++r)
      ncclAllReduce(a[r], b[r], 102, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE overrun
    result = ncclGroupEnd();
  } else if (mistake == "wrong_device") {
    ncclGroupStart();
    for (int r = 0; r < g_devices; ++r)
      ncclAllReduce(a[0], b[r], 100, ncclFloat, ncclSum, comms[r], s[r]);  // MISTAKE wrong_device
    result = ncclGroupEnd();
  } else if (mistake == "overlap") {
    ncclGroupStart();
    for (int r = 0; r < g_devices; ++r)
      ncclAllGather(b[r], b[r], 100, ncclFloat, comms[r], s[r]);  // MISTAKE overlap
    result = ncclGroupEnd();
  } else if (mistake == "missing_init") {
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclComm_t made;
    result = ncclCommInitRank(&made, 2, id, 0);  // MISTAKE missing_init
  } else if (mistake == "no_order") {
    hand_over(comms, Between::nothing);
  } else if (mistake == "left_out") {
    result = ncclCommShrink(comms[0], nullptr, 0, nullptr, nullptr, 0);
  }
  if (result == ncclSuccess) result = mine[0];
  std::printf("result %d\n", static_cast<int>(result));
  return 0;
}

int main(int argc, char** argv) {
  CHECK_CUDA(cudaGetDeviceCount(&g_devices));
  g_streams.resize(static_cast<size_t>(g_devices));
  for (int d = 0; d < g_devices; ++d) {
    CHECK_CUDA(cudaSetDevice(d));
    CHECK_CUDA(cudaStreamCreate(&g_streams[static_cast<size_t>(d)]));
  }
  Comms comms(static_cast<size_t>(g_devices));
  CHECK_NCCL(ncclCommInitAll(comms.data(), g_devices, nullptr));
  if (argc > 1 && std::strncmp(argv[1], "seed=", 5) != 0) return make(argv[1], comms);
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1] + 5, nullptr, 10) : std::random_device{}();
  g_random.seed(seed);
  all_types(comms, Way::group);
  blocks(comms);
  scaled_sum(comms);
  if (g_devices > 1) {
    split(comms);
    hand_over(comms, Between::collective);
    hand_over(comms, Between::message);
  }
  refusals(comms);
  for (ncclComm_t c : comms) CHECK_NCCL(ncclCommDestroy(c));

  ncclUniqueId id;
  CHECK_NCCL(ncclGetUniqueId(&id));
  all_ranks(Way::threads, [&](int r) {
    CHECK_CUDA(cudaSetDevice(r));
    CHECK_NCCL(ncclCommInitRank(&comms[r], g_devices, id, r));
  });
  all_types(comms, Way::threads);
  for (ncclComm_t c : comms) CHECK_NCCL(ncclCommDestroy(c));
  if (g_failures != 0) std::printf("seed=%llu\n", static_cast<unsigned long long>(seed));
  return g_failures;
}
