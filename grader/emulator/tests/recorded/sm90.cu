// Instructions that exist from sm_90 on, each as inline PTX.
#include "common.h"

namespace {

__global__ void form_0(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned short x1 = operand<Kind::bf16>(i, 1);
  unsigned short x2 = operand<Kind::bf16>(i, 2);
  unsigned short d;
  asm volatile("add.rn.bf16 %0, %1, %2;" : "=h"(d) : "h"(x1), "h"(x2));
  out[i] = bits_of(d);
}
const Registration register_0("add.rn.bf16", "bits", Kind::bf16, form_0);

__global__ void form_1(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned short x1 = operand<Kind::bf16>(i, 1);
  unsigned short x2 = operand<Kind::bf16>(i, 2);
  unsigned short d;
  asm volatile("sub.rn.bf16 %0, %1, %2;" : "=h"(d) : "h"(x1), "h"(x2));
  out[i] = bits_of(d);
}
const Registration register_1("sub.rn.bf16", "bits", Kind::bf16, form_1);

__global__ void form_2(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned short x1 = operand<Kind::bf16>(i, 1);
  unsigned short x2 = operand<Kind::bf16>(i, 2);
  unsigned short d;
  asm volatile("mul.rn.bf16 %0, %1, %2;" : "=h"(d) : "h"(x1), "h"(x2));
  out[i] = bits_of(d);
}
const Registration register_2("mul.rn.bf16", "bits", Kind::bf16, form_2);

__global__ void form_3(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned short x1 = operand<Kind::bf16>(i, 1);
  unsigned short d;
  asm volatile("tanh.approx.bf16 %0, %1;" : "=h"(d) : "h"(x1));
  out[i] = bits_of(d);
}
const Registration register_3("tanh.approx.bf16", "half -6", Kind::bf16, form_3);

__global__ void form_4(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned short x1 = operand<Kind::bf16>(i, 1);
  unsigned short d;
  asm volatile("ex2.approx.ftz.bf16 %0, %1;" : "=h"(d) : "h"(x1));
  out[i] = bits_of(d);
}
const Registration register_4("ex2.approx.ftz.bf16", "half -6", Kind::bf16, form_4);

__global__ void form_5(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::bf16x2>(i, 1);
  unsigned x2 = operand<Kind::bf16x2>(i, 2);
  unsigned d;
  asm volatile("add.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_5("add.rn.bf16x2", "bits", Kind::bf16x2, form_5);

__global__ void form_6(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::bf16x2>(i, 1);
  unsigned x2 = operand<Kind::bf16x2>(i, 2);
  unsigned d;
  asm volatile("sub.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_6("sub.rn.bf16x2", "bits", Kind::bf16x2, form_6);

__global__ void form_7(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::bf16x2>(i, 1);
  unsigned x2 = operand<Kind::bf16x2>(i, 2);
  unsigned d;
  asm volatile("mul.rn.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_7("mul.rn.bf16x2", "bits", Kind::bf16x2, form_7);

__global__ void form_8(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::bf16x2>(i, 1);
  unsigned d;
  asm volatile("tanh.approx.bf16x2 %0, %1;" : "=r"(d) : "r"(x1));
  out[i] = bits_of(d);
}
const Registration register_8("tanh.approx.bf16x2", "half -6", Kind::bf16x2, form_8);

__global__ void form_9(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::bf16x2>(i, 1);
  unsigned d;
  asm volatile("ex2.approx.ftz.bf16x2 %0, %1;" : "=r"(d) : "r"(x1));
  out[i] = bits_of(d);
}
const Registration register_9("ex2.approx.ftz.bf16x2", "half -6", Kind::bf16x2, form_9);

__global__ void form_10(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::u16x2>(i, 1);
  unsigned x2 = operand<Kind::u16x2>(i, 2);
  unsigned d;
  asm volatile("add.u16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_10("add.u16x2", "bits", Kind::u16x2, form_10);

__global__ void form_11(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::u16x2>(i, 1);
  unsigned x2 = operand<Kind::u16x2>(i, 2);
  unsigned d;
  asm volatile("min.u16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_11("min.u16x2", "bits", Kind::u16x2, form_11);

__global__ void form_12(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::u16x2>(i, 1);
  unsigned x2 = operand<Kind::u16x2>(i, 2);
  unsigned d;
  asm volatile("max.u16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_12("max.u16x2", "bits", Kind::u16x2, form_12);

__global__ void form_13(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::s16x2>(i, 1);
  unsigned x2 = operand<Kind::s16x2>(i, 2);
  unsigned d;
  asm volatile("add.s16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_13("add.s16x2", "bits", Kind::s16x2, form_13);

__global__ void form_14(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::s16x2>(i, 1);
  unsigned x2 = operand<Kind::s16x2>(i, 2);
  unsigned d;
  asm volatile("min.s16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_14("min.s16x2", "bits", Kind::s16x2, form_14);

__global__ void form_15(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::s16x2>(i, 1);
  unsigned x2 = operand<Kind::s16x2>(i, 2);
  unsigned d;
  asm volatile("max.s16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_15("max.s16x2", "bits", Kind::s16x2, form_15);

__global__ void form_16(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::s16x2>(i, 1);
  unsigned x2 = operand<Kind::s16x2>(i, 2);
  unsigned d;
  asm volatile("min.relu.s16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_16("min.relu.s16x2", "bits", Kind::s16x2, form_16);

__global__ void form_17(unsigned long long* out) {
  const int i = threadIdx.x;
  unsigned x1 = operand<Kind::s16x2>(i, 1);
  unsigned x2 = operand<Kind::s16x2>(i, 2);
  unsigned d;
  asm volatile("max.relu.s16x2 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_17("max.relu.s16x2", "bits", Kind::s16x2, form_17);

__global__ void form_18(unsigned long long* out) {
  const int i = threadIdx.x;
  int x1 = operand<Kind::s32>(i, 1);
  int x2 = operand<Kind::s32>(i, 2);
  int d;
  asm volatile("min.relu.s32 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_18("min.relu.s32", "bits", Kind::s32, form_18);

__global__ void form_19(unsigned long long* out) {
  const int i = threadIdx.x;
  int x1 = operand<Kind::s32>(i, 1);
  int x2 = operand<Kind::s32>(i, 2);
  int d;
  asm volatile("max.relu.s32 %0, %1, %2;" : "=r"(d) : "r"(x1), "r"(x2));
  out[i] = bits_of(d);
}
const Registration register_19("max.relu.s32", "bits", Kind::s32, form_19);

}  // namespace
