// Calls and intrinsics as C++ writes them: device functions, the mathematical library, DPX and
// SIMD intrinsics.
#include <cuda_fp16.h>

#include "common.h"

namespace {

#define REGISTER(name, kind) const Registration register_##name(#name, "bits", Kind::kind, name)
#define KERNEL(name, kind, ...)                                                                              \
  __global__ void name(unsigned long long* out) {                                                            \
    const int i = static_cast<int>(threadIdx.x);                                                             \
    const unsigned a = operand<Kind::u32>(i, 1), b = operand<Kind::u32>(i, 2), c = operand<Kind::u32>(i, 3); \
    const float x = operand<Kind::f32>(i, 1), y = operand<Kind::f32>(i, 2);                                  \
    const double u = operand<Kind::f64>(i, 1), v = operand<Kind::f64>(i, 2);                                 \
    (void)a, (void)b, (void)c, (void)x, (void)y, (void)u, (void)v;                                           \
    out[i] = bits_of(__VA_ARGS__);                                                                           \
  }                                                                                                          \
  REGISTER(name, kind)

KERNEL(viaddmin_s32, u32, __viaddmin_s32(int(a), int(b), int(c)));
KERNEL(viaddmax_u32, u32, __viaddmax_u32(a, b, c));
KERNEL(viaddmin_s16x2, u32, __viaddmin_s16x2(a, b, c));
KERNEL(viaddmin_u16x2, u32, __viaddmin_u16x2(a, b, c));
KERNEL(viaddmax_s16x2_relu, u32, __viaddmax_s16x2_relu(a, b, c));
KERNEL(vimin3_s32, u32, __vimin3_s32(int(a), int(b), int(c)));
KERNEL(vimax3_u16x2, u32, __vimax3_u16x2(a, b, c));
KERNEL(vimax3_s16x2_relu, u32, __vimax3_s16x2_relu(a, b, c));
KERNEL(vimin_s32_relu, u32, __vimin_s32_relu(int(a), int(b)));
KERNEL(vadd2, u32, __vadd2(a, b));
KERNEL(vadd4, u32, __vadd4(a, b));
KERNEL(vaddss2, u32, __vaddss2(a, b));
KERNEL(vaddus4, u32, __vaddus4(a, b));
KERNEL(vsub4, u32, __vsub4(a, b));
KERNEL(vsubss4, u32, __vsubss4(a, b));
KERNEL(vabsdiffs4, u32, __vabsdiffs4(a, b));
KERNEL(vabsdiffu2, u32, __vabsdiffu2(a, b));
KERNEL(vavgu4, u32, __vavgu4(a, b));
KERNEL(vavgs2, u32, __vavgs2(a, b));
KERNEL(vcmpgts2, u32, __vcmpgts2(a, b));
KERNEL(vcmpleu4, u32, __vcmpleu4(a, b));
KERNEL(vmaxs4, u32, __vmaxs4(a, b));
KERNEL(vminu2, u32, __vminu2(a, b));
KERNEL(vsads4, u32, __vsads4(a, b));
KERNEL(vsetgtu4, u32, __vsetgtu4(a, b));
KERNEL(vneg4, u32, __vneg4(a));
KERNEL(byte_perm, u32, __byte_perm(a, b, c));
KERNEL(funnel_shift, u32, __funnelshift_rc(a, b, c));
KERNEL(mul24_intrinsic, u32, __mul24(int(a), int(b)));
KERNEL(usad_intrinsic, u32, __usad(a, b, c));
KERNEL(hadd_rounding, u32, __rhadd(int(a), int(b)) ^ __hadd(int(b), int(c)));
KERNEL(ffs_and_clz, u32, __ffs(int(a)) * 100 + __clz(int(b)) + __ffsll(static_cast<long long>(c) << 20));
KERNEL(division_64, u64,
       (static_cast<unsigned long long>(a) << 32 | b) / (static_cast<unsigned long long>(c) | 1));
KERNEL(remainder_64, u64, (static_cast<long long>(a) << 31 | b) % (static_cast<long long>(int(c)) | 1));
KERNEL(float_to_int_rounding, u32,
       __float2int_rn(x) ^ __float2int_ru(y) * 3 ^ static_cast<int>(__float2uint_rz(x)) * 5);
KERNEL(double_to_long, u64, __double2ll_rd(u) ^ __double2ll_rn(v) * 3);
KERNEL(fadd_rounding, f32, __fadd_ru(x, y));
KERNEL(fmaf_rounding, f32, __fmaf_rd(x, y, 0.3f));
KERNEL(fdiv_exact, f32, __fdiv_rn(x, y));
KERNEL(fsqrt_exact, f32, __fsqrt_rn(fabsf(x)));
KERNEL(dadd_rounding, f64, __dadd_rz(u, v));
KERNEL(ddiv_exact, f64, __ddiv_rn(u, v));
KERNEL(dsqrt_exact, f64, __dsqrt_rd(fabs(u)));
KERNEL(floorf_ceilf, f32, floorf(x) + ceilf(y));
KERNEL(rint_trunc, f64, rint(u) - trunc(v));
KERNEL(fmodf_exact, f32, fmodf(x, 3.7f));
KERNEL(remainder_double, f64, remainder(u, 2.3));
KERNEL(frexp_ldexp, f64, [&] {
  int exponent = 0;
  const double m = frexp(u, &exponent);
  return ldexp(m, exponent % 50) + logb(v);
}());
KERNEL(nextafter_float, f32, nextafterf(x, y));
KERNEL(half_sum, f16, __half_as_ushort(__hadd(__float2half_rn(x), __float2half_rn(y))));
KERNEL(half_fma, f16, __half_as_ushort(__hfma(__float2half_rn(x), __float2half_rn(y), __float2half_rn(1))));

__noinline__ __device__ unsigned mix(unsigned a, unsigned b) {
  return a * 2654435761u ^ b >> 3;
}
__noinline__ __device__ unsigned twice(unsigned a, unsigned b) {
  return mix(mix(a, b), a);
}
struct Pair {
  unsigned long long low, high;
  double weight;
};
__noinline__ __device__ Pair combine(Pair p, unsigned k) {
  return {p.high + k, p.low ^ k, p.weight * 2};
}
__global__ void calls(unsigned long long* out) {
  out[threadIdx.x] = threadIdx.x & 1 ? twice(threadIdx.x, 7) : mix(threadIdx.x, 9);
}
REGISTER(calls, u64);
__global__ void structs_by_value(unsigned long long* out) {
  const Pair p = combine(combine({threadIdx.x, 1000, 0.5}, threadIdx.x * 3), 5);
  out[threadIdx.x] = p.low * 7 + p.high + bits_of(p.weight);
}
REGISTER(structs_by_value, u64);
__global__ void switch_table(unsigned long long* out) {
  unsigned r = threadIdx.x;
  switch (threadIdx.x % 11) {
    case 0:
      r = r * 3 + 1;
      break;
    case 1:
      r ^= 0xff;
      break;
    case 2:
      r = __brev(r);
      break;
    case 3:
      r = __popc(r * 77);
      break;
    case 4:
      r += 1000;
      [[fallthrough]];
    case 5:
      r -= 7;
      break;
    case 6:
      r = r << 5 | r >> 3;
      break;
    case 7:
      return;
    case 8:
      r = ~r;
      break;
    default:
      r = 42;
  }
  out[threadIdx.x] = r;
}
REGISTER(switch_table, u64);

}  // namespace
