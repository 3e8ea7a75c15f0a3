// AVX-512: what racecheck and initcheck say of most rows and single places, in place. Racecheck: nobody has accessed a
// unit of shared memory in a way that matters since all threads met, and nobody writes the global memory in this
// launch. Initcheck: all that is loaded was written. Of everything else native_observe() finds out more.
#include <cstddef>

#include "native/avx512_emitter.h"
#include "program/unset_locals.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kUnitBytes = 4, kAllSet = 0x01010101;
constexpr uint8_t kLessOrEqual = 2, kNotEqual = 4, kNotLess = 5, kGreater = 6;  // vpcmpud's

#define WARPEMU_STAMPS(field) (offsetof(NativeContext, stamps) + offsetof(SharedStamps, field))

}  // namespace

Xbyak::Address Avx512Emitter::stamps_in(size_t field) {
  return ptr[r12 + static_cast<int>(field)];
}

bool Avx512Emitter::checks_in_place(const Access& a) const {
  if (program_.synchronizes[a.i.index] || a.access_bytes() % kUnitBytes != 0) return false;
  if (!a.shared) return a.loads;
  if (program_.narrow_shared) return false;
  return a.loads || (!a.is_uniform() && (a.i.flags & kStoresUnset) == 0);
}

// The flags from `at` on.
void Avx512Emitter::check_flags(const Access& a, const Xbyak::RegExp& at, Label& closer) {
  if (a.is_uniform()) {
    for (uint32_t k = 0; k < a.access_bytes(); k += kUnitBytes) {
      cmp(dword[at + k], kAllSet);
      jne(closer, T_NEAR);
    }
    return;
  }
  vmovdqu64(zmm28, ptr[at]);
  for (uint32_t p = 1; p < a.access_bytes() / 2; ++p) vpminub(zmm28, zmm28, ptr[at + 64 * p]);
  vptestnmb(k7, zmm28, zmm28);
  kortestq(k7, k7);
  jnz(closer, T_NEAR);
}

// Of a load of global memory that nothing can race with: rax gets the way from host addresses to flags. False: nobody
// asks for flags.
bool Avx512Emitter::load_flags(const Access& a, Label& unfollowed, Label& closer) {
  cmp(qword[r15 + a.hint(offsetof(NativeHint, unraced))], 0);
  je(closer, T_NEAR);
  if (!settings().init_check) return false;
  mov(rax, qword[r15 + a.hint(offsetof(NativeHint, flags))]);
  test(rax, rax);
  jz(unfollowed, T_NEAR);
  return true;
}

void Avx512Emitter::check_in_place(const Access& a, Label& closer) {
  if (a.shared) return check_shared_in_place(a, closer);
  Label unfollowed;
  if (!load_flags(a, unfollowed, closer)) return;
  check_flags(a, rax + rdx, closer);
  L(unfollowed);
}

// A unit's stamps lie as far from the first one's as the unit lies from the begin of shared memory: at rcx.
void Avx512Emitter::check_shared_in_place(const Access& a, Label& closer) {
  mov(rcx, rdx);
  sub(rcx, ptr[r12 + offsetof(NativeContext, shared)]);
  if (settings().init_check && a.loads) {
    mov(rax, ptr[r12 + offsetof(NativeContext, shared_flags)]);
    check_flags(a, rax + rcx, closer);
  }
  if (!settings().race_check) return;
  mov(rax, stamps_in(WARPEMU_STAMPS(write_when)));
  test(rax, rax);
  jz(closer, T_NEAR);
  if (a.is_uniform()) {
    check_unit_order(a, closer);
  } else {
    check_row_order(a, closer);
  }
  mov(rdx, ptr[r12 + offsetof(NativeContext, host)]);
}

// Of one place that all lanes read: its writes are older than the last meeting of all threads, or of this warp, which
// made them.
void Avx512Emitter::check_unit_order(const Access& a, Label& closer) {
  for (uint32_t k = 0; k < a.access_bytes(); k += kUnitBytes) {
    Label ordered;
    mov(rax, stamps_in(WARPEMU_STAMPS(write_when)));
    mov(eax, dword[rax + rcx + k]);
    mov(rdx, ptr[r12 + offsetof(NativeContext, clock)]);
    cmp(eax, dword[rdx + kUnitBytes]);
    jb(ordered);
    mov(rdx, ptr[r12 + offsetof(NativeContext, warp_since)]);
    cmp(eax, dword[rdx]);
    jae(closer, T_NEAR);
    mov(rax, stamps_in(WARPEMU_STAMPS(write_whom)));
    mov(eax, dword[rax + rcx + k]);
    shr(eax, kLaneBits);
    xor_(eax, dword[rbx + offsetof(Warp, index)]);
    test(eax, kWarpMask >> kLaneBits);
    jnz(closer, T_NEAR);
    L(ordered);
  }
}

// The same of a row: no unit was accessed since all threads met, or all such accesses are the lane's own, or of its warp
// and older than the warp's last meeting.
void Avx512Emitter::check_row_order(const Access& a, Label& closer) {
  std::vector<std::pair<size_t, size_t>> looked_at{{WARPEMU_STAMPS(write_when), WARPEMU_STAMPS(write_whom)}};
  if (!a.loads) {
    looked_at.emplace_back(WARPEMU_STAMPS(first_when), WARPEMU_STAMPS(first_whom));
    looked_at.emplace_back(WARPEMU_STAMPS(last_when), WARPEMU_STAMPS(last_whom));
  }
  const uint32_t pieces = a.access_bytes() / 2;
  Label ordered;
  vpxord(zmm28, zmm28, zmm28);
  for (const auto& [when, whom] : looked_at) {
    mov(rax, stamps_in(when));
    for (uint32_t p = 0; p < pieces; ++p) vpmaxud(zmm28, zmm28, ptr[rax + rcx + 64 * p]);
  }
  mov(rdx, ptr[r12 + offsetof(NativeContext, clock)]);
  vpbroadcastd(zmm31, dword[rdx + kUnitBytes]);
  vpcmpud(k7, zmm28, zmm31, kNotLess);
  kortestw(k7, k7);
  if (a.access_bytes() > kUnitBytes) return jnz(closer, T_NEAR);  // it would be two kilobytes of code
  jz(ordered, T_NEAR);
  first_lane(a);
  vpbroadcastd(zmm30, broadcast32(kThreadMask));
  for (const auto& [when, whom] : looked_at) {
    mov(rax, stamps_in(when));
    for (uint32_t p = 0; p < pieces; ++p) {
      const auto at = static_cast<int>(64 * p);
      vpcmpud(k7, zmm31, ptr[rax + rcx + at], kLessOrEqual);  // recent
      mov(rdx, stamps_in(whom));
      vpaddd(zmm28, zmm29, lanes_of_units(a, p));
      vpxord(zmm28, zmm28, ptr[rdx + rcx + at]);
      vpandd(zmm28, zmm28, zmm30);
      vptestmd(k7 | k7, zmm28, zmm28);  // another thread's
      vpsrld(zmm28, zmm28, kLaneBits);
      vptestmd(k0 | k7, zmm28, zmm28);  // another warp's
      mov(rdx, ptr[r12 + offsetof(NativeContext, warp_since)]);
      vpbroadcastd(zmm28, dword[rdx]);
      vpcmpud(k7 | k7, zmm28, ptr[rax + rcx + at], kLessOrEqual);
      kortestw(k0, k7);
      jnz(closer, T_NEAR);
    }
  }
  L(ordered);
}

// zmm29: the warp's first lane, with the instruction, in all places.
void Avx512Emitter::first_lane(const Access& a) {
  mov(eax, dword[rbx + offsetof(Warp, index)]);
  shl(eax, kLaneBits);
  add(eax, who(a.i.index, 0, 0));
  vpbroadcastd(zmm29, eax);
}

// Which lanes have the units of a row's piece.
Xbyak::Address Avx512Emitter::lanes_of_units(const Access& a, uint32_t piece) {
  return indices(4, [&](uint32_t k) { return (16 * piece + k) / (a.access_bytes() / kUnitBytes); });
}

// Stamps of a row: zmm30 now, zmm31 when all threads met, zmm29 the first lane with the instruction.
void Avx512Emitter::stamp_units(const Access& a, size_t when, size_t whom, bool stale_alone) {
  mov(rax, stamps_in(when));
  mov(rdx, stamps_in(whom));
  for (uint32_t p = 0; p < a.access_bytes() / 2; ++p) {
    const auto at = static_cast<int>(64 * p);
    vpaddd(zmm28, zmm29, lanes_of_units(a, p));
    if (stale_alone) {
      vpcmpud(k7, zmm31, ptr[rax + rcx + at], kGreater);
      vmovdqu32(ptr[rax + rcx + at] | k7, zmm30);
      vmovdqu32(ptr[rdx + rcx + at] | k7, zmm28);
    } else {
      vmovdqu32(ptr[rax + rcx + at], zmm30);
      vmovdqu32(ptr[rdx + rcx + at], zmm28);
    }
  }
}

// SharedShadow::remember_read() of the first lane that is there.
void Avx512Emitter::remember_uniform(const Access& a) {
  const auto clock = [&](const Reg64& to) { mov(to, ptr[r12 + offsetof(NativeContext, clock)]); };
  tzcnt(eax, r13d);
  mov(edx, dword[rbx + offsetof(Warp, index)]);
  shl(edx, kLaneBits);
  lea(edx, ptr[rdx + rax + int(who(a.i.index, 0, 0))]);
  vmovd(xmm29, edx);
  clock(rdx);
  vmovd(xmm30, dword[rdx]);
  for (uint32_t k = 0; k < a.access_bytes(); k += kUnitBytes) {
    Label later;
    clock(rdx);
    mov(edx, dword[rdx + kUnitBytes]);
    mov(rax, stamps_in(WARPEMU_STAMPS(first_when)));
    cmp(dword[rax + rcx + k], edx);
    jae(later);
    vmovd(dword[rax + rcx + k], xmm30);
    mov(rax, stamps_in(WARPEMU_STAMPS(first_whom)));
    vmovd(dword[rax + rcx + k], xmm29);
    L(later);
    mov(rax, stamps_in(WARPEMU_STAMPS(last_when)));
    vmovd(dword[rax + rcx + k], xmm30);
    mov(rax, stamps_in(WARPEMU_STAMPS(last_whom)));
    vmovd(dword[rax + rcx + k], xmm29);
  }
}

void Avx512Emitter::remember_in_place(const Access& a) {
  if (!a.shared) return;
  mov(rcx, ptr[r12 + offsetof(NativeContext, host)]);
  sub(rcx, ptr[r12 + offsetof(NativeContext, shared)]);
  if (settings().init_check && !a.loads) {
    mov(rax, ptr[r12 + offsetof(NativeContext, shared_flags)]);
    vpbroadcastd(zmm28, broadcast32(kAllSet));
    for (uint32_t p = 0; p < a.access_bytes() / 2; ++p) vmovdqu64(ptr[rax + rcx + 64 * p], zmm28);
  }
  if (settings().race_check && a.is_uniform()) {
    remember_uniform(a);
  } else if (settings().race_check) {
    mov(rax, ptr[r12 + offsetof(NativeContext, clock)]);
    vpbroadcastd(zmm30, dword[rax]);
    vpbroadcastd(zmm31, dword[rax + kUnitBytes]);
    first_lane(a);
    if (a.loads) {
      stamp_units(a, WARPEMU_STAMPS(first_when), WARPEMU_STAMPS(first_whom), true);
      stamp_units(a, WARPEMU_STAMPS(last_when), WARPEMU_STAMPS(last_whom), false);
    } else {
      stamp_units(a, WARPEMU_STAMPS(write_when), WARPEMU_STAMPS(write_whom), false);
    }
  }
  mov(rdx, ptr[r12 + offsetof(NativeContext, host)]);
}

// Loads of global memory by lanes anywhere.
void Avx512Emitter::check_lanes_in_place(const Access& a, Label& closer) {
  Label unfollowed;
  if (!load_flags(a, unfollowed, closer)) return;
  if (a.access_bytes() != kUnitBytes) {
    jmp(closer, T_NEAR);
    return L(unfollowed);
  }
  vpbroadcastd(zmm30, broadcast32(kAllSet));
  for (uint32_t p = 0; p < 4; ++p) {
    vmovdqu64(zmm29, ptr[r12 + host_address(p)]);
    vmovdqa64(zmm28, zmm30);
    kmovb(k7, lanes_of(8, p));
    vpgatherqd(ymm28 | k7, ptr[rax + zmm29]);
    vpcmpud(k7, ymm28, ymm30, kNotEqual);
    p == 0 ? kmovb(k0, k7) : korb(k0, k0, k7);
  }
  kortestb(k0, k0);
  jnz(closer, T_NEAR);
  L(unfollowed);
}

#undef WARPEMU_STAMPS

}  // namespace warpgrade::emu
