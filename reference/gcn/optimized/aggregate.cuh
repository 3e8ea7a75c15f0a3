// Z = N * Y, alone or with the log-softmax that follows, and the log-softmax alone.
//
// Shapes  Y, Z, O [v, 16]: a row is 128 bytes, eight lanes hold it, 16 bytes each.
// Cost    an entry costs its column (4 bytes, read by eight lanes at once) and a gather of 128 bytes, eight
// of which a
//         lane has in flight; from L2, since Y was just written.
// Skew    a row of more than kLongRow entries is cut into segments. Blocks before all others take one
// each and leave
//         partial sums; the last to arrive adds them up in order, so that the result does not depend on
//         who was last.
#pragma once

#include "plan.cuh"

namespace optimized {

enum class AggregateMode {
  kPlain,             // Y as it is, Z out: an entry needs its neighbour's factor, too
  kScaledLogSoftmax,  // Y's rows are scaled already, O out
};

struct AggregateTile {
  static constexpr int kThreads = 256, kLanes = 8, kGroups = kThreads / kLanes;
  static constexpr int kBatch = 8;  // entries whose gathers are in flight together
  static constexpr int kBlocksPerMultiprocessor = 4;
  static_assert(kBatch <= kLanes, "a lane loads one column of the batch");
};

__device__ inline double sum_of_lanes(double value) {
  for (int distance = AggregateTile::kLanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

__device__ inline double max_of_lanes(double value) {
  for (int distance = AggregateTile::kLanes / 2; distance > 0; distance /= 2)
    value = fmax(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

// The row that eight lanes hold. All 32 lanes of the warp call it.
__device__ inline double2 log_softmax_of_row(double2 z) {
  const double largest = max_of_lanes(fmax(z.x, z.y));
  const double sum = sum_of_lanes(exp(z.x - largest) + exp(z.y - largest));
  const double shift = largest + log(sum);
  return make_double2(z.x - shift, z.y - shift);
}

// The matrix as the plan has packed it, for one launch.
struct PackedRows {
  int rows, long_rows, segments;
  const int* order;         // [rows]
  const int* begins;        // [rows + 1]
  const int* columns;       // [nnz]
  const double* factors;    // [rows]
  const int* row_segments;  // [rows + 1]
  const int* segment_rows;  // [segments]
  unsigned* arrived;        // [rows]
  double2* partials;        // [segments, 8]
};

// The column that this lane of its group holds of the batch at `first`; -1 beyond the end.
__device__ inline int load_column(const PackedRows& packed, int first, int end) {
  const int entry = first + threadIdx.x % AggregateTile::kLanes;
  return entry < end ? __ldcs(packed.columns + entry) : -1;
}

// Adds a batch's rows of Y to this lane's two classes. The eight lanes of a group call it together.
template <AggregateMode kMode>
__device__ inline void add_batch(const PackedRows& packed, const double2* y, int column, double2& sum) {
  const int member = threadIdx.x % AggregateTile::kLanes;
  const unsigned group = 0xffu << (threadIdx.x % 32 - member);
  double factor = 1;
  if (kMode == AggregateMode::kPlain) factor = column >= 0 ? packed.factors[column] : 0.0;
  double2 value[AggregateTile::kBatch];
#pragma unroll
  for (int i = 0; i < AggregateTile::kBatch; ++i) {
    const int neighbour = __shfl_sync(group, column, i, AggregateTile::kLanes);
    value[i] = make_double2(0, 0);
    if (neighbour >= 0) value[i] = y[static_cast<size_t>(neighbour) * AggregateTile::kLanes + member];
  }
#pragma unroll
  for (int i = 0; i < AggregateTile::kBatch; ++i) {
    const double scale =
        kMode == AggregateMode::kPlain ? __shfl_sync(group, factor, i, AggregateTile::kLanes) : 1.0;
    sum.x += scale * value[i].x;
    sum.y += scale * value[i].y;
  }
}

template <AggregateMode kMode>
__device__ inline void finish_row(double2 sum, double own, double2* to, bool store) {
  double2 row = make_double2(own * sum.x, own * sum.y);
  if (kMode == AggregateMode::kScaledLogSoftmax) row = log_softmax_of_row(row);
  if (store) __stcs(to, row);
}

// A block's segment of a long row.
template <AggregateMode kMode>
__device__ inline void aggregate_segment(const PackedRows& packed, const double2* y, double2* z) {
  __shared__ double2 sums[AggregateTile::kGroups][AggregateTile::kLanes];
  __shared__ bool last;
  const int segment = blockIdx.x, place = packed.segment_rows[segment];
  const int first_segment = packed.row_segments[place],
            count = packed.row_segments[place + 1] - first_segment;
  const int begin = packed.begins[place] + (segment - first_segment) * kSegment;
  const int end = min(begin + kSegment, packed.begins[place + 1]);
  const int member = threadIdx.x % AggregateTile::kLanes, group = threadIdx.x / AggregateTile::kLanes;
  double2 sum = make_double2(0, 0);
  for (int first = begin + group * AggregateTile::kBatch; first < end;
       first += AggregateTile::kGroups * AggregateTile::kBatch)
    add_batch<kMode>(packed, y, load_column(packed, first, end), sum);
  sums[group][member] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  // The first warp: eight lanes count, the others keep its shuffles whole.
  const bool counts = threadIdx.x < AggregateTile::kLanes;
  sum = make_double2(0, 0);
  for (int i = 0; i < AggregateTile::kGroups; ++i) {
    sum.x += sums[i][member].x;
    sum.y += sums[i][member].y;
  }
  if (counts) __stcg(packed.partials + segment * AggregateTile::kLanes + member, sum);
  __threadfence();
  __syncwarp();
  if (threadIdx.x == 0) last = atomicAdd(packed.arrived + place, 1) == count - 1;
  __syncwarp();
  if (!last) return;
  __threadfence();
  sum = make_double2(0, 0);
  for (int i = 0; i < count; ++i) {
    const double2 part = __ldcg(packed.partials + (first_segment + i) * AggregateTile::kLanes + member);
    sum.x += part.x;
    sum.y += part.y;
  }
  if (threadIdx.x == 0) packed.arrived[place] = 0;
  const int row = packed.order[place];
  finish_row<kMode>(sum, packed.factors[row], z + static_cast<size_t>(row) * AggregateTile::kLanes + member,
                    counts);
}

// What a group needs to begin with a row: loaded while the row before is summed.
struct RowHead {
  int row, begin, end, column;
  double factor;
};

__device__ inline RowHead load_head(const PackedRows& packed, int place) {
  if (place >= packed.rows) return {-1, 0, 0, -1, 0.0};
  RowHead head;
  head.row = packed.order[place];
  head.begin = packed.begins[place];
  head.end = packed.begins[place + 1];
  head.factor = packed.factors[head.row];
  head.column = load_column(packed, head.begin, head.end);
  return head;
}

template <AggregateMode kMode>
__global__ void __launch_bounds__(AggregateTile::kThreads, AggregateTile::kBlocksPerMultiprocessor)
    gcn_aggregate_rows_kernel(PackedRows packed, const double2* __restrict__ y, double2* __restrict__ z) {
  const bool is_segment = blockIdx.x < packed.segments;
  const int groups = (gridDim.x - packed.segments) * AggregateTile::kGroups;
  int place = packed.long_rows + (blockIdx.x - packed.segments) * AggregateTile::kGroups +
              threadIdx.x / AggregateTile::kLanes;
  RowHead head = {-1, 0, 0, -1, 0.0};
  if (!is_segment) head = load_head(packed, place);
#if __CUDA_ARCH__ >= 900
  if (kMode == AggregateMode::kScaledLogSoftmax) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (is_segment) {
    aggregate_segment<kMode>(packed, y, z);
    return;
  }
  const int member = threadIdx.x % AggregateTile::kLanes;
  while (__any_sync(0xffffffffu, head.row >= 0)) {
    place += groups;
    const RowHead next = load_head(packed, place);
    double2 sum = make_double2(0, 0);
    add_batch<kMode>(packed, y, head.column, sum);
    for (int first = head.begin + AggregateTile::kBatch; first < head.end; first += AggregateTile::kBatch)
      add_batch<kMode>(packed, y, load_column(packed, first, head.end), sum);
    __syncwarp();
    finish_row<kMode>(sum, head.factor, z + static_cast<size_t>(head.row) * AggregateTile::kLanes + member,
                      head.row >= 0);
    head = next;
  }
}

__global__ void __launch_bounds__(AggregateTile::kThreads)
    gcn_log_softmax_rows_kernel(int vertices, const double2* __restrict__ z, double2* __restrict__ o) {
  const size_t i = blockIdx.x * static_cast<size_t>(AggregateTile::kThreads) + threadIdx.x;
  const bool inside = i < static_cast<size_t>(vertices) * AggregateTile::kLanes;
  const double2 row = log_softmax_of_row(inside ? __ldcs(z + i) : make_double2(0, 0));
  if (inside) __stcs(o + i, row);
}

template <AggregateMode kMode>
cudaError_t launch_aggregate(int vertices, const double* y, double* z, const GcnPlan& plan,
                             cudaStream_t stream) {
  const PackedRows packed{vertices,
                          plan.long_rows,
                          plan.segments,
                          plan.order,
                          plan.begins,
                          plan.columns,
                          plan.factors,
                          plan.row_segments,
                          plan.segment_rows,
                          plan.arrived,
                          reinterpret_cast<double2*>(plan.partials)};
  const int enough = (vertices - plan.long_rows + AggregateTile::kGroups - 1) / AggregateTile::kGroups;
  const int resident = plan.multiprocessors * AggregateTile::kBlocksPerMultiprocessor;
  cudaLaunchConfig_t config = {};
  config.gridDim = plan.segments + (enough < resident ? enough : resident);
  config.blockDim = AggregateTile::kThreads;
  config.stream = stream;
  // Blocks may start while the transform ends; they wait for its results on their own.
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = kMode == AggregateMode::kScaledLogSoftmax ? 1 : 0;
  if (config.gridDim.x == 0) return cudaSuccess;
  return cudaLaunchKernelEx(&config, gcn_aggregate_rows_kernel<kMode>, packed,
                            reinterpret_cast<const double2*>(y), reinterpret_cast<double2*>(z));
}

inline cudaError_t launch_log_softmax(int vertices, const double* z, double* o, cudaStream_t stream) {
  const size_t lanes = static_cast<size_t>(vertices) * AggregateTile::kLanes;
  const int blocks = static_cast<int>((lanes + AggregateTile::kThreads - 1) / AggregateTile::kThreads);
  gcn_log_softmax_rows_kernel<<<blocks, AggregateTile::kThreads, 0, stream>>>(
      vertices, reinterpret_cast<const double2*>(z), reinterpret_cast<double2*>(o));
  return cudaGetLastError();
}

}  // namespace optimized
