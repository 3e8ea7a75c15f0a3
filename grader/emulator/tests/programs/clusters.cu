// Thread block clusters (sm_90): ranks, shared memory of other blocks, barriers of the cluster, remote
// arrivals at an mbarrier, launches by attribute and by __cluster_dims__. With an argument: one mistake, at
// the line that carries MISTAKE <argument>; prints the error that the program sees.
#include <cooperative_groups.h>

#include <algorithm>
#include <numeric>

#include "check.h"

namespace cg = cooperative_groups;

// A launch with clusters of `size` blocks.
struct ClusterLaunch {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};
  ClusterLaunch(dim3 grid, dim3 block, dim3 size, size_t shared = 0) {
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size.x, size.y, size.z};
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  ClusterLaunch(const ClusterLaunch&) = delete;
  template <class... Parameters, class... Arguments>
  cudaError_t operator()(void (*kernel)(Parameters...), Arguments... arguments) {
    return cudaLaunchKernelEx(&config, kernel, arguments...);
  }
};

struct Place {
  unsigned rank, blocks, index[3], size[3], cluster[3], clusters[3], grid_rank, grid_clusters;
};

__global__ void where_am_i(Place* places) {
  const cg::cluster_group cluster = cg::this_cluster();
  Place p;
  p.rank = cluster.block_rank();
  p.blocks = cluster.num_blocks();
  const dim3 index = cluster.block_index(), size = cluster.dim_blocks();
  const unsigned in_cluster[] = {index.x, index.y, index.z}, dims[] = {size.x, size.y, size.z};
  for (int k = 0; k < 3; ++k) p.index[k] = in_cluster[k], p.size[k] = dims[k];
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(p.cluster[0]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(p.cluster[1]));
  asm("mov.u32 %0, %%clusterid.z;" : "=r"(p.cluster[2]));
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(p.clusters[0]));
  asm("mov.u32 %0, %%nclusterid.y;" : "=r"(p.clusters[1]));
  asm("mov.u32 %0, %%nclusterid.z;" : "=r"(p.clusters[2]));
  p.grid_rank = cg::this_grid().cluster_rank();
  p.grid_clusters = cg::this_grid().num_clusters();
  if (threadIdx.x == 0) places[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = p;
}

void ranks(dim3 grid, dim3 size) {
  const unsigned blocks = grid.x * grid.y * grid.z;
  Managed<Place> places(blocks);
  ClusterLaunch launch(grid, 64, size);
  CHECK_CUDA(launch(where_am_i, places.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  const unsigned g[] = {grid.x, grid.y, grid.z}, s[] = {size.x, size.y, size.z};
  bool right = true;
  for (unsigned b = 0; b < blocks; ++b) {
    const unsigned id[] = {b % g[0], b / g[0] % g[1], b / g[0] / g[1]};
    const Place& p = places[b];
    unsigned rank = 0, stride = 1, grid_rank = 0, grid_stride = 1;
    for (int k = 0; k < 3; ++k) {
      right = right && p.index[k] == id[k] % s[k] && p.size[k] == s[k];
      right = right && p.cluster[k] == id[k] / s[k] && p.clusters[k] == g[k] / s[k];
      rank += id[k] % s[k] * stride;
      stride *= s[k];
      grid_rank += id[k] / s[k] * grid_stride;
      grid_stride *= g[k] / s[k];
    }
    right = right && p.rank == rank && p.blocks == stride && p.grid_rank == grid_rank &&
            p.grid_clusters == grid_stride;
  }
  expect(right, "blocks know their place in cluster and grid");
}

// The programming guide's histogram: each block of a cluster holds a part of the bins.
__global__ void cluster_histogram(int* bins, int bins_a_block, const int* input, int count) {
  extern __shared__ int part[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < bins_a_block; i += blockDim.x) part[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    int* theirs = cluster.map_shared_rank(part, input[i] / bins_a_block);
    atomicAdd(theirs + input[i] % bins_a_block, 1);
  }
  cluster.sync();
  int* own = bins + cluster.block_rank() * bins_a_block;
  for (int i = threadIdx.x; i < bins_a_block; i += blockDim.x) atomicAdd(&own[i], part[i]);
}

void histogram() {
  const int bins_a_block = 100, count = 20000;
  for (const unsigned size : {1u, 2u, 4u, 8u}) {
    const int bins = bins_a_block * static_cast<int>(size);
    Managed<int> result(bins), input(count);
    std::vector<int> want(bins);
    for (int i = 0; i < count; ++i) {
      input[i] = static_cast<int>(bits_of(i, 3) % bins);
      ++want[input[i]];
    }
    ClusterLaunch launch(16, 128, size, bins_a_block * sizeof(int));
    CHECK_CUDA(launch(cluster_histogram, result.data, bins_a_block, input.data, count));
    CHECK_CUDA(cudaDeviceSynchronize());
    expect(std::equal(want.begin(), want.end(), result.data),
           "a histogram over the shared memory of a cluster");
  }
}

// A ring: each block adds what it has to its neighbour's sum, wide loads included.
__global__ void __cluster_dims__(4, 1, 1) ring_sums(const float4* input, float* sums) {
  __shared__ float4 staged[64];
  __shared__ float total;
  cg::cluster_group cluster = cg::this_cluster();
  staged[threadIdx.x] = input[blockIdx.x * blockDim.x + threadIdx.x];
  if (threadIdx.x == 0) total = 0;
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  const float4 theirs = cluster.map_shared_rank(staged, next)[63 - threadIdx.x];
  atomicAdd(cluster.map_shared_rank(&total, next), theirs.x + theirs.y + theirs.z + theirs.w);
  cluster.sync();
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

void ring() {
  const int blocks = 12, threads = 64;
  Managed<float4> input(blocks * threads);
  Managed<float> sums(blocks);
  std::vector<float> want(blocks);
  for (int i = 0; i < blocks * threads; ++i) {
    const auto v = [i](int k) { return static_cast<float>(bits_of(4 * i + k, 5) % 64); };
    input[i] = {v(0), v(1), v(2), v(3)};
    want[i / threads] += v(0) + v(1) + v(2) + v(3);
  }
  ring_sums<<<blocks, threads>>>(input.data, sums.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(std::equal(want.begin(), want.end(), sums.data), "blocks read and add across a cluster");
}

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
__device__ unsigned map_to(unsigned address, unsigned rank) {
  unsigned mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

// Stores, loads, reductions and exchanges by 32-bit addresses; the barrier in two halves with work between
// them.
__global__ void by_address(unsigned* out) {
  __shared__ unsigned cell[32], counter;
  unsigned rank, blocks, old, value, owner;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  if (threadIdx.x == 0) counter = 0;
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  const unsigned last = blocks - 1 - rank;
  const unsigned theirs = map_to(shared_address(cell + threadIdx.x), last);
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(theirs), "r"(rank * 100 + threadIdx.x) : "memory");
  asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(map_to(shared_address(&counter), 0)),
               "r"(threadIdx.x)
               : "memory");
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(theirs));
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(map_to(theirs, (rank + 1) % blocks)));
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
  asm volatile("atom.shared::cluster.exch.b32 %0, [%1], %2;" : "=r"(old) : "r"(theirs), "r"(7u) : "memory");
  // A relaxed arrival orders nothing: the fence does.
  asm volatile("fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;" ::: "memory");
  unsigned* mine = out + (blockIdx.x * 32 + threadIdx.x) * 5;
  mine[0] = old;
  mine[1] = owner;
  mine[2] = cell[threadIdx.x];
  mine[3] = counter;
  mine[4] = value;
}

void addresses() {
  const unsigned size = 4, blocks = 8;
  Managed<unsigned> out(blocks * 32 * 5);
  ClusterLaunch launch(blocks, 32, size);
  CHECK_CUDA(launch(by_address, out.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  bool right = true;
  for (unsigned b = 0; b < blocks; ++b) {
    const unsigned rank = b % size, sum = 31 * 32 / 2 * size;
    for (unsigned t = 0; t < 32; ++t) {
      const unsigned* mine = out.data + (b * 32 + t) * 5;
      right = right && mine[0] == rank * 100 + t && mine[1] == size - 1 - rank && mine[2] == 7 &&
              mine[3] == (rank == 0 ? sum : 0) && mine[4] == (size - 1 - (rank + 1) % size) * 100 + t;
    }
  }
  expect(right, "loads, stores and atomics of shared::cluster");
}

__device__ bool phase_is_over(unsigned barrier, unsigned parity) {
  unsigned done;
  asm volatile(
      "{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, "
      "0, p; }"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Every thread of the cluster arrives at the barrier of block 0, which then reads what they left there. The
// block after it gets a whole array by a bulk copy that counts its bytes at a barrier there.
__global__ void remote_arrivals(int* out) {
  __shared__ alignas(16) int left[4 * 32], sent[64], received[64];
  __shared__ alignas(8) unsigned long long arrivals, bytes;
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), blocks = cluster.num_blocks();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) sent[i] = blockIdx.x * 1000 + i;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&arrivals)),
                 "r"(blocks * blockDim.x));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&bytes)));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(shared_address(&bytes)));
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cluster.sync();
  cluster.map_shared_rank(left, 0)[rank * 32 + threadIdx.x] = rank * 32 + threadIdx.x;
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                   map_to(shared_address(&arrivals), 0))
               : "memory");
  if (threadIdx.x == 0) {
    const unsigned next = (rank + 1) % blocks;
    asm volatile(
        "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
            map_to(shared_address(received), next)),
        "r"(shared_address(sent)), "r"(map_to(shared_address(&bytes), next))
        : "memory");
  }
  while (!phase_is_over(shared_address(&bytes), 0)) {
  }
  int sum = received[threadIdx.x] + received[threadIdx.x + 32];
  if (rank == 0) {
    while (!phase_is_over(shared_address(&arrivals), 0)) {
    }
    for (unsigned k = 0; k < blocks; ++k) sum += left[k * 32 + threadIdx.x];
  }
  out[blockIdx.x * 32 + threadIdx.x] = sum;
  cluster.sync();
}

void arrivals() {
  const int size = 4, blocks = 8;
  Managed<int> out(blocks * 32);
  ClusterLaunch launch(blocks, 32, size);
  CHECK_CUDA(launch(remote_arrivals, out.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  bool right = true;
  for (int b = 0; b < blocks; ++b) {
    const int rank = b % size, before = b - rank + (rank + size - 1) % size;
    for (int t = 0; t < 32; ++t) {
      int want = 2 * before * 1000 + t + t + 32;
      for (int k = 0; k < size && rank == 0; ++k) want += k * 32 + t;
      right = right && out[b * 32 + t] == want;
    }
  }
  expect(right, "threads arrive at an mbarrier of another block, and bulk copies land there");
}

// Blocks of a cluster take turns: what one writes to global memory the next one reads after the cluster's
// barrier.
__global__ void in_turns(int* value) {
  cg::cluster_group cluster = cg::this_cluster();
  for (unsigned turn = 0; turn < cluster.num_blocks(); ++turn) {
    if (turn == cluster.block_rank() && threadIdx.x == 0) *value = *value * 2 + 1;
    cluster.sync();
  }
}

void turns() {
  Managed<int> value(1);
  ClusterLaunch launch(8, 64, 8);
  CHECK_CUDA(launch(in_turns, value.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(value[0] == 255, "barriers of a cluster order its blocks");
}

// Some threads leave early: the barrier does not wait for them.
__global__ void leavers(int* out) {
  cg::cluster_group cluster = cg::this_cluster();
  if (cluster.block_rank() == 1 && threadIdx.x >= 32) return;
  asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

void early_returns() {
  Managed<int> out(128);
  ClusterLaunch launch(2, 64, 2);
  CHECK_CUDA(launch(leavers, out.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(std::accumulate(out.data, out.data + 128, 0) == 96, "threads that have returned are not awaited");
}

__global__ void plain(int* out) {
  out[blockIdx.x] = cg::this_cluster().num_blocks();
}

void interface() {
  Managed<int> out(32);
  int can = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&can, cudaDevAttrClusterLaunch, 0));
  expect(can == 1, "the device launches clusters");
  cudaFuncAttributes attributes;
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, ring_sums));
  expect(attributes.requiredClusterWidth == 4 && attributes.requiredClusterHeight == 1 &&
             attributes.clusterDimMustBeSet,
         "attributes of __cluster_dims__");
  ClusterLaunch uneven(3, 32, 2), sixteen(16, 32, 16), none(4, 32, 1);
  expect(uneven(plain, out.data) == cudaErrorInvalidClusterSize, "a grid that is no multiple of its cluster");
  expect(sixteen(plain, out.data) == cudaErrorInvalidClusterSize, "more than eight blocks a cluster");
  CHECK_CUDA((cudaGetLastError(), none(plain, out.data)));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] == 1, "a block is a cluster of one");
  int clusters = 0, blocks = 0;
  ClusterLaunch pairs(4, 32, 2);
  CHECK_CUDA(cudaOccupancyMaxActiveClusters(&clusters, plain, &pairs.config));
  CHECK_CUDA(cudaOccupancyMaxPotentialClusterSize(&blocks, plain, &pairs.config));
  expect(clusters > 0 && blocks == 8, "occupancy of clusters");
  CHECK_CUDA(cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK_CUDA(sixteen(plain, out.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[15] == 16, "sixteen blocks a cluster where the kernel allows them");
}

__global__ void no_such_block(int* out) {
  __shared__ int cell;
  cell = 1;
  cg::this_cluster().sync();
  out[threadIdx.x] = *cg::this_cluster().map_shared_rank(&cell, 2);  // MISTAKE no_such_block
}
__global__ void past_the_end(int* out) {
  __shared__ int cells[32];
  cg::cluster_group cluster = cg::this_cluster();
  cells[threadIdx.x] = 1;
  cluster.sync();
  const int* theirs = cluster.map_shared_rank(cells, cluster.block_rank() ^ 1);
  out[threadIdx.x] = theirs[threadIdx.x + 1];  // MISTAKE past_the_end
  cluster.sync();
}
__global__ void returned(int* out) {
  __shared__ int cells[32];
  cg::cluster_group cluster = cg::this_cluster();
  cells[threadIdx.x] = 1;
  cluster.sync();
  if (cluster.block_rank() == 0) return;
  out[threadIdx.x] = cluster.map_shared_rank(cells, 0)[threadIdx.x];  // MISTAKE returned
}
__global__ void unset(int* out) {
  __shared__ int cells[32];
  cg::cluster_group cluster = cg::this_cluster();
  if (cluster.block_rank() == 1) cells[threadIdx.x] = 1;
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] =
      cluster.map_shared_rank(cells, cluster.block_rank() ^ 1)[threadIdx.x];  // MISTAKE unset
  cluster.sync();
}
// The second warp of block 1 waits for the first one, which waits for the cluster.
__global__ void unmet(int* out) {
  const bool holds = cg::this_cluster().block_rank() == 1 && threadIdx.x >= 32;
  if (holds) asm volatile("bar.sync 1, 64;" ::: "memory");
  asm volatile("barrier.cluster.arrive;" ::: "memory");
  asm volatile("barrier.cluster.wait;" ::: "memory");  // MISTAKE unmet
  out[threadIdx.x] = 1;
}

int make(const char* mistake) {
  int* out;
  CHECK_CUDA(cudaMalloc(&out, 1024));
  const struct {
    const char* name;
    void (*kernel)(int*);
    unsigned threads;
  } known[] = {{"no_such_block", no_such_block, 32},
               {"past_the_end", past_the_end, 32},
               {"returned", returned, 32},
               {"unset", unset, 32},
               {"unmet", unmet, 64}};
  for (const auto& k : known) {
    if (std::strcmp(mistake, k.name) != 0) continue;
    ClusterLaunch launch(2, k.threads, 2);
    CHECK_CUDA(launch(k.kernel, out));
    std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
  }
  return 0;
}

// Each cluster asks for the later one's flag between two of its barriers.
__global__ void chain_of_clusters(int* flags) {
  const cg::cluster_group cluster = cg::this_cluster();
  const int c = blockIdx.x / cluster.num_blocks();
  const bool waits = blockIdx.x + cluster.num_blocks() < gridDim.x;
  for (;;) {
    const int seen = waits ? flags[c + 1] : 1;
    cluster.sync();
    if (seen != 0) break;
  }
  if (cluster.block_rank() != 0 || threadIdx.x != 0) return;
  __threadfence();
  flags[c] = 1;
}

void waiting_for_later_clusters() {
  constexpr int clusters = 4;
  Managed<int> flags(clusters);
  ClusterLaunch launch(2 * clusters, 32, 2);
  CHECK_CUDA(launch(chain_of_clusters, flags.data));
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int c = 0; c < clusters; ++c) expect(flags[c] == 1, "clusters that wait for later ones");
}

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "sm_90") != 0) return make(argv[1]);
  ranks(12, 3);
  ranks({4, 6, 2}, {2, 2, 1});
  ranks({2, 4, 4}, {1, 2, 4});
  histogram();
  ring();
  addresses();
  arrivals();
  turns();
  early_returns();
  interface();
  waiting_for_later_clusters();
  return g_failures;
}
