// AVX-512: addresses and their bounds, and values between memory and registers. An address of which a base
// and a step describe all lanes takes one comparison with the bounds of the allocation that the instruction
// touched last, others a vector of them. What lies outside goes to the handler.
#include <cstddef>

#include "native/avx512_emitter.h"

namespace warpgrade::emu {

// Addresses become distances from the begin of the allocation; rdx is that begin on the host.
void Avx512Emitter::check_vector_address(const WideAccess& a) {
  vpbroadcastq(zmm28, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  vpbroadcastq(zmm29, qword[r15 + a.hint(offsetof(NativeHint, starts))]);
  if (a.access_bytes() > 1) vpbroadcastq(zmm31, constant({a.access_bytes() - 1}));
  for (uint32_t p = 0; p < 4; ++p) {
    const Opmask here = lanes_of(8, p);
    if (a.access_bytes() > 1) {
      vptestmq(k7 | here, a.addresses[p], zmm31);
      p == 0 ? kmovb(k0, k7) : korb(k0, k0, k7);
    }
    vpsubq(a.addresses[p], a.addresses[p], zmm28);
    vpcmpuq(k7 | here, a.addresses[p], zmm29, 5);  // not below
    p == 0 && a.access_bytes() == 1 ? kmovb(k0, k7) : korb(k0, k0, k7);
  }
  kortestb(k0, k0);
  jnz(a.slowly, T_NEAR);
  mov(rdx, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  a.shared ? add(rdx, qword[r12 + offsetof(NativeContext, shared)])
           : add(rdx, qword[r15 + a.hint(offsetof(NativeHint, alias))]);
}

// A row of elements that become wider.
void Avx512Emitter::load_widening(const WideAccess& a, bool masked) {
  for (uint32_t p = 0; p < a.wide / 2; ++p)
    load_widened(a, masked ? a.values[p] | lanes_of(a.wide, p) | T_z : a.values[p], p);
}

// Side by side from rdx on.
void Avx512Emitter::move_row(const WideAccess& a, bool masked) {
  if (a.wide != a.bytes) return load_widening(a, masked);
  const uint32_t pieces = a.bytes / 2;
  for (uint32_t p = 0; p < pieces; ++p) {
    const Zmm v = a.values[p];
    const Opmask here = lanes_of(a.bytes, p);
    const Xbyak::Address at = ptr[rdx + 64 * p];
    if (!masked) {
      a.loads ? vmovdqu64(v, at) : vmovdqu64(at, v);
    } else if (a.bytes == 4) {
      a.loads ? vmovdqu32(v | here | T_z, at) : vmovdqu32(at | here, v);
    } else {
      a.loads ? vmovdqu64(v | here | T_z, at) : vmovdqu64(at | here, v);
    }
  }
}

// Addresses in vectors that turn out to be a row: rax is the first one's. Others go to `scattered`. The whole
// row lies within the bounds: on the way out rdx is its host address.
void Avx512Emitter::check_row_address(const WideAccess& a, Label& scattered) {
  cmp(r13d, -1);
  jne(scattered, T_NEAR);
  vmovq(rax, Xbyak::Xmm(a.addresses[0].getIdx()));
  vpbroadcastq(zmm28, rax);
  for (uint32_t p = 0; p < 4; ++p) {
    vpaddq(zmm29, zmm28, steps(8, a.access_bytes(), p));
    vpcmpq(k7, zmm29, a.addresses[p], 4);  // not equal
    p == 0 ? kmovb(k0, k7) : korb(k0, k0, k7);
  }
  kortestb(k0, k0);
  jnz(scattered, T_NEAR);
  check_row_bounds(a);
}

// The indices of a permutation of two vectors, 4 or 8 bytes each.
Xbyak::Address Avx512Emitter::indices(uint32_t bytes, const std::function<uint64_t(uint32_t)>& index) {
  std::vector<uint64_t> words(8);
  for (uint32_t k = 0; k < 8; ++k) words[k] = bytes == 8 ? index(k) : index(2 * k + 1) << 32 | index(2 * k);
  return constant(words);
}

// Vectors of 2 or 4 elements of all lanes, side by side from rdx on: between the order of memory and a
// register for each element.
void Avx512Emitter::load_vectors(const WideAccess& a) {
  const uint32_t pieces = a.bytes / 2;
  for (uint32_t p = 0; p < pieces; ++p) {
    const int at = static_cast<int>(64 * a.count * p);
    const auto value = [&](uint32_t k) { return a.values[k * pieces + p]; };
    if (a.count == 2) {
      vmovdqu64(zmm28, ptr[rdx + at]);
      vmovdqu64(zmm29, ptr[rdx + at + 64]);
      for (uint32_t k = 0; k < 2; ++k) {
        vmovdqa64(value(k), indices(a.bytes, [k](uint32_t lane) { return 2 * lane + k; }));
        a.bytes == 4 ? vpermi2d(value(k), zmm28, zmm29) : vpermi2q(value(k), zmm28, zmm29);
      }
      continue;
    }
    for (int k = 0; k < 4; ++k) vmovdqu64(Zmm(28 + k), ptr[rdx + at + 64 * k]);
    // Two elements of eight lanes in a register, of the first eight and of the others.
    for (uint32_t k = 0; k < 4; k += 2) {
      const auto two = [k](uint32_t n) { return 4 * (n % 8) + k + n / 8; };
      vmovdqa64(value(k), indices(4, two));
      vmovdqa64(value(k + 1), value(k));
      vpermi2d(value(k), zmm28, zmm29);
      vpermi2d(value(k + 1), zmm30, zmm31);
    }
    for (uint32_t k = 0; k < 4; k += 2) {
      vshufi64x2(zmm28, value(k), value(k + 1), 0xEE);
      vinserti64x4(value(k), value(k), Ymm(value(k + 1).getIdx()), 1);
      vmovdqa64(value(k + 1), zmm28);
    }
  }
}

void Avx512Emitter::store_vectors(const WideAccess& a) {
  const uint32_t pieces = a.bytes / 2, half = 64 / a.bytes / 2;
  for (uint32_t p = 0; p < pieces; ++p) {
    const int at = static_cast<int>(64 * a.count * p);
    const auto value = [&](uint32_t k) { return a.values[k * pieces + p]; };
    // The lanes of the first or second half, two elements each, element by element.
    const auto pairs = [&](Zmm to, uint32_t k, uint32_t part) {
      vmovdqa64(to, indices(a.bytes, [&](uint32_t n) { return n / 2 + part * half + n % 2 * 2 * half; }));
      a.bytes == 4 ? vpermi2d(to, value(k), value(k + 1)) : vpermi2q(to, value(k), value(k + 1));
    };
    for (uint32_t part = 0; part < 2; ++part) {
      pairs(zmm28, 0, part);
      if (a.count == 2) {
        vmovdqu64(ptr[rdx + at + int(64 * part)], zmm28);
        continue;
      }
      pairs(zmm29, 2, part);
      for (uint32_t quarter = 0; quarter < 2; ++quarter) {
        vmovdqa64(zmm30, indices(8, [quarter](uint32_t n) { return n / 2 + 4 * quarter + n % 2 * 8; }));
        vpermi2q(zmm30, zmm28, zmm29);
        vmovdqu64(ptr[rdx + at + int(128 * part + 64 * quarter)], zmm30);
      }
    }
  }
}

void Avx512Emitter::move_vectors(const WideAccess& a) {
  a.loads ? load_vectors(a) : store_vectors(a);
}

// Anywhere: at rdx plus the distances in a.addresses, or plus steps of the stride. Of lanes that store at one
// place the last wins: scatters write in the order of the lanes. Lanes that do not load become zero: what the
// register held before may be a subnormal number, on which arithmetic with all lanes would take 100 cycles.
// A gather takes as long for one lane as for eight, so it is left out where none of its lanes is active: in a loop that one
// lane alone goes on with, three of four.
void Avx512Emitter::move_lanes(const WideAccess& a) {
  const auto if_active = [&](uint32_t p, const auto& move) {
    Label none;
    test(r13d, 0xffu << 8 * p);
    jz(none);
    move();
    L(none);
  };
  for (uint32_t k = 0; k < a.count; ++k) {
    for (uint32_t p = 0; p < 4; ++p) {
      const int offset = static_cast<int>(k * a.bytes);
      Zmm index = zmm28;
      if (a.scalar_address) {
        vmovdqa64(zmm28, steps(8, a.stride, p));
      } else {
        index = a.addresses[p];
      }
      const Xbyak::Address at = ptr[rdx + index + offset];
      kmovb(k7, lanes_of(8, p));
      const auto clear = [&](const Zmm v) {
        if (a.loads) vpxord(v, v, v);
      };
      if (a.bytes == 8) {
        const Zmm v = a.values[k * 4 + p];
        clear(v);
        if_active(p, [&] { a.loads ? vgatherqpd(v | k7, at) : vscatterqpd(at | k7, v); });
        continue;
      }
      if (a.wide == 8) {
        clear(zmm30);
        if_active(p, [&] { vgatherqps(ymm30 | k7, at); });
        const Zmm v = a.values[p];
        is_signed(a.d.type) ? vpmovsxdq(v, ymm30) : vpmovzxdq(v, ymm30);
        continue;
      }
      const Zmm v = a.values[k * 2 + p / 2];
      const Ymm half = p % 2 == 0 ? Ymm(v.getIdx()) : ymm30;
      clear(Zmm(half.getIdx()));
      if (a.loads) {
        if_active(p, [&] { vgatherqps(half | k7, at); });
        if (p % 2 == 1) vinserti64x4(v, v, ymm30, 1);
      } else {
        if (p % 2 == 1) vextracti64x4(ymm30, v, 1);
        if_active(p, [&] { vscatterqps(at | k7, half); });
      }
    }
  }
}

// All lanes store at rdx: what the last one stores stays.
void Avx512Emitter::store_last(const WideAccess& a) {
  const uint32_t pieces = a.bytes / 2;
  lzcnt(ecx, r13d);
  neg(ecx);
  add(ecx, kLanes - 1);
  for (uint32_t k = 0; k < a.count; ++k) {
    for (uint32_t p = 0; p < pieces; ++p)
      vmovdqu64(ptr[r12 + int(offsetof(NativeContext, spare) + 64 * p)], a.values[k * pieces + p]);
    const int from = offsetof(NativeContext, spare);
    if (a.bytes == 4) {
      mov(eax, dword[r12 + rcx * 4 + from]);
      mov(dword[rdx + 4 * k], eax);
    } else {
      mov(rax, qword[r12 + rcx * 8 + from]);
      mov(qword[rdx + 8 * k], rax);
    }
  }
}

}  // namespace warpgrade::emu
