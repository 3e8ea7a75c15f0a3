// mma.sp against products on the host. A, with zeros by its structure, is stored without them and its metadata are
// brought into the order of registers as CUTLASS does it on the host (tools/util: uncompress() in host_uncompress.h
// says what the bits mean; reorder_meta() in host_reorder.h puts them into the order in which ldmatrix gives them to
// the lanes). Fragments are those of the PTX ISA, "Matrix fragments for multiply-accumulate operation with sparse
// matrix A".
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <string>
#include <type_traits>

#include "check.h"

namespace {

template <class T, int K>
struct Fragments {
  static constexpr int kPerRegister = 4 / sizeof(T), kRegisters = K * 8 / 32 / kPerRegister;
  uint32_t a[kRegisters], b[kRegisters];

  // `a` has K / 2 columns.
  __device__ Fragments(const T* stored, const T* dense) {
    const int group = threadIdx.x / 4, within = threadIdx.x % 4;
    for (int r = 0; r < kRegisters; ++r) {
      T elements[kPerRegister];
      const int row = group + r % 2 * 8, column = within * kPerRegister + r / 2 * 4 * kPerRegister;
      for (int j = 0; j < kPerRegister; ++j) elements[j] = stored[row * (K / 2) + column + j];
      memcpy(&a[r], elements, 4);
      for (int j = 0; j < kPerRegister; ++j)
        elements[j] = dense[((within + 4 * r) * kPerRegister + j) * 8 + group];
      memcpy(&b[r], elements, 4);
    }
  }
};

__device__ int accumulator_index(int i) {
  return (threadIdx.x / 4 + i / 2 * 8) * 8 + threadIdx.x % 4 * 2 + i % 2;
}

#define OPERANDS2(f) "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]), "r"(f.b[1])
#define OPERANDS4(f) \
  "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]), "r"(f.b[2]), "r"(f.b[3])
#define SUMS(kind, d) kind(d[0]), kind(d[1]), kind(d[2]), kind(d[3])
#define REGISTERS2 "{%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, %9;"
#define REGISTERS4 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9,%10,%11}, {%0,%1,%2,%3}, %12, %13;"

// A kernel of one form: `n` registers of A and of B; sums of `C` in registers of `kind`.
#define SPARSE_KERNEL(name, T, C, K, n, kind, form)                                                   \
  template <int kSelector>                                                                            \
  __global__ void name(const T* stored, const T* dense, const C* c, const uint32_t* metadata, C* d) { \
    const Fragments<T, K> f(stored, dense);                                                           \
    C sums[4];                                                                                        \
    for (int i = 0; i < 4; ++i) sums[i] = c[accumulator_index(i)];                                    \
    asm volatile(form " " REGISTERS##n                                                                \
                 : SUMS(kind, sums)                                                                   \
                 : OPERANDS##n(f), "r"(metadata[threadIdx.x]), "n"(kSelector));                       \
    for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = sums[i];                                    \
  }
SPARSE_KERNEL(f16_k16, __half, float, 16, 2, "+f", "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
SPARSE_KERNEL(f16_k32, __half, float, 32, 4, "+f",
              "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32")
SPARSE_KERNEL(bf16_k16, __nv_bfloat16, float, 16, 2, "+f",
              "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")
SPARSE_KERNEL(bf16_k32, __nv_bfloat16, float, 32, 4, "+f",
              "mma.sp.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32")
SPARSE_KERNEL(tf32_k8, float, float, 8, 2, "+f", "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32")
SPARSE_KERNEL(tf32_k16, float, float, 16, 4, "+f", "mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32")
SPARSE_KERNEL(s8_k32, int8_t, int, 32, 2, "+r", "mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32")
SPARSE_KERNEL(s8_k64, int8_t, int, 64, 4, "+r", "mma.sp.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32")
SPARSE_KERNEL(u8_k64, uint8_t, int, 64, 4, "+r",
              "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.u8.s32")
// From sm_89 on; before, the instruction is a comment.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
#define FLOAT8_FORM(form) "//"
#else
#define FLOAT8_FORM(form) form
#endif
SPARSE_KERNEL(e4m3_k64, __nv_fp8_e4m3, float, 64, 4, "+f",
              FLOAT8_FORM("mma.sp.sync.aligned.m16n8k64.row.col.f32.e4m3.e4m3.f32"))
SPARSE_KERNEL(e5m2_k64, __nv_fp8_e5m2, float, 64, 4, "+f",
              FLOAT8_FORM("mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.f32.e5m2.e5m2.f32"))

// Sums in halves: two registers.
template <int kSelector>
__global__ void f16_sum(const __half* stored, const __half* dense, const __half* c, const uint32_t* metadata,
                        __half* d) {
  const Fragments<__half, 32> f(stored, dense);
  __half sums[4];
  uint32_t words[2];
  for (int i = 0; i < 4; ++i) sums[i] = c[accumulator_index(i)];
  memcpy(words, sums, sizeof words);
  asm volatile(
      "mma.sp.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7,%8,%9}, {%0,%1}, "
      "%10, %11;"
      : "+r"(words[0]), "+r"(words[1])
      : OPERANDS4(f), "r"(metadata[threadIdx.x]), "n"(kSelector));
  memcpy(sums, words, sizeof words);
  for (int i = 0; i < 4; ++i) d[accumulator_index(i)] = sums[i];
}

double value_of(__half x) {
  return __half2float(x);
}
double value_of(__nv_bfloat16 x) {
  return __bfloat162float(x);
}
double value_of(__nv_fp8_e4m3 x) {
  return double(float(x));
}
double value_of(__nv_fp8_e5m2 x) {
  return double(float(x));
}
template <class T>
double value_of(T x) {
  return double(x);
}

// The part of A that one ldmatrix of metadata stands for: two columns of words of metadata, `E` each, of 32 rows (16
// bits a word) or 16 rows (32 bits).
template <class T>
struct Sparse {
  using E = std::conditional_t<sizeof(T) == 1, uint32_t, uint16_t>;
  static constexpr int kWidth = sizeof(T) == 4 ? 2 : 4, kStored = kWidth / 2;  // of a chunk
  static constexpr int kRows = sizeof(E) == 2 ? 32 : 16, kPerWord = 2 * sizeof(E) * kWidth;
  static constexpr int kColumns = 2 * kPerWord;

  explicit Sparse(int salt) : dense(kRows * kColumns), stored(kRows * kColumns / 2), lanes(32) {
    std::vector<E> metadata(kRows * 2, 0);
    for (int row = 0; row < kRows; ++row) {
      for (int chunk = 0; chunk < kColumns / kWidth; ++chunk) {
        const uint64_t bits = bits_of(row * 64 + chunk, salt);
        int places[2] = {int(bits % kWidth), 0};
        if (kStored == 2) {
          places[1] = (places[0] + 1 + int((bits >> 8) % 3)) % 4;
          if (places[0] > places[1]) std::swap(places[0], places[1]);
        }
        for (int s = 0; s < kStored; ++s) {
          const int eighths = int(bits >> (16 + 8 * s) & 63) - (std::is_unsigned<T>::value ? 0 : 32);
          const T value = T(float(eighths) / (std::is_integral<T>::value ? 1.0F : 8.0F));
          dense[row * kColumns + chunk * kWidth + places[s]] = value_of(value);
          stored[row * kColumns / 2 + chunk * kStored + s] = value;
        }
        const int nibble = kStored == 2 ? places[0] | places[1] << 2 : places[0] == 0 ? 0b0100 : 0b1110;
        E& word = metadata[row * 2 + chunk * kWidth / kPerWord];
        word = E(word | E(nibble) << chunk * kWidth % kPerWord / kWidth * 4);
      }
    }
    // reorder_meta(), to the layout ColumnMajorInterleaved<2>.
    std::vector<E> reordered(kRows * 2);
    for (int row = 0; row < kRows; ++row) {
      for (int k = 0; k < 2; ++k) {
        constexpr int group = sizeof(E) == 2 ? 32 : 16, interweave = sizeof(E) == 2 ? 4 : 2;
        int to_row = row / group * group + row % 8 * interweave + row % group / 8, to_column = k;
        if (to_row % 2 == 0 && to_column % 2 == 1) {
          ++to_row;
          --to_column;
        } else if (to_row % 2 == 1 && to_column % 2 == 0) {
          --to_row;
          ++to_column;
        }
        reordered[to_row * 2 + to_column] = metadata[row * 2 + k];
      }
    }
    memcpy(lanes.data(), reordered.data(), 128);  // ldmatrix: lane l has word l
  }
  std::vector<double> dense;
  std::vector<T> stored;
  std::vector<uint32_t> lanes;
};

// One instruction: the rows from `row` on and the K columns from `column` on, whose metadata the selector names.
template <int K, class T, class C, class Kernel>
void check_part(const char* name, Kernel kernel, const Sparse<T>& s, int row, int column,
                double rounding = 0) {
  Managed<T> stored(16 * K / 2), b(K * 8);
  Managed<C> c(16 * 8), d(16 * 8);
  Managed<uint32_t> metadata(32);
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < K / 2; ++k)
      stored[r * K / 2 + k] = s.stored[((row + r) * s.kColumns + column) / 2 + k];
  for (int i = 0; i < K * 8; ++i) {
    const int eighths = int(bits_of(i, 5) >> 20 & 63) - (std::is_unsigned<T>::value ? 0 : 32);
    b[i] = T(float(eighths) / (std::is_integral<T>::value ? 1.0F : 8.0F));
  }
  for (int i = 0; i < 16 * 8; ++i) c[i] = C(float(int(bits_of(i, 6) >> 20 & 63) - 32));
  for (int l = 0; l < 32; ++l) metadata[l] = s.lanes[l];
  kernel<<<1, 32>>>(stored.data, b.data, c.data, metadata.data, d.data);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaDeviceSynchronize());
  for (int r = 0; r < 16; ++r) {
    for (int n = 0; n < 8; ++n) {
      double want = value_of(c[r * 8 + n]);
      for (int k = 0; k < K; ++k)
        want += s.dense[(row + r) * s.kColumns + column + k] * value_of(b[k * 8 + n]);
      // Eighths are exact in all types, and so are their sums in float.
      if (std::fabs(value_of(d[r * 8 + n]) - want) <= rounding * std::fabs(want)) continue;
      ++g_failures;
      std::printf("FAILED: %s of rows %d, columns %d at (%d, %d): got %g want %g\n", name, row, column, r, n,
                  value_of(d[r * 8 + n]), want);
      return;
    }
  }
}

}  // namespace

int main() {
  int major = 0, minor = 0;
  CHECK_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CHECK_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  for (int salt = 1; salt < 4; ++salt) {
    const Sparse<__half> halves(salt);
    check_part<16, __half, float>("f16 k16", f16_k16<0>, halves, 0, 0);
    check_part<16, __half, float>("f16 k16", f16_k16<1>, halves, 0, 16);
    check_part<16, __half, float>("f16 k16", f16_k16<2>, halves, 16, 0);
    check_part<16, __half, float>("f16 k16", f16_k16<3>, halves, 16, 16);
    check_part<32, __half, float>("f16 k32", f16_k32<0>, halves, 0, 0);
    check_part<32, __half, float>("f16 k32", f16_k32<1>, halves, 16, 0);
    check_part<32, __half, __half>("f16 sums", f16_sum<0>, halves, 0, 0, 0x1p-10);
    check_part<32, __half, __half>("f16 sums", f16_sum<1>, halves, 16, 0, 0x1p-10);
    const Sparse<__nv_bfloat16> bfloats(salt);
    check_part<16, __nv_bfloat16, float>("bf16 k16", bf16_k16<2>, bfloats, 16, 0);
    check_part<32, __nv_bfloat16, float>("bf16 k32", bf16_k32<1>, bfloats, 16, 0);
    const Sparse<float> floats(salt);
    check_part<8, float, float>("tf32 k8", tf32_k8<0>, floats, 0, 0);
    check_part<8, float, float>("tf32 k8", tf32_k8<3>, floats, 16, 8);
    check_part<16, float, float>("tf32 k16", tf32_k16<0>, floats, 0, 0);
    check_part<16, float, float>("tf32 k16", tf32_k16<1>, floats, 16, 0);
    const Sparse<int8_t> bytes(salt);
    check_part<32, int8_t, int>("s8 k32", s8_k32<0>, bytes, 0, 0);
    check_part<32, int8_t, int>("s8 k32", s8_k32<1>, bytes, 0, 32);
    check_part<64, int8_t, int>("s8 k64", s8_k64<0>, bytes, 0, 0);
    check_part<64, uint8_t, int>("u8 k64", u8_k64<0>, Sparse<uint8_t>(salt), 0, 0);
    if (major * 10 + minor < 89) continue;
    check_part<64, __nv_fp8_e4m3, float>("e4m3 k64", e4m3_k64<0>, Sparse<__nv_fp8_e4m3>(salt), 0, 0);
    check_part<64, __nv_fp8_e5m2, float>("e5m2 k64", e5m2_k64<0>, Sparse<__nv_fp8_e5m2>(salt), 0, 0);
  }
  return g_failures;
}
