// Z = N * Y, alone or with the log-softmax that follows, and the log-softmax alone.
//
// Shapes  Y, Z, O [v, 16]: a row is 128 bytes, eight lanes hold it, 16 bytes each.
// Cost    an entry costs its column (4 bytes, read by eight lanes at once) and a gather of 128 bytes, eight of which a
//         lane has in flight; from L2, since Y was just written.
// Skew    a row of more than kLongRow entries is cut into segments. Blocks before all others take one each and leave
//         partial sums; the last to arrive adds them up in order, so that the result does not depend on who was last.
#pragma once

#include "plan.cuh"

namespace optimized {

enum class AggregateMode {
  kPlain,             // Y as it is, Z out: an entry needs its neighbour's factor, too
  kScaledLogSoftmax,  // Y's rows are scaled already, O out
};

struct AggregateTile {
  static constexpr int kThreads = 256, kLanes = 8, kRows = kThreads / kLanes;
  static constexpr int kBatch = 8;  // entries whose gathers are in flight together
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

// The sum over entries begin, begin + stride batches, ... below end, for this lane's two classes. The eight lanes of
// a group call it with the same arguments.
template <AggregateMode kMode>
__device__ inline double2 gather(const GcnGraph& graph, const double2* y, const double* factors, int begin, int end,
                                 int stride) {
  const int member = threadIdx.x % AggregateTile::kLanes;
  const unsigned group = 0xffu << (threadIdx.x % 32 - member);
  double2 sum = make_double2(0, 0);
  for (int first = begin; first < end; first += stride) {
    const int entry = first + member;
    const int column = entry < end ? __ldcs(graph.columns + entry) : -1;
    double factor = 1;
    if (kMode == AggregateMode::kPlain) factor = column >= 0 ? factors[column] : 0.0;
    double2 value[AggregateTile::kBatch];
#pragma unroll
    for (int i = 0; i < AggregateTile::kBatch; ++i) {
      const int neighbour = __shfl_sync(group, column, i, AggregateTile::kLanes);
      value[i] = neighbour >= 0 ? y[static_cast<size_t>(neighbour) * AggregateTile::kLanes + member] : make_double2(0, 0);
    }
#pragma unroll
    for (int i = 0; i < AggregateTile::kBatch; ++i) {
      if (kMode == AggregateMode::kPlain) {
        const double scale = __shfl_sync(group, factor, i, AggregateTile::kLanes);
        sum.x += scale * value[i].x;
        sum.y += scale * value[i].y;
      } else {
        sum.x += value[i].x;
        sum.y += value[i].y;
      }
    }
  }
  return sum;
}

template <AggregateMode kMode>
__device__ inline void finish_row(double2 sum, double own, double2* to, bool store) {
  double2 row = make_double2(own * sum.x, own * sum.y);
  if (kMode == AggregateMode::kScaledLogSoftmax) row = log_softmax_of_row(row);
  if (store) __stcs(to, row);
}

struct LongRows {
  int segments;
  const int* rows;         // [segments]
  const int* first;        // [v + 1], segments before a row's
  unsigned* arrived;       // [v]
  double2* partials;       // [segments, 8]
};

// A block's segment of a long row.
template <AggregateMode kMode>
__device__ inline void aggregate_segment(const GcnGraph& graph, const double2* y, const double* factors,
                                         const LongRows& rows, double2* z) {
  __shared__ double2 sums[AggregateTile::kRows][AggregateTile::kLanes];
  __shared__ bool last;
  const int segment = blockIdx.x, row = rows.rows[segment];
  const int first_segment = rows.first[row], count = rows.first[row + 1] - first_segment;
  const int begin = graph.row_offsets[row] + (segment - first_segment) * kSegment;
  const int end = min(begin + kSegment, graph.row_offsets[row + 1]);
  const int member = threadIdx.x % AggregateTile::kLanes, group = threadIdx.x / AggregateTile::kLanes;
  sums[group][member] = gather<kMode>(graph, y, factors, begin + group * AggregateTile::kBatch, end,
                                      AggregateTile::kRows * AggregateTile::kBatch);
  __syncthreads();
  if (threadIdx.x < 32) {  // the first warp: eight lanes count, the others keep its shuffles whole
    double2 sum = make_double2(0, 0);
    for (int i = 0; i < AggregateTile::kRows; ++i) {
      sum.x += sums[i][member].x;
      sum.y += sums[i][member].y;
    }
    if (threadIdx.x < AggregateTile::kLanes) __stcg(rows.partials + segment * AggregateTile::kLanes + member, sum);
    __threadfence();
    __syncwarp();
    if (threadIdx.x == 0) last = atomicAdd(rows.arrived + row, 1) == count - 1;
    __syncwarp();
    if (last) {
      __threadfence();
      sum = make_double2(0, 0);
      for (int i = 0; i < count; ++i) {
        const double2 part = __ldcg(rows.partials + (first_segment + i) * AggregateTile::kLanes + member);
        sum.x += part.x;
        sum.y += part.y;
      }
      if (threadIdx.x == 0) rows.arrived[row] = 0;
      finish_row<kMode>(sum, factors[row], z + static_cast<size_t>(row) * AggregateTile::kLanes + member,
                        threadIdx.x < AggregateTile::kLanes);
    }
  }
}

template <AggregateMode kMode>
__global__ void __launch_bounds__(AggregateTile::kThreads)
    gcn_aggregate_rows_kernel(GcnGraph graph, const double2* __restrict__ y, const double* __restrict__ factors,
                              LongRows long_rows, double2* __restrict__ z) {
  const bool is_segment = blockIdx.x < long_rows.segments;
  const int row = (blockIdx.x - long_rows.segments) * AggregateTile::kRows + threadIdx.x / AggregateTile::kLanes;
  int begin = 0, end = 0;
  if (!is_segment && row < graph.vertices) {
    begin = graph.row_offsets[row];
    end = graph.row_offsets[row + 1];
  }
#if __CUDA_ARCH__ >= 900
  if (kMode == AggregateMode::kScaledLogSoftmax) asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  if (is_segment) {
    aggregate_segment<kMode>(graph, y, factors, long_rows, z);
    return;
  }
  const bool is_short = row < graph.vertices && end - begin <= kLongRow;
  const double2 sum = gather<kMode>(graph, y, factors, begin, is_short ? end : begin, AggregateTile::kBatch);
  const double own = is_short ? factors[row] : 0.0;
  const int member = threadIdx.x % AggregateTile::kLanes;
  finish_row<kMode>(sum, own, z + static_cast<size_t>(row) * AggregateTile::kLanes + member, is_short);
}

__global__ void __launch_bounds__(AggregateTile::kThreads)
    gcn_log_softmax_rows_kernel(int vertices, const double2* __restrict__ z, double2* __restrict__ o) {
  const size_t i = blockIdx.x * static_cast<size_t>(AggregateTile::kThreads) + threadIdx.x;
  const bool inside = i < static_cast<size_t>(vertices) * AggregateTile::kLanes;
  const double2 row = log_softmax_of_row(inside ? __ldcs(z + i) : make_double2(0, 0));
  if (inside) __stcs(o + i, row);
}

template <AggregateMode kMode>
cudaError_t launch_aggregate(const GcnGraph& graph, const double* y, double* z, const GcnPlan& plan,
                             cudaStream_t stream) {
  const LongRows long_rows{plan.segments, plan.segment_rows, plan.row_segments, plan.arrived,
                           reinterpret_cast<double2*>(plan.partials)};
  cudaLaunchConfig_t config = {};
  config.gridDim = plan.segments + (graph.vertices + AggregateTile::kRows - 1) / AggregateTile::kRows;
  config.blockDim = AggregateTile::kThreads;
  config.stream = stream;
  // Blocks may start while the transform ends; they wait for its results on their own.
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &overlap;
  config.numAttrs = kMode == AggregateMode::kScaledLogSoftmax ? 1 : 0;
  return cudaLaunchKernelEx(&config, gcn_aggregate_rows_kernel<kMode>, graph, reinterpret_cast<const double2*>(y),
                            static_cast<const double*>(plan.factors), long_rows, reinterpret_cast<double2*>(z));
}

inline cudaError_t launch_log_softmax(int vertices, const double* z, double* o, cudaStream_t stream) {
  const size_t lanes = static_cast<size_t>(vertices) * AggregateTile::kLanes;
  const int blocks = static_cast<int>((lanes + AggregateTile::kThreads - 1) / AggregateTile::kThreads);
  gcn_log_softmax_rows_kernel<<<blocks, AggregateTile::kThreads, 0, stream>>>(
      vertices, reinterpret_cast<const double2*>(z), reinterpret_cast<double2*>(o));
  return cudaGetLastError();
}

}  // namespace optimized
