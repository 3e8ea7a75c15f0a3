// Y = X * W on fp64 tensor cores: a warp makes 16 rows of Y at a time.
//
// Shapes  X [v, 128], W [128, 16], Y [v, 16].
// Cost    X passes through registers once: a lane has 16 loads of 16 bytes in flight at any time, which is
// what it takes
//         to keep the memory busy with eight warps a multiprocessor; more warps are slower. W lies in shared
//         memory in the order in which lanes want it.
// Layout  mma.m16n8k16 gives lane 4g + t the columns t, t + 4, t + 8, t + 12 of rows g and g + 8. The
// order of the
//         128 terms of a sum is free, so a lane loads columns 2t, 2t + 1, 2t + 8, 2t + 9 instead, 16 bytes at
//         a time, and W's rows are permuted alike.
#pragma once

#include "plan.cuh"

namespace optimized {

struct TransformTile {
  static constexpr int kRows = 16, kWarps = 8, kThreads = 32 * kWarps;
  static constexpr int kSteps = kGcnFeatures / 16;  // of mma, each 16 columns of X
  static constexpr int kChunkSteps = 4;             // whose loads are in flight together
  static constexpr int kChunks = kSteps / kChunkSteps;
  static constexpr int kBlocksPerMultiprocessor = 1;
  static_assert(kGcnClasses == 16);
};

// W as the lanes want it: [step][half of the 16 classes][which pair][lane], two rows of W each.
struct TransformWeights {
  double2 pairs[TransformTile::kSteps][2][2][32];
};

// d += a * b: a holds rows g and g + 8 of X (four columns each), b four rows of W for class g.
__device__ inline void multiply_tile(double (&d)[4], const double2 (&upper)[2], const double2 (&lower)[2],
                                     const double2 (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, "
      "%11}, "
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
  // Without tensor cores the lanes trade operands: lane 4g + t makes classes 2t and 2t + 1 of rows g and g
  // + 8.
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

// A lane's share of 16 rows and 64 columns of X.
struct TransformChunk {
  double2 upper[TransformTile::kChunkSteps][2], lower[TransformTile::kChunkSteps][2];
};

// Rows beyond the end read the last one; what comes of them is not stored.
__device__ inline void load_chunk(const double* __restrict__ x, int vertices, int tile, int chunk,
                                  TransformChunk& to) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int row = tile * TransformTile::kRows + g, last = vertices - 1;
  const auto* upper =
      reinterpret_cast<const double2*>(x + static_cast<size_t>(min(row, last)) * kGcnFeatures) + t;
  const auto* lower =
      reinterpret_cast<const double2*>(x + static_cast<size_t>(min(row + 8, last)) * kGcnFeatures) + t;
#pragma unroll
  for (int s = 0; s < TransformTile::kChunkSteps; ++s) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      to.upper[s][p] = __ldcs(upper + 8 * (chunk * TransformTile::kChunkSteps + s) + 4 * p);
      to.lower[s][p] = __ldcs(lower + 8 * (chunk * TransformTile::kChunkSteps + s) + 4 * p);
    }
  }
}

__device__ inline void multiply_chunk(const TransformChunk& x, const TransformWeights& weights, int chunk,
                                      double (&d)[2][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < TransformTile::kChunkSteps; ++s) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const double2(&w)[2][32] = weights.pairs[chunk * TransformTile::kChunkSteps + s][half];
      const double2 b[2] = {w[0][lane], w[1][lane]};
      multiply_tile(d[half], x.upper[s], x.lower[s], b);
    }
  }
}

template <bool kScaled>
__device__ inline void store_tile(const double (&d)[2][4], const double* factors, int vertices, int tile,
                                  double* y) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  for (int lower = 0; lower < 2; ++lower) {
    const int row = tile * TransformTile::kRows + g + 8 * lower;
    if (row >= vertices) continue;
    const double factor = kScaled ? factors[row] : 1.0;
    double2* to = reinterpret_cast<double2*>(y + static_cast<size_t>(row) * kGcnClasses) + t;
    for (int half = 0; half < 2; ++half)
      to[4 * half] = make_double2(d[half][2 * lower] * factor, d[half][2 * lower + 1] * factor);
  }
}

// kScaled: row j is multiplied by factors[j]. The next chunk's loads are in flight while one is multiplied.
template <bool kScaled>
__global__ void __launch_bounds__(TransformTile::kThreads, TransformTile::kBlocksPerMultiprocessor)
    gcn_transform_mma_kernel(int vertices, const double* __restrict__ x, const double* __restrict__ w,
                             const double* __restrict__ factors, double* __restrict__ y) {
  __shared__ TransformWeights weights;
  const int tiles = (vertices + TransformTile::kRows - 1) / TransformTile::kRows;
  const int warps = gridDim.x * TransformTile::kWarps;
  int tile = blockIdx.x * TransformTile::kWarps + threadIdx.x / 32;
  TransformChunk even, odd;
  if (tile < tiles) load_chunk(x, vertices, tile, 0, even);
  stage_weights(w, weights);
  __syncthreads();
#if __CUDA_ARCH__ >= 900
  if (kScaled) asm volatile("griddepcontrol.launch_dependents;");
#endif
  for (; tile < tiles; tile += warps) {
    double d[2][4] = {};
    static_assert(TransformTile::kChunks == 2);
    load_chunk(x, vertices, tile, 1, odd);
    multiply_chunk(even, weights, 0, d);
    if (tile + warps < tiles) load_chunk(x, vertices, tile + warps, 0, even);
    multiply_chunk(odd, weights, 1, d);
    store_tile<kScaled>(d, factors, vertices, tile, y);
  }
}

template <bool kScaled>
cudaError_t launch_transform(int vertices, const double* x, const double* w, const double* factors, double* y,
                             const GcnPlan& plan, cudaStream_t stream) {
  const int tiles = (vertices + TransformTile::kRows - 1) / TransformTile::kRows;
  const int enough = (tiles + TransformTile::kWarps - 1) / TransformTile::kWarps;
  const int resident = plan.multiprocessors * TransformTile::kBlocksPerMultiprocessor;
  const int blocks = enough < resident ? enough : resident;
  gcn_transform_mma_kernel<kScaled>
      <<<blocks, TransformTile::kThreads, 0, stream>>>(vertices, x, w, factors, y);
  return cudaGetLastError();
}

}  // namespace optimized
