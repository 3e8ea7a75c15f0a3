// atom and red. A block runs on one worker, so shared memory needs no locked instructions; global
// memory does.
#include "exec/half.h"
#include "exec/memory_access.h"
#include "exec/words.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

struct HalfPair {
  Half low, high;
};
struct BFloatPair {
  BFloat low, high;
};

template <class T>
T sum(T a, T b) {
  using U = typename Unsigned<T>::type;
  return T(U(a) + U(b));
}
// A NaN is the one that every sum in single precision has: which operand's bits would be left is
// the compiler's choice.
float sum(float a, float b) {
  const float s = a + b;
  return s != s ? bits_as<float>(0x7fffffffu) : s;
}
double sum(double a, double b) {
  return a + b;
}
Half sum(Half a, Half b) {
  return from_float<Half>(to_float(a) + to_float(b));
}
BFloat sum(BFloat a, BFloat b) {
  return from_float<BFloat>(to_float(a) + to_float(b));
}
HalfPair sum(HalfPair a, HalfPair b) {
  return {sum(a.low, b.low), sum(a.high, b.high)};
}
BFloatPair sum(BFloatPair a, BFloatPair b) {
  return {sum(a.low, b.low), sum(a.high, b.high)};
}

struct Add {
  template <class T>
  static T apply(T old, T b, T) {
    return sum(old, b);
  }
};
struct Min {
  template <class T>
  static T apply(T old, T b, T) {
    return b < old ? b : old;
  }
};
struct Max {
  template <class T>
  static T apply(T old, T b, T) {
    return old < b ? b : old;
  }
};
struct And {
  template <class T>
  static T apply(T old, T b, T) {
    return T(old & b);
  }
};
struct Or {
  template <class T>
  static T apply(T old, T b, T) {
    return T(old | b);
  }
};
struct Xor {
  template <class T>
  static T apply(T old, T b, T) {
    return T(old ^ b);
  }
};
struct Exchange {
  template <class T>
  static T apply(T, T b, T) {
    return b;
  }
};
struct CompareAndSwap {
  template <class T>
  static T apply(T old, T b, T c) {
    return old == b ? c : old;
  }
};
struct Increment {
  template <class T>
  static T apply(T old, T b, T) {
    return old >= b ? T(0) : T(old + 1);
  }
};
struct Decrement {
  template <class T>
  static T apply(T old, T b, T) {
    return old == 0 || old > b ? b : T(old - 1);
  }
};

template <class T, class Op>
T update_locked(uint64_t host, T b, T c) {
  using U = typename Word<sizeof(T)>::type;
  auto* word = reinterpret_cast<U*>(host);
  U seen = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    const T next = Op::apply(bits_as<T>(seen), b, c);
    if (__atomic_compare_exchange_n(word, &seen, bits_as<U>(next), false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST)) {
      return bits_as<T>(seen);
    }
  }
}

template <class T, class Op>
T update_plain(uint64_t host, T b, T c) {
  auto* place = reinterpret_cast<T*>(host);
  const T old = *place;
  *place = Op::apply(old, b, c);
  return old;
}

template <class T, class Op>
void atomic(Warp& w, const Inst& i) {
  Access x;
  resolve(w, i, sizeof(T), AccessKind::atomic, x);
  const T* b = lanes<T>(w, i.b);
  const T* c = lanes<T>(w, i.c);
  T* d = i.d == kNoSlot ? nullptr : lanes<T>(w, i.d);
  const bool plain = x.space == Space::shared;
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    const T old =
        plain ? update_plain<T, Op>(x.host[l], b[l], c[l]) : update_locked<T, Op>(x.host[l], b[l], c[l]);
    if (d != nullptr) d[l] = old;
  }
}

// 128 bits, since wider __atomic operations would call a library: cmpxchg16b of x86-64, a pair of exclusive
// accesses on AArch64.
using Bits128 = unsigned __int128;

// What was there; `next` is there afterwards where that equals `seen`.
#if defined(__aarch64__)
Bits128 compare_and_swap_128(Bits128* place, Bits128 seen, Bits128 next) {
  uint64_t low, high;
  uint32_t failed;
  asm volatile(
      "1: ldaxp %[low], %[high], [%[place]]\n"
      "cmp %[low], %[seen_low]\n"
      "ccmp %[high], %[seen_high], #0, eq\n"
      "b.ne 2f\n"
      "stlxp %w[failed], %[next_low], %[next_high], [%[place]]\n"
      "cbnz %w[failed], 1b\n"
      "2:\n"
      : [low] "=&r"(low), [high] "=&r"(high), [failed] "=&r"(failed)
      : [place] "r"(place), [seen_low] "r"(uint64_t(seen)), [seen_high] "r"(uint64_t(seen >> 64)),
        [next_low] "r"(uint64_t(next)), [next_high] "r"(uint64_t(next >> 64))
      : "cc", "memory");
  return Bits128(high) << 64 | low;
}
#else
Bits128 compare_and_swap_128(Bits128* place, Bits128 seen, Bits128 next) {
  return __sync_val_compare_and_swap(place, seen, next);
}
#endif

template <class Op>
Bits128 update_128(Bits128* place, Bits128 b, Bits128 c) {
  Bits128 seen = *place;
  for (;;) {
    const Bits128 found = compare_and_swap_128(place, seen, Op::apply(seen, b, c));
    if (found == seen) return seen;
    seen = found;
  }
}

template <class Op>
void atomic_128(Warp& w, const Inst& i) {
  Access x;
  resolve(w, i, sizeof(Bits128), AccessKind::atomic, x);
  const Bits128* b = lanes<Bits128>(w, i.b);
  const Bits128* c = lanes<Bits128>(w, i.c);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    const Bits128 old = update_128<Op>(reinterpret_cast<Bits128*>(x.host[l]), b[l], c[l]);
    if (i.d != kNoSlot) lanes<Bits128>(w, i.d)[l] = old;
  }
}

// red.global.add.v2.f32 and kin: each element is atomic, the vector is not. d holds no result or vec_count
// registers that start at vec[4].
template <class T>
void atomic_add_vector(Warp& w, const Inst& i) {
  Access x;
  resolve(w, i, uint32_t(sizeof(T)) * i.vec_count, AccessKind::atomic, x);
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    for (uint32_t k = 0; k < i.vec_count; ++k) {
      const T b = lanes<T>(w, i.vec[k])[l];
      const T old = update_locked<T, Add>(x.host[l] + k * sizeof(T), b, b);
      if (i.d != kNoSlot) lanes<T>(w, i.vec[4 + k])[l] = old;
    }
  }
}

template <class T>
void add_integer_atomics(HandlerTable& t, const char* type) {
  t.add(atomic<T, Add>, "atom.add", type);
  t.add(atomic<T, Min>, "atom.min", type);
  t.add(atomic<T, Max>, "atom.max", type);
  t.add(atomic<T, And>, "atom.and", type);
  t.add(atomic<T, Or>, "atom.or", type);
  t.add(atomic<T, Xor>, "atom.xor", type);
  t.add(atomic<T, Exchange>, "atom.exch", type);
  t.add(atomic<T, CompareAndSwap>, "atom.cas", type);
  t.add(atomic<T, Increment>, "atom.inc", type);
  t.add(atomic<T, Decrement>, "atom.dec", type);
}

}  // namespace

void add_atomic_handlers(HandlerTable& t) {
  add_integer_atomics<uint32_t>(t, "u32");
  add_integer_atomics<int32_t>(t, "s32");
  add_integer_atomics<uint64_t>(t, "u64");
  add_integer_atomics<int64_t>(t, "s64");
  t.add(atomic<uint16_t, CompareAndSwap>, "atom.cas", "u16");
  t.add(atomic<uint16_t, Exchange>, "atom.exch", "u16");
  t.add(atomic_128<CompareAndSwap>, "atom.cas", "u128");
  t.add(atomic_128<Exchange>, "atom.exch", "u128");
  t.add(atomic<float, Add>, "atom.add", "f32");
  t.add(atomic<double, Add>, "atom.add", "f64");
  t.add(atomic<Half, Add>, "atom.add", "f16");
  t.add(atomic<BFloat, Add>, "atom.add", "bf16");
  t.add(atomic<HalfPair, Add>, "atom.add", "f16x2");
  t.add(atomic<BFloatPair, Add>, "atom.add", "bf16x2");
  t.add(atomic_add_vector<float>, "atom.add.vector", "f32");
  t.add(atomic_add_vector<Half>, "atom.add.vector", "f16");
  t.add(atomic_add_vector<BFloat>, "atom.add.vector", "bf16");
  t.add(atomic_add_vector<HalfPair>, "atom.add.vector", "f16x2");
  t.add(atomic_add_vector<BFloatPair>, "atom.add.vector", "bf16x2");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
