// Loads and stores of every space, and loads of kernel parameters.
#include "exec/memory_access.h"
#include "exec/words.h"
#include "state/launch.h"

namespace warpgrade::emu::WARPEMU_ISA {
namespace {

template <class Memory>
[[gnu::always_inline]] inline bool is_contiguous(const Access& x) {
  if (x.high - x.low != (kLanes - 1) * sizeof(Memory)) return false;
  uint64_t difference = 0;
  const uint64_t first = x.host[0];
  WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) difference |=
      x.host[l] ^ (first + l * sizeof(Memory));
  return difference == 0;
}

// A lane's vector is one word of the host: CUB's look-back keeps a value and its status in one and relies on
// seeing both or none.
template <class Memory, class Register, uint32_t kCount>
void load_vectors(Warp& w, const Inst& i, const Access& x) {
  using Whole = typename Word<sizeof(Memory) * kCount>::type;
  alignas(64) Memory value[kLanes * kCount];
  if (x.low == x.high) {
    const Whole word = *reinterpret_cast<const volatile Whole*>(x.low);
    __builtin_memcpy(value, &word, sizeof word);
    for (uint32_t k = 0; k < kCount; ++k) {
      const auto element = Register(value[k]);
      assign<Register>(w, i.vec[k], [=](uint32_t) { return element; });
    }
    return;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    const Whole word = *reinterpret_cast<const volatile Whole*>(x.host[l]);
    __builtin_memcpy(value + l * kCount, &word, sizeof word);
  }
  for (uint32_t k = 0; k < kCount; ++k)
    assign<Register>(w, i.vec[k], [&](uint32_t l) { return Register(value[l * kCount + k]); });
}

template <class Memory, class Register, uint32_t kCount>
void store_vectors(Warp& w, const Inst& i, const Access& x) {
  using Whole = typename Word<sizeof(Memory) * kCount>::type;
  alignas(64) Memory value[kLanes * kCount];
  for (uint32_t k = 0; k < kCount; ++k) {
    const Register* from = lanes<Register>(w, i.vec[k]);
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) value[l * kCount + k] = Memory(from[l]);
  }
  for (uint32_t m = w.mask; m != 0; m &= m - 1) {
    const auto l = uint32_t(__builtin_ctz(m));
    Whole word;
    __builtin_memcpy(&word, value + l * kCount, sizeof word);
    *reinterpret_cast<volatile Whole*>(x.host[l]) = word;
  }
}

// Memory is the type in memory, Register the type of one register lane (wider registers extend).
template <class Memory, class Register>
void load(Warp& w, const Inst& i) {
  Access x;
  resolve(w, i, uint32_t(sizeof(Memory)) * i.vec_count, AccessKind::load, x);
  if constexpr (sizeof(Memory) <= 8) {
    if (i.vec_count == 2) return load_vectors<Memory, Register, 2>(w, i, x);
  }
  if constexpr (sizeof(Memory) <= 4) {
    if (i.vec_count == 4) return load_vectors<Memory, Register, 4>(w, i, x);
  }
  if (x.low == x.high) {
    for (uint32_t k = 0; k < i.vec_count; ++k) {
      const auto value = Register(reinterpret_cast<const Memory*>(x.low)[k]);
      assign<Register>(w, i.vec[k], [=](uint32_t) { return value; });
    }
    return;
  }
  if (i.vec_count == 1 && w.mask == kAllLanes && is_contiguous<Memory>(x)) {
    const auto* from = reinterpret_cast<const Memory*>(x.low);
    assign<Register>(w, i.vec[0], [=](uint32_t l) { return Register(from[l]); });
    return;
  }
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    alignas(64) Register value[kLanes];
    for (uint32_t l = 0; l < kLanes; ++l) value[l] = Register(reinterpret_cast<const Memory*>(x.host[l])[k]);
    assign<Register>(w, i.vec[k], [&](uint32_t l) { return value[l]; });
  }
}

template <class Memory, class Register>
void store(Warp& w, const Inst& i) {
  Access x;
  resolve(w, i, uint32_t(sizeof(Memory)) * i.vec_count, AccessKind::store, x);
  if constexpr (sizeof(Memory) <= 8) {
    if (i.vec_count == 2) return store_vectors<Memory, Register, 2>(w, i, x);
  }
  if constexpr (sizeof(Memory) <= 4) {
    if (i.vec_count == 4) return store_vectors<Memory, Register, 4>(w, i, x);
  }
  if (i.vec_count == 1 && w.mask == kAllLanes && is_contiguous<Memory>(x)) {
    const Register* value = lanes<Register>(w, i.vec[0]);
    auto* to = reinterpret_cast<Memory*>(x.low);
    WARPEMU_VECTORIZE for (uint32_t l = 0; l < kLanes; ++l) to[l] = Memory(value[l]);
    return;
  }
  // Of lanes that write one place the last wins.
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    const Register* value = lanes<Register>(w, i.vec[k]);
    for (uint32_t m = w.mask; m != 0; m &= m - 1) {
      const auto l = uint32_t(__builtin_ctz(m));
      reinterpret_cast<Memory*>(x.host[l])[k] = Memory(value[l]);
    }
  }
}

// imm: offset in the parameter buffer.
template <class Memory, class Register>
void load_param(Warp& w, const Inst& i) {
  const uint8_t* from = w.block->launch->params + i.imm;
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    Memory value;
    __builtin_memcpy(&value, from + k * sizeof(Memory), sizeof value);
    const auto extended = Register(value);
    assign<Register>(w, i.vec[k], [=](uint32_t) { return extended; });
  }
}

// ld.acquire and st.release on processors that may show accesses in another order than they were made; the
// inner handler is the plain access. On x86-64 every load acquires and every store releases.
void acquiring(Warp& w, const Inst& i) {
  i.inner(w, i);
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

void releasing(Warp& w, const Inst& i) {
  __atomic_thread_fence(__ATOMIC_RELEASE);
  i.inner(w, i);
}

template <class Memory>
void add_widths(HandlerTable& t, const char* type) {
  t.add(load<Memory, uint16_t>, "ld", type, "2");
  t.add(load<Memory, uint32_t>, "ld", type, "4");
  t.add(load<Memory, uint64_t>, "ld", type, "8");
  t.add(load_param<Memory, uint16_t>, "ld.param", type, "2");
  t.add(load_param<Memory, uint32_t>, "ld.param", type, "4");
  t.add(load_param<Memory, uint64_t>, "ld.param", type, "8");
}

template <class Memory>
void add_stores(HandlerTable& t, const char* type) {
  t.add(store<Memory, uint16_t>, "st", type, "2");
  t.add(store<Memory, uint32_t>, "st", type, "4");
  t.add(store<Memory, uint64_t>, "st", type, "8");
}

}  // namespace

void add_memory_handlers(HandlerTable& t) {
  add_widths<uint8_t>(t, "u8");
  add_widths<int8_t>(t, "s8");
  add_widths<uint16_t>(t, "u16");
  add_widths<int16_t>(t, "s16");
  add_widths<uint32_t>(t, "u32");
  add_widths<int32_t>(t, "s32");
  add_widths<uint64_t>(t, "u64");
  t.add(load<Word16, Word16>, "ld", "b128", "16");
  t.add(load_param<Word16, Word16>, "ld.param", "b128", "16");
  add_stores<uint8_t>(t, "u8");
  add_stores<uint16_t>(t, "u16");
  add_stores<uint32_t>(t, "u32");
  add_stores<uint64_t>(t, "u64");
  t.add(store<Word16, Word16>, "st", "b128", "16");
  t.add(acquiring, "acquiring");
  t.add(releasing, "releasing");
}

}  // namespace warpgrade::emu::WARPEMU_ISA
