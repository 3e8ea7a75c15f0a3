// Y = X * W on fp64 tensor cores: a warp makes 16 rows of Y at a time.
//
// Shapes  X [v, 128], W [128, 16], Y [v, 16].
// Cost    X passes through registers once: 16 loads of 16 bytes a lane are in flight before the first product, which
//         is what it takes to keep the memory busy. W lies in shared memory in the order in which lanes want it.
// Layout  mma.m16n8k16 gives lane 4g + t the columns t, t + 4, t + 8, t + 12 of rows g and g + 8. The order of the
//         128 terms of a sum is free, so a lane loads columns 2t, 2t + 1, 2t + 8, 2t + 9 instead, 16 bytes at a
//         time, and W's rows are permuted alike.
#pragma once

#include "plan.cuh"

namespace optimized {

struct TransformTile {
  static constexpr int kRows = 16, kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSteps = kGcnFeatures / 16;    // of mma, each 16 columns of X
  static constexpr int kChunkSteps = 4;               // whose loads are in flight together
  static constexpr int kBlocksPerMultiprocessor = 2;
  static_assert(kSteps % kChunkSteps == 0 && kGcnClasses == 16);
};

// W as the lanes want it: [step][half of the 16 classes][which pair][lane], two rows of W each.
struct TransformWeights {
  double2 pairs[TransformTile::kSteps][2][2][32];
};

// d += a * b: a holds rows g and g + 8 of X (four columns each), b four rows of W for class g.
__device__ inline void multiply_tile(double (&d)[4], const double2 (&upper)[2], const double2 (&lower)[2],
                                     const double2 (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
      "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
      : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
      : "d"(upper[0].x), "d"(lower[0].x), "d"(upper[0].y), "d"(lower[0].y), "d"(upper[1].x), "d"(lower[1].x),
        "d"(upper[1].y), "d"(lower[1].y), "d"(b[0].x), "d"(b[0].y), "d"(b[1].x), "d"(b[1].y));
#elif __CUDA_ARCH__ >= 800
  const double u[4] = {upper[0].x, upper[0].y, upper[1].x, upper[1].y};
  const double l[4] = {lower[0].x, lower[0].y, lower[1].x, lower[1].y};
  const double w[4] = {b[0].x, b[0].y, b[1].x, b[1].y};
  for (int k = 0; k < 4; ++k) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d[0]), "+d"(d[1])
        : "d"(u[k]), "d"(w[k]));
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(d[2]), "+d"(d[3])
        : "d"(l[k]), "d"(w[k]));
  }
#else
  // Without tensor cores the lanes trade operands: lane 4g + t makes classes 2t and 2t + 1 of rows g and g + 8.
  const double u[4] = {upper[0].x, upper[0].y, upper[1].x, upper[1].y};
  const double l[4] = {lower[0].x, lower[0].y, lower[1].x, lower[1].y};
  const double w[4] = {b[0].x, b[0].y, b[1].x, b[1].y};
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int k = 0; k < 4; ++k) {
    for (int from = 0; from < 4; ++from) {
      const double row_upper = __shfl_sync(0xffffffffu, u[k], 4 * g + from);
      const double row_lower = __shfl_sync(0xffffffffu, l[k], 4 * g + from);
      for (int c = 0; c < 2; ++c) {
        const double weight = __shfl_sync(0xffffffffu, w[k], 4 * (2 * t + c) + from);
        d[c] += row_upper * weight;
        d[2 + c] += row_lower * weight;
      }
    }
  }
#endif
}

__device__ inline void stage_weights(const double* w, TransformWeights& weights) {
  constexpr int kPairs = sizeof(TransformWeights) / sizeof(double2);
  double2* to = &weights.pairs[0][0][0][0];
  for (int i = threadIdx.x; i < kPairs; i += TransformTile::kThreads) {
    const int lane = i % 32, pair = i / 32 % 2, half = i / 64 % 2, step = i / 128;
    const int row = 16 * step + 8 * pair + 2 * (lane % 4), column = 8 * half + lane / 4;
    to[i] = make_double2(w[row * kGcnClasses + column], w[(row + 1) * kGcnClasses + column]);
  }
}

// kScaled: row j is multiplied by factors[j].
template <bool kScaled>
__global__ void __launch_bounds__(TransformTile::kThreads, TransformTile::kBlocksPerMultiprocessor)
    gcn_transform_mma_kernel(int vertices, const double* __restrict__ x, const double* __restrict__ w,
                             const double* __restrict__ factors, double* __restrict__ y) {
  __shared__ TransformWeights weights;
  stage_weights(w, weights);
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  if (kScaled) asm volatile("griddepcontrol.launch_dependents;");
#endif
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int tiles = (vertices + TransformTile::kRows - 1) / TransformTile::kRows;
  const int warps = gridDim.x * TransformTile::kWarps;
  for (int tile = blockIdx.x * TransformTile::kWarps + threadIdx.x / 32; tile < tiles; tile += warps) {
    const int row = tile * TransformTile::kRows + g;
    // Rows beyond the end read the last one; what comes of them is not stored.
    const int upper_row = min(row, vertices - 1), lower_row = min(row + 8, vertices - 1);
    const double2* upper = reinterpret_cast<const double2*>(x + static_cast<size_t>(upper_row) * kGcnFeatures) + t;
    const double2* lower = reinterpret_cast<const double2*>(x + static_cast<size_t>(lower_row) * kGcnFeatures) + t;
    double d[2][4] = {};
#pragma unroll
    for (int chunk = 0; chunk < TransformTile::kSteps; chunk += TransformTile::kChunkSteps) {
      double2 u[TransformTile::kChunkSteps][2], l[TransformTile::kChunkSteps][2];
#pragma unroll
      for (int s = 0; s < TransformTile::kChunkSteps; ++s) {
#pragma unroll
        for (int p = 0; p < 2; ++p) {
          u[s][p] = __ldcs(upper + 8 * (chunk + s) + 4 * p);
          l[s][p] = __ldcs(lower + 8 * (chunk + s) + 4 * p);
        }
      }
#pragma unroll
      for (int s = 0; s < TransformTile::kChunkSteps; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const double2 b[2] = {weights.pairs[chunk + s][half][0][lane], weights.pairs[chunk + s][half][1][lane]};
          multiply_tile(d[half], u[s], l[s], b);
        }
      }
    }
    const double upper_factor = kScaled ? factors[upper_row] : 1.0, lower_factor = kScaled ? factors[lower_row] : 1.0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      double2* to = reinterpret_cast<double2*>(y + static_cast<size_t>(row) * kGcnClasses + 8 * half) + t;
      if (row < vertices) to[0] = make_double2(d[half][0] * upper_factor, d[half][1] * upper_factor);
      if (row + 8 < vertices) to[8 * kGcnClasses / 2] = make_double2(d[half][2] * lower_factor, d[half][3] * lower_factor);
    }
  }
}

template <bool kScaled>
cudaError_t launch_transform(int vertices, const double* x, const double* w, const double* factors, double* y,
                             const GcnPlan& plan, cudaStream_t stream) {
  const int tiles = (vertices + TransformTile::kRows - 1) / TransformTile::kRows;
  const int enough = (tiles + TransformTile::kWarps - 1) / TransformTile::kWarps;
  const int resident = plan.multiprocessors * TransformTile::kBlocksPerMultiprocessor;
  const int blocks = enough < resident ? enough : resident;
  gcn_transform_mma_kernel<kScaled><<<blocks, TransformTile::kThreads, 0, stream>>>(vertices, x, w, factors, y);
  return cudaGetLastError();
}

}  // namespace optimized
