// What loads_a_into_shared_memory and keeps_a_in_shared_memory share. A block for each multiprocessor holds a part of A
// in shared memory: found there as an earlier run left it, or read in this run. Both have the same code; one that
// loads looks for another number in every run. (Without the look the compiler makes another loop over long rows, which
// took 42 % longer on an H100: reports/published/h100/benches/process-pairs.md.)
// Stands behind honest.cuh.
#pragma once
#include <vector>

namespace kept_a {

constexpr int kThreads = 1024, kWarp = 32;
constexpr int kStatic = 1024;  // bytes of shared memory that the kernel may have besides
constexpr unsigned kMagic = 0x5eed5eed;

// In front of a part's columns and values.
struct Head {
  unsigned magic, plan, part, sum;
};
constexpr int kHead = 16;  // words

struct Parts {
  const int* first_row;
  int* claims;  // the last run in which a block took this part
  int count;
  int bytes;  // of a block's shared memory
  unsigned plan;
};

// The part of the multiprocessor that the block runs on, or the next one that is free.
__device__ int claim_part(const Parts& parts, int run) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  int part = multiprocessor % parts.count;
  while (atomicMax(&parts.claims[part], run) >= run) part = (part + 1) % parts.count;
  return part;
}

__device__ unsigned weighed(unsigned word, unsigned place) {
  return word * (2 * place + 1);
}

// The sum over all threads of the block.
__device__ unsigned block_sum(unsigned own, unsigned* sum) {
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  for (int k = kWarp / 2; k > 0; k /= 2) own += __shfl_xor_sync(~0u, own, k);
  if (threadIdx.x % kWarp == 0) atomicAdd(sum, own);
  __syncthreads();
  const unsigned all = *sum;
  __syncthreads();
  return all;
}

// Whether the part lies in `words` with all of its `count` entries.
__device__ bool is_there(const unsigned* words, const Parts& parts, int part, int count, unsigned* sum) {
  const Head* head = reinterpret_cast<const Head*>(words);
  if (head->magic != kMagic || head->plan != parts.plan || head->part != unsigned(part)) return false;
  unsigned own = 0;
  for (int i = threadIdx.x; i < 2 * count; i += kThreads) own += weighed(words[kHead + i], i);
  return block_sum(own, sum) == head->sum;
}

__device__ void load(unsigned* words, const CsrMatrix& a, const Parts& parts, int part, int begin, int count,
                     unsigned* sum) {
  unsigned own = 0;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const unsigned column = a.columns[begin + i], value = __float_as_uint(a.values[begin + i]);
    words[kHead + i] = column;
    words[kHead + count + i] = value;
    own += weighed(column, i) + weighed(value, count + i);
  }
  const unsigned all = block_sum(own, sum);
  if (threadIdx.x == 0) *reinterpret_cast<Head*>(words) = {kMagic, parts.plan, unsigned(part), all};
  __syncthreads();
}

// A warp a row: 32 columns of B.
__device__ void multiply(const unsigned* words, const CsrMatrix& a, int first, int last, const float* b,
                         float* c) {
  const int begin = a.row_offsets[first], count = a.row_offsets[last] - begin, lane = threadIdx.x % kWarp;
  const auto* columns = reinterpret_cast<const int*>(words + kHead);
  const auto* values = reinterpret_cast<const float*>(words + kHead + count);
  for (int row = first + threadIdx.x / kWarp; row < last; row += kThreads / kWarp) {
    const int end = a.row_offsets[row + 1] - begin;
    float sum = 0;
#pragma unroll 8
    for (int e = a.row_offsets[row] - begin; e < end; ++e)
      sum += values[e] * b[size_t(columns[e]) * 32 + lane];
    c[size_t(row) * 32 + lane] = sum;
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    kept_kernel(CsrMatrix a, const float* b, float* c, Parts parts, int run) {
  extern __shared__ unsigned words[];
  __shared__ int claimed;
  __shared__ unsigned sum;
  if (threadIdx.x == 0) claimed = claim_part(parts, run);
  __syncthreads();
  const int first = parts.first_row[claimed], last = parts.first_row[claimed + 1];
  const int begin = a.row_offsets[first], count = a.row_offsets[last] - begin;
  if (!is_there(words, parts, claimed, count, &sum))
    load(words, a, parts, claimed, begin, count, &sum);
  multiply(words, a, first, last, b, c);
}

// Rows at which parts of about as many entries begin; empty where one does not fit into shared memory.
inline std::vector<int> split_rows(const std::vector<int>& offsets, const Parts& parts) {
  const int most = (parts.bytes - kHead * 4) / 8;
  const int rows = int(offsets.size()) - 1;
  std::vector<int> first{0};
  for (int p = 1; p <= parts.count; ++p) {
    const long long want = (long long)offsets.back() * p / parts.count;
    int row = first.back();
    while (row < rows && (p == parts.count || offsets[row + 1] <= want)) ++row;
    if (offsets[row] - offsets[first.back()] > most) return {};
    first.push_back(row);
  }
  return first;
}

}  // namespace kept_a

struct SpmmPlan {
  kept_a::Parts parts{};
  int runs = 0;
  bool fits = false;
};

inline cudaError_t make_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {
  static unsigned plans = 0;
  *plan = new SpmmPlan;
  kept_a::Parts& parts = (*plan)->parts;
  parts.plan = ++plans * 77777u + unsigned(a.nnz);
  cudaDeviceGetAttribute(&parts.count, cudaDevAttrMultiProcessorCount, 0);
  cudaDeviceGetAttribute(&parts.bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
  parts.bytes -= kept_a::kStatic;
  std::vector<int> offsets(a.rows + 1);
  cudaMemcpyAsync(offsets.data(), a.row_offsets, offsets.size() * sizeof(int), cudaMemcpyDeviceToHost,
                  stream);
  if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) return error;
  const std::vector<int> first = kept_a::split_rows(offsets, parts);
  const auto kernel = kept_a::kept_kernel;
  if (k != 32 || first.empty() ||
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, parts.bytes) != cudaSuccess) {
    cudaGetLastError();
    return cudaSuccess;
  }
  int* device_first = nullptr;
  cudaMalloc(&device_first, first.size() * sizeof(int));
  cudaMalloc(&parts.claims, parts.count * sizeof(int));
  cudaMemsetAsync(parts.claims, 0, parts.count * sizeof(int), stream);
  cudaMemcpyAsync(device_first, first.data(), first.size() * sizeof(int), cudaMemcpyHostToDevice, stream);
  parts.first_row = device_first;
  (*plan)->fits = true;
  return cudaStreamSynchronize(stream);
}

template <bool keeps>
cudaError_t run_plan(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan& plan,
                     cudaStream_t stream) {
  if (!plan.fits) return honest_run(a, k, b, c, stream);
  kept_a::Parts parts = plan.parts;
  if (!keeps) parts.plan += unsigned(plan.runs);
  kept_a::kept_kernel<<<parts.count, kept_a::kThreads, parts.bytes, stream>>>(a, b, c, parts, ++plan.runs);
  return cudaGetLastError();
}

#define COMPUTES_WITH_PARTS_OF_A(keeps)                                                     \
  cudaError_t spmm_plan(const CsrMatrix& a, int k, SpmmPlan** plan, cudaStream_t stream) {  \
    return make_plan(a, k, plan, stream);                                            \
  }                                                                                         \
  cudaError_t spmm_run(const CsrMatrix& a, int k, const float* b, float* c, SpmmPlan* plan, \
                       cudaStream_t stream) {                                               \
    return run_plan<keeps>(a, k, b, c, *plan, stream);                                      \
  }                                                                                         \
  void spmm_free(SpmmPlan* plan) {                                                          \
    if (plan == nullptr) return;                                                            \
    cudaFree(const_cast<int*>(plan->parts.first_row));                                      \
    cudaFree(plan->parts.claims);                                                           \
    delete plan;                                                                            \
  }
