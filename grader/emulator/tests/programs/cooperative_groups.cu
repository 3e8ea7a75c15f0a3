// Cooperative groups: tiles of several sizes, coalesced groups, reductions, and a cooperative grid's barrier.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void tiles(int* out) {
  const auto block = cg::this_thread_block();
  const auto tile8 = cg::tiled_partition<8>(block);
  const auto tile4 = cg::tiled_partition<4>(tile8);
  int v = int(threadIdx.x);
  for (int k = tile8.size() / 2; k > 0; k /= 2) v += tile8.shfl_down(v, k);
  const int largest = cg::reduce(tile4, int(threadIdx.x), cg::greater<int>());
  int odd = 0;
  if (threadIdx.x % 2) {
    const auto together = cg::coalesced_threads();
    odd = int(together.size()) * 100 + int(together.thread_rank());
  }
  block.sync();
  out[threadIdx.x] = tile8.shfl(v, 0) * 100000 + largest * 1000 + odd;
}

__global__ void whole_grid(int* data, int* out) {
  const auto grid = cg::this_grid();
  const int i = int(grid.thread_rank()), n = int(grid.size());
  data[i] = i;
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    const int next = data[(i + 1) % n];
    grid.sync();
    data[i] = next;
  }
  out[i] = data[i];
}

int main() {
  Managed<int> out(512), data(512);
  tiles<<<1, 64>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int t = 0; t < 64; ++t) {
    const int first = t / 8 * 8;
    const int sum = 8 * first + 28, odd = t % 2 ? 1600 + t % 32 / 2 : 0;
    expect(out[t] == sum * 100000 + (t / 4 * 4 + 3) * 1000 + odd, "tiles and coalesced groups");
  }
  int* pointers[] = {data.data, out.data};
  void* arguments[] = {&pointers[0], &pointers[1]};
  CHECK_CUDA(cudaLaunchCooperativeKernel(whole_grid, dim3(8), dim3(64), arguments));
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int i = 0; i < 512; ++i) expect(out[i] == (i + 3) % 512, "a barrier of the cooperative grid");
  expect(cudaLaunchCooperativeKernel(whole_grid, dim3(100000), dim3(64), arguments) ==
             cudaErrorCooperativeLaunchTooLarge,
         "a cooperative grid that does not fit");
  return g_failures;
}
