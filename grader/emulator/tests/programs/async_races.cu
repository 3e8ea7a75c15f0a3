// async_races NAME [wrong]: asynchronous copies that race with what threads do in shared memory, and their
// corrected twins. NAME's copy carries MISTAKE NAME, and the access that it races with carries ACCESS NAME.
// Prints "wrong" or "right" of the result, which a race may leave right.
#include <cuda_pipeline.h>

#include "check.h"

namespace {

constexpr int kThreads = 128, kRounds = 8, kStages = 2;

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ void init(uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ void arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void arrive_expecting(uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ void wait(uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (done == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(barrier)), "r"(parity)
                 : "memory");
  }
}
// Macros, so that a copy has the line of its use.
#define LOAD_IN_BULK(to, from, bytes, barrier)                                                         \
  asm volatile(                                                                                        \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
          shared_address(to)),                                                                         \
      "l"(from), "r"(static_cast<unsigned>(bytes)), "r"(shared_address(barrier))                       \
      : "memory")
#define STORE_IN_BULK(to, from, bytes)                                                  \
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), \
               "r"(shared_address(from)), "r"(static_cast<unsigned>(bytes))             \
               : "memory")

// Thread 0 loads the next tile as soon as it has used this one, whatever the other warps still read.
__global__ void tile_reuse(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kThreads];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) init(&full, kThreads);
  __syncthreads();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    if (threadIdx.x == 0) {
      arrive_expecting(&full, sizeof s);
      LOAD_IN_BULK(s, in + kThreads * r, sizeof s, &full);  // MISTAKE tile_reuse
    } else {
      arrive(&full);
    }
    wait(&full, r & 1);
    sum = sum * 3 + s[threadIdx.x];  // ACCESS tile_reuse
    if (!wrong) __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// The copy is used before its barrier says that it is there.
__global__ void unawaited(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kThreads];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    if (threadIdx.x == 0) {
      arrive_expecting(&full, sizeof s);
      LOAD_IN_BULK(s, in + kThreads * r, sizeof s, &full);  // MISTAKE unawaited
    }
    if (!wrong) wait(&full, r & 1);
    __syncthreads();
    sum = sum * 3 + s[threadIdx.x];  // ACCESS unawaited
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// The first warp loads into a ring of stages, the others use it. If they call a stage empty before they have read
// it, it is overwritten meanwhile.
__global__ void ring(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kStages][kThreads];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int k = 0; k < kStages; ++k) {
      init(&full[k], 1);
      init(&empty[k], kThreads / 32);
    }
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int r = 0; r < kRounds && threadIdx.x == 0; ++r) {
      const int k = r % kStages;
      if (r >= kStages) wait(&empty[k], (r / kStages - 1) & 1);
      arrive_expecting(&full[k], sizeof s[k]);
      LOAD_IN_BULK(s[k], in + kThreads * r, sizeof s[k], &full[k]);  // MISTAKE ring
    }
    return;
  }
  int sum = 0;
  const int t = threadIdx.x - 32;
  for (int r = 0; r < kRounds; ++r) {
    const int k = r % kStages;
    wait(&full[k], r / kStages & 1);
    __syncwarp();
    if (wrong && threadIdx.x % 32 == 0) arrive(&empty[k]);
    sum = sum * 3 + s[k][t];  // ACCESS ring
    __syncwarp();
    if (!wrong && threadIdx.x % 32 == 0) arrive(&empty[k]);
  }
  out[t] = sum;
}

// What a copy to global memory reads is overwritten before the copy has read it.
__global__ void store_reuse(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kThreads];
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    sum = sum * 3 + in[kThreads * r + threadIdx.x];
    s[threadIdx.x] = sum;  // ACCESS store_reuse
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      STORE_IN_BULK(out, s, sizeof s);  // MISTAKE store_reuse
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      if (!wrong) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// cp.async of each thread: its neighbour's element is used, whose copy must be awaited before the barrier.
__global__ void lanes_unawaited(const int* in, int* out, bool wrong) {
  __shared__ int s[kThreads];
  const int t = threadIdx.x, next = (t + 32) % kThreads;
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    __pipeline_memcpy_async(&s[next], in + kThreads * r + next, sizeof(int));  // MISTAKE lanes_unawaited
    __pipeline_commit();
    if (!wrong) __pipeline_wait_prior(0);
    __syncthreads();
    sum = sum * 3 + s[t];  // ACCESS lanes_unawaited
    if (wrong) __pipeline_wait_prior(0);
    __syncthreads();
  }
  out[t] = sum;
}

// Two buffers: the next tile is under way while this one is used. One barrier a round is too few.
__global__ void lanes_reuse(const int* in, int* out, bool wrong) {
  __shared__ int s[2][kThreads];
  const int t = threadIdx.x, next = (t + 32) % kThreads;
  int sum = 0;
  __pipeline_memcpy_async(&s[0][next], in + next, sizeof(int));
  __pipeline_commit();
  for (int r = 0; r < kRounds; ++r) {
    const int* from = in + kThreads * (r + 1) + next;
    int* to = &s[(r + 1) % 2][next];
    if (r + 1 < kRounds) __pipeline_memcpy_async(to, from, sizeof(int));  // MISTAKE lanes_reuse
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum = sum * 3 + s[r % 2][t];  // ACCESS lanes_reuse
    if (!wrong) __syncthreads();
  }
  out[t] = sum;
}

// --- clusters of two blocks ---

__device__ unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
__device__ unsigned in_block(const void* p, unsigned rank) {
  unsigned there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
  return there;
}
__device__ void arrive_in(uint64_t* barrier, unsigned rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(in_block(barrier, rank))
               : "memory");
}
#define LOAD_FOR_BOTH(to, from, bytes, barrier)                                                           \
  asm volatile(                                                                                           \
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], " \
      "%2, "                                                                                              \
      "[%3], %4;" ::"r"(shared_address(to)),                                                              \
      "l"(from), "r"(static_cast<unsigned>(bytes)), "r"(shared_address(barrier)), "h"((unsigned short)3)  \
      : "memory")
#define COPY_TO_BLOCK(to, from, bytes, barrier, rank)                                                       \
  asm volatile(                                                                                             \
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"( \
          in_block(to, rank)),                                                                              \
      "r"(shared_address(from)), "r"(static_cast<unsigned>(bytes)), "r"(in_block(barrier, rank))            \
      : "memory")

// The first block loads for both. If the blocks meet before they use the tile, and not behind it, the next tile comes
// while the other block still reads.
__global__ void __cluster_dims__(2, 1, 1) multicast(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kThreads];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) init(&full, 1);
  meet_cluster();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    if (threadIdx.x == 0) arrive_expecting(&full, sizeof s);
    if (threadIdx.x == 0 && rank_in_cluster() == 0)
      LOAD_FOR_BOTH(s, in + kThreads * r, sizeof s, &full);  // MISTAKE multicast
    wait(&full, r & 1);
    if (wrong) meet_cluster();
    sum = sum * 3 + s[threadIdx.x];  // ACCESS multicast
    if (!wrong) meet_cluster();
  }
  if (rank_in_cluster() == 1) out[threadIdx.x] = sum;
  meet_cluster();
}

// The same in a ring of stages: the warps of both blocks tell the first block that a stage is empty.
__global__ void __cluster_dims__(2, 1, 1) multicast_ring(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int s[kStages][kThreads];
  __shared__ uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int k = 0; k < kStages; ++k) {
      init(&full[k], 1);
      init(&empty[k], 2 * kThreads / 32);
    }
  }
  meet_cluster();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    const int k = r % kStages;
    if (threadIdx.x == 0) {
      arrive_expecting(&full[k], sizeof s[k]);
      if (rank_in_cluster() == 0) {
        if (r >= kStages) wait(&empty[k], (r / kStages - 1) & 1);
        LOAD_FOR_BOTH(s[k], in + kThreads * r, sizeof s[k], &full[k]);  // MISTAKE multicast_ring
      }
    }
    __syncwarp();
    wait(&full[k], r / kStages & 1);
    if (wrong && threadIdx.x % 32 == 0) arrive_in(&empty[k], 0);
    sum = sum * 3 + s[k][threadIdx.x];  // ACCESS multicast_ring
    __syncwarp();
    if (!wrong && threadIdx.x % 32 == 0) arrive_in(&empty[k], 0);
  }
  if (rank_in_cluster() == 1) out[threadIdx.x] = sum;
  meet_cluster();
}

// Each block sends its tile to the other one, and gets that one's.
__global__ void __cluster_dims__(2, 1, 1) between_blocks(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int mine[kThreads], got[kThreads];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  if (t == 0) init(&full, 1);
  meet_cluster();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    mine[t] = in[kThreads * r + t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      arrive_expecting(&full, sizeof got);
      COPY_TO_BLOCK(got, mine, sizeof got, &full, rank_in_cluster() ^ 1);  // MISTAKE between_blocks
    }
    wait(&full, r & 1);
    if (wrong) meet_cluster();
    sum = sum * 3 + got[t];  // ACCESS between_blocks
    if (!wrong) meet_cluster();
  }
  if (rank_in_cluster() == 1) out[t] = sum;
  meet_cluster();
}

// What is sent is overwritten before anybody has told that it has come.
__global__ void __cluster_dims__(2, 1, 1) sent_tile(const int* in, int* out, bool wrong) {
  __shared__ alignas(128) int mine[kThreads], got[2][kThreads];
  __shared__ uint64_t full;
  const int t = threadIdx.x;
  if (t == 0) init(&full, 1);
  meet_cluster();
  int sum = 0;
  for (int r = 0; r < kRounds; ++r) {
    mine[t] = in[kThreads * r + t];  // ACCESS sent_tile
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
      arrive_expecting(&full, sizeof mine);
      COPY_TO_BLOCK(got[r % 2], mine, sizeof mine, &full, rank_in_cluster() ^ 1);  // MISTAKE sent_tile
    }
    if (wrong) meet_cluster();
    wait(&full, r & 1);
    sum = sum * 3 + got[r % 2][t];
    if (!wrong) meet_cluster();
  }
  if (rank_in_cluster() == 1) out[t] = sum;
  meet_cluster();
}

using Kernel = void (*)(const int*, int*, bool);

}  // namespace

int main(int argc, char** argv) {
  const std::pair<const char*, Kernel> kernels[] = {{"tile_reuse", tile_reuse},
                                                    {"unawaited", unawaited},
                                                    {"ring", ring},
                                                    {"store_reuse", store_reuse},
                                                    {"lanes_unawaited", lanes_unawaited},
                                                    {"lanes_reuse", lanes_reuse},
                                                    {"multicast", multicast},
                                                    {"multicast_ring", multicast_ring},
                                                    {"between_blocks", between_blocks},
                                                    {"sent_tile", sent_tile}};
  Managed<int> in(kThreads * kRounds), out(kThreads);
  for (int k = 0; k < kThreads * kRounds; ++k) in[size_t(k)] = k * 7 % 101;
  const bool wrong = argc > 2 && !std::strcmp(argv[2], "wrong");
  for (const auto& [name, kernel] : kernels) {
    if (argc > 1 && std::strcmp(argv[1], name)) continue;
    const bool of_clusters =
        kernel == multicast || kernel == multicast_ring || kernel == between_blocks || kernel == sent_tile;
    kernel<<<of_clusters ? 2 : 1, kernel == ring ? kThreads + 32 : kThreads>>>(in.data, out.data, wrong);
    CHECK_CUDA(cudaDeviceSynchronize());
    bool same = true;
    for (int t = 0; t < kThreads; ++t) {
      int sum = 0;
      for (int r = 0; r < kRounds; ++r) sum = sum * 3 + in[size_t(kThreads * r + t)];
      same &= sum == out[size_t(t)];
    }
    if (wrong) std::puts(same ? "right" : "wrong");
    if (!wrong) expect(same, name);
  }
  return g_failures;
}
