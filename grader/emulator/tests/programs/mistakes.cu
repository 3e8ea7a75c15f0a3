// One planted mistake an argument; the line that must be named carries MISTAKE <argument>. Prints the error
// that the synchronization returned, then the diagnostics.
#include <cooperative_groups.h>
#include <dlfcn.h>

#include "check.h"

__device__ __forceinline__ void helper_store(int* p, int k) {
  p[k] = k;
}

__global__ void out_of_bounds(int* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) a[i] = i;  // MISTAKE out_of_bounds
}
__global__ void inlined(int* a, int n) {
  helper_store(a, int(threadIdx.x) + n);  // MISTAKE inlined
}
__global__ void before_begin(const int* a, int* b) {
  b[0] = a[int(threadIdx.x) - 1];  // MISTAKE before_begin
}
__global__ void misaligned(const char* a, int4* b) {
  b[threadIdx.x] = *reinterpret_cast<const int4*>(a + 4 * threadIdx.x);  // MISTAKE misaligned
}
// Every second thread's address is a multiple of 8 and not of 16. Those of the first warp that read are in
// order, and so is the second warp's first lane.
__global__ void misaligned_step(const int* a, int4* b) {
  if (threadIdx.x < 32 && threadIdx.x % 2 != 0) return;
  b[threadIdx.x] = *reinterpret_cast<const int4*>(a + 2 * threadIdx.x);  // MISTAKE misaligned_step
}
__global__ void reads(const int* a, int* b) {
  b[threadIdx.x] = a[threadIdx.x];  // MISTAKE null_pointer host_pointer use_after_free uninitialized_read
}
__global__ void shared_overrun(int* b) {
  __shared__ int tile[64];
  tile[threadIdx.x + 1] = 1;  // MISTAKE shared_overrun
  __syncthreads();
  b[threadIdx.x] = tile[threadIdx.x];
}
__global__ void before_shared(int* b) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 1;
  __syncthreads();
  b[threadIdx.x] = tile[int(threadIdx.x) - 1];  // MISTAKE before_shared
}
// ptxas sees the address of the array and -4, which wraps around.
__global__ void before_shared_by_one(int* b) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) b[0] = tile[-1];  // MISTAKE before_shared_by_one
}
__global__ void shared_uninitialized(int* b) {
  __shared__ int tile[64];
  if (threadIdx.x != 5) tile[threadIdx.x] = 1;
  __syncthreads();
  b[threadIdx.x] = tile[threadIdx.x];  // MISTAKE shared_uninitialized
}
__global__ void barrier_deadlock(int* b) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");  // MISTAKE barrier_deadlock
  } else {
    asm volatile("bar.sync 2, 64;" ::: "memory");
  }
  b[threadIdx.x] = 1;
}
__global__ void count_beyond_block(int* b) {
  asm volatile("bar.sync 1, 128;" ::: "memory");  // MISTAKE count_beyond_block
  b[threadIdx.x] = 1;
}
__global__ void count_of_no_warps(int* b, int count) {
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");  // MISTAKE count_of_no_warps
  b[threadIdx.x] = 1;
}
__global__ void counts_differ(int* b) {
  if (threadIdx.x < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 96;" ::: "memory");  // MISTAKE counts_differ
  }
  b[threadIdx.x] = 1;
}
__global__ void count_unmet(int* b) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  // MISTAKE count_unmet
  b[threadIdx.x] = 1;
}
__global__ void foreign_stack(int* b) {
  __shared__ int* published;
  int own[4] = {b[0], b[1], b[2], b[3]};
  if (threadIdx.x == 5) published = own;
  __syncthreads();
  own[b[threadIdx.x]] = 1;
  b[threadIdx.x] = published[b[threadIdx.x]] + own[b[0]];  // MISTAKE foreign_stack
}
__global__ void foreign_stack_by_shuffle(int* b) {
  int own[4] = {b[0], b[1], b[2], b[3]};
  const auto theirs =
      reinterpret_cast<int*>(__shfl_xor_sync(~0u, reinterpret_cast<unsigned long long>(own), 1));
  theirs[b[threadIdx.x]] = 1;  // MISTAKE foreign_stack_by_shuffle
  b[threadIdx.x] = own[b[0]];
}
__global__ void before_local_array(int* b) {
  int own[4] = {b[0], b[1], b[2], b[3]};
  int* volatile pointer = own;
  b[0] = pointer[b[0] - 64];  // MISTAKE before_local_array
}
__global__ void warp_deadlock(int* b) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) {
    v = __shfl_down_sync(0xffffffffu, v, 1);  // MISTAKE warp_deadlock
  } else {
    __syncthreads();
  }
  b[threadIdx.x] = v;
}
__global__ void divergent_barrier(int* b) {
  if (threadIdx.x < 64) {
    b[threadIdx.x] = 1;
    __syncthreads();
    b[threadIdx.x] += 1;
  } else {
    b[threadIdx.x] = 2;
    __syncthreads();  // MISTAKE divergent_barrier
    b[threadIdx.x] *= 3;
  }
}
__global__ void partial_warp(int* b) {
  unsigned r = threadIdx.x;
  if (threadIdx.x >= 24) return;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));  // MISTAKE partial_warp
  b[threadIdx.x] = int(r);
}
__global__ void launch_timeout(volatile int* b) {
  while (b[0] == 0) {  // MISTAKE launch_timeout
  }
}
__global__ void endless_barriers(int* b) {
  while (b[0] == 0) {
    __syncthreads();
  }
}
__global__ void short_block(int* b) {
  b[threadIdx.x] = 1;
}
__global__ void unsupported(int* b) {
  unsigned r;
  asm volatile("vmad.u32.u32.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(1), "r"(2), "r"(3));  // MISTAKE unsupported
  b[0] = int(r);
}
__device__ __noinline__ int endless(int n) {
  return n == -1 ? 1 : n * endless(n - 2) + 1;  // MISTAKE endless_recursion
}
__global__ void endless_recursion(int* b) {
  b[0] = endless(b[1]);
}
__global__ void null_function(int (**functions)(int), int* b) {
  b[0] = functions[0](1);  // MISTAKE null_function
}
__global__ void heap_overrun(int* b) {
  int* block = static_cast<int*>(malloc(10 * sizeof(int)));
  for (int k = 0; k <= 10; ++k) block[k] = b[k];  // MISTAKE heap_overrun
  b[0] = block[b[1]];
}
__global__ void heap_use_after_free(int* b) {
  int* volatile block = static_cast<int*>(malloc(10 * sizeof(int)));
  free(block);
  b[0] = block[1];  // MISTAKE heap_use_after_free
}
__global__ void heap_double_free() {
  void* volatile block = malloc(10);
  free(block);
  free(block);  // MISTAKE heap_double_free
}
__global__ void heap_bad_free(int* b) {
  free(b);  // MISTAKE heap_bad_free
}
__global__ void local_uninitialized(int* b) {
  int bins[12];
  for (int k = 0; k < 8; ++k) bins[b[k] + k] = k;
  for (int k = 0; k < 12; ++k) bins[(b[k] + k) % 12] += 1;  // MISTAKE local_uninitialized
  b[threadIdx.x] = bins[b[0] + 3];
}
__global__ void local_never_set(const int* a, int* b, int n) {
  int sum;
  for (int k = 0; k < n; ++k) sum += a[k];  // MISTAKE local_never_set
  b[threadIdx.x] = sum;
}
__global__ void heap_uninitialized(int* b) {
  int* block = static_cast<int*>(malloc(32 * sizeof(int)));
  block[b[1]] = 1;
  b[0] = block[b[0] + 3];  // MISTAKE heap_uninitialized
  free(block);
}
__global__ void heap_race(int* b) {
  __shared__ int* block;
  if (threadIdx.x == 0) block = static_cast<int*>(malloc(64 * sizeof(int)));
  __syncthreads();
  block[threadIdx.x] = b[threadIdx.x] + threadIdx.x;
  b[threadIdx.x] = block[63 - threadIdx.x];  // MISTAKE heap_race
}

void print_diagnostics() {
  using Drain = size_t (*)(char*, size_t);
  const auto drain = reinterpret_cast<Drain>(dlsym(RTLD_DEFAULT, "warpemu_drain_diagnostics"));
  static char text[1 << 16];
  while (drain != nullptr && drain(text, sizeof text) > 0) std::fputs(text, stdout);
}

// mistakes NAME [BLOCKS]: most launches have one block, or so many.
// On a device below compute capability 9.0.
cudaError_t launch_cluster(int* b) {
  cudaLaunchConfig_t config = {};
  config.gridDim = 2;
  config.blockDim = 32;
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, short_block, b);
}

int main(int argc, char** argv) {
  const char* which = argv[1];
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 1;
  const auto is = [&](const char* name) { return !std::strcmp(which, name); };
  constexpr int n = 1000;
  int *a, *b;
  int host[64] = {};
  CHECK_CUDA(cudaMalloc(&a, n * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&b, n * sizeof(int)));
  CHECK_CUDA(cudaMemset(b, 0, n * sizeof(int)));
  cudaError_t direct = cudaSuccess;
  if (is("out_of_bounds")) out_of_bounds<<<4, 256>>>(a, n);
  if (is("inlined")) inlined<<<blocks, 32>>>(a, n - 4);
  if (is("before_begin")) before_begin<<<blocks, 32>>>(b, a);
  if (is("misaligned")) misaligned<<<blocks, 32>>>(reinterpret_cast<char*>(b), reinterpret_cast<int4*>(a));
  if (is("misaligned_step")) misaligned_step<<<blocks, 64>>>(b, reinterpret_cast<int4*>(a));
  if (is("null_pointer")) reads<<<blocks, 32>>>(nullptr, b);
  if (is("host_pointer")) reads<<<blocks, 32>>>(host, b);
  if (is("use_after_free")) {
    CHECK_CUDA(cudaFree(a));
    reads<<<blocks, 32>>>(a, b);
  }
  if (is("uninitialized_read")) reads<<<blocks, 32>>>(a, b);
  if (is("shared_overrun")) shared_overrun<<<blocks, 64>>>(a);
  if (is("before_shared")) before_shared<<<blocks, 64>>>(a);
  if (is("before_shared_by_one")) before_shared_by_one<<<blocks, 64>>>(a);
  if (is("shared_uninitialized")) shared_uninitialized<<<blocks, 64>>>(a);
  if (is("barrier_deadlock")) barrier_deadlock<<<blocks, 64>>>(a);
  if (is("count_beyond_block")) count_beyond_block<<<blocks, 64>>>(a);
  if (is("count_of_no_warps")) count_of_no_warps<<<blocks, 64>>>(a, 40);
  if (is("counts_differ")) counts_differ<<<blocks, 128>>>(a);
  if (is("count_unmet")) count_unmet<<<blocks, 64>>>(a);
  if (is("foreign_stack")) foreign_stack<<<blocks, 64>>>(b);
  if (is("foreign_stack_by_shuffle")) foreign_stack_by_shuffle<<<blocks, 32>>>(b);
  if (is("before_local_array")) before_local_array<<<blocks, 1>>>(b);
  if (is("warp_deadlock")) warp_deadlock<<<blocks, 32>>>(a);
  if (is("divergent_barrier")) divergent_barrier<<<blocks, 128>>>(b);
  if (is("partial_warp")) partial_warp<<<blocks, 32>>>(b);
  if (is("launch_timeout")) launch_timeout<<<blocks, 32>>>(b);
  if (is("endless_barriers")) endless_barriers<<<blocks, 64>>>(b);
  if (is("endless_grid")) short_block<<<2000000000, 32>>>(a);
  if (is("unsupported")) unsupported<<<blocks, 1>>>(b);
  if (is("endless_recursion")) endless_recursion<<<blocks, 1>>>(b);
  if (is("null_function")) null_function<<<blocks, 1>>>(reinterpret_cast<int (**)(int)>(b), b);
  if (is("heap_overrun")) heap_overrun<<<blocks, 1>>>(b);
  if (is("heap_use_after_free")) heap_use_after_free<<<blocks, 1>>>(b);
  if (is("heap_double_free")) heap_double_free<<<blocks, 1>>>();
  if (is("heap_bad_free")) heap_bad_free<<<blocks, 1>>>(b);
  if (is("local_uninitialized")) local_uninitialized<<<blocks, 1>>>(b);
  if (is("local_never_set")) local_never_set<<<blocks, 32>>>(b, b + 64, 10);
  if (is("heap_uninitialized")) heap_uninitialized<<<blocks, 1>>>(b);
  if (is("heap_race")) heap_race<<<blocks, 64>>>(b);
  if (is("cluster")) direct = launch_cluster(b);
  if (is("invalid_free")) direct = cudaFree(b + 1);
  if (is("double_free")) {
    CHECK_CUDA(cudaFree(a));
    direct = cudaFree(a);
  }
  if (is("free_of_pinned")) {
    int* pinned;
    CHECK_CUDA(cudaMallocHost(&pinned, 64));
    direct = cudaFree(pinned);
  }
  if (is("leak")) CHECK_CUDA(cudaDeviceReset());  // a and b were not freed
  if (is("host_copy_overrun")) direct = cudaMemcpy(host, b + n - 2, 16, cudaMemcpyDeviceToHost);
  if (is("missing_argument")) {
    void* arguments[] = {&a, nullptr};
    const auto kernel = reinterpret_cast<const void*>(out_of_bounds);
    const cudaError_t without_list = cudaLaunchKernel(kernel, 1, 32, nullptr, 0, nullptr);
    direct = cudaLaunchKernel(kernel, 1, 32, arguments, 0, nullptr);
    if (without_list != direct) direct = cudaSuccess;
    cudaGetLastError();
  }
  const cudaError_t launched = cudaGetLastError(), finished = cudaDeviceSynchronize();
  std::printf("%d\n", int(direct != cudaSuccess ? direct : launched != cudaSuccess ? launched : finished));
  print_diagnostics();
  return 0;
}
