// Dynamic parallelism (-rdc=true): recursion, sorting, tessellation and trees whose kernels launch kernels;
// streams, events, copies and tail launches of kernels; what the device's runtime answers. With an argument:
// `errors` (launches that are refused), or one mistake, at the line that carries MISTAKE <argument>; prints
// the error that the program sees.
#include <algorithm>
#include <string>
#include <vector>

#include "check.h"

// Every block of a grid launches a grid of its own, down to a depth.
__device__ int g_blocks_at[8];

__global__ void nest(int depth, int deepest) {
  if (threadIdx.x == 0) {
    atomicAdd(&g_blocks_at[depth], 1);
    if (depth < deepest) nest<<<2, 32>>>(depth + 1, deepest);
  }
}

void recursion() {
  nest<<<3, 64>>>(0, 4);
  CHECK_CUDA(cudaDeviceSynchronize());
  int counts[8];
  CHECK_CUDA(cudaMemcpyFromSymbol(counts, g_blocks_at, sizeof counts));
  bool ok = true;
  for (int d = 0, want = 3; d < 5; ++d, want *= 2) ok &= counts[d] == want;
  expect(ok && counts[5] == 0, "each block launches a grid of two blocks, four levels deep");
}

// Quicksort: a thread partitions, its two parts are sorted in streams of their own, small ones by selection.
constexpr int kDeepestSort = 12, kSmallSort = 24;

__device__ void selection_sort(unsigned* data, int left, int right) {
  for (int k = left; k <= right; ++k) {
    int least = k;
    for (int j = k + 1; j <= right; ++j)
      if (data[j] < data[least]) least = j;
    const unsigned t = data[k];
    data[k] = data[least];
    data[least] = t;
  }
}

__global__ void quicksort(unsigned* data, int left, int right, int depth) {
  if (depth >= kDeepestSort || right - left <= kSmallSort) {
    selection_sort(data, left, right);
    return;
  }
  int low = left, high = right;
  const unsigned pivot = data[(left + right) / 2];
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low <= high) {
      const unsigned t = data[low];
      data[low++] = data[high];
      data[high--] = t;
    }
  }
  for (int part = 0; part < 2; ++part) {
    const int begin = part == 0 ? left : low, end = part == 0 ? high : right;
    if (begin >= end) continue;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, stream>>>(data, begin, end, depth + 1);
    cudaStreamDestroy(stream);
  }
}

void sorting() {
  constexpr int n = 2000;
  Managed<unsigned> data(n);
  std::vector<unsigned> want(n);
  for (int k = 0; k < n; ++k) data[k] = want[k] = unsigned(bits_of(k, 3)) % 1000;
  quicksort<<<1, 1>>>(data.data, 0, n - 1, 0);
  CHECK_CUDA(cudaDeviceSynchronize());
  std::sort(want.begin(), want.end());
  expect(std::equal(want.begin(), want.end(), data.data), "quicksort in nested grids");
}

// A radix sort by halves: blocks count and scatter a part, the grid that is launched at the parent's tail
// sorts the two halves by the next bit.
struct Part {
  int begin, end, bit;
};

__global__ void split_by_bit(const unsigned* from, unsigned* to, Part part) {
  __shared__ int zeros, next_zero, next_one;
  if (threadIdx.x == 0) zeros = next_zero = next_one = 0;
  __syncthreads();
  for (int k = part.begin + int(threadIdx.x); k < part.end; k += int(blockDim.x)) {
    const bool is_zero = (from[k] >> part.bit & 1) == 0;
    if (is_zero) atomicAdd(&zeros, 1);
  }
  __syncthreads();
  for (int k = part.begin + int(threadIdx.x); k < part.end; k += int(blockDim.x)) {
    const bool is_zero = (from[k] >> part.bit & 1) == 0;
    const int place = is_zero ? atomicAdd(&next_zero, 1) : zeros + atomicAdd(&next_one, 1);
    to[part.begin + place] = from[k];
  }
  __syncthreads();
  if (threadIdx.x < 2 && part.bit > 0) {
    const int middle = part.begin + zeros;
    const Part half = {threadIdx.x == 0 ? part.begin : middle, threadIdx.x == 0 ? middle : part.end,
                       part.bit - 1};
    // Even of empty parts: each value ends in the same one of the two arrays.
    if (half.begin < half.end)
      split_by_bit<<<1, 64, 0, cudaStreamTailLaunch>>>(to, const_cast<unsigned*>(from), half);
  }
}

void radix() {
  constexpr int n = 500, bits = 6;
  Managed<unsigned> data(n), other(n);
  std::vector<unsigned> want(n);
  for (int k = 0; k < n; ++k) data[k] = want[k] = unsigned(bits_of(k, 5)) % (1 << bits);
  split_by_bit<<<1, 64>>>(data.data, other.data, {0, n, bits - 1});
  CHECK_CUDA(cudaDeviceSynchronize());
  std::sort(want.begin(), want.end());
  expect(std::equal(want.begin(), want.end(), data.data), "radix sort by tail launches");
}

// Curves of different numbers of points, in memory that the parent allocates and a later kernel frees.
struct Curve {
  float2 control[3];
  float2* points;
  int count;
};

__global__ void tessellate_one(Curve* curve) {
  const int k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= curve->count) return;
  const float u = float(k) / float(curve->count - 1), v = 1 - u;
  const float2* c = curve->control;
  curve->points[k] = {v * v * c[0].x + 2 * u * v * c[1].x + u * u * c[2].x,
                      v * v * c[0].y + 2 * u * v * c[1].y + u * u * c[2].y};
}

__global__ void tessellate(Curve* curves, int n) {
  const int k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= n) return;
  curves[k].count = 4 + k * 5;
  cudaMalloc(reinterpret_cast<void**>(&curves[k].points), curves[k].count * sizeof(float2));
  tessellate_one<<<(curves[k].count + 31) / 32, 32>>>(&curves[k]);
}

__global__ void sum_curves(Curve* curves, int n, double* sums) {
  const int k = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (k >= n) return;
  for (int j = 0; j < curves[k].count; ++j) sums[k] += curves[k].points[j].x + 2 * curves[k].points[j].y;
  cudaFree(curves[k].points);
}

void tessellation() {
  constexpr int n = 50;
  Managed<Curve> curves(n);
  Managed<double> sums(n);
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < 3; ++j) curves[k].control[j] = {float(k + j), float(k * j % 7)};
  }
  tessellate<<<2, 32>>>(curves.data, n);
  sum_curves<<<2, 32>>>(curves.data, n, sums.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (int k = 0; k < n; ++k) {
    double want = 0;
    for (int j = 0; j < 4 + k * 5; ++j) {
      const float u = float(j) / float(3 + k * 5), v = 1 - u;
      const float2* c = curves[k].control;
      want += v * v * c[0].x + 2 * u * v * c[1].x + u * u * c[2].x +
              2 * (v * v * c[0].y + 2 * u * v * c[1].y + u * u * c[2].y);
    }
    ok &= std::abs(sums[k] - want) < 1e-3 * (1 + std::abs(want));
  }
  expect(ok, "curves in memory that kernels allocate");
}

// A tree over points in the plane: each block of a grid splits one node's points into four and launches a
// grid of four blocks for them, with dynamic shared memory.
struct Node {
  float x, y, half;
  int begin, end, depth;
};

__device__ int g_leaves, g_points_in_leaves, g_deepest;

__global__ void split_node(const float2* from, float2* to, Node parent, bool is_root) {
  extern __shared__ int counts[];  // of four children, then where each begins
  __shared__ Node node;
  if (threadIdx.x == 0) {
    node = parent;
    if (!is_root) {  // one of the four children
      node.half /= 2;
      node.x += (blockIdx.x & 1) ? node.half : -node.half;
      node.y += (blockIdx.x & 2) ? node.half : -node.half;
      ++node.depth;
      int before = parent.begin;
      for (int k = parent.begin; k < parent.end; ++k) {
        const int child = (from[k].x >= parent.x ? 1 : 0) | (from[k].y >= parent.y ? 2 : 0);
        before += child < int(blockIdx.x) ? 1 : 0;
      }
      node.begin = before;
      node.end = before;
      while (node.end < parent.end && ((from[node.end].x >= parent.x ? 1 : 0) |
                                       (from[node.end].y >= parent.y ? 2 : 0)) == int(blockIdx.x))
        ++node.end;
    }
  }
  if (threadIdx.x < 8) counts[threadIdx.x] = 0;
  __syncthreads();
  const int points = node.end - node.begin;
  if (points <= 8 || node.depth == 6) {
    if (threadIdx.x == 0) {
      atomicAdd(&g_leaves, 1);
      atomicAdd(&g_points_in_leaves, points);
      atomicMax(&g_deepest, node.depth);
    }
    return;
  }
  const auto child_of = [&](float2 p) { return (p.x >= node.x ? 1 : 0) | (p.y >= node.y ? 2 : 0); };
  for (int k = node.begin + int(threadIdx.x); k < node.end; k += int(blockDim.x))
    atomicAdd(&counts[child_of(from[k])], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    counts[4] = node.begin;
    for (int c = 1; c < 4; ++c) counts[4 + c] = counts[3 + c] + counts[c - 1];
  }
  __syncthreads();
  for (int k = node.begin + int(threadIdx.x); k < node.end; k += int(blockDim.x))
    to[atomicAdd(&counts[4 + child_of(from[k])], 1)] = from[k];
  __syncthreads();
  if (threadIdx.x == 0)
    split_node<<<4, blockDim.x, 8 * sizeof(int)>>>(to, const_cast<float2*>(from), node, false);
}

void quadtree() {
  constexpr int n = 400;
  Managed<float2> points(n), other(n);
  for (int k = 0; k < n; ++k)
    points[k] = {float(bits_of(k, 7) % 4096) / 4096, float(bits_of(k, 8) % 4096) / 4096};
  split_node<<<1, 64, 8 * sizeof(int)>>>(points.data, other.data, {0.5f, 0.5f, 0.5f, 0, n, 0}, true);
  CHECK_CUDA(cudaDeviceSynchronize());
  int leaves, inside, deepest;
  CHECK_CUDA(cudaMemcpyFromSymbol(&leaves, g_leaves, sizeof leaves));
  CHECK_CUDA(cudaMemcpyFromSymbol(&inside, g_points_in_leaves, sizeof inside));
  CHECK_CUDA(cudaMemcpyFromSymbol(&deepest, g_deepest, sizeof deepest));
  expect(inside == n, "every point of the tree is in one leaf");
  expect(leaves % 3 == 1 && leaves > 40 && deepest >= 3 && deepest <= 6, "the tree's shape");
}

// The order of streams: x = (x + a) * b, in one stream, across two with an event, beside copies and fills.
__global__ void add_then_multiply(int* x, int a, int b) {
  x[threadIdx.x] = (x[threadIdx.x] + a) * b;
}
__global__ void add_in_grandchild(int* x, int a) {
  if (threadIdx.x == 0) add_then_multiply<<<1, 32>>>(x, a, 1);
}

__global__ void launch_in_order(int* x, int* copy) {
  if (threadIdx.x != 0) return;
  x[32 + 5] = 77;  // children see what was written before the launch
  cudaStream_t first, second;
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  add_then_multiply<<<1, 32, 0, first>>>(x, 1, 2);
  add_in_grandchild<<<1, 32, 0, first>>>(x, 3);  // complete when its own child is
  add_then_multiply<<<1, 32, 0, first>>>(x, 0, 5);
  cudaEvent_t done;
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, first);
  cudaStreamWaitEvent(second, done, 0);
  cudaMemcpyAsync(copy, x, 64 * sizeof(int), cudaMemcpyDeviceToDevice, second);
  cudaEventDestroy(done);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

void streams() {
  Managed<int> x(64), copy(64);
  for (int k = 0; k < 64; ++k) x[k] = k;
  launch_in_order<<<1, 64>>>(x.data, copy.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = copy[32 + 5] == 77;
  for (int k = 0; k < 32; ++k) ok &= copy[k] == ((k + 1) * 2 + 3) * 5 && copy[k] == x[k];
  expect(ok, "streams of a kernel keep their order, and events join them");
}

// Fills are a program of their own: on an H200 with driver 580 they succeed and write nothing.
__global__ void fill_and_copy(unsigned char* bytes) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMemsetAsync(bytes, 0x2a, 16, stream);
  cudaMemset2DAsync(bytes + 16, 16, 0x11, 4, 3, stream);
  cudaMemcpy2DAsync(bytes + 64, 4, bytes + 16, 16, 4, 3, cudaMemcpyDeviceToDevice, stream);
  cudaStreamDestroy(stream);
}

int fills() {
  Managed<unsigned char> bytes(128);
  fill_and_copy<<<1, 1>>>(bytes.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (int k = 0; k < 16; ++k) ok &= bytes[k] == 0x2a && bytes[16 + k] == (k < 4 ? 0x11 : 0);
  for (int k = 0; k < 16; ++k) ok &= bytes[64 + k] == (k < 12 ? 0x11 : 0);
  expect(ok, "kernels fill and copy memory");
  return g_failures;
}

// Tail launches: after the parent, all its other children and theirs; a loop on the device.
__global__ void note_sum(const int* x, int* sum) {
  int total = x[64];
  for (int k = 0; k < 32; ++k) total += x[k];
  *sum = total;
}
__global__ void with_tail(int* x, int* sum) {
  note_sum<<<1, 1, 0, cudaStreamTailLaunch>>>(x, sum);
  add_in_grandchild<<<1, 32>>>(x, 4);
  add_in_grandchild<<<1, 32, 0, cudaStreamFireAndForget>>>(x + 32, 1);
  x[64] += 100;  // no child touches it: they may run beside this
}

__global__ void count_down(int* left, int* turns) {
  ++*turns;
  if (--*left > 0) count_down<<<1, 1, 0, cudaStreamTailLaunch>>>(left, turns);
}

void tails() {
  Managed<int> x(65), sum(1), left(1), turns(1);
  with_tail<<<1, 1>>>(x.data, sum.data);
  left[0] = 100;
  CHECK_CUDA(cudaDeviceSynchronize());
  const bool follows = sum[0] == 32 * 4 + 100 && x[40] == 1;
  expect(follows, "a tail launch follows the parent and its children");
  if (!follows) std::printf("the sum is %d, x[0] %d, x[31] %d, x[40] %d\n", sum[0], x[0], x[31], x[40]);
  count_down<<<1, 1>>>(left.data, turns.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(left[0] == 0 && turns[0] == 100, "a kernel that launches itself at its tail, 100 times");
}

// What the runtime tells on the device.
struct Told {
  int device, count, threads, blocks, registers, version, most_threads;
  size_t pending, stack, shared;
  unsigned name_length, errors;
};

__global__ void __launch_bounds__(256) limited(char* out) {
  __shared__ char buffer[512];
  buffer[threadIdx.x] = char(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

__global__ void ask(Told* told) {
  Told t = {};
  t.errors |= cudaGetDevice(&t.device) != cudaSuccess ? 1u : 0u;
  t.errors |= cudaGetDeviceCount(&t.count) != cudaSuccess ? 2u : 0u;
  t.errors |=
      cudaDeviceGetAttribute(&t.threads, cudaDevAttrMaxThreadsPerBlock, t.device) != cudaSuccess ? 4u : 0u;
  t.errors |= cudaDeviceGetLimit(&t.pending, cudaLimitDevRuntimePendingLaunchCount) != cudaSuccess ? 8u : 0u;
  t.errors |= cudaDeviceGetLimit(&t.stack, cudaLimitStackSize) != cudaSuccess ? 16u : 0u;
  t.errors |=
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&t.blocks, limited, 256, 0) != cudaSuccess ? 32u : 0u;
  cudaFuncAttributes attributes;
  t.errors |= cudaFuncGetAttributes(&attributes, limited) != cudaSuccess ? 64u : 0u;
  t.registers = attributes.numRegs;
  t.shared = attributes.sharedSizeBytes;
  t.most_threads = attributes.maxThreadsPerBlock;
  t.errors |= cudaRuntimeGetVersion(&t.version) != cudaSuccess ? 128u : 0u;
  for (const char* name = cudaGetErrorName(cudaErrorInvalidValue); *name != '\0'; ++name) ++t.name_length;
  t.errors |= cudaGetLastError() != cudaSuccess ? 256u : 0u;
  *told = t;
}

void questions() {
  Managed<Told> told(1);
  ask<<<1, 1>>>(told.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  const Told& t = told[0];
  int threads, version, blocks;
  size_t pending, stack;
  CHECK_CUDA(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerBlock, 0));
  CHECK_CUDA(cudaRuntimeGetVersion(&version));
  CHECK_CUDA(cudaDeviceGetLimit(&pending, cudaLimitDevRuntimePendingLaunchCount));
  CHECK_CUDA(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
  CHECK_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, limited, 256, 0));
  expect(t.errors == 0, "the device's runtime answers");
  expect(t.device == 0 && t.count >= 1 && t.threads == threads, "the device");
  expect(t.version > 0 && t.version <= version, "a version of the device's runtime");
  expect(t.pending == pending && t.stack == stack, "limits as on the host");
  expect(t.blocks == blocks && t.shared == 512 && t.registers > 0 && t.most_threads == 256, "of a kernel");
  expect(t.name_length == std::string("cudaErrorInvalidValue").size(), "the name of an error");
}

// A kernel that is found through a pointer in device memory, with parameters of several sizes.
struct Mixed {
  char c;
  double d;
  short s[3];
};
__global__ void take_mixed(char c, Mixed m, float* out, bool flag, double d) {
  out[threadIdx.x] = float(c) + float(m.c) + float(m.d) + m.s[2] + (flag ? 1000 : 0) + float(d);
}
using MixedKernel = void (*)(char, Mixed, float*, bool, double);
__device__ MixedKernel g_kernel = take_mixed;

__global__ void launch_through_pointer(float* out) {
  const MixedKernel kernel = g_kernel;
  kernel<<<1, 32>>>(3, Mixed{5, 0.25, {1, 2, 7}}, out, true, 0.5);
  if (threadIdx.x == 31) take_mixed<<<1, 32>>>(1, Mixed{1, 1, {1, 1, 1}}, out + 32, false, 1);
}

void parameters() {
  Managed<float> out(64);
  launch_through_pointer<<<2, 32>>>(out.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(out[0] == 1015.75f && out[31] == 1015.75f && out[32] == 5,
         "parameters of launches through a pointer");
}

// Launches that are refused, and what the thread's last error says.
__global__ void refused(int* errors, int* x, int threads, int shared) {
  add_then_multiply<<<1, threads>>>(x, 1, 1);
  errors[0] = cudaPeekAtLastError();
  errors[1] = cudaGetLastError();
  errors[2] = cudaGetLastError();
  add_then_multiply<<<1, 32, shared>>>(x, 1, 1);
  errors[3] = cudaGetLastError();
  add_then_multiply<<<0, 32>>>(x, 1, 1);
  errors[4] = cudaGetLastError();
  limited<<<1, 512>>>(reinterpret_cast<char*>(x));
  errors[5] = cudaGetLastError();
  add_then_multiply<<<1, 32>>>(x, 1, 1);
  errors[6] = cudaGetLastError();
}

int errors() {
  Managed<int> told(8), x(512);
  refused<<<1, 1>>>(told.data, x.data, 2048, 1 << 24);
  CHECK_CUDA(cudaDeviceSynchronize());
  expect(told[0] == cudaErrorInvalidConfiguration && told[1] == told[0] && told[2] == 0, "too many threads");
  expect(told[3] == cudaErrorInvalidConfiguration, "too much shared memory");
  expect(told[4] == cudaErrorInvalidConfiguration, "a grid without blocks");
  expect(told[5] == cudaErrorInvalidConfiguration, "more threads than __launch_bounds__");
  expect(told[6] == 0 && x[0] == 1 && x[31] == 1 && x[32] == 0, "the launch that is right runs");
  return g_failures;
}

// Mistakes.
__global__ void writes_past(int* x, int n) {
  x[n + int(threadIdx.x)] = 1;  // MISTAKE child_out_of_bounds
}
__global__ void launches_writer(int* x, int n) {
  if (threadIdx.x == 3) writes_past<<<2, 32>>>(x, n);  // LAUNCH child_out_of_bounds
}
__global__ void uses_local(int* local) {
  local[threadIdx.x] = 1;  // MISTAKE parents_local
}
__global__ void passes_local(int* x) {
  int values[4] = {1, 2, 3, 4};
  uses_local<<<1, 1>>>(x[0] == 0 ? &values[x[1]] : x);
  x[2] = values[x[3]];
}
__global__ void copies_too_much(int* x) {
  cudaMemcpyAsync(x, x + 64, 512, cudaMemcpyDeviceToDevice, 0);  // MISTAKE copy_too_long
}
__global__ void clears_local(int* x) {
  int values[4] = {1, 2, 3, 4};
  cudaMemsetAsync(values, 0, sizeof values, 0);  // MISTAKE clear_local
  x[0] = values[x[1]];
}
__global__ void nests_forever(int* x) {
  nests_forever<<<1, 1>>>(x);  // MISTAKE nests_forever
  if (cudaGetLastError() == cudaErrorLaunchMaxDepthExceeded) atomicAdd(x, 1);
}
__global__ void follows_itself(int* x) {
  ++*x;  // MISTAKE follows_itself
  follows_itself<<<1, 1, 0, cudaStreamTailLaunch>>>(x);
}
__global__ void cannot_run(int* x) {
  asm volatile("vadd.s32.s32.s32.sat %0, %0, 1;" : "+r"(x[0]));  // MISTAKE cannot_run
}
__global__ void launches_what_cannot_run(int* x) {
  cannot_run<<<1, 1>>>(x);
}
__global__ void too_many_threads(int* x, int threads) {
  add_then_multiply<<<1, threads>>>(x, 1, 1);  // MISTAKE too_many_threads
}
__global__ void clears_a_box(int* x) {
  cudaMemset3DAsync(cudaPitchedPtr{x, 16, 16, 2}, 0, cudaExtent{16, 2, 2}, 0);  // LEFT OUT memset_3d
}
__global__ void reads_unset(const int* data, int* x) {
  x[threadIdx.x] = data[threadIdx.x];  // MISTAKE unset_in_child
}
__global__ void launches_reader(const int* data, int* x) {
  reads_unset<<<1, 32>>>(data, x);
}

int mistake(const std::string& name) {
  int *x, *data;
  CHECK_CUDA(cudaMalloc(&x, 128 * sizeof(int)));
  CHECK_CUDA(cudaMalloc(&data, 128 * sizeof(int)));
  CHECK_CUDA(cudaMemset(x, 0, 128 * sizeof(int)));
  if (name == "child_out_of_bounds") launches_writer<<<1, 32>>>(x, 120);
  if (name == "parents_local") passes_local<<<1, 1>>>(x);
  if (name == "copy_too_long") copies_too_much<<<1, 1>>>(x);
  if (name == "clear_local") clears_local<<<1, 1>>>(x);
  if (name == "nests_forever") nests_forever<<<1, 1>>>(x);
  if (name == "follows_itself") follows_itself<<<1, 1>>>(x);
  if (name == "cannot_run") launches_what_cannot_run<<<1, 1>>>(x);
  if (name == "too_many_threads") too_many_threads<<<1, 1>>>(x, 2048);
  if (name == "memset_3d") clears_a_box<<<1, 1>>>(x);
  if (name == "unset_in_child") launches_reader<<<1, 1>>>(data, x);
  const cudaError_t launched = cudaGetLastError(), ran = cudaDeviceSynchronize();
  std::printf("%d\n", int(launched != cudaSuccess ? launched : ran));
  return 0;
}

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (!what.empty()) return what == "errors" ? errors() : what == "fills" ? fills() : mistake(argv[1]);
  recursion();
  sorting();
  radix();
  tessellation();
  quadtree();
  streams();
  tails();
  questions();
  parameters();
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
