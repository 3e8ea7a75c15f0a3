// AVX2: loads and stores of lanes that lie anywhere. Their addresses go through context->access, what is
// loaded and stored through context->spare. Checking and gathering are routines behind the code, which leave
// ymm0-11 and the scalars as they are: at each access they would fill the processor's cache of instructions.
#include <cstddef>

#include "native/avx2_emitter.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kHighestBit = uint64_t(1) << 63;
constexpr int kSavedFrom = 6;  // the check's routine uses ymm6-11 as well

constexpr int kSpare = offsetof(NativeContext, spare), kSaved = offsetof(NativeContext, saved);

enum GatherForm : int { kWords, kDoubleWords, kWidened, kWidenedSigned };

}  // namespace

// Of four lanes.
int Avx2Emitter::host_address(uint32_t p) const {
  return int(offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host) + 32 * p);
}

int Avx2Emitter::place_of(const Cache& cache, uint32_t slot, uint32_t piece) const {
  for (int k = 0; k < vectors_; ++k) {
    if (cache.vectors[k].slot == slot && cache.vectors[k].piece == piece) return k;
  }
  return -1;
}

void Avx2Emitter::emit_routines() {
  for (const int shared : {0, 1}) {
    if (has_check_[shared]) emit_check_routine(shared != 0);
  }
  for (int form = 0; form < kGatherForms; ++form) {
    if (has_gather_[form]) emit_gather_routine(form);
  }
}

// rax: what is to be added to the addresses; rdx: the instruction's hint; ecx: the bits that must be 0 in an
// address. Host addresses take the place of the addresses. Not zero: a lane lies outside or is not aligned.
void Avx2Emitter::emit_check_routine(bool shared) {
  L(check_[shared ? 1 : 0]);
  for (int k = kSavedFrom; k < kPieces; ++k) vmovdqa(ptr[r12 + kSaved + 32 * (k - kSavedFrom)], Ymm(k));
  spread_mask(ymm15, r13d);
  const Ymm bad = ymm7, immediate = ymm8, begin = ymm9, starts = ymm10, alias = ymm11, low_bits = ymm14;
  // Below `starts` as numbers without a sign: both with the highest bit changed, as numbers with one.
  vpbroadcastq(begin, qword[rdx + offsetof(NativeHint, begin)]);
  vpxor(begin, begin, all64(kHighestBit));
  vpbroadcastq(starts, qword[rdx + offsetof(NativeHint, starts)]);
  vpxor(starts, starts, all64(kHighestBit));
  shared ? vpbroadcastq(alias, qword[r12 + offsetof(NativeContext, shared)])
         : vpbroadcastq(alias, qword[rdx + offsetof(NativeHint, alias)]);
  vmovq(xmm8, rax);
  vpbroadcastq(immediate, xmm8);
  vmovd(xmm14, ecx);
  vpbroadcastq(low_bits, xmm14);
  vpxor(bad, bad, bad);
  for (uint32_t p = 0; p < 8; ++p) {
    vpaddq(ymm12, immediate, ptr[r12 + host_address(p)]);
    mask_of_piece(ymm6, ymm15, 8, p);
    vpsubq(ymm13, ymm12, begin);
    vpcmpgtq(ymm13, starts, ymm13);
    vpandn(ymm13, ymm13, ymm6);
    vpor(bad, bad, ymm13);
    vpand(ymm13, ymm12, low_bits);
    vpand(ymm13, ymm13, ymm6);
    vpor(bad, bad, ymm13);
    vpaddq(ymm12, ymm12, alias);
    vmovdqa(ptr[r12 + host_address(p)], ymm12);
  }
  vptest(bad, bad);
  for (int k = kSavedFrom; k < kPieces; ++k) vmovdqa(Ymm(k), ptr[r12 + kSaved + 32 * (k - kSavedFrom)]);
  ret();
}

// rdx: the distance of the element from the lanes' addresses. Lanes that are not there become zero: what the
// register held for them may be a subnormal number, on which arithmetic with all lanes would take 100 cycles.
void Avx2Emitter::emit_gather_routine(int form) {
  L(gather_[form]);
  spread_mask(ymm15, r13d);
  for (uint32_t p = 0; p < 8; ++p) {
    vmovdqa(ymm12, ptr[r12 + host_address(p)]);
    vpxor(ymm14, ymm14, ymm14);
    if (form == kDoubleWords) {
      mask_of_piece(ymm13, ymm15, 8, p);
      vpgatherqq(ymm14, ptr[rdx + ymm12], ymm13);
      vmovdqa(ptr[r12 + kSpare + int(32 * p)], ymm14);
      continue;
    }
    const Xbyak::Address bits = words32([p](uint32_t lane) { return lane < 4 ? 1u << (4 * p + lane) : 0; });
    vpand(xmm13, xmm15, bits);
    vpcmpeqd(xmm13, xmm13, bits);
    vpgatherqd(xmm14, ptr[rdx + ymm12], xmm13);
    if (form == kWords) {
      vmovdqa(ptr[r12 + kSpare + int(16 * p)], xmm14);
      continue;
    }
    form == kWidenedSigned ? vpmovsxdq(ymm14, xmm14) : vpmovzxdq(ymm14, xmm14);
    vmovdqa(ptr[r12 + kSpare + int(32 * p)], ymm14);
  }
  ret();
}

// The lanes' host addresses; a.slowly where one is not good. What is cached stays as it is.
void Avx2Emitter::check_lanes(const Access& a) {
  const bool narrow = a.i.address_is_32;
  for (uint32_t p = 0; p < 8; ++p) {
    if (!narrow) {
      vmovdqa(ptr[r12 + host_address(p)], peek(ymm12, a.i.a, p));
      continue;
    }
    if (p % 2 == 0) {
      const Ymm low = peek(ymm12, a.i.a, p / 2);
      if (a.i.imm != 0) {
        vpaddd(ymm13, low, all32(static_cast<uint32_t>(a.i.imm)));
      } else {
        vmovdqa(ymm13, low);
      }
    } else {
      vextracti128(xmm13, ymm13, 1);
    }
    vpmovzxdq(ymm14, xmm13);
    vmovdqa(ptr[r12 + host_address(p)], ymm14);
  }
  mov(rax, narrow ? uint64_t(0) : uint64_t(a.i.imm));
  lea(rdx, ptr[r15 + a.hint(0)]);
  mov(ecx, a.access_bytes() - 1);
  has_check_[a.shared ? 1 : 0] = true;
  call(check_[a.shared ? 1 : 0]);
  jnz(a.slowly, T_NEAR);
}

// Element k of each lane, into context->spare.
void Avx2Emitter::gather(const Access& a, uint32_t k) {
  const int form = a.bytes == 8          ? kDoubleWords
                   : a.wide == 4         ? kWords
                   : is_signed(a.d.type) ? kWidenedSigned
                                         : kWidened;
  mov(edx, k * a.bytes);
  has_gather_[form] = true;
  call(gather_[form]);
}

void Avx2Emitter::load_gathered(const Access& a, Ymm to, uint32_t p) {
  const Xbyak::Address from = ptr[r12 + kSpare + int(32 * p)];
  if (a.wide == 8) return vmovdqa(to, from);
  vmovdqa(Xmm(to.getIdx()), from);  // they were stored as halves
  vinserti128(to, to, ptr[r12 + kSpare + int(32 * p + 16)], 1);
}

// Lane by lane: of lanes that store at one place the last wins.
void Avx2Emitter::scatter(const Access& a) {
  const auto spare = [&](uint32_t k) { return kSpare + int(k * kLanes * a.bytes); };
  for (uint32_t k = 0; k < a.count; ++k) {
    for (uint32_t p = 0; p < pieces_of(a.bytes); ++p)
      vmovdqa(ptr[r12 + spare(k) + int(32 * p)], peek(ymm12, a.i.vec[k], p));
  }
  Label next;
  push(rsi);
  mov(edx, r13d);
  L(next);
  tzcnt(ecx, edx);
  mov(rax, qword[r12 + rcx * 8 + host_address(0)]);
  for (uint32_t k = 0; k < a.count; ++k) {
    const int to = static_cast<int>(k * a.bytes);
    if (a.bytes == 8) {
      mov(rsi, qword[r12 + rcx * 8 + spare(k)]);
      mov(qword[rax + to], rsi);
    } else {
      mov(esi, dword[r12 + rcx * 4 + spare(k)]);
      mov(dword[rax + to], esi);
    }
  }
  blsr(edx, edx);
  jnz(next, T_NEAR);
  pop(rsi);
}

// From what is cached before the access to what the main path has cached after it, but for what is loaded.
void Avx2Emitter::settle(const Access& a, const Cache& after) {
  const auto stays = [&](int k) {
    const CachedVector &v = cache_.vectors[k], &other = after.vectors[k];
    return v.slot == other.slot && v.piece == other.piece;
  };
  const auto is_loaded = [&](uint32_t slot) {
    for (uint32_t k = 0; a.loads && k < a.count; ++k) {
      if (a.i.vec[k] == slot) return true;
    }
    return false;
  };
  bool begun = false;
  for (int k = 0; k < vectors_; ++k) {
    const CachedVector& v = cache_.vectors[k];
    // Where it stays but is no longer to be written back, the main path has written it.
    if (v.slot == kFree || !v.dirty || is_loaded(v.slot) || (stays(k) && after.vectors[k].dirty)) continue;
    if (!begun) begin_masked_stores();
    begun = true;
    store_piece(v, k, true);
  }
  for (int k = 0; k < vectors_; ++k) {
    const CachedVector& v = after.vectors[k];
    if (v.slot != kFree && !stays(k) && !is_loaded(v.slot)) load_piece(k, v);
  }
}

void Avx2Emitter::move_checked_lanes(const Access& a, const Cache& after) {
  if (!a.loads) {
    scatter(a);
    return settle(a, after);
  }
  settle(a, after);
  for (uint32_t k = 0; k < a.count; ++k) {
    gather(a, k);
    for (uint32_t p = 0; p < pieces_of(a.wide); ++p) {
      const int kept = place_of(after, a.i.vec[k], p);
      load_gathered(a, kept >= 0 ? Ymm(kept) : ymm12, p);
      if (kept >= 0) continue;
      begin_masked_stores();
      store_masked(in_file(a.i.vec[k], p), ymm12, a.wide, p);
    }
  }
}

void Avx2Emitter::move_lanes(const Access& a, const Cache& after) {
  check_lanes(a);
  move_checked_lanes(a, after);
}

}  // namespace warpgrade::emu
