// Copies of tensors (TMA, sm_90a) with several receivers, through maps that kernels change, and in a pipeline
// with wgmma that multiplies matrices.
#include <cooperative_groups.h>
#include <cuda_fp16.h>

#include <vector>

#include "tensor_maps.h"

namespace cg = cooperative_groups;

// --- several receivers, and reductions in another block's shared memory ---

// clang-format off
__global__ void __cluster_dims__(2, 1, 1) share_tiles(const __grid_constant__ CUtensorMap map, const float* row, float* out) {
  __shared__ __align__(128) float tile[2][64];
  __shared__ __align__(128) float same_row[32];
  __shared__ uint64_t barrier;
  const unsigned rank = cg::this_cluster().block_rank();
  if (threadIdx.x == 0) prepare(&barrier, sizeof tile + sizeof same_row);
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {  // each block loads a half for both, block 1 a row for both as well
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(shared_address(tile[rank])), "l"(&map), "r"(0), "r"(int(rank) * 4), "r"(shared_address(&barrier)), "h"((unsigned short)3) : "memory");
    if (rank == 1)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
                   ::"r"(shared_address(same_row)), "l"(row), "r"(128), "r"(shared_address(&barrier)), "h"((unsigned short)3) : "memory");
  }
  wait_for(&barrier, 0);
  for (int k = int(threadIdx.x); k < 128; k += int(blockDim.x)) out[rank * 160 + k] = tile[k / 64][k % 64];
  out[rank * 160 + 128 + threadIdx.x] = same_row[threadIdx.x];
  cg::this_cluster().sync();
}

__global__ void __cluster_dims__(2, 1, 1) add_to_neighbour(int* out) {
  __shared__ __align__(128) int mine[32], sums[32];
  __shared__ uint64_t barrier;
  const unsigned rank = cg::this_cluster().block_rank();
  mine[threadIdx.x] = int(rank * 100 + threadIdx.x);
  sums[threadIdx.x] = 1000;
  if (threadIdx.x == 0) prepare(&barrier, sizeof mine);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  cg::this_cluster().sync();
  if (threadIdx.x == 0) {
    const unsigned to = shared_address(sums), at = shared_address(&barrier);
    unsigned there, signal;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(to), "r"(rank ^ 1));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(signal) : "r"(at), "r"(rank ^ 1));
    asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], 128, [%2];"
                 ::"r"(there), "r"(shared_address(mine)), "r"(signal) : "memory");
  }
  wait_for(&barrier, 0);
  out[rank * 32 + threadIdx.x] = sums[threadIdx.x];
  cg::this_cluster().sync();
}
// clang-format on

void clusters() {
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {16, 8}, {16, 4}};
  Managed<float> tensor(t.bytes() / 4), row(32), out(320);
  for (size_t k = 0; k < tensor.size; ++k) tensor[k] = float(k);
  for (int k = 0; k < 32; ++k) row[size_t(k)] = float(1000 + k);
  CUtensorMap map;
  expect(t.encode(map, tensor.data) == CUDA_SUCCESS, "a map for two blocks");
  share_tiles<<<2, 32>>>(map, row.data, out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (size_t rank = 0; rank < 2; ++rank) {
    for (size_t k = 0; k < 128; ++k) ok &= out[rank * 160 + k] == tensor[k / 16 * t.pitch(1) / 4 + k % 16];
    for (size_t k = 0; k < 32; ++k) ok &= out[rank * 160 + 128 + k] == row[k];
  }
  expect(ok, "copies to both blocks of a cluster");
  Managed<int> sums(64);
  add_to_neighbour<<<2, 32>>>(sums.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  ok = true;
  for (int k = 0; k < 64; ++k) ok &= sums[size_t(k)] == 1000 + (k < 32 ? 100 : 0) + k % 32;
  expect(ok, "a reduction in the neighbour's shared memory");
}

// --- a map that a kernel changes: other tensors of the same form ---

// clang-format off
__global__ void change_map(const __grid_constant__ CUtensorMap map, CUtensorMap* changed, const float* other, unsigned rows) {
  __shared__ __align__(128) CUtensorMap copy;
  if (threadIdx.x < 16) copy.opaque[threadIdx.x] = map.opaque[threadIdx.x];
  __syncwarp();
  const unsigned at = shared_address(&copy);
  if (threadIdx.x == 0) {
    asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at), "l"(other) : "memory");
    asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows) : "memory");
  }
  __syncwarp();
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(changed), "r"(at) : "memory");
}
__global__ void load_changed(const CUtensorMap* map, Place at, unsigned bytes, unsigned char* out) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
  load_to(map, 2, at, bytes, out);
}
// clang-format on

void changed_maps() {
  Tensor t = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {20, 12}, {8, 6}};
  Managed<float> first(t.bytes() / 4), second(t.bytes() / 4);
  for (size_t k = 0; k < second.size; ++k) second[k] = float(k) + 0.5f;
  Managed<unsigned char> out(t.box_bytes());
  CUtensorMap map, *changed;
  CHECK_CUDA(cudaMalloc(&changed, sizeof map));
  expect(t.encode(map, first.data) == CUDA_SUCCESS, "a map to change");
  change_map<<<1, 32>>>(map, changed, second.data, 9);
  load_changed<<<1, 32, t.box_bytes()>>>(changed, {{4, 5}}, t.box_bytes(), out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  t.size[1] = 9;
  bool ok = true;
  for_each_element(t, {{4, 5}}, [&](unsigned in_box, size_t in_tensor) {
    float got, want = in_tensor == ~size_t(0) ? 0.0f : second[in_tensor / 4];
    std::memcpy(&got, out.data + in_box, 4);
    ok &= got == want;
  });
  expect(ok, "a map whose address and size a kernel changed");
  CHECK_CUDA(cudaFree(changed));
}

// --- C = A B^T in tiles of 64 x 64: one thread keeps two stages of copies in flight, four warps multiply ---

constexpr int kTile = 64, kDepth = 64;  // k of a stage: 128 bytes of halves

__global__ void __launch_bounds__(128)
    multiply(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
             const __grid_constant__ CUtensorMap c, int stages) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ uint64_t full[2];
  constexpr unsigned tile_bytes = kTile * kDepth * 2;
  const int row = int(blockIdx.y) * kTile, column = int(blockIdx.x) * kTile;
  const auto issue = [&](int stage) {
    const int slot = stage % 2;
    unsigned char* at = memory + slot * 2 * tile_bytes;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full[slot])),
                 "r"(2 * tile_bytes)
                 : "memory");
    load_box(2, &a, {{stage * kDepth, row}}, at, &full[slot]);
    load_box(2, &b, {{stage * kDepth, column}}, at + tile_bytes, &full[slot]);
  };
  if (threadIdx.x == 0) {
    for (uint64_t& barrier : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int s = 0; s < 2 && s < stages; ++s) issue(s);
  }
  float d[4][8] = {};  // 32 accumulators
  for (int s = 0; s < stages; ++s) {
    wait_for(&full[s % 2], unsigned(s / 2) & 1);
    const unsigned at = shared_address(memory) + unsigned(s % 2) * 2 * tile_bytes;
    const auto describe = [](unsigned address) {
      return uint64_t(address >> 4) | uint64_t(1) << 16 | uint64_t(64) << 32 | uint64_t(1) << 62;
    };
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < kDepth / 16; ++k) {
      // clang-format off
      asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
                   "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;"
                   : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[0][4]), "+f"(d[0][5]), "+f"(d[0][6]), "+f"(d[0][7]),
                     "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]), "+f"(d[1][4]), "+f"(d[1][5]), "+f"(d[1][6]), "+f"(d[1][7]),
                     "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[2][4]), "+f"(d[2][5]), "+f"(d[2][6]), "+f"(d[2][7]),
                     "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), "+f"(d[3][4]), "+f"(d[3][5]), "+f"(d[3][6]), "+f"(d[3][7])
                   : "l"(describe(at + unsigned(k) * 32)), "l"(describe(at + tile_bytes + unsigned(k) * 32)));
      // clang-format on
    }
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
    __syncthreads();  // all have read the stage
    if (threadIdx.x == 0 && s + 2 < stages) issue(s + 2);
  }
  float* out = reinterpret_cast<float*>(memory);
  const int first = int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  for (int e = 0; e < 32; ++e)
    out[(first + e / 2 % 2 * 8) * kTile + e / 4 * 8 + int(threadIdx.x) % 4 * 2 + e % 2] = d[e / 8][e % 8];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    store_box(2, &c, {{column, row}}, out);
    end_stores();
  }
}

void product() {
  constexpr int m = 150, n = 100, k = 200;
  const Tensor ta = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {k, m}, {kDepth, kTile}, {},
                     CU_TENSOR_MAP_SWIZZLE_128B},
               tb = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, {k, n}, {kDepth, kTile}, {},
                     CU_TENSOR_MAP_SWIZZLE_128B},
               tc = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, {n, m}, {kTile, kTile}};
  Managed<__half> a(ta.bytes() / 2), b(tb.bytes() / 2);
  Managed<float> c(tc.bytes() / 4);
  const auto at = [](const Tensor& t, int row, int column) {
    return size_t(row) * t.pitch(1) / t.element + size_t(column);
  };
  for (int r = 0; r < m; ++r)
    for (int j = 0; j < k; ++j) a[at(ta, r, j)] = __float2half(float(int(bits_of(r * k + j, 1) % 9) - 4));
  for (int r = 0; r < n; ++r)
    for (int j = 0; j < k; ++j) b[at(tb, r, j)] = __float2half(float(int(bits_of(r * k + j, 2) % 9) - 4));
  CUtensorMap ma, mb, mc;
  expect(ta.encode(ma, a.data) == CUDA_SUCCESS && tb.encode(mb, b.data) == CUDA_SUCCESS &&
             tc.encode(mc, c.data) == CUDA_SUCCESS,
         "maps of a product");
  constexpr int bytes = 4 * kTile * kDepth * 2;
  CHECK_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  multiply<<<dim3((n + 63) / 64, (m + 63) / 64), 128, bytes>>>(ma, mb, mc, (k + kDepth - 1) / kDepth);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (int r = 0; r < m; ++r) {
    for (int j = 0; j < n; ++j) {
      float want = 0;
      for (int e = 0; e < k; ++e) want += __half2float(a[at(ta, r, e)]) * __half2float(b[at(tb, j, e)]);
      ok &= c[at(tc, r, j)] == want;
    }
  }
  expect(ok, "a product of matrices with copies and products of warp groups in flight");
}

int main() {
  clusters();
  changed_maps();
  product();
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
