// Loads and stores. An address of which a base and a step describe all lanes takes one comparison with the
// bounds of the allocation that the instruction touched last, others a vector of them. What lies outside goes
// to the handler.
#include <cstddef>

#include "native/avx512_emitter.h"

namespace warpgrade::emu {

// Its addresses are in rax (scalar; of the first lane) or in zmm registers.
struct Avx512Emitter::WideAccess : Access {
  std::vector<Zmm> addresses;  // 64-bit
  std::vector<Zmm> values;     // by element and piece
};

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
  const bool sign = is_signed(a.d.type);
  for (uint32_t p = 0; p < a.wide / 2; ++p) {
    const Zmm to = masked ? a.values[p] | lanes_of(a.wide, p) | T_z : a.values[p];
    const Xbyak::Address at = ptr[rdx + int(p * (64 / a.wide) * a.bytes)];
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
void Avx512Emitter::move_lanes(const WideAccess& a) {
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
        a.loads ? vgatherqpd(v | k7, at) : vscatterqpd(at | k7, v);
        continue;
      }
      if (a.wide == 8) {
        clear(zmm30);
        vgatherqps(ymm30 | k7, at);
        const Zmm v = a.values[p];
        is_signed(a.d.type) ? vpmovsxdq(v, ymm30) : vpmovzxdq(v, ymm30);
        continue;
      }
      const Zmm v = a.values[k * 2 + p / 2];
      const Ymm half = p % 2 == 0 ? Ymm(v.getIdx()) : ymm30;
      clear(Zmm(half.getIdx()));
      if (a.loads) {
        vgatherqps(half | k7, at);
        if (p % 2 == 1) vinserti64x4(v, v, ymm30, 1);
      } else {
        if (p % 2 == 1) vextracti64x4(ymm30, v, 1);
        vscatterqps(at | k7, half);
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

void Avx512Emitter::vector_addresses(WideAccess& a) {
  const Inst& i = a.i;
  if (!i.address_is_32 && i.imm != 0) vpbroadcastq(zmm29, constant({uint64_t(i.imm)}));
  if (i.address_is_32 && i.imm != 0) vpbroadcastd(zmm29, broadcast32(static_cast<uint32_t>(i.imm)));
  for (uint32_t p = 0; p < 4; ++p) {
    const Zmm t = allocate();
    if (i.address_is_32) {
      half_of(ymm28, i.a, p);
      if (i.imm != 0) vpaddd(ymm28, ymm28, ymm29);
      vpmovzxdq(t, ymm28);
    } else if (i.imm != 0) {
      vpaddq(t, source(i.a, p, 8), zmm29);
    } else {
      vmovdqa64(t, source(i.a, p, 8));
    }
    a.addresses.push_back(t);
  }
}

int Avx512Emitter::host_address(uint32_t p) const {
  return int(offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host) + 64 * p);
}

// native_observe_lanes, or native_count_few, looks at lanes anywhere, whose host addresses are in
// the context.
void Avx512Emitter::observe_lanes_at(const Access& a, const Cache& before) {
  Label partly, stored, counted;
  count_few_lanes(a, counted);
  cmp(r13d, -1);
  jne(partly, T_NEAR);
  store_dirty(before, false, [](uint32_t) { return true; });
  jmp(stored, T_NEAR);
  L(partly);
  store_dirty(before, true, [](uint32_t) { return true; });
  L(stored);
  call_observer(a.site, reinterpret_cast<const void*>(&native_observe_lanes));
  reload(before);
  L(counted);
}

// Lanes anywhere, at a.addresses.
void Avx512Emitter::observe_and_move_lanes(const WideAccess& a, const Cache& before) {
  check_vector_address(a);
  vpbroadcastq(zmm28, rdx);
  for (uint32_t p = 0; p < 4; ++p) {
    vpaddq(zmm29, a.addresses[p], zmm28);
    vmovdqu64(ptr[r12 + host_address(p)], zmm29);
  }
  observe_lanes_at(a, before);
  for (uint32_t p = 0; p < 4; ++p) vmovdqu64(a.addresses[p], ptr[r12 + host_address(p)]);
  xor_(edx, edx);
  move_lanes(a);
}

// A row of which some lanes are not there, from rax on: the same.
void Avx512Emitter::observe_and_move_partly(const WideAccess& a, const Cache& before) {
  check_scalar_address_partly(a);
  mov(ptr[r12 + offsetof(NativeContext, host)], rdx);
  vpbroadcastq(zmm28, rdx);
  for (uint32_t p = 0; p < 4; ++p) {
    vpaddq(zmm29, zmm28, steps(8, a.stride, p));
    vmovdqu64(ptr[r12 + host_address(p)], zmm29);
  }
  observe_lanes_at(a, before);
  mov(rdx, ptr[r12 + offsetof(NativeContext, host)]);
  a.is_row() ? move_row(a, true) : move_lanes(a);
}

// With checks or counters: rows and single places go to native_observe or native_count, other lanes
// to native_observe_lanes.
bool Avx512Emitter::emit_observed_access(WideAccess& a) {
  const Inst& i = a.i;
  const bool scalar_result = a.loads && a.is_uniform(), row = a.is_row() || a.is_row_of_vectors();
  if (!row && !scalar_result) a.scalar_address = false;
  if (!a.scalar_address && (a.bytes < 4 || !a.may_be_row())) return false;
  a.site = make_site(i);
  NativeSite& site = out_.sites[a.site];
  site.span = a.span();
  site.row = !scalar_result;
  site.bytes = a.access_bytes();
  a.scalar_address ? scalar_address(i) : vector_addresses(a);
  if (!scalar_result) add_values(a);
  const Cache before = cache_;
  const Facts facts_before = facts_;
  Label done, scattered, partly;
  if (!a.scalar_address) {
    check_row_address(a, scattered);
  } else {
    if (row) {
      cmp(r13d, -1);
      jne(partly, T_NEAR);
    }
    check_scalar_address(a);
  }
  observe_row_at(a);
  if (!scalar_result) a.count == 1 ? move_row(a, false) : move_vectors(a);
  bind_values(a, scalar_result);
  L(done);
  const Cache after = cache_;
  Facts facts = facts_;
  flow_.apply(i, facts);
  cold_.push_back([this, a, row, before, after, facts_before, facts, done, scattered, partly]() mutable {
    facts_ = facts_before;
    if (!a.scalar_address) {
      L(scattered);
      observe_and_move_lanes(a, before);
      jmp(done);
    } else if (row) {
      L(partly);
      observe_and_move_partly(a, before);
      jmp(done);
    }
    L(a.slowly);
    store_dirty(before, true, [](uint32_t) { return true; });
    call_run(a.site);
    facts_ = facts;
    reload(after);
    jmp(done);
  });
  return true;
}

void Avx512Emitter::add_values(WideAccess& a) {
  for (uint32_t k = 0; k < a.count; ++k) {
    for (uint32_t p = 0; p < a.wide / 2; ++p)
      a.values.push_back(a.loads ? allocate() : source(a.i.vec[k], p, a.wide));
  }
}

// What was loaded becomes the registers' values; a scalar is read from rdx only now.
void Avx512Emitter::bind_values(const WideAccess& a, bool scalar_result) {
  const uint32_t pieces = a.wide / 2;
  if (scalar_result) return load_scalars(a);
  for (uint32_t k = 0; a.loads && k < a.count; ++k) {
    const uint32_t slot = a.i.vec[k];
    for (CachedScalar& s : cache_.scalars) {
      if (s.slot == slot) s.slot = kFree;
    }
    for (uint32_t p = 0; p < pieces; ++p) bind(slot, p, a.wide, a.values[k * pieces + p]);
  }
}

bool Avx512Emitter::emit_access(const Inst& i, const Decoded& d) {
  const std::optional<Access> described = describe_access(i, d);
  if (!described) return false;
  WideAccess a{*described, {}, {}};
  const bool loads = a.loads, scalar_result = loads && a.is_uniform(), stores_one = !loads && a.is_uniform();
  if (mode_.observes) return emit_observed_access(a);
  a.site = make_site(i);
  out_.sites[a.site].span = a.span();
  if (a.scalar_address) {
    scalar_address(i);
  } else {
    vector_addresses(a);
  }
  if (!scalar_result) add_values(a);
  // Jumps to the handler come from here to the access, with one state of the cache.
  const Cache before = cache_;
  Label done, partly, scattered;
  const bool may_be_row = a.may_be_row();
  if (may_be_row) {
    check_row_address(a, scattered);
    a.count == 1 ? move_row(a, false) : move_vectors(a);
  } else if (!a.scalar_address) {
    check_vector_address(a);
    move_lanes(a);
  } else if (scalar_result || stores_one) {
    check_scalar_address(a);
    if (stores_one) store_last(a);
  } else {
    cmp(r13d, -1);
    jne(partly, T_NEAR);
    check_scalar_address(a);
    a.is_row() ? move_row(a, false) : a.is_row_of_vectors() ? move_vectors(a) : move_lanes(a);
  }
  bind_values(a, scalar_result);
  L(done);
  const Cache after = cache_;
  Facts facts = facts_;
  flow_.apply(i, facts);
  const bool has_partly = a.scalar_address && !scalar_result && !stores_one;
  cold_.push_back([this, a, before, after, facts, done, partly, has_partly, scattered, may_be_row]() mutable {
    if (may_be_row) {
      L(scattered);
      check_vector_address(a);
      move_lanes(a);
      jmp(done);
    }
    if (has_partly) {
      L(partly);
      check_scalar_address_partly(a);
      a.is_row() ? move_row(a, true) : move_lanes(a);
      jmp(done);
    }
    L(a.slowly);
    store_dirty(before, true, [](uint32_t) { return true; });
    call_run(a.site);
    facts_ = facts;
    reload(after);
    jmp(done);
  });
  return true;
}

}  // namespace warpgrade::emu
