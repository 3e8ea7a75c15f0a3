// wgmma (sm_90a): every width, type and layout of operands against a plain product on the host, which reads
// the same images of shared memory that it wrote piece by piece. With an argument: one mistake, at the line
// that carries MISTAKE <argument>; prints the error that the program sees.
#include <functional>
#include <string>

#include "warp_group_check.h"

// clang-format off
// %0 accumulators, %1 and %2 descriptors (%1 A's registers in memory), %3 whether d counts.
#define BEGIN(regs) "{.reg .b32 d<" #regs ">;.reg .b32 a<4>;.reg .b64 p;.reg .pred s;" \
  "setp.ne.s32 s,%3,0;mov.u64 p,%0;" ALL##regs(LOAD1) "wgmma.fence.sync.aligned;"
#define END(regs) "wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;mov.u64 p,%0;" ALL##regs(STORE1) "}"
#define SHARED_A(shape, types, regs, tail) \
  BEGIN(regs) "wgmma.mma_async.sync.aligned.m64" shape "." types " {" R##regs "},%1,%2,s" tail ";" END(regs)
#define REGISTER_A(shape, types, regs, tail) \
  "{.reg .b64 q;" \
  BEGIN(regs) "mov.u64 p,%1;ld.global.b32 a0,[p];ld.global.b32 a1,[p+512];ld.global.b32 a2,[p+1024];ld.global.b32 a3,[p+1536];" \
  "wgmma.mma_async.sync.aligned.m64" shape "." types " {" R##regs "},{a0,a1,a2,a3},%2,s" tail ";" END(regs) "}"
// clang-format on

struct Form {
  int number;  // in FORM_LIST
  int n;
  Type a, b;
  Sum sum = Sum::f32;
  bool a_across = false, b_across = false;  // neighbours along m or n, not along k
  bool a_in_registers = false;
  int sign_a = 1, sign_b = 1;
};

// Number, instruction, n, types, majors, where A lies, signs.
// clang-format off
#define FORM_LIST(X)                                                                                         \
  X(100, SHARED_A("n64k16", "f32.f16.f16", 32, ",1,1,1,0"), 64, f16, f16, f32, true, false, false, 1, 1)      \
  X(101, SHARED_A("n64k16", "f32.f16.f16", 32, ",1,1,0,1"), 64, f16, f16, f32, false, true, false, 1, 1)      \
  X(102, SHARED_A("n128k16", "f32.bf16.bf16", 64, ",1,1,1,1"), 128, bf16, bf16, f32, true, true, false, 1, 1) \
  X(103, SHARED_A("n128k16", "f32.bf16.bf16", 64, ",-1,1,0,0"), 128, bf16, bf16, f32, false, false, false, -1, 1) \
  X(104, SHARED_A("n256k16", "f32.f16.f16", 128, ",1,-1,1,1"), 256, f16, f16, f32, true, true, false, 1, -1)  \
  X(105, SHARED_A("n64k16", "f16.f16.f16", 16, ",1,1,0,0"), 64, f16, f16, f16, false, false, false, 1, 1)     \
  X(106, SHARED_A("n240k16", "f16.f16.f16", 60, ",1,1,0,0"), 240, f16, f16, f16, false, false, false, 1, 1)   \
  X(107, REGISTER_A("n96k16", "f32.f16.f16", 48, ",1,1,0"), 96, f16, f16, f32, false, false, true, 1, 1)      \
  X(108, REGISTER_A("n64k16", "f32.bf16.bf16", 32, ",-1,-1,1"), 64, bf16, bf16, f32, false, true, true, -1, -1) \
  X(109, SHARED_A("n64k8", "f32.tf32.tf32", 32, ",1,1"), 64, tf32, tf32, f32, false, false, false, 1, 1)      \
  X(110, REGISTER_A("n24k8", "f32.tf32.tf32", 12, ",1,-1"), 24, tf32, tf32, f32, false, false, true, 1, -1)   \
  X(111, SHARED_A("n64k32", "f32.e4m3.e4m3", 32, ",1,1"), 64, e4m3, e4m3, f32, false, false, false, 1, 1)     \
  X(112, SHARED_A("n32k32", "f32.e5m2.e4m3", 16, ",1,1"), 32, e5m2, e4m3, f32, false, false, false, 1, 1)     \
  X(113, REGISTER_A("n64k32", "f16.e4m3.e5m2", 16, ",1,1"), 64, e4m3, e5m2, f16, false, false, true, 1, 1)    \
  X(114, SHARED_A("n64k32", "s32.s8.s8", 32, ""), 64, s8, s8, s32, false, false, false, 1, 1)                 \
  X(115, SHARED_A("n32k32", "s32.u8.s8", 16, ""), 32, u8, s8, s32, false, false, false, 1, 1)                 \
  X(116, REGISTER_A("n224k32", "s32.s8.u8", 112, ""), 224, s8, u8, s32, false, false, true, 1, 1)             \
  X(117, REGISTER_A("n16k32", "s32.u8.u8", 8, ""), 16, u8, u8, s32, false, false, true, 1, 1)                 \
  X(118, SHARED_A("n64k256", "s32.b1.b1.and.popc", 32, ""), 64, b1, b1, s32, false, false, false, 1, 1) \
  X(1, SHARED_A("n8k16", "f32.f16.f16", 4, ",1,1,0,0"), 8, f16, f16, f32, false, false, false, 1, 1) \
  X(2, SHARED_A("n16k16", "f32.f16.f16", 8, ",1,1,0,0"), 16, f16, f16, f32, false, false, false, 1, 1) \
  X(3, SHARED_A("n24k16", "f32.f16.f16", 12, ",1,1,0,0"), 24, f16, f16, f32, false, false, false, 1, 1) \
  X(4, SHARED_A("n32k16", "f32.f16.f16", 16, ",1,1,0,0"), 32, f16, f16, f32, false, false, false, 1, 1) \
  X(5, SHARED_A("n40k16", "f32.f16.f16", 20, ",1,1,0,0"), 40, f16, f16, f32, false, false, false, 1, 1) \
  X(6, SHARED_A("n48k16", "f32.f16.f16", 24, ",1,1,0,0"), 48, f16, f16, f32, false, false, false, 1, 1) \
  X(7, SHARED_A("n56k16", "f32.f16.f16", 28, ",1,1,0,0"), 56, f16, f16, f32, false, false, false, 1, 1) \
  X(8, SHARED_A("n64k16", "f32.f16.f16", 32, ",1,1,0,0"), 64, f16, f16, f32, false, false, false, 1, 1) \
  X(9, SHARED_A("n72k16", "f32.f16.f16", 36, ",1,1,0,0"), 72, f16, f16, f32, false, false, false, 1, 1) \
  X(10, SHARED_A("n80k16", "f32.f16.f16", 40, ",1,1,0,0"), 80, f16, f16, f32, false, false, false, 1, 1) \
  X(11, SHARED_A("n88k16", "f32.f16.f16", 44, ",1,1,0,0"), 88, f16, f16, f32, false, false, false, 1, 1) \
  X(12, SHARED_A("n96k16", "f32.f16.f16", 48, ",1,1,0,0"), 96, f16, f16, f32, false, false, false, 1, 1) \
  X(13, SHARED_A("n104k16", "f32.f16.f16", 52, ",1,1,0,0"), 104, f16, f16, f32, false, false, false, 1, 1) \
  X(14, SHARED_A("n112k16", "f32.f16.f16", 56, ",1,1,0,0"), 112, f16, f16, f32, false, false, false, 1, 1) \
  X(15, SHARED_A("n120k16", "f32.f16.f16", 60, ",1,1,0,0"), 120, f16, f16, f32, false, false, false, 1, 1) \
  X(16, SHARED_A("n128k16", "f32.f16.f16", 64, ",1,1,0,0"), 128, f16, f16, f32, false, false, false, 1, 1) \
  X(17, SHARED_A("n136k16", "f32.f16.f16", 68, ",1,1,0,0"), 136, f16, f16, f32, false, false, false, 1, 1) \
  X(18, SHARED_A("n144k16", "f32.f16.f16", 72, ",1,1,0,0"), 144, f16, f16, f32, false, false, false, 1, 1) \
  X(19, SHARED_A("n152k16", "f32.f16.f16", 76, ",1,1,0,0"), 152, f16, f16, f32, false, false, false, 1, 1) \
  X(20, SHARED_A("n160k16", "f32.f16.f16", 80, ",1,1,0,0"), 160, f16, f16, f32, false, false, false, 1, 1) \
  X(21, SHARED_A("n168k16", "f32.f16.f16", 84, ",1,1,0,0"), 168, f16, f16, f32, false, false, false, 1, 1) \
  X(22, SHARED_A("n176k16", "f32.f16.f16", 88, ",1,1,0,0"), 176, f16, f16, f32, false, false, false, 1, 1) \
  X(23, SHARED_A("n184k16", "f32.f16.f16", 92, ",1,1,0,0"), 184, f16, f16, f32, false, false, false, 1, 1) \
  X(24, SHARED_A("n192k16", "f32.f16.f16", 96, ",1,1,0,0"), 192, f16, f16, f32, false, false, false, 1, 1) \
  X(25, SHARED_A("n200k16", "f32.f16.f16", 100, ",1,1,0,0"), 200, f16, f16, f32, false, false, false, 1, 1) \
  X(26, SHARED_A("n208k16", "f32.f16.f16", 104, ",1,1,0,0"), 208, f16, f16, f32, false, false, false, 1, 1) \
  X(27, SHARED_A("n216k16", "f32.f16.f16", 108, ",1,1,0,0"), 216, f16, f16, f32, false, false, false, 1, 1) \
  X(28, SHARED_A("n224k16", "f32.f16.f16", 112, ",1,1,0,0"), 224, f16, f16, f32, false, false, false, 1, 1) \
  X(29, SHARED_A("n232k16", "f32.f16.f16", 116, ",1,1,0,0"), 232, f16, f16, f32, false, false, false, 1, 1) \
  X(30, SHARED_A("n240k16", "f32.f16.f16", 120, ",1,1,0,0"), 240, f16, f16, f32, false, false, false, 1, 1) \
  X(31, SHARED_A("n248k16", "f32.f16.f16", 124, ",1,1,0,0"), 248, f16, f16, f32, false, false, false, 1, 1) \
  X(32, SHARED_A("n256k16", "f32.f16.f16", 128, ",1,1,0,0"), 256, f16, f16, f32, false, false, false, 1, 1)
// clang-format on

// One product of four warps. `images` holds the shared memory that the descriptors describe.
template <int kNumber>
__device__ void multiply(uint32_t* d, const uint32_t* a, uint64_t a_descriptor, uint64_t b_descriptor,
                         int adds) {
#define CASE(number, text, n, ta, tb, sum, xa, xb, regs, sa, sb)                                             \
  if constexpr (kNumber == number)                                                                           \
    asm volatile(text ::"l"(d), "l"(regs ? reinterpret_cast<uint64_t>(a) : a_descriptor), "l"(b_descriptor), \
                 "r"(adds)                                                                                   \
                 : "memory");
  FORM_LIST(CASE)
#undef CASE
}

template <int kNumber>
__global__ void run_form(uint32_t* d, const uint32_t* a, const uint4* image, uint64_t a_descriptor,
                         uint64_t b_descriptor, int adds) {
  extern __shared__ __align__(1024) uint4 shared[];
  for (uint32_t k = threadIdx.x; k < kImageBytes / 16; k += blockDim.x) shared[k] = image[k];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const uint64_t start = __cvta_generic_to_shared(shared) >> 4;
  multiply<kNumber>(d + threadIdx.x, a + threadIdx.x, a_descriptor + start, b_descriptor + start, adds);
}

using Kernel = void (*)(uint32_t*, const uint32_t*, const uint4*, uint64_t, uint64_t, int);

bool agrees(const Form& f, Kernel kernel, uint32_t line, int variant, bool adds) {
  const Operand a(f.a, 64, 1), b(f.b, f.n, 2);
  const Layout of_a = layout_of(line, f.a_across, 64, variant),
               of_b = layout_of(line, f.b_across, f.n, variant);
  std::vector<uint8_t> bytes(kImageBytes);
  lay_out(bytes, 0, a, f.a, f.a_across, of_a);
  lay_out(bytes, kPlaceOfB, b, f.b, f.b_across, of_b);
  const std::vector<uint32_t> start = start_words(f.n, f.sum), in_registers = fragments(a, f.a);
  Managed<uint32_t> words(start.size()), registers(512);
  Managed<uint4> image(kImageBytes / 16);
  std::copy(start.begin(), start.end(), words.data);
  std::copy(in_registers.begin(), in_registers.end(), registers.data);
  std::memcpy(image.data, bytes.data(), kImageBytes);
  CHECK_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kImageBytes));
  kernel<<<1, 128, kImageBytes>>>(words.data, registers.data, image.data, descriptor(0, of_a),
                                  descriptor(kPlaceOfB, of_b), adds ? 1 : 0);
  CHECK_CUDA(cudaDeviceSynchronize());
  const std::vector<double> before = read_result(start, f.n, f.sum),
                            got = read_result({words.data, words.data + start.size()}, f.n, f.sum);
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < f.n; ++column) {
      double want = adds ? before[size_t(row * f.n + column)] : 0;
      for (int k = 0; k < a.k; ++k)
        want += f.sign_a * a.value[size_t(row * a.k + k)] * f.sign_b * b.value[size_t(column * b.k + k)];
      if (got[size_t(row * f.n + column)] != rounded(want, f.sum)) return false;
    }
  }
  return true;
}

void form(const Form& f, Kernel kernel) {
  for (const uint32_t line : {16u, 32u, 64u, 128u}) {
    for (int variant = 0; variant < 2; ++variant) {
      const bool ok = agrees(f, kernel, line, variant, variant == 0);
      if (!ok) std::printf("form %d (n %d), lines of %u bytes, layout %d\n", f.number, f.n, line, variant);
      expect(ok, "a product of a warp group");
    }
  }
}

// A loop over k as programs write it: two products a group, one group in flight, accumulators in variables.
__global__ void many_steps(const uint4* image, float* out, int steps) {
  extern __shared__ __align__(1024) uint4 shared[];
  for (uint32_t k = threadIdx.x; k < uint32_t(steps) * 128; k += blockDim.x) shared[k] = image[k];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  const uint64_t base = (__cvta_generic_to_shared(shared) >> 4) | uint64_t(8) << 16 | uint64_t(16) << 32;
  for (int step = 0; step < steps; ++step) {
    const uint64_t at = base + uint64_t(step) * 128;  // 2 KiB: A without swizzle; B is its first rows
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(at));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (step % 2 == 1) asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int row = int(threadIdx.x) / 32 * 16 + int(threadIdx.x) % 32 / 4;
  for (int k = 0; k < 4; ++k) out[(row + k / 2 * 8) * 8 + int(threadIdx.x) % 4 * 2 + k % 2] = d[k];
}

void loop() {
  constexpr int steps = 6;
  Managed<uint4> image(steps * 128);
  Managed<float> out(512);
  std::vector<Operand> tiles;
  for (int s = 0; s < steps; ++s) {
    tiles.emplace_back(Type::f16, 64, 30 + s);
    std::vector<uint8_t> bytes(2048);
    lay_out(bytes, 0, tiles.back(), Type::f16, false, {16, 128, 256, 0});
    std::memcpy(image.data + s * 128, bytes.data(), bytes.size());
  }
  many_steps<<<1, 128, steps * 2048>>>(image.data, out.data, steps);
  CHECK_CUDA(cudaDeviceSynchronize());
  bool ok = true;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 8; ++column) {
      double want = 0;
      for (const Operand& t : tiles)
        for (int k = 0; k < 16; ++k) want += t.value[size_t(row * 16 + k)] * t.value[size_t(column * 16 + k)];
      ok &= out[size_t(row * 8 + column)] == float(want);
    }
  }
  expect(ok, "a loop of products with a group in flight");
}

// Integers that leave their range: wrapped, or held at its end.
__global__ void overflow(const uint4* image, int* out, bool saturates) {
  extern __shared__ __align__(1024) uint4 shared[];
  for (uint32_t k = threadIdx.x; k < 128; k += blockDim.x) shared[k] = image[k];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  int d[4] = {0x7fffff00, 0x7fffff00, 0x7fffff00, 0x7fffff00};
  const uint64_t at = (__cvta_generic_to_shared(shared) >> 4) | uint64_t(8) << 16 | uint64_t(16) << 32;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if (saturates) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8.satfinite {%0,%1,%2,%3}, %4, %4, 1;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "l"(at));
  } else {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, %4, %4, 1;"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "l"(at));
  }
  asm volatile("wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = d[0];
}

void overflows() {
  Managed<uint4> image(128);
  Managed<int> out(128);
  std::memset(image.data, 100, 2048);
  for (const bool saturates : {false, true}) {
    overflow<<<1, 128, 2048>>>(image.data, out.data, saturates);
    CHECK_CUDA(cudaDeviceSynchronize());
    const int64_t sum = 0x7fffff00ll + 32 * 100 * 100;
    expect(out[5] == (saturates ? 0x7fffffff : int32_t(uint32_t(sum))), "integers that leave their range");
  }
}

// Mistakes.
__global__ void wrong_descriptor(float* out, uint64_t offset) {
  __shared__ __align__(1024) uint4 tile[128];
  tile[threadIdx.x] = uint4{};
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  const uint64_t at =
      ((__cvta_generic_to_shared(tile) + offset) >> 4) | uint64_t(8) << 16 | uint64_t(16) << 32;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(at));  // MISTAKE tile_overrun
  asm volatile("wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = d[0];
}
__global__ void unset_tile(float* out) {
  __shared__ __align__(1024) uint4 tile[128];
  if (threadIdx.x < 64) tile[threadIdx.x] = uint4{};
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  const uint64_t at = (__cvta_generic_to_shared(tile) >> 4) | uint64_t(8) << 16 | uint64_t(16) << 32;
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(at));  // MISTAKE tile_unset
  asm volatile("wgmma.commit_group.sync.aligned;wgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = d[0];
}

__global__ void reads_too_early(float* out) {
  __shared__ __align__(1024) uint4 tile[128];
  tile[threadIdx.x] = uint4{};
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  const uint64_t at = (__cvta_generic_to_shared(tile) >> 4) | uint64_t(8) << 16 | uint64_t(16) << 32;
  for (int k = 0; k < 3; ++k) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %4, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(at));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
  out[threadIdx.x] = d[0] + d[1];  // MISTAKE read_too_early
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

int mistake(const std::string& name) {
  float* out;
  CHECK_CUDA(cudaMalloc(&out, 512));
  if (name == "tile_overrun") wrong_descriptor<<<1, 128>>>(out, 512);
  if (name == "read_too_early") reads_too_early<<<1, 128>>>(out);
  if (name == "tile_unset") unset_tile<<<1, 128>>>(out);
  std::printf("%d\n", int(cudaDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) != "sm_90") return mistake(argv[1]);
#define RUN(number, text, n, ta, tb, sum, xa, xb, regs, sa, sb) \
  form({number, n, Type::ta, Type::tb, Sum::sum, xa, xb, regs, sa, sb}, run_form<number>);
  FORM_LIST(RUN)
#undef RUN
  loop();
  overflows();
  std::printf("%d failures\n", g_failures);
  return g_failures;
}
