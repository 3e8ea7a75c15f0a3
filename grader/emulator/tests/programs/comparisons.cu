// Comparison and selection, ordered and unordered, with predicates joined.
#include "check.h"

template <class T, class V>
void all_comparisons(const char* name, V value) {
  compare<int>(
      name,
      [=] __device__(int i) {
        const T a = value(i, 1), b = value(i, 2);
        return int(a < b) | int(a <= b) << 1 | int(a > b) << 2 | int(a >= b) << 3 | int(a == b) << 4 |
               int(a != b) << 5 | int(!(a < b)) << 6 | int(!(a >= b)) << 7;
      },
      [=](int i) {
        const T a = value(i, 1), b = value(i, 2);
        return int(a < b) | int(a <= b) << 1 | int(a > b) << 2 | int(a >= b) << 3 | int(a == b) << 4 |
               int(a != b) << 5 | int(!(a < b)) << 6 | int(!(a >= b)) << 7;
      });
}

int main() {
  all_comparisons<int32_t>(
      "s32", BOTH(int i, int s) { return int32_t(bits_of(i / 2, s)); });
  all_comparisons<uint32_t>(
      "u32", BOTH(int i, int s) { return uint32_t(bits_of(i / 2, s)); });
  all_comparisons<int64_t>(
      "s64", BOTH(int i, int s) { return int64_t(bits_of(i, s)); });
  all_comparisons<uint64_t>(
      "u64", BOTH(int i, int s) { return bits_of(i, s); });
  all_comparisons<uint16_t>(
      "u16", BOTH(int i, int s) { return uint16_t(bits_of(i, s) & 3); });
  all_comparisons<float>(
      "f32", BOTH(int i, int s) { return float_of(i, s); });
  all_comparisons<double>(
      "f64", BOTH(int i, int s) { return double_of(i, s); });
  compare<uint32_t>(
      "setp p|q, join and set",
      [] __device__(int i) {
        uint32_t r, s;
        asm("{.reg .pred p, q, c; setp.gt.s32 c, %2, 10;\n"
            " setp.lt.and.s32 p|q, %2, %3, c; selp.u32 %0, 1, 2, p; @q add.u32 %0, %0, 16;\n"
            " set.ge.xor.u32.s32 %1, %2, %3, !c;}"
            : "=r"(r), "=r"(s)
            : "r"(i), "r"(int(bits_of(i, 1) % 1000)));
        return r ^ s;
      },
      [](int i) {
        const int b = int(bits_of(i, 1) % 1000);
        const bool c = i > 10, p = i < b && c, q = !(i < b) && c;
        const uint32_t s = ((i >= b) != !c) ? ~0u : 0u;
        return ((p ? 1u : 2u) + (q ? 16u : 0u)) ^ s;
      });
  compare<uint32_t>(
      "isnan and isfinite",
      [] __device__(int i) {
        const float a = float_of(i, 1);
        return uint32_t(isnan(a)) | uint32_t(isfinite(a)) << 1 | uint32_t(isinf(a)) << 2 |
               uint32_t(signbit(a) != 0) << 3;
      },
      [](int i) {
        const float a = float_of(i, 1);
        return uint32_t(std::isnan(a)) | uint32_t(std::isfinite(a)) << 1 | uint32_t(std::isinf(a)) << 2 |
               uint32_t(std::signbit(a)) << 3;
      });
  return g_failures;
}
