// Integer arithmetic, shifts and bit manipulation against the host.
#include "check.h"

template <class T>
void arithmetic(const char* name) {
  using S = std::make_signed_t<T>;
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kBits = 8 * sizeof(T);
  compare_both<T>(
      name, BOTH(int i) { return T(U(bits_of(i, 1)) + U(bits_of(i, 2))); });
  compare_both<T>(
      name, BOTH(int i) { return T(U(bits_of(i, 1)) - U(bits_of(i, 2))); });
  compare_both<T>(
      name, BOTH(int i) { return T(U(bits_of(i, 1)) * U(bits_of(i, 2)) + U(bits_of(i, 3))); });
  compare_both<T>(
      name, BOTH(int i) { return T(T(bits_of(i, 1)) / T(bits_of(i, 2) % 1000 + 1)); });
  compare_both<T>(
      name, BOTH(int i) { return T(T(bits_of(i, 1)) % T(bits_of(i, 2) % 1000 + 1)); });
  compare_both<T>(
      name, BOTH(int i) {
        const T a = T(bits_of(i, 1)), b = T(bits_of(i, 2));
        return a < b ? a : b;
      });
  compare_both<T>(
      name, BOTH(int i) {
        const T a = T(bits_of(i, 1)), b = T(bits_of(i, 2));
        return a > b ? a : b;
      });
  compare_both<T>(
      name, BOTH(int i) { return T(U(bits_of(i, 1)) << (bits_of(i, 2) % kBits)); });
  compare_both<T>(
      name, BOTH(int i) { return T(T(bits_of(i, 1)) >> (bits_of(i, 2) % kBits)); });
  compare_both<T>(
      name, BOTH(int i) { return T((bits_of(i, 1) & ~bits_of(i, 2)) ^ (bits_of(i, 3) | bits_of(i, 4))); });
  compare_both<T>(
      name, BOTH(int i) {
        const S a = S(bits_of(i, 1));
        return T(a < 0 ? U(0) - U(a) : U(a));
      });
}

void products() {
  compare<uint32_t>(
      "mul.hi.u32", [] __device__(int i) { return __umulhi(bits_of(i, 1), bits_of(i, 2)); },
      [](int i) { return uint32_t(uint64_t(uint32_t(bits_of(i, 1))) * uint32_t(bits_of(i, 2)) >> 32); });
  compare<int32_t>(
      "mul.hi.s32", [] __device__(int i) { return __mulhi(int(bits_of(i, 1)), int(bits_of(i, 2))); },
      [](int i) { return int32_t(int64_t(int32_t(bits_of(i, 1))) * int32_t(bits_of(i, 2)) >> 32); });
  compare<uint64_t>(
      "mul.hi.u64", [] __device__(int i) { return uint64_t(__umul64hi(bits_of(i, 1), bits_of(i, 2))); },
      [](int i) { return uint64_t((unsigned __int128)(bits_of(i, 1)) * bits_of(i, 2) >> 64); });
  compare_both<uint64_t>(
      "mad.wide.u32",
      BOTH(int i) { return uint64_t(uint32_t(bits_of(i, 1))) * uint32_t(bits_of(i, 2)) + bits_of(i, 3); });
  compare_both<int64_t>(
      "mul.wide.s32", BOTH(int i) { return int64_t(int32_t(bits_of(i, 1))) * int32_t(bits_of(i, 2)); });
  compare<int32_t>(
      "mul24", [] __device__(int i) { return __mul24(int(bits_of(i, 1)), int(bits_of(i, 2))); },
      [](int i) {
        const int a = int32_t(uint32_t(bits_of(i, 1)) << 8) >> 8,
                  b = int32_t(uint32_t(bits_of(i, 2)) << 8) >> 8;
        return int32_t(uint32_t(a) * uint32_t(b));
      });
}

void carry_chains() {
  compare<uint32_t>(
      "add.cc / addc",
      [] __device__(int i) {
        const uint64_t a = bits_of(i, 1), b = bits_of(i, 2);
        uint32_t low, high;
        asm("{add.cc.u32 %0, %2, %4; addc.u32 %1, %3, %5;}"
            : "=r"(low), "=r"(high)
            : "r"(uint32_t(a)), "r"(uint32_t(a >> 32)), "r"(uint32_t(b)), "r"(uint32_t(b >> 32)));
        return low ^ high * 3;
      },
      [](int i) {
        const uint64_t sum = bits_of(i, 1) + bits_of(i, 2);
        return uint32_t(sum) ^ uint32_t(sum >> 32) * 3;
      });
  compare<uint32_t>(
      "sub.cc / subc",
      [] __device__(int i) {
        const uint64_t a = bits_of(i, 1), b = bits_of(i, 2);
        uint32_t low, high;
        asm("{sub.cc.u32 %0, %2, %4; subc.u32 %1, %3, %5;}"
            : "=r"(low), "=r"(high)
            : "r"(uint32_t(a)), "r"(uint32_t(a >> 32)), "r"(uint32_t(b)), "r"(uint32_t(b >> 32)));
        return low ^ high * 3;
      },
      [](int i) {
        const uint64_t difference = bits_of(i, 1) - bits_of(i, 2);
        return uint32_t(difference) ^ uint32_t(difference >> 32) * 3;
      });
  compare<uint32_t>(
      "mad.lo.cc / madc.hi",
      [] __device__(int i) {
        const uint32_t a = bits_of(i, 1), b = bits_of(i, 2);
        const uint64_t c = bits_of(i, 3);
        uint32_t low, high;
        asm("{mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.u32 %1, %2, %3, %5;}"
            : "=r"(low), "=r"(high)
            : "r"(a), "r"(b), "r"(uint32_t(c)), "r"(uint32_t(c >> 32)));
        return low ^ high * 3;
      },
      [](int i) {
        const uint64_t r = uint64_t(uint32_t(bits_of(i, 1))) * uint32_t(bits_of(i, 2)) + bits_of(i, 3);
        return uint32_t(r) ^ uint32_t(r >> 32) * 3;
      });
}

void counted_bits() {
  compare<int>(
      "popc", [] __device__(int i) { return __popc(bits_of(i, 1)) + __popcll(bits_of(i, 2)); },
      [](int i) {
        return __builtin_popcount(uint32_t(bits_of(i, 1))) + __builtin_popcountll(bits_of(i, 2));
      });
  compare<int>(
      "clz", [] __device__(int i) { return __clz(int(bits_of(i, 1))) + 100 * __clzll(bits_of(i, 2)); },
      [](int i) {
        const uint32_t a = bits_of(i, 1);
        const uint64_t b = bits_of(i, 2);
        return (a ? __builtin_clz(a) : 32) + 100 * (b ? __builtin_clzll(b) : 64);
      });
  compare<int>(
      "ffs", [] __device__(int i) { return __ffs(int(bits_of(i, 1))) + 100 * __ffsll(bits_of(i, 2)); },
      [](int i) { return __builtin_ffs(int(bits_of(i, 1))) + 100 * __builtin_ffsll(bits_of(i, 2)); });
  compare<uint32_t>(
      "bfind",
      [] __device__(int i) {
        uint32_t r;
        asm("bfind.s32 %0, %1;" : "=r"(r) : "r"(int(bits_of(i, 1))));
        return r;
      },
      [](int i) {
        const int a = int(bits_of(i, 1));
        const uint32_t v = a < 0 ? ~a : a;
        return v ? 31 - uint32_t(__builtin_clz(v)) : ~0u;
      });
}

uint32_t reverse(uint32_t x) {
  uint32_t r = 0;
  for (int k = 0; k < 32; ++k) r |= (x >> k & 1) << (31 - k);
  return r;
}

void moved_bits() {
  compare<uint32_t>(
      "brev", [] __device__(int i) { return __brev(bits_of(i, 1)); },
      [](int i) { return reverse(uint32_t(bits_of(i, 1))); });
  compare<uint32_t>(
      "prmt", [] __device__(int i) { return __byte_perm(bits_of(i, 1), bits_of(i, 2), bits_of(i, 3)); },
      [](int i) {
        const uint64_t v = uint32_t(bits_of(i, 1)) | bits_of(i, 2) << 32;
        uint32_t r = 0;
        for (int k = 0; k < 4; ++k) r |= uint32_t(v >> 8 * (bits_of(i, 3) >> 4 * k & 7) & 255) << 8 * k;
        return r;
      });
  compare<uint32_t>(
      "shf",
      [] __device__(int i) {
        const uint32_t a = bits_of(i, 1), b = bits_of(i, 2);
        return __funnelshift_l(a, b, i) ^ __funnelshift_rc(a, b, i % 48) * 5;
      },
      [](int i) {
        const uint64_t v = uint32_t(bits_of(i, 1)) | bits_of(i, 2) << 32;
        const int n = i % 48 > 32 ? 32 : i % 48;
        return uint32_t(v << (i & 31) >> 32) ^ uint32_t(v >> n) * 5;
      });
}

void bit_fields() {
  compare<uint32_t>(
      "bfe.u32",
      [] __device__(int i) {
        uint32_t r;
        asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(uint32_t(bits_of(i, 1))), "r"(i % 40), "r"(i % 37));
        return r;
      },
      [](int i) {
        const int p = i % 40, n = i % 37;
        const uint64_t v = p > 31 ? 0 : uint64_t(uint32_t(bits_of(i, 1))) >> p;
        return uint32_t(n > 31 ? v : v & ((1ull << n) - 1));
      });
  compare<int32_t>(
      "bfe.s32",
      [] __device__(int i) {
        int r;
        asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(int(bits_of(i, 1))), "r"(i % 31), "r"(i % 32));
        return r;
      },
      [](int i) {
        const int p = i % 31, n = i % 32;
        if (n == 0) return 0;
        const int64_t v = int64_t(int32_t(bits_of(i, 1))) >> p;
        return int32_t(int64_t(uint64_t(v) << (64 - n)) >> (64 - n));
      });
  compare<uint32_t>(
      "bfi",
      [] __device__(int i) {
        uint32_t r;
        asm("bfi.b32 %0, %1, %2, %3, %4;"
            : "=r"(r)
            : "r"(uint32_t(bits_of(i, 1))), "r"(uint32_t(bits_of(i, 2))), "r"(i % 40), "r"(i % 35));
        return r;
      },
      [](int i) {
        const uint32_t a = bits_of(i, 1), b = bits_of(i, 2);
        const int p = i % 40, n = i % 35;
        if (p > 31) return b;
        const uint64_t field = ((n > 31 ? 1ull << 32 : 1ull << n) - 1) << p;
        return uint32_t((b & ~field) | (uint64_t(a) << p & field));
      });
}

void logic() {
  compare<uint32_t>(
      "lop3",
      [] __device__(int i) {
        uint32_t r;
        asm("lop3.b32 %0, %1, %2, %3, 0x2b;"
            : "=r"(r)
            : "r"(uint32_t(bits_of(i, 1))), "r"(uint32_t(bits_of(i, 2))), "r"(uint32_t(bits_of(i, 3))));
        return r;
      },
      [](int i) {
        uint32_t r = 0;
        for (int k = 0; k < 32; ++k) {
          const int index =
              (bits_of(i, 1) >> k & 1) * 4 + (bits_of(i, 2) >> k & 1) * 2 + (bits_of(i, 3) >> k & 1);
          r |= uint32_t(0x2b >> index & 1) << k;
        }
        return r;
      });
}

void saturating_and_dot() {
  compare<int32_t>(
      "add.sat.s32",
      [] __device__(int i) {
        int r;
        asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(int(bits_of(i, 1))), "r"(int(bits_of(i, 2))));
        return r;
      },
      [](int i) {
        const int64_t s = int64_t(int32_t(bits_of(i, 1))) + int32_t(bits_of(i, 2));
        return int32_t(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
      });
  compare<int32_t>(
      "dp4a", [] __device__(int i) { return __dp4a(int(bits_of(i, 1)), int(bits_of(i, 2)), i); },
      [](int i) {
        int r = i;
        for (int k = 0; k < 4; ++k) r += int8_t(bits_of(i, 1) >> 8 * k) * int8_t(bits_of(i, 2) >> 8 * k);
        return r;
      });
  compare<uint32_t>(
      "sad", [] __device__(int i) { return __usad(bits_of(i, 1), bits_of(i, 2), i); },
      [](int i) {
        const uint32_t a = bits_of(i, 1), b = bits_of(i, 2);
        return (a > b ? a - b : b - a) + uint32_t(i);
      });
}

template <int kForm>
__host__ __device__ int wide_sum(int a, int b, int c) {
#ifdef __CUDA_ARCH__
  int d;
  if (kForm == 0) asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  if (kForm == 1) asm("mad24.hi.sat.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  if (kForm == 2) asm("mad24.hi.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
#else
  const auto low24 = [](int x) { return int64_t(int(unsigned(x) << 8) >> 8); };
  const int64_t product = kForm == 0 ? int64_t(a) * b >> 32 : low24(a) * low24(b) >> 16;
  const int64_t sum = int64_t(int(product)) + c;
  if (kForm == 2) return int(unsigned(sum));
  return int(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum);
#endif
}

int main() {
  compare_both<int>(
      "mad.hi.sat",
      BOTH(int i) { return wide_sum<0>(int(bits_of(i, 1)), int(bits_of(i, 2)), int(bits_of(i, 3))); });
  compare_both<int>(
      "mad24.hi.sat",
      BOTH(int i) { return wide_sum<1>(int(bits_of(i, 1)), int(bits_of(i, 2)), int(bits_of(i, 3))); });
  compare_both<int>(
      "mad24.hi",
      BOTH(int i) { return wide_sum<2>(int(bits_of(i, 1)), int(bits_of(i, 2)), int(bits_of(i, 3))); });
  arithmetic<int16_t>("s16");
  arithmetic<uint16_t>("u16");
  arithmetic<int32_t>("s32");
  arithmetic<uint32_t>("u32");
  arithmetic<int64_t>("s64");
  arithmetic<uint64_t>("u64");
  products();
  carry_chains();
  counted_bits();
  moved_bits();
  bit_fields();
  logic();
  saturating_and_dot();
  return g_failures;
}
