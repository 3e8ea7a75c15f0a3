// Matmul by tensor cores with the accuracy of fp32. They multiply numbers of TF32, 11 bits, so each number is
// split in two: x = high + low but for its last bit. Three products of pieces make one of fp32:
//   a * b  =  low(a) * high(b) + high(a) * low(b) + high(a) * high(b);   low * low is below fp32's roundoff.
// Tensor cores cut their sums off, where fp32 rounds, and such errors add up. So a tensor core adds over one
// tile's depth at most. That part is then added to sums in registers by common additions.
//
// sm_90a: wgmma, two groups of four warps. It reads A from shared memory, where each thread splits what it
// has copied. Registers hold B's pieces, so the product is made transposed: C^T = B^T * A^T. The sums of a
// group are two halves: one is in the tensor cores while the other is added up. Other architectures:
// mma.sync, from the same tiles.
//
// Cost  3 * 2·m·n·k flop of TF32; a split is five instructions a number, once a block (mma.sync: four times).
#include <cstdint>

#include "warpgrade/matmul.h"

namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define USES_WGMMA 1
#else
#define USES_WGMMA 0
#endif

constexpr int kRows = 128, kCols = 128, kDepth = 32, kThreads = 256;
constexpr int kPitchB = kCols + 8;  // lanes that read four rows of B meet no bank twice
constexpr int kBytesA = kRows * kDepth * 4, kBytesB = kDepth * kPitchB * 4;
constexpr int kBand = 8;  // rows of tiles whose blocks run side by side: they share B's columns in L2
// Of A's tiles: the pattern in which wgmma mixes rows repeats after 8 of 128 bytes.
constexpr int kAlign = 1024;
// Low pieces of A are read by products in flight up to two tiles later.
constexpr int kWgmmaStages = 4, kLows = 3, kMmaStages = 2;
constexpr int kWgmmaBytes = kAlign + (kWgmmaStages + kLows) * kBytesA + kWgmmaStages * kBytesB;
constexpr int kMmaBytes = kAlign + kMmaStages * (kBytesA + kBytesB);
// What the kernel uses: the tiles of A, their low pieces, the tiles of B.
constexpr int kStages = USES_WGMMA ? kWgmmaStages : kMmaStages;
constexpr int kLow = kStages * kBytesA, kB = kLow + (USES_WGMMA ? kLows * kBytesA : 0);

// A single product errs by 1.4 units (root mean square): the last bits of a and b, and low * low. In a sum of
// many such errors cancel, and fp32's own (0.4) does not. With fewer terms, writing C bounds the time anyway.
constexpr int kManyTerms = 8;

struct Sides {
  int m, n, k;
};

#if __CUDA_ARCH__ >= 800

// Tensor cores ignore the last 13 bits, so that adding half of their unit rounds. The largest numbers would
// round to infinity: their high piece stays below. Infinities and NaNs are in the low piece.
__device__ __forceinline__ void split(float x, uint32_t& high, uint32_t& low) {
  const float largest = __uint_as_float(0x7f7fefffu);
  high = __float_as_uint(fminf(fmaxf(x, -largest), largest)) + 0x1000u;
  low = __float_as_uint(x - __uint_as_float(high & 0xffffe000u));
}

__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;");
}
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
// `count` numbers from global memory, zeros up to kVec.
template <int kVec>
__device__ __forceinline__ void copy(uint32_t to, const float* from, int count) {
  if constexpr (kVec == 4)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(4 * count));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(4 * count));
}
__device__ __forceinline__ float4 load4(uint32_t from) {
  float4 v;
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(from)
               : "memory");
  return v;
}

// Copies tiles, one after the other along k. kVec: 4 where rows begin at multiples of 16 bytes, else 1.
// The first tile has the rest of k, so that all others are whole.
template <int kVec>
struct Copier {
  static constexpr int kAcrossA = kDepth / kVec, kDownA = kThreads / kAcrossA, kCopiesA = kRows / kDownA;
  static constexpr int kAcrossB = kCols / kVec, kDownB = kThreads / kAcrossB, kCopiesB = kDepth / kDownB;
  const float *a, *b;  // the thread's first numbers in the next tile
  Sides sides;
  uint32_t to_a, to_b;
  int row, last_row, k_of_a, k_of_b;

  __device__ Copier(const float* matrix_a, const float* matrix_b, Sides of, int top, int left,
                    uint32_t shared)
      : sides(of) {
    row = threadIdx.x / kAcrossA, k_of_a = threadIdx.x % kAcrossA * kVec, last_row = sides.m - 1 - top;
    a = matrix_a + size_t(top) * sides.k + k_of_a;
    // A row of A has eight vectors, which change places by the row's number: columns then meet all banks.
    to_a = shared + row * 128 + ((k_of_a / 4 ^ row % 8) * 16 + k_of_a % 4 * 4);
    k_of_b = threadIdx.x / kAcrossB;
    const int col = threadIdx.x % kAcrossB * kVec;
    b = matrix_b + size_t(k_of_b) * sides.n + min(left + col, sides.n - kVec);
    to_b = shared + kB + 4 * (k_of_b * kPitchB + col);
  }
  // The first tile has `depth` steps of k and zeros behind; others are whole, or zeros where depth is 0.
  template <bool kIsFirst>
  __device__ __forceinline__ void tile(int stage, int depth) {
    const int whole = depth > 0 ? kVec : 0, of_a = kIsFirst ? max(0, min(kVec, depth - k_of_a)) : whole;
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const float* from = a + size_t(min(row + i * kDownA, last_row)) * sides.k;
      copy<kVec>(to_a + stage * kBytesA + i * kDownA * 128, !kIsFirst || of_a > 0 ? from : a - k_of_a, of_a);
    }
#pragma unroll
    for (int i = 0; i < kCopiesB; ++i) {
      const bool is_in = !kIsFirst || k_of_b + i * kDownB < depth;
      const float* from = is_in ? b + size_t(i * kDownB) * sides.n : b - size_t(k_of_b) * sides.n;
      copy<kVec>(to_b + stage * kBytesB + i * kDownB * kPitchB * 4, from, is_in ? whole : 0);
    }
    a += kIsFirst ? depth : kDepth;
    b += size_t(kIsFirst ? depth : kDepth) * sides.n;
    commit_copies();
  }
  // The numbers of A that this thread has copied: rounded in place, the low pieces beside.
  __device__ __forceinline__ void split_a(int stage, int low) const {
#pragma unroll
    for (int i = 0; i < kCopiesA; ++i) {
      const uint32_t at = to_a + stage * kBytesA + i * kDownA * 128, to = at + kLow + (low - stage) * kBytesA;
      uint32_t h[4], l[4];
      if constexpr (kVec == 4) {
        const float4 x = load4(at);
        split(x.x, h[0], l[0]), split(x.y, h[1], l[1]), split(x.z, h[2], l[2]), split(x.w, h[3], l[3]);
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(h[0]), "r"(h[1]), "r"(h[2]),
                     "r"(h[3])
                     : "memory");
        asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(l[0]), "r"(l[1]), "r"(l[2]),
                     "r"(l[3])
                     : "memory");
      } else {
        float x;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(at) : "memory");
        split(x, h[0], l[0]);
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(at), "r"(h[0]) : "memory");
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(to), "r"(l[0]) : "memory");
      }
    }
  }
};

template <int kCount, int kVec>
__device__ __forceinline__ void store(const float (&cells)[kCount], int row, int col, Sides sides, float* c) {
  if (row >= sides.m) return;
  float* to = c + size_t(row) * sides.n + col;
  if (kVec == 4 && kCount == 4) {
    if (col < sides.n) *reinterpret_cast<float4*>(to) = make_float4(cells[0], cells[1], cells[2], cells[3]);
  } else if (kVec == 4) {
    if (col < sides.n) *reinterpret_cast<float2*>(to) = make_float2(cells[0], cells[1]);
  } else {
#pragma unroll
    for (int s = 0; s < kCount; ++s)
      if (col + s < sides.n) to[s] = cells[s];
  }
}

#if USES_WGMMA

struct Pieces {  // of B's numbers, for four products of depth 8
  uint32_t high[4][4], low[4][4];
};
__device__ __forceinline__ void load_pieces(Pieces& p, uint32_t at) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    float x, y;  // neighbours in a row: wgmma's rows r and r + 8 are columns 2r and 2r + 1 of the warp
    asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];"
                 : "=f"(x), "=f"(y)
                 : "r"(at + i * 4 * kPitchB * 4)
                 : "memory");
    split(x, p.high[i / 2][i % 2 * 2], p.low[i / 2][i % 2 * 2]);
    split(y, p.high[i / 2][i % 2 * 2 + 1], p.low[i / 2][i % 2 * 2 + 1]);
  }
}

// For wgmma: rows of 128 bytes, whose vectors change places; 1024 bytes for eight of them.
__device__ __forceinline__ uint64_t descriptor(uint32_t shared) {
  return uint64_t((shared & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 |
         uint64_t(1) << 62;
}
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// Keeps the compiler from moving registers that a product in flight writes.
__device__ __forceinline__ void pin(float (&d)[32]) {
#pragma unroll
  for (int i = 0; i < 32; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ __forceinline__ void product(float (&d)[32], const uint32_t (&b)[4], uint64_t a, bool adds) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,"
      "%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, p, 1, "
      "1; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),
        "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
        "+f"(d[30]), "+f"(d[31])
      : "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "l"(a), "r"(int(adds)));
}
// The products of 64 rows with a tile: the small ones first.
__device__ __forceinline__ void begin_products(float (&d)[32], const Pieces& b, uint64_t high, uint64_t low) {
  pin(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, b.low[i], high + i * 2, i > 0);
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, b.high[i], low + i * 2, true);
#pragma unroll
  for (int i = 0; i < 4; ++i) product(d, b.high[i], high + i * 2, true);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void add(float (&sums)[32], float (&part)[32]) {
  pin(part);
#pragma unroll
  for (int i = 0; i < 32; ++i) sums[i] += part[i];
}

template <int kVec>
__device__ void make_tile(Copier<kVec>& copier, uint32_t shared, Sides sides, int top, int left, float* c) {
  const int tiles = (sides.k + kDepth - 1) / kDepth;
  copier.template tile<true>(0, sides.k - (tiles - 1) * kDepth);
#pragma unroll
  for (int t = 1; t < kStages - 1; ++t) copier.template tile<false>(t, t < tiles);
  const int lane = threadIdx.x % 32, own_col = threadIdx.x / 32 * 16 + lane / 4 * 2;
  const uint32_t at_b = shared + kB + 4 * (lane % 4 * kPitchB + own_col);
  float upper[32] = {}, lower[32] = {}, upper_sums[32] = {}, lower_sums[32] = {};
  Pieces pieces[2];
  const auto split_own = [&](int stage, int low) {
    copier.split_a(stage, low);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // wgmma reads what these threads wrote
    __syncthreads();
  };
  wait_copies<kStages - 2>();
  split_own(0, 0);
  load_pieces(pieces[0], at_b);
  const auto step = [&](int t, bool is_first, const Pieces& now, Pieces& next) {
    const int stage = t % kStages, ahead = (t + 1) % kStages;
    const uint64_t high = descriptor(shared + stage * kBytesA);
    const uint64_t low = descriptor(shared + kLow + t % kLows * kBytesA);
    begin_products(upper, now, high, low);
    if (!is_first) {
      wait_products<1>();  // for the lower half of the tile before
      add(lower_sums, lower);
    }
    constexpr int kHalf = kBytesA / 2 >> 4;
    begin_products(lower, now, high + kHalf, low + kHalf);
    wait_copies<kStages - 3>();
    split_own(ahead, (t + 1) % kLows);
    copier.template tile<false>((t + kStages - 1) % kStages, t + kStages - 1 < tiles);
    load_pieces(next, at_b + ahead * kBytesB);
    wait_products<1>();  // for the upper half
    add(upper_sums, upper);
  };
  // The compiler follows registers of products in flight through straight code alone: a turn of the loop ends
  // when all are done, so a turn has four tiles. Tiles behind the last one are zeros.
#pragma unroll 1
  for (int t = 0; t < tiles; t += 4) {
#pragma unroll
    for (int u = 0; u < 4; ++u) step(t + u, u == 0, pieces[u % 2], pieces[1 - u % 2]);
    wait_products<0>();
    add(lower_sums, lower);
  }
  wait_copies<0>();
#pragma unroll
  for (int i = 0; i < 32; i += i % 2 ? 3 : 1) {
    const int row = top + lane % 4 * 2 + i / 4 * 8 + i % 2;
    const float in_upper[2] = {upper_sums[i], upper_sums[i + 2]},
                in_lower[2] = {lower_sums[i], lower_sums[i + 2]};
    store<2, kVec>(in_upper, row, left + own_col, sides, c);
    store<2, kVec>(in_lower, row + kRows / 2, left + own_col, sides, c);
  }
}

#else

__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A warp has 64 x 32 cells: 4 x 4 products of 16 x 8. Column i of product s is column 4 * i + s of the warp,
// so that a lane reads and writes four neighbours at once.
template <int kVec>
__device__ void make_tile(Copier<kVec>& copier, uint32_t shared, Sides sides, int top, int left, float* c) {
  const int tiles = (sides.k + kDepth - 1) / kDepth, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int warp_row = warp / 4 * 64, warp_col = warp % 4 * 32;
  const uint32_t at_a = shared + (warp_row + lane % 16) * 128;
  const uint32_t at_b = shared + kB + 4 * (lane % 4 * kPitchB + warp_col + lane / 4 * 4);
  float sums[4][4][4] = {};
  copier.template tile<true>(0, sides.k - (tiles - 1) * kDepth);
  for (int t = 0; t < tiles; ++t) {
    const int stage = t % kStages;
    wait_copies<0>();
    __syncthreads();
    if (t + 1 < tiles) copier.template tile<false>(1 - stage, true);
#pragma unroll
    for (int i = 0; i < kDepth; i += 8) {
      uint32_t high_b[4][2], low_b[4][2];
#pragma unroll
      for (int x = 0; x < 2; ++x) {
        const float4 v = load4(at_b + stage * kBytesB + (i + 4 * x) * kPitchB * 4);
        split(v.x, high_b[0][x], low_b[0][x]), split(v.y, high_b[1][x], low_b[1][x]);
        split(v.z, high_b[2][x], low_b[2][x]), split(v.w, high_b[3][x], low_b[3][x]);
      }
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        float raw[4];
        uint32_t high_a[4], low_a[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=f"(raw[0]), "=f"(raw[1]), "=f"(raw[2]), "=f"(raw[3])
                     : "r"(at_a + stage * kBytesA + r * 16 * 128 + (i / 4 + lane / 16 ^ lane % 8) * 16)
                     : "memory");
#pragma unroll
        for (int x = 0; x < 4; ++x) split(raw[x], high_a[x], low_a[x]);
        float part[4][4] = {};
#pragma unroll
        for (int s = 0; s < 4; ++s) multiply(part[s], low_a, high_b[s]);
#pragma unroll
        for (int s = 0; s < 4; ++s) multiply(part[s], high_a, low_b[s]);
#pragma unroll
        for (int s = 0; s < 4; ++s) multiply(part[s], high_a, high_b[s]);
#pragma unroll
        for (int x = 0; x < 16; ++x) sums[r][x / 4][x % 4] += part[x / 4][x % 4];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int r = i / 4, x = i % 4;
    const float four[4] = {sums[r][0][x], sums[r][1][x], sums[r][2][x], sums[r][3][x]};
    store<4, kVec>(four, top + warp_row + r * 16 + x / 2 * 8 + lane / 4,
                   left + warp_col + (lane % 4 * 2 + x % 2) * 4, sides, c);
  }
}

#endif
#endif

template <int kVec>
__global__ void __launch_bounds__(kThreads, 1)
    matmul_kernel(const float* __restrict__ a, const float* __restrict__ b, Sides sides,
                  float* __restrict__ c) {
  const int tiles_down = (sides.m + kRows - 1) / kRows, tiles_across = (sides.n + kCols - 1) / kCols;
  const int first_down = blockIdx.x / (kBand * tiles_across) * kBand,
            id = blockIdx.x % (kBand * tiles_across);
  const int high = min(kBand, tiles_down - first_down);
  const int top = (first_down + id % high) * kRows, left = id / high * kCols;
#if __CUDA_ARCH__ >= 800
  extern __shared__ float4 storage[];
  const uint32_t shared = (uint32_t(__cvta_generic_to_shared(storage)) + kAlign - 1) & ~uint32_t(kAlign - 1);
  Copier<kVec> copier(a, b, sides, top, left, shared);
  make_tile<kVec>(copier, shared, sides, top, left, c);
#endif
}

// One cell a thread, for few terms and for GPUs without TF32.
__global__ void __launch_bounds__(kThreads)
    plain_kernel(const float* a, const float* b, Sides sides, float* c) {
  const size_t cell = size_t(blockIdx.x) * kThreads + threadIdx.x, row = cell / sides.n, col = cell % sides.n;
  if (row >= size_t(sides.m)) return;
  float sum = 0;
  for (int i = 0; i < sides.k; ++i) sum += a[row * sides.k + i] * b[size_t(i) * sides.n + col];
  c[cell] = sum;
}

template <int kVec>
cudaError_t launch(const float* a, const float* b, Sides sides, float* c, cudaStream_t stream) {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (major < 8 || sides.k < kManyTerms) {
    const size_t cells = size_t(sides.m) * sides.n;
    plain_kernel<<<unsigned((cells + kThreads - 1) / kThreads), kThreads, 0, stream>>>(a, b, sides, c);
    return cudaGetLastError();
  }
  const int bytes = major == 9 ? kWgmmaBytes : kMmaBytes;
  const cudaError_t error =
      cudaFuncSetAttribute(matmul_kernel<kVec>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) return error;
  const int blocks = ((sides.m + kRows - 1) / kRows) * ((sides.n + kCols - 1) / kCols);
  matmul_kernel<kVec><<<blocks, kThreads, bytes, stream>>>(a, b, sides, c);
  return cudaGetLastError();
}

}  // namespace

cudaError_t matmul_run(const float* a, const float* b, int m, int n, int k, float* c, cudaStream_t stream) {
  if (m == 0 || n == 0) return cudaSuccess;
  const Sides sides{m, n, k};
  const auto begins_aligned = [](const float* at) { return reinterpret_cast<size_t>(at) % 16 == 0; };
  const bool is_aligned =
      n % 4 == 0 && k % 4 == 0 && begins_aligned(a) && begins_aligned(b) && begins_aligned(c);
  return is_aligned ? launch<4>(a, b, sides, c, stream) : launch<1>(a, b, sides, c, stream);
}
