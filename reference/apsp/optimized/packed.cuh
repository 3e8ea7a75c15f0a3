// Blocked Floyd-Warshall on lengths of 16 bits, two a word: half the instructions and half the bytes
// of int32.
//
// Idea    the same three phases; a relaxation of a word relaxes two neighbouring columns, so a length of A is
//         needed twice in a word. The pivot's column of tiles is therefore kept spread out beside the matrix.
// Shapes  matrix [rows, pitch] words, rows a multiple of 128, pitch of 128; panel [rows, 128] words;
//         diagonal [128, 64] words: a copy of the pivot's tile.
// Cost    n^3 / 2 relaxations of words, 4 * n^3 / 128 bytes. Exact when packing.h says so.
#pragma once

#include "min_plus.cuh"
#include "packing.h"
#include "pivot.cuh"
#include "warpgrade/apsp.h"

namespace apsp {

constexpr int kPackedNodes = 128, kPackedThreads = 256;
constexpr int kPackedPair = 2;  // lengths a word
using PackedProduct = MinPlusShape<Packed, kPackedNodes, kPackedNodes, 2>;
using PackedColumn = MinPlusShape<Packed, kPackedNodes, kPackedNodes / kPackedPair, 2>;

struct PackedMatrix {
  int* words;     // [rows, pitch]
  int* panel;     // [rows, kPackedNodes]
  int* diagonal;  // [kPackedNodes, kPackedNodes / 2]
  int rows;
  int pitch;  // in words
};

__device__ __forceinline__ int spread_low(int word) {
  return static_cast<int>(__byte_perm(static_cast<unsigned>(word), 0, 0x1010));
}
__device__ __forceinline__ int spread_high(int word) {
  return static_cast<int>(__byte_perm(static_cast<unsigned>(word), 0, 0x3232));
}
__device__ __forceinline__ int pack_pair(int low, int high) {
  return static_cast<int>(static_cast<unsigned>(low) | static_cast<unsigned>(high) << 16);
}

// A block's lengths into *all: the longest finite one, and whether there are infinite ones.
__device__ __forceinline__ void gather_lengths(unsigned longest, bool infinite, Lengths* all) {
  __shared__ unsigned block_longest;
  if (threadIdx.x == 0) block_longest = 0;
  const bool any_infinite = __syncthreads_or(infinite);
  for (int lane = 16; lane > 0; lane /= 2) longest = max(longest, __shfl_xor_sync(~0u, longest, lane));
  if (threadIdx.x % 32 == 0) atomicMax(&block_longest, longest);
  __syncthreads();
  if (threadIdx.x != 0) return;
  atomicMax(&all->longest, block_longest);
  if (any_infinite) all->infinite = 1;
}

// Some rows of the graph, a block each: enough to know at once that most graphs cannot be packed.
__global__ void __launch_bounds__(kPackedThreads)
    apsp_sample_rows_kernel(const int* graph, int n, Lengths* edges) {
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * n / gridDim.x;
  unsigned longest = 0;
  bool infinite = false;
  for (int j = threadIdx.x; j < n; j += kPackedThreads) {
    const int length = graph[row * n + j];
    if (length == kApspInfinity) {
      infinite = true;
    } else {
      longest = max(longest, static_cast<unsigned>(length));
    }
  }
  gather_lengths(longest, infinite, edges);
}

// Grid: the rows of the packed matrix.
__global__ void __launch_bounds__(kPackedThreads)
    apsp_pack_kernel(const int* graph, int n, PackedMatrix matrix, Lengths* edges) {
  const int i = blockIdx.x;
  unsigned longest = 0;
  bool infinite = false;
  const auto length_at = [&](int j) {
    if (i >= n || j >= n) return i == j ? 0 : static_cast<int>(kPackedInfinity);
    const int length = graph[static_cast<std::size_t>(i) * n + j];
    if (length == kApspInfinity) {
      infinite = true;
    } else {
      longest = max(longest, static_cast<unsigned>(length));
    }
    return min(length, static_cast<int>(kPackedInfinity));
  };
  for (int word = threadIdx.x; word < matrix.pitch; word += kPackedThreads) {
    const int low = length_at(kPackedPair * word), high = length_at(kPackedPair * word + 1);
    matrix.words[static_cast<std::size_t>(i) * matrix.pitch + word] = pack_pair(low, high);
  }
  gather_lengths(longest, infinite, edges);
}

// Grid: the rows of the graph. Looks at the distances.
__global__ void __launch_bounds__(kPackedThreads)
    apsp_inspect_kernel(PackedMatrix matrix, int n, Lengths* distances) {
  const int* row = matrix.words + static_cast<std::size_t>(blockIdx.x) * matrix.pitch;
  unsigned longest = 0;
  bool infinite = false;
  for (int j = threadIdx.x; j < n; j += kPackedThreads) {
    const unsigned length = static_cast<unsigned>(row[j / kPackedPair]) >> (j % kPackedPair * 16) & 0xFFFFu;
    if (length == kPackedInfinity) {
      infinite = true;
    } else {
      longest = max(longest, length);
    }
  }
  gather_lengths(longest, infinite, distances);
}

// Grid: the rows of the graph.
__global__ void __launch_bounds__(kPackedThreads) apsp_unpack_kernel(PackedMatrix matrix, int* graph, int n) {
  const int* row = matrix.words + static_cast<std::size_t>(blockIdx.x) * matrix.pitch;
  int* to = graph + static_cast<std::size_t>(blockIdx.x) * n;
  for (int j = threadIdx.x; j < n; j += kPackedThreads) {
    const unsigned length = static_cast<unsigned>(row[j / kPackedPair]) >> (j % kPackedPair * 16) & 0xFFFFu;
    to[j] = length == kPackedInfinity ? kApspInfinity : static_cast<int>(length);
  }
}

// Block 0 solves the pivot's tile; the others spread the pivot's column of tiles into the panel, one each.
__global__ void __launch_bounds__(kPackedNodes / 4 * (kPackedNodes / 4))
    apsp_packed_pivot_kernel(PackedMatrix matrix, int pivot) {
  constexpr int kSide = kPackedNodes / 4, kWords = kPackedNodes / kPackedPair;
  const std::size_t pitch = matrix.pitch;
  const int tile = blockIdx.x == 0 ? pivot : blockIdx.x - (static_cast<int>(blockIdx.x) <= pivot ? 1 : 0);
  int* from = matrix.words + static_cast<std::size_t>(tile) * kPackedNodes * pitch + pivot * kWords;
  int* panel = matrix.panel + static_cast<std::size_t>(tile) * kPackedNodes * kPackedNodes;
  if (blockIdx.x != 0) {
    for (int word = threadIdx.x; word < kPackedNodes * kWords; word += kSide * kSide) {
      const int pair = from[word / kWords * pitch + word % kWords];
      reinterpret_cast<int2*>(panel)[word] = make_int2(spread_low(pair), spread_high(pair));
    }
    return;
  }
  const int ty = threadIdx.x / kSide, tx = threadIdx.x % kSide;
  int own[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int2 four = *reinterpret_cast<const int2*>(from + (4 * ty + i) * pitch + 2 * tx);
    own[i][0] = four.x & 0xFFFF, own[i][1] = static_cast<int>(static_cast<unsigned>(four.x) >> 16);
    own[i][2] = four.y & 0xFFFF, own[i][3] = static_cast<int>(static_cast<unsigned>(four.y) >> 16);
  }
  solve_pivot<kPackedNodes>(own);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int row = 4 * ty + i;
    const int2 four = make_int2(pack_pair(own[i][0], own[i][1]), pack_pair(own[i][2], own[i][3]));
    *reinterpret_cast<int2*>(from + row * pitch + 2 * tx) = four;
    *reinterpret_cast<int2*>(matrix.diagonal + row * kWords + 2 * tx) = four;
    *reinterpret_cast<int4*>(panel + row * kPackedNodes + 4 * tx) =
        make_int4(spread_low(four.x), spread_high(four.x), spread_low(four.y), spread_high(four.y));
  }
}

// Grid: y = 0: the pivot's row of tiles, x = tiles of 256 columns, the pivot's own among them, which does not
// change any more. y = 1: its column, x = tiles of 128 rows but the pivot; into the matrix and the panel.
__global__ void __launch_bounds__(PackedProduct::kThreads, PackedProduct::kResident)
    apsp_packed_cross_kernel(PackedMatrix matrix, int pivot) {
  extern __shared__ __align__(16) int shared[];
  constexpr int kWords = kPackedNodes / kPackedPair;
  const std::size_t pitch = matrix.pitch;
  const std::size_t tile_words = static_cast<std::size_t>(kPackedNodes) * kPackedNodes;
  if (blockIdx.y == 0) {
    if (static_cast<int>(blockIdx.x) * kPackedNodes >= matrix.pitch) return;
    const TileAt own{matrix.words + pivot * kPackedNodes * pitch + blockIdx.x * kPackedNodes, pitch};
    min_plus_tile<PackedProduct>({matrix.panel + pivot * tile_words, kPackedNodes}, own, own, shared);
    return;
  }
  const int tile = blockIdx.x + (static_cast<int>(blockIdx.x) >= pivot ? 1 : 0);
  if (tile * kPackedNodes >= matrix.rows) return;
  const TileAt own{matrix.words + tile * kPackedNodes * pitch + pivot * kWords, pitch};
  const TileAt spread{matrix.panel + tile * tile_words, kPackedNodes};
  int cells[PackedColumn::kRowsEach][PackedColumn::kColumnsEach];
  relax_tile<PackedColumn>(spread, {matrix.diagonal, kWords}, own, shared, cells);
  store_tile<PackedColumn>(own, cells);
  __syncthreads();  // all have read the panel's tile
#pragma unroll
  for (int i = 0; i < PackedColumn::kRowsEach; ++i) {
    const auto offset = reinterpret_cast<int*>(four_at<PackedColumn>(own, i, 0)) - own.words;
    int* to = spread.words + offset / pitch * kPackedNodes + offset % pitch * kPackedPair;
    const int* four = cells[i];
    reinterpret_cast<int4*>(to)[0] =
        make_int4(spread_low(four[0]), spread_high(four[0]), spread_low(four[1]), spread_high(four[1]));
    reinterpret_cast<int4*>(to)[1] =
        make_int4(spread_low(four[2]), spread_high(four[2]), spread_low(four[3]), spread_high(four[3]));
  }
}

// Grid: x = tiles of 256 columns, y = tiles of 128 rows but the pivot. What lies in the pivot's column is
// relaxed once more, to no effect.
__global__ void __launch_bounds__(PackedProduct::kThreads, PackedProduct::kResident)
    apsp_packed_product_kernel(PackedMatrix matrix, int pivot) {
  extern __shared__ __align__(16) int shared[];
  const std::size_t pitch = matrix.pitch;
  const std::size_t tile = blockIdx.y + (static_cast<int>(blockIdx.y) >= pivot ? 1 : 0);
  const std::size_t column = static_cast<std::size_t>(blockIdx.x) * kPackedNodes;
  min_plus_tile<PackedProduct>({matrix.panel + tile * kPackedNodes * kPackedNodes, kPackedNodes},
                               {matrix.words + pivot * kPackedNodes * pitch + column, pitch},
                               {matrix.words + tile * kPackedNodes * pitch + column, pitch}, shared);
}

inline cudaError_t allow_packed_shared_memory() {
  const cudaError_t error = cudaFuncSetAttribute(
      apsp_packed_cross_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, PackedProduct::kSharedBytes);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(apsp_packed_product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              PackedProduct::kSharedBytes);
}

inline cudaError_t solve_packed(const PackedMatrix& matrix, cudaStream_t stream) {
  constexpr int kPivotThreads = kPackedNodes / 4 * (kPackedNodes / 4);
  const unsigned tiles = matrix.rows / kPackedNodes, columns = matrix.pitch / kPackedNodes;
  for (unsigned pivot = 0; pivot < tiles; ++pivot) {
    apsp_packed_pivot_kernel<<<tiles, kPivotThreads, 0, stream>>>(matrix, pivot);
    const unsigned crossing = columns > tiles - 1 ? columns : tiles - 1;
    apsp_packed_cross_kernel<<<dim3(crossing, tiles == 1 ? 1 : 2), PackedProduct::kThreads,
                               PackedProduct::kSharedBytes, stream>>>(matrix, pivot);
    if (tiles == 1) break;
    apsp_packed_product_kernel<<<dim3(columns, tiles - 1), PackedProduct::kThreads,
                                 PackedProduct::kSharedBytes, stream>>>(matrix, pivot);
  }
  return cudaGetLastError();
}

}  // namespace apsp
