// AVX2: loads and stores. Rows are moved as vectors, between the processor's registers and memory. Lanes that
// lie anywhere are looked at and moved with the register file alone: gathers need many registers, and a store
// is lane by lane.
#include <cstddef>

#include "native/avx2_emitter.h"

namespace warpgrade::emu {
namespace {

constexpr uint64_t kHighestBit = uint64_t(1) << 63;

const auto kEvery = [](uint32_t) { return true; };

}  // namespace

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

// The addresses of four lanes, of a register that is in the register file or a scalar.
void Avx2Emitter::address_of_lanes(const Access& a, uint32_t p, Ymm to) {
  if (!a.i.address_is_32) {
    load_vector(to, a.i.a, p);
    if (a.i.imm != 0) vpaddq(to, to, all64(uint64_t(a.i.imm)));
    return;
  }
  load_vector(to, a.i.a, p / 2);
  if (p % 2 == 1) vextracti128(Xmm(to.getIdx()), to, 1);
  if (a.i.imm != 0) vpaddd(to, to, all32(static_cast<uint32_t>(a.i.imm)));
  vpmovzxdq(to, Xmm(to.getIdx()));
}

// Of lanes anywhere: their host addresses, in context->access; ymm15 the lanes that are there. Uses every
// vector register.
void Avx2Emitter::check_lanes(const Access& a, Label& outside) {
  const int host = offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host);
  const uint64_t rest = a.access_bytes() - 1;
  spread_mask(ymm15, r13d);
  // Below `starts` as numbers without a sign: both with the highest bit changed, as numbers with one.
  vmovdqa(ymm0, all64(kHighestBit));
  vpbroadcastq(ymm1, qword[r15 + a.hint(offsetof(NativeHint, starts))]);
  vpxor(ymm1, ymm1, ymm0);
  vpbroadcastq(ymm2, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  vpxor(ymm0, ymm0, ymm2);
  a.shared ? vpbroadcastq(ymm2, qword[r12 + offsetof(NativeContext, shared)])
           : vpbroadcastq(ymm2, qword[r15 + a.hint(offsetof(NativeHint, alias))]);
  vpxor(ymm3, ymm3, ymm3);
  for (uint32_t p = 0; p < 8; ++p) {
    address_of_lanes(a, p, ymm4);
    mask_of_piece(ymm5, ymm15, 8, p);
    vpsubq(ymm6, ymm4, ymm0);
    vpcmpgtq(ymm6, ymm1, ymm6);
    vpandn(ymm6, ymm6, ymm5);
    vpor(ymm3, ymm3, ymm6);
    if (rest != 0) {
      vpand(ymm6, ymm4, ymm5);
      vpand(ymm6, ymm6, all64(rest));
      vpor(ymm3, ymm3, ymm6);
    }
    vpaddq(ymm4, ymm4, ymm2);
    vmovdqa(ptr[r12 + host + int(32 * p)], ymm4);
  }
  vptest(ymm3, ymm3);
  jnz(outside, T_NEAR);
}

// Element k of each lane at the addresses of context->access, to the register file.
void Avx2Emitter::gather_element(const Access& a, uint32_t k) {
  const int host = offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host);
  const int offset = static_cast<int>(k * a.bytes);
  const uint32_t slot = a.i.vec[k];
  for (uint32_t p = 0; p < 8; ++p) {
    vmovdqa(ymm4, ptr[r12 + host + int(32 * p)]);
    if (a.bytes == 8) {
      mask_of_piece(ymm5, ymm15, 8, p);
      vpxor(ymm6, ymm6, ymm6);
      vpgatherqq(ymm6, ptr[rdx + ymm4 + offset], ymm5);
      store_masked(in_file(slot, p), ymm6, 8, p);
      continue;
    }
    const Xbyak::Address bits = words32([p](uint32_t lane) { return lane < 4 ? 1u << (4 * p + lane) : 0; });
    const Xmm to = a.wide == 4 && p % 2 == 1 ? xmm7 : xmm6;
    vpand(xmm5, xmm15, bits);
    vpcmpeqd(xmm5, xmm5, bits);
    vpxor(to, to, to);
    vpgatherqd(to, ptr[rdx + ymm4 + offset], xmm5);
    if (a.wide == 8) {
      is_signed(a.d.type) ? vpmovsxdq(ymm6, xmm6) : vpmovzxdq(ymm6, xmm6);
      store_masked(in_file(slot, p), ymm6, 8, p);
    } else if (p % 2 == 1) {
      vinserti128(ymm6, ymm6, xmm7, 1);
      store_masked(in_file(slot, p / 2), ymm6, 4, p / 2);
    }
  }
}

// Lane by lane: of lanes that store at one place the last wins. Values come from the register file; where
// they are scalars, they are written there first.
void Avx2Emitter::scatter(const Access& a) {
  const int host = offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host);
  for (uint32_t k = 0; k < a.count; ++k) {
    const uint32_t slot = a.i.vec[k];
    if (!fact(slot).is_scalar() || flow_.is_fixed(slot)) continue;
    for (uint32_t p = 0; p < pieces_of(a.bytes); ++p) {
      load_vector(ymm4, slot, p);
      store_masked(in_file(slot, p), ymm4, a.bytes, p);
    }
  }
  Label next;
  mov(edx, r13d);
  L(next);
  tzcnt(ecx, edx);
  mov(rax, qword[r12 + rcx * 8 + host]);
  for (uint32_t k = 0; k < a.count; ++k) {
    const int from = static_cast<int>(a.i.vec[k]), to = static_cast<int>(k * a.bytes);
    if (a.bytes == 8) {
      mov(rsi, qword[rbp + rcx * 8 + from]);
      mov(qword[rax + to], rsi);
    } else {
      mov(esi, dword[rbp + rcx * 4 + from]);
      mov(dword[rax + to], esi);
    }
  }
  blsr(edx, edx);
  jnz(next, T_NEAR);
}

void Avx2Emitter::move_lanes(const Access& a) {
  if (!a.loads) return scatter(a);
  xor_(edx, edx);
  for (uint32_t k = 0; k < a.count; ++k) gather_element(a, k);
}

// A piece of a row of elements that become wider.
void Avx2Emitter::load_widened(const Access& a, Ymm to, uint32_t p) {
  const bool sign = is_signed(a.d.type);
  const Xbyak::Address at = ptr[rdx + int(p * (32 / a.wide) * a.bytes)];
  if (a.wide == 4) {
    a.bytes == 1 ? (sign ? vpmovsxbd(to, at) : vpmovzxbd(to, at))
                 : (sign ? vpmovsxwd(to, at) : vpmovzxwd(to, at));
  } else if (a.bytes == 4) {
    sign ? vpmovsxdq(to, at) : vpmovzxdq(to, at);
  } else {
    a.bytes == 1 ? (sign ? vpmovsxbq(to, at) : vpmovzxbq(to, at))
                 : (sign ? vpmovsxwq(to, at) : vpmovzxwq(to, at));
  }
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

// Of the lanes that are there, between memory from rdx on and the register file.
void Avx2Emitter::move_row_partly(const Access& a) {
  const uint32_t slot = a.i.vec[0];
  spread_mask(ymm15, r13d);
  for (uint32_t p = 0; p < pieces_of(a.bytes); ++p) {
    const Xbyak::Address at = ptr[rdx + int(32 * p)];
    mask_of_piece(ymm5, ymm15, a.bytes, p);
    if (a.loads) {
      a.bytes == 4 ? vpmaskmovd(ymm4, ymm5, at) : vpmaskmovq(ymm4, ymm5, at);
      store_masked(in_file(slot, p), ymm4, a.bytes, p);
    } else {
      load_vector(ymm4, slot, p);
      a.bytes == 4 ? vpmaskmovd(at, ymm5, ymm4) : vpmaskmovq(at, ymm5, ymm4);
    }
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

// What leaves the main path: `others`, with the registers in the file and free to be used, which goes to the
// label it is given when the handler has to; and the access as the handler does it. Both come back to `done`
// with what is cached there.
void Avx2Emitter::finish_access(const Access& a, Label& done, const Cache& before,
                                const std::function<void(Label&)>& others) {
  L(done);
  const Cache after = cache_;
  const Facts facts_before = facts_;
  Facts facts = facts_;
  flow_.apply(a.i, facts);
  cold_.push_back([this, a, done, before, after, facts_before, facts, others]() mutable {
    Label handler;
    if (others) {
      facts_ = facts_before;
      others(handler);
      facts_ = facts;
      reload(after);
      jmp(done);
    }
    L(a.slowly);
    store_dirty(before, true, kEvery);
    L(handler);
    call_run(a.site);
    facts_ = facts;
    reload(after);
    jmp(done);
  });
}

// One base and a step describe all addresses.
void Avx2Emitter::emit_known_address(Access& a) {
  scalar_address(a.i);
  const Cache before = cache_;
  Label done, partly;
  if (a.is_uniform()) {
    check_scalar_address(a);
    a.loads ? load_scalars(a) : store_last(a);
    return finish_access(a, done, before, {});
  }
  const bool partly_too = a.bytes >= 4;  // there are masks of four bytes at least
  cmp(r13d, -1);
  jne(partly_too ? partly : a.slowly, T_NEAR);
  check_scalar_address(a);
  move_row(a);
  if (!partly_too) return finish_access(a, done, before, {});
  finish_access(a, done, before, [this, a, partly, before](Label& handler) mutable {
    L(partly);
    if (a.count > 1 || a.wide != a.bytes) {
      store_dirty(before, true, kEvery);
      check_lanes(a, handler);
      return move_lanes(a);
    }
    check_scalar_address_partly(a);
    store_dirty(before, true, kEvery);
    move_row_partly(a);
  });
}

void Avx2Emitter::emit_unknown_address(Access& a) {
  const Cache before = cache_;
  Label done, scattered;
  check_row(a, scattered);
  move_row(a);
  finish_access(a, done, before, [this, a, scattered, before](Label& handler) mutable {
    L(scattered);
    store_dirty(before, true, kEvery);
    check_lanes(a, handler);
    move_lanes(a);
  });
}

// Lanes that cannot lie side by side: nothing stays in registers.
void Avx2Emitter::emit_lanes_alone(Access& a) {
  store_dirty_by_lanes(kEvery);
  clear_cache();
  Label done;
  check_lanes(a, a.slowly);
  move_lanes(a);
  finish_access(a, done, cache_, {});
}

bool Avx2Emitter::emit_access(const Inst& i, const Decoded& d) {
  const std::optional<Access> described = describe_access(i, d);
  if (!described) return false;
  Access a = *described;
  const bool row = a.is_row() || a.is_row_of_vectors();
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
  const bool scalar_result = a.loads && a.is_uniform(), row = a.is_row() || a.is_row_of_vectors();
  if (!row && !scalar_result) a.scalar_address = false;
  if (!a.scalar_address && (a.bytes < 4 || !a.may_be_row())) return false;
  a.site = make_site(a.i);
  NativeSite& site = out_.sites[a.site];
  site.span = a.span();
  site.row = !scalar_result;
  site.bytes = a.access_bytes();
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
    finish_access(a, done, before, {});
    return true;
  }
  finish_access(a, done, before, [this, a, scattered, before](Label& handler) mutable {
    L(scattered);
    store_dirty(before, true, kEvery);
    check_lanes(a, handler);
    call_observer(a.site, reinterpret_cast<const void*>(&native_observe_lanes));
    spread_mask(ymm15, r13d);
    move_lanes(a);
  });
  return true;
}

}  // namespace warpgrade::emu
