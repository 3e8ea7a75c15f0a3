// AVX2: loads and stores. Rows are moved as vectors; lanes that lie anywhere by routines (avx2_lanes.cpp).
#include <cstddef>

#include "native/avx2_emitter.h"

namespace warpgrade::emu {
// Values that no one looks at are not worth a store before the access.
void Avx2Emitter::drop_dead() {
  for (CachedVector& v : cache_.vectors) {
    if (v.slot != kFree && !may_be_wanted(v.slot)) v.slot = kFree;
  }
}

// Addresses in vectors that turn out to be a row: on the way out rdx is where it lies on the host. Others go
// to `scattered`. What is cached stays as it is.
void Avx2Emitter::check_row(const Access& a, Label& scattered) {
  const bool narrow = a.i.address_is_32;
  const uint32_t bytes = narrow ? 4 : 8;
  const auto step = [&](uint32_t lane) { return uint64_t(a.access_bytes()) * lane; };
  cmp(r13d, -1);
  jne(scattered, T_NEAR);
  const Ymm first = peek(ymm12, a.i.a, 0);
  narrow ? vpbroadcastd(ymm13, Xmm(first.getIdx())) : vpbroadcastq(ymm13, Xmm(first.getIdx()));
  for (uint32_t p = 0; p < pieces_of(bytes); ++p) {
    const Ymm lanes = p == 0 ? first : peek(ymm12, a.i.a, p), other = p < 2 ? ymm15 : ymm14;
    if (narrow) {
      vpaddd(other, ymm13, words32([&](uint32_t k) { return uint32_t(step(8 * p + k)); }));
    } else {
      vpaddq(other, ymm13, constant({step(4 * p), step(4 * p + 1), step(4 * p + 2), step(4 * p + 3)}));
    }
    vpxor(other, other, lanes);
    if (p > 1) vpor(ymm15, ymm15, ymm14);
    if (p != 0 && p + 1 != pieces_of(bytes)) continue;
    vptest(ymm15, ymm15);
    jnz(scattered, T_NEAR);
  }
  if (narrow) {
    vmovd(eax, xmm13);
    if (a.i.imm != 0) add(eax, static_cast<uint32_t>(a.i.imm));
  } else {
    vmovq(rax, xmm13);
    if (a.i.imm != 0) {
      mov(rcx, uint64_t(a.i.imm));
      add(rax, rcx);
    }
  }
  check_row_bounds(a);
}

// Side by side from rdx on.
void Avx2Emitter::move_row(const Access& a) {
  if (a.count > 1) return move_interleaved(a);
  const uint32_t slot = a.i.vec[0];
  for (uint32_t p = 0; p < pieces_of(a.wide); ++p) {
    ++now_;
    if (!a.loads) {
      vmovdqu(ptr[rdx + int(32 * p)], source(slot, p, a.wide));
      continue;
    }
    const Ymm t = allocate();
    a.wide != a.bytes ? load_widened(a, t, p) : vmovdqu(t, ptr[rdx + int(32 * p)]);
    forget_scalar(slot);
    bind(slot, p, a.wide, t);
  }
}

// Of the lanes that are there, at rdx; loads into the registers that `after` has for them.
void Avx2Emitter::move_row_partly(const Access& a, const Cache& after) {
  const uint32_t slot = a.i.vec[0];
  spread_mask(ymm15, r13d);
  for (uint32_t p = 0; p < pieces_of(a.bytes); ++p) {
    const Xbyak::Address at = ptr[rdx + int(32 * p)];
    mask_of_piece(ymm12, ymm15, a.bytes, p);
    if (!a.loads) {
      const Ymm v = peek(ymm13, slot, p);
      a.bytes == 4 ? vpmaskmovd(at, ymm12, v) : vpmaskmovq(at, ymm12, v);
      continue;
    }
    const int kept = place_of(after, slot, p);
    const Ymm to = kept >= 0 ? Ymm(kept) : ymm13;
    a.bytes == 4 ? vpmaskmovd(to, ymm12, at) : vpmaskmovq(to, ymm12, at);
    if (kept < 0) store_masked(in_file(slot, p), to, a.bytes, p);
  }
}

// All lanes store at rdx: what the last one stores stays.
void Avx2Emitter::store_last(const Access& a) {
  const int spare = offsetof(NativeContext, spare);
  lzcnt(ecx, r13d);
  xor_(ecx, kLanes - 1);
  for (uint32_t k = 0; k < a.count; ++k) {
    const uint32_t slot = a.i.vec[k];
    for (uint32_t p = 0; p < pieces_of(a.bytes); ++p) {
      ++now_;
      vmovdqa(ptr[r12 + spare + int(32 * p)], source(slot, p, a.bytes));
    }
    if (a.bytes == 4) {
      mov(eax, dword[r12 + rcx * 4 + spare]);
      mov(dword[rdx + 4 * k], eax);
    } else {
      mov(rax, qword[r12 + rcx * 8 + spare]);
      mov(qword[rdx + 8 * k], rax);
    }
  }
}

// One base and a step describe all addresses.
void Avx2Emitter::emit_known_address(Access& a) {
  scalar_address(a.i);
  const Cache before = cache_;
  Label done, partly;
  if (a.is_uniform()) {
    check_scalar_address(a);
    a.loads ? load_scalars(a) : store_last(a);
    return finish_access(a, done, before);
  }
  const bool partly_too = a.bytes >= 4;  // there are masks of four bytes at least
  cmp(r13d, -1);
  jne(partly_too ? partly : a.slowly, T_NEAR);
  check_scalar_address(a);
  move_row(a);
  if (!partly_too) return finish_access(a, done, before);
  finish_access(a, done, before, [this, a, partly](const Cache& after) mutable {
    L(partly);
    if (a.count > 1 || a.wide != a.bytes) return move_lanes(a, after);
    check_scalar_address_partly(a);
    if (a.loads) settle(a, after);
    move_row_partly(a, after);
    if (!a.loads) settle(a, after);
  });
}

void Avx2Emitter::emit_unknown_address(Access& a) {
  const Cache before = cache_;
  Label done, scattered;
  check_row(a, scattered);
  move_row(a);
  finish_access(a, done, before, [this, a, scattered](const Cache& after) mutable {
    L(scattered);
    move_lanes(a, after);
  });
}

// Lanes that cannot lie side by side.
void Avx2Emitter::emit_lanes_alone(Access& a) {
  const Cache before = cache_;
  Label done;
  check_lanes(a);
  if (!a.loads) scatter(a);
  for (uint32_t k = 0; a.loads && k < a.count; ++k) {
    gather(a, k);
    forget_scalar(a.i.vec[k]);
    for (uint32_t p = 0; p < pieces_of(a.wide); ++p) {
      ++now_;
      const Ymm t = allocate();
      load_gathered(a, t, p);
      bind(a.i.vec[k], p, a.wide, t);
    }
  }
  finish_access(a, done, before);
}

bool Avx2Emitter::emit_access(const Inst& i, const Decoded& d) {
  const std::optional<Access> described = describe_access(i, d);
  if (!described) return false;
  Access a = *described;
  const bool row = a.is_whole_row();
  const bool may_be_row = !a.scalar_address && a.may_be_row();
  if (!row && !a.is_uniform()) a.scalar_address = false;
  drop_dead();
  if (mode_.observes) return emit_observed_access(a);
  a.site = make_site(i);
  out_.sites[a.site].span = a.span();
  if (a.scalar_address) {
    emit_known_address(a);
  } else if (may_be_row) {
    emit_unknown_address(a);
  } else {
    emit_lanes_alone(a);
  }
  return true;
}

// With checks or counters: rows and single places go to native_observe or native_count, other lanes to
// native_observe_lanes or, where checks look at them, to the handler.
bool Avx2Emitter::emit_observed_access(Access& a) {
  if (!begin_observed_access(a)) return false;
  const bool scalar_result = a.has_scalar_result(), row = a.is_whole_row();
  if (a.scalar_address) scalar_address(a.i);
  const Cache before = cache_;
  Label done, scattered;
  if (!a.scalar_address) {
    check_row(a, mode_.checks ? a.slowly : scattered);
  } else {
    if (row) {
      cmp(r13d, -1);
      jne(a.slowly, T_NEAR);
    }
    check_scalar_address(a);
  }
  observe_row_at(a);
  scalar_result ? load_scalars(a) : move_row(a);
  if (a.scalar_address || mode_.checks) {
    finish_access(a, done, before);
    return true;
  }
  finish_access(a, done, before, [this, a, scattered, before](const Cache& after) mutable {
    L(scattered);
    check_lanes(a);
    observe_lanes_at(a, before);
    move_checked_lanes(a, after);
  });
  return true;
}

}  // namespace warpgrade::emu
