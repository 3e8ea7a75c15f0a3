// AVX-512: the ways of a load or a store, plain and observed.
#include <cstddef>

#include "native/avx512_emitter.h"

namespace warpgrade::emu {

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

void Avx512Emitter::add_values(WideAccess& a) {
  for (uint32_t k = 0; k < a.count; ++k) {
    for (uint32_t p = 0; p < a.wide / 2; ++p)
      a.values.push_back(a.loads ? allocate() : source(a.i.vec[k], p, a.wide));
  }
}

// What was loaded becomes the registers' values; a scalar is read from rdx only now.
void Avx512Emitter::bind_values(const WideAccess& a) {
  if (!a.loads) return;
  if (a.is_uniform()) return load_scalars(a);
  const uint32_t pieces = a.wide / 2;
  for (uint32_t k = 0; k < a.count; ++k) {
    forget_scalar(a.i.vec[k]);
    for (uint32_t p = 0; p < pieces; ++p) bind(a.i.vec[k], p, a.wide, a.values[k * pieces + p]);
  }
}

int Avx512Emitter::host_address(uint32_t p) const {
  return int(offsetof(NativeContext, access) + offsetof(warpgrade::emu::Access, host) + 64 * p);
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
  if (!begin_observed_access(a)) return false;
  const bool scalar_result = a.has_scalar_result(), row = a.is_whole_row();
  a.scalar_address ? scalar_address(a.i) : vector_addresses(a);
  if (!scalar_result) add_values(a);
  const Cache before = cache_;
  Label done, others;
  if (!a.scalar_address) {
    check_row_address(a, others);
  } else {
    if (row) {
      cmp(r13d, -1);
      jne(others, T_NEAR);
    }
    check_scalar_address(a);
  }
  observe_row_at(a);
  if (!scalar_result) a.count == 1 ? move_row(a, false) : move_vectors(a);
  bind_values(a);
  if (scalar_result) {
    finish_access(a, done, before);
    return true;
  }
  finish_access(a, done, before, [this, a, others, before](const Cache&) mutable {
    L(others);
    a.scalar_address ? observe_and_move_partly(a, before) : observe_and_move_lanes(a, before);
  });
  return true;
}

// One base and a step describe all addresses.
void Avx512Emitter::emit_known_address(const WideAccess& a) {
  const Cache before = cache_;
  Label done, partly;
  if (a.is_uniform()) {
    check_scalar_address(a);
    if (!a.loads) store_last(a);
    bind_values(a);
    return finish_access(a, done, before);
  }
  cmp(r13d, -1);
  jne(partly, T_NEAR);
  check_scalar_address(a);
  a.is_row() ? move_row(a, false) : a.is_row_of_vectors() ? move_vectors(a) : move_lanes(a);
  bind_values(a);
  finish_access(a, done, before, [this, a, partly](const Cache&) mutable {
    L(partly);
    check_scalar_address_partly(a);
    a.is_row() ? move_row(a, true) : move_lanes(a);
  });
}

void Avx512Emitter::emit_unknown_address(const WideAccess& a) {
  const Cache before = cache_;
  Label done, scattered;
  const bool may_be_row = a.may_be_row();
  if (may_be_row) {
    check_row_address(a, scattered);
    a.count == 1 ? move_row(a, false) : move_vectors(a);
  } else {
    check_vector_address(a);
    move_lanes(a);
  }
  bind_values(a);
  if (!may_be_row) return finish_access(a, done, before);
  finish_access(a, done, before, [this, a, scattered](const Cache&) mutable {
    L(scattered);
    check_vector_address(a);
    move_lanes(a);
  });
}

bool Avx512Emitter::emit_access(const Inst& i, const Decoded& d) {
  const std::optional<Access> described = describe_access(i, d);
  if (!described) return false;
  WideAccess a{*described, {}, {}};
  if (mode_.observes) return emit_observed_access(a);
  a.site = make_site(i);
  out_.sites[a.site].span = a.span();
  a.scalar_address ? scalar_address(i) : vector_addresses(a);
  if (!a.loads || !a.is_uniform()) add_values(a);
  a.scalar_address ? emit_known_address(a) : emit_unknown_address(a);
  return true;
}

}  // namespace warpgrade::emu
