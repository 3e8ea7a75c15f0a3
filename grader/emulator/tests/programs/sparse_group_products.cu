// wgmma.mma_async.sp (sm_90a) against products on the host: every type, both places of A, majors and layouts. The
// metadata are put into the threads' registers as CUTLASS lays them out (include/cute/atom/mma_traits_sm90_gmma_sparse.hpp:
// ELayout_64x32, ELayout_64x64 and ELayout_64x16 give the row and the k of each thread's values; ValTypeE says how many
// k a byte stands for). What four bits mean is in its uncompress() (tools/util, host_uncompress.h). With "short_lines": a
// layout that the emulator refuses.
#include <functional>
#include <string>

#include "warp_group_check.h"

// %0 accumulators, %1 and %2 descriptors (%1 A's registers in memory), %3 whether d counts, %4 metadata.
// clang-format off
#define BEGIN(regs) "{.reg .b32 d<" #regs ">;.reg .b32 a<4>;.reg .b64 p;.reg .pred s;" \
  "setp.ne.s32 s,%3,0;mov.u64 p,%0;" ALL##regs(LOAD1) "wgmma.fence.sync.aligned;"
#define END(regs) "wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;mov.u64 p,%0;" ALL##regs(STORE1) "}"
#define SHARED_A(shape, types, regs, selector, tail) \
  BEGIN(regs) "wgmma.mma_async.sp.sync.aligned.m64" shape "." types " {" R##regs "},%1,%2,%4," #selector ",s" tail ";" END(regs)
#define REGISTER_A(shape, types, regs, selector, tail) \
  "{.reg .b64 q;" \
  BEGIN(regs) "mov.u64 p,%1;ld.global.b32 a0,[p];ld.global.b32 a1,[p+512];ld.global.b32 a2,[p+1024];ld.global.b32 a3,[p+1536];" \
  "wgmma.mma_async.sp.sync.aligned.m64" shape "." types " {" R##regs "},{a0,a1,a2,a3},%2,%4," #selector ",s" tail ";" END(regs) "}"

// Number, instruction, n, types, majors, where A lies, signs, selector.
#define FORM_LIST(X)                                                                                              \
  X(0, SHARED_A("n8k32", "f32.f16.f16", 4, 0, ",1,1,0,0"), 8, f16, f16, f32, false, false, false, 1, 1, 0)          \
  X(1, SHARED_A("n64k32", "f32.f16.f16", 32, 1, ",1,1,1,0"), 64, f16, f16, f32, true, false, false, 1, 1, 1)        \
  X(2, SHARED_A("n64k32", "f32.bf16.bf16", 32, 0, ",-1,1,0,1"), 64, bf16, bf16, f32, false, true, false, -1, 1, 0)  \
  X(3, SHARED_A("n256k32", "f32.f16.f16", 128, 1, ",1,-1,1,1"), 256, f16, f16, f32, true, true, false, 1, -1, 1)    \
  X(4, SHARED_A("n64k32", "f16.f16.f16", 16, 0, ",1,1,0,0"), 64, f16, f16, f16, false, false, false, 1, 1, 0)       \
  X(5, REGISTER_A("n96k32", "f32.f16.f16", 48, 1, ",1,1,0"), 96, f16, f16, f32, false, false, true, 1, 1, 1)        \
  X(6, REGISTER_A("n64k32", "f32.bf16.bf16", 32, 0, ",1,1,1"), 64, bf16, bf16, f32, false, true, true, 1, 1, 0)     \
  X(7, SHARED_A("n64k16", "f32.tf32.tf32", 32, 0, ",1,1"), 64, tf32, tf32, f32, false, false, false, 1, 1, 0)       \
  X(8, REGISTER_A("n24k16", "f32.tf32.tf32", 12, 1, ",1,-1"), 24, tf32, tf32, f32, false, false, true, 1, -1, 1)    \
  X(9, SHARED_A("n64k64", "f32.e4m3.e4m3", 32, 0, ",1,1"), 64, e4m3, e4m3, f32, false, false, false, 1, 1, 0)       \
  X(10, REGISTER_A("n64k64", "f16.e4m3.e5m2", 16, 0, ",1,1"), 64, e4m3, e5m2, f16, false, false, true, 1, 1, 0)     \
  X(11, SHARED_A("n32k64", "f32.e5m2.e4m3", 16, 0, ",1,1"), 32, e5m2, e4m3, f32, false, false, false, 1, 1, 0)      \
  X(12, SHARED_A("n64k64", "s32.s8.s8", 32, 0, ""), 64, s8, s8, s32, false, false, false, 1, 1, 0)                  \
  X(13, REGISTER_A("n16k64", "s32.u8.s8", 8, 0, ""), 16, u8, s8, s32, false, false, true, 1, 1, 0)                  \
  X(14, SHARED_A("n256k64", "s32.u8.u8.satfinite", 128, 0, ""), 256, u8, u8, s32, false, false, false, 1, 1, 0)
// clang-format on

struct Form {
  int number, n;
  Type a, b;
  Sum sum;
  bool a_across, b_across, a_in_registers;
  int sign_a, sign_b, selector;
};

template <int kNumber>
__global__ void run_form(uint32_t* d, const uint32_t* a, const uint4* image, uint64_t a_descriptor,
                         uint64_t b_descriptor, int adds, const uint32_t* metadata) {
  extern __shared__ __align__(1024) uint4 shared[];
  for (uint32_t k = threadIdx.x; k < kImageBytes / 16; k += blockDim.x) shared[k] = image[k];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const uint64_t start = __cvta_generic_to_shared(shared) >> 4;
  d += threadIdx.x;
#define CASE(number, text, n, ta, tb, sum, xa, xb, regs, sa, sb, selector)                       \
  if constexpr (kNumber == number)                                                               \
    asm volatile(text ::"l"(d),                                                                  \
                 "l"(regs ? reinterpret_cast<uint64_t>(a + threadIdx.x) : a_descriptor + start), \
                 "l"(b_descriptor + start), "r"(adds), "r"(metadata[threadIdx.x])                \
                 : "memory");
  FORM_LIST(CASE)  // MISTAKE short_lines
#undef CASE
}

using Kernel = void (*)(uint32_t*, const uint32_t*, const uint4*, uint64_t, uint64_t, int, const uint32_t*);

// Which elements of A are stored: of each chunk of four neighbours along k two, of tf32 one of two.
struct Structure {
  int width, chunks;
  std::vector<int> first, second;  // places within a chunk, by row and chunk
  Structure(Type t, int k, int salt) : width(t == Type::tf32 ? 2 : 4), chunks(k / width) {
    for (int c = 0; c < 64 * chunks; ++c) {
      const auto bits = ::bits_of(c, salt);
      int p = int(bits % unsigned(width)), q = p;
      if (width == 4) q = (p + 1 + int((bits >> 8) % 3)) % 4;
      first.push_back(std::min(p, q));
      second.push_back(std::max(p, q));
    }
  }
  int stored() const { return width / 2; }
  // host_uncompress.h: of tf32 the halves of the element that is stored.
  uint32_t code(int row, int chunk) const {
    const size_t at = size_t(row * chunks + chunk);
    if (width == 4) return uint32_t(first[at] | second[at] << 2);
    return first[at] == 0 ? 0b0100 : 0b1110;
  }
  // A with its zeros.
  double value(const Operand& a, int row, int k) const {
    const int chunk = k / width, place = k % width;
    const size_t at = size_t(row * chunks + chunk), from = size_t(row * a.k + chunk * stored());
    if (place == first[at]) return a.value[from];
    return width == 4 && place == second[at] ? a.value[from + 1] : 0;
  }
};

// CUTLASS's layouts of metadata: the strides of a thread's number (as 2 x 2 x 8 x 4) and of a value's give row + 64 k.
struct MetadataLayout {
  int thread[4];
  int values_along_k;  // then 8 rows further, if there are two rows
  int rows;
};

MetadataLayout layout_of(Type t) {
  if (t == Type::tf32) return {{512, 0, 1, 16}, 8, 2};                      // ELayout_64x16
  if (t == Type::f16 || t == Type::bf16) return {{1024, 0, 1, 16}, 16, 2};  // ELayout_64x32
  return {{8, 2048, 1, 16}, 32, 1};                                         // ELayout_64x64
}

std::vector<uint32_t> metadata_of(Type t, const Structure& s, int selector) {
  const MetadataLayout l = layout_of(t);
  std::vector<uint32_t> words(128, 0x44444444);  // other threads' do not count
  for (int thread = 0; thread < 128; ++thread) {
    // The stride 0 is that of the threads which the selector chooses.
    const bool is_chosen = l.thread[1] != 0 || (thread / 2 & 1) == selector;
    if (!is_chosen) continue;
    const int at = (thread & 1) * l.thread[0] + (thread / 2 & 1) * l.thread[1] +
                   (thread / 4 & 7) * l.thread[2] + thread / 32 * l.thread[3];
    words[size_t(thread)] = 0;
    for (int v = 0; v < l.values_along_k * l.rows; v += s.width) {
      const int of = at + v % l.values_along_k * 64 + v / l.values_along_k * 8;
      words[size_t(thread)] |= s.code(of % 64, of / 64 / s.width) << (v / s.width * 4);
    }
  }
  return words;
}

std::vector<double> multiply(const Form& f, Kernel kernel, uint32_t line, int variant, bool adds,
                             const Operand& a, const Operand& b, const Structure& s,
                             const std::vector<uint32_t>& start) {
  const Layout of_a = layout_of(line, f.a_across, 64, variant),
               of_b = layout_of(line, f.b_across, f.n, variant, 4);
  std::vector<uint8_t> bytes(kImageBytes);
  lay_out(bytes, 0, a, f.a, f.a_across, of_a);
  lay_out(bytes, kPlaceOfB, b, f.b, f.b_across, of_b);
  const std::vector<uint32_t> in_registers = fragments(a, f.a), of_threads = metadata_of(f.a, s, f.selector);
  Managed<uint32_t> words(start.size()), registers(512), metadata(128);
  Managed<uint4> image(kImageBytes / 16);
  std::copy(start.begin(), start.end(), words.data);
  std::copy(in_registers.begin(), in_registers.end(), registers.data);
  std::copy(of_threads.begin(), of_threads.end(), metadata.data);
  std::memcpy(image.data, bytes.data(), kImageBytes);
  CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kImageBytes));
  kernel<<<1, 128, kImageBytes>>>(words.data, registers.data, image.data, descriptor(0, of_a),
                                  descriptor(kPlaceOfB, of_b), adds ? 1 : 0, metadata.data);
  CHECK_CUDA(cudaDeviceSynchronize());
  return read_result({words.data, words.data + start.size()}, f.n, f.sum);
}

bool agrees(const Form& f, Kernel kernel, uint32_t line, int variant, bool adds) {
  const Operand a(f.a, 64, 1), b(f.b, f.n, 2, 64);
  const Structure s(f.a, b.k, 3 + variant);
  const std::vector<uint32_t> start = start_words(f.n, f.sum);
  const std::vector<double> before = read_result(start, f.n, f.sum),
                            got = multiply(f, kernel, line, variant, adds, a, b, s, start);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < f.n; ++column) {
      double want = adds ? before[size_t(row * f.n + column)] : 0;
      for (int k = 0; k < b.k; ++k)
        want += f.sign_a * s.value(a, row, k) * f.sign_b * b.value[size_t(column * b.k + k)];
      if (got[size_t(row * f.n + column)] != rounded(want, f.sum)) return false;
    }
  }
  return true;
}

void form(const Form& f, Kernel kernel) {
  for (const uint32_t line : {16u, 32u, 64u, 128u}) {
    if (line == 32 && !f.b_across) continue;  // a step of k has 64 bytes of B
    for (int variant = 0; variant < 2; ++variant) {
      const bool ok = agrees(f, kernel, line, variant, variant == 0);
      if (!ok) std::printf("form %d (n %d), lines of %u bytes, layout %d\n", f.number, f.n, line, variant);
      expect(ok, "a sparse product of a warp group");
    }
  }
}

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "short_lines") {
    Managed<uint32_t> words(2048), metadata(128);
    Managed<uint4> image(kImageBytes / 16);
    CHECK_CUDA(cudaFuncSetAttribute(run_form<0>, cudaFuncAttributeMaxDynamicSharedMemorySize, kImageBytes));
    const uint64_t lines = descriptor(0, layout_of(32, false, 8, 0));
    run_form<0><<<1, 128, kImageBytes>>>(words.data, words.data, image.data, lines, lines, 0, metadata.data);
    std::printf("%d\n", int(cudaDeviceSynchronize()));
    return 0;
  }
#define RUN(number, text, n, ta, tb, sum, xa, xb, regs, sa, sb, selector) \
  form({number, n, Type::ta, Type::tb, Sum::sum, xa, xb, regs, sa, sb, selector}, run_form<number>);
  FORM_LIST(RUN)
#undef RUN
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
