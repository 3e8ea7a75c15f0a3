// AVX2: vectors between the processor's registers and the warp's register file, and masks.
#include "native/avx2_emitter.h"

namespace warpgrade::emu {

Xbyak::Address Avx2Emitter::words32(const std::function<uint32_t(uint32_t)>& at) {
  std::vector<uint64_t> words(4);
  for (uint32_t k = 0; k < 4; ++k) words[k] = uint64_t(at(2 * k + 1)) << 32 | at(2 * k);
  return constant(words);
}

Xbyak::Address Avx2Emitter::all32(uint32_t value) {
  return words32([value](uint32_t) { return value; });
}

Xbyak::Address Avx2Emitter::all64(uint64_t value) {
  return constant(std::vector<uint64_t>(4, value));
}

// A mask of lanes in every element; mask_of_piece makes each element its own lane's, all bits of it.
void Avx2Emitter::spread_mask(Ymm to, Reg32 mask) {
  vmovd(Xmm(to.getIdx()), mask);
  vpbroadcastd(to, Xmm(to.getIdx()));
}

Xbyak::Address Avx2Emitter::lane_bits(uint32_t bytes, uint32_t piece) {
  return words32([=](uint32_t k) {
    return bytes == 4 ? 1u << (8 * piece + k) : k % 2 == 0 ? 1u << (4 * piece + k / 2) : 0;
  });
}

void Avx2Emitter::mask_of_piece(Ymm to, Ymm spread, uint32_t bytes, uint32_t piece) {
  const Xbyak::Address bits = lane_bits(bytes, piece);
  vpand(to, spread, bits);
  bytes == 4 ? vpcmpeqd(to, to, bits) : vpcmpeqq(to, to, bits);
}

// Of the lanes that are there; ymm15 is their mask, spread.
void Avx2Emitter::store_masked(const Xbyak::Address& to, Ymm from, uint32_t bytes, uint32_t piece) {
  const Xbyak::Address bits = lane_bits(bytes, piece);
  vpandn(ymm14, ymm15, bits);  // lanes that are not there
  bytes == 4 ? vpcmpeqd(ymm14, ymm14, bits) : vpcmpeqq(ymm14, ymm14, bits);
  vpblendvb(ymm14, from, to, ymm14);
  vmovdqa(to, ymm14);
}

void Avx2Emitter::store_piece(const CachedVector& v, int from, bool masked) {
  const Xbyak::Address to = in_file(v.slot, v.piece);
  masked ? store_masked(to, Ymm(from), v.bytes, v.piece) : vmovdqa(to, Ymm(from));
}

// On the main path, where all lanes are there as a rule.
void Avx2Emitter::evict(const CachedVector& v, int from) {
  Label partly, done;
  cmp(r13d, -1);
  jne(partly, T_NEAR);
  store_piece(v, from, false);
  L(done);
  cold_.push_back([this, partly, done, v, from]() mutable {
    L(partly);
    begin_masked_stores();
    store_piece(v, from, true);
    jmp(done);
  });
}

void Avx2Emitter::load_piece(int to, const CachedVector& v) {
  v.dirty ? vmovdqa(Ymm(to), in_file(v.slot, v.piece)) : load_vector(Ymm(to), v.slot, v.piece);
}

void Avx2Emitter::write_scalar(uint32_t slot) {
  const Fact f = fact(slot);
  ++now_;
  const Ymm t = allocate();
  for (uint32_t p = 0; p < pieces_of(f.bytes); ++p) {
    load_vector(t, slot, p);
    evict({slot, p, f.bytes, true, 0}, t.getIdx());
  }
  cache_.vectors[t.getIdx()] = CachedVector();
}

void Avx2Emitter::expand(Ymm to, uint32_t slot, uint32_t piece, const Fact& fact) {
  if (fact.known) {
    fact.value == 0   ? vpxor(to, to, to)
    : fact.bytes == 4 ? vpbroadcastd(to, broadcast32(uint32_t(fact.value)))
                      : vpbroadcastq(to, constant({fact.value}));
    return;
  }
  fact.bytes == 4 ? vpbroadcastd(to, home(slot)) : vpbroadcastq(to, home(slot));
  if (fact.stride == 0) return;
  const auto lane = [&](uint32_t k) { return uint64_t(fact.stride) * (piece * (32 / fact.bytes) + k); };
  if (fact.bytes == 4) {
    vpaddd(to, to, words32([&](uint32_t k) { return uint32_t(lane(k)); }));
  } else {
    vpaddq(to, to, constant({lane(0), lane(1), lane(2), lane(3)}));
  }
}

void Avx2Emitter::load_vector(Ymm to, uint32_t slot, uint32_t piece) {
  const Fact f = fact(slot);
  if (f.is_scalar() && !flow_.is_fixed(slot)) {
    expand(to, slot, piece, f);
  } else {
    vmovdqa(to, in_file(slot, piece));
  }
}

// One register of the processor holds all pieces of a uniform value. Not of one that the instruction writes:
// its first piece is new before its last one was read.
uint32_t Avx2Emitter::cached_piece(uint32_t slot, uint32_t piece) const {
  if (!fact(slot).is_uniform()) return piece;
  for (const Register& r : flow_.decoded(instruction_).writes) {
    if (r.slot == slot) return piece;
  }
  return 0;
}

Xbyak::Ymm Avx2Emitter::source(uint32_t slot, uint32_t piece, uint32_t bytes) {
  const uint32_t wanted = cached_piece(slot, piece);
  const int cached = find(slot, wanted);
  if (cached >= 0) {
    cache_.vectors[cached].age = now_;
    return Ymm(cached);
  }
  const Ymm to = allocate();
  load_vector(to, slot, wanted);
  cache_.vectors[to.getIdx()] = {slot, wanted, bytes, false, now_};
  return to;
}

// The same without a change to what is cached: it may be `spare`.
Xbyak::Ymm Avx2Emitter::peek(Ymm spare, uint32_t slot, uint32_t piece) {
  const int cached = find(slot, cached_piece(slot, piece));
  if (cached >= 0) return Ymm(cached);
  load_vector(spare, slot, piece);
  return spare;
}

// The four lanes' 32-bit values that belong to piece p of a 64-bit register.
Xbyak::Xmm Avx2Emitter::half_of(Xmm spare, uint32_t slot, uint32_t p) {
  const Ymm from = source(slot, p / 2, 4);
  if (p % 2 == 0) return Xmm(from.getIdx());
  vextracti128(spare, from, 1);
  return spare;
}

// The 32-bit values that belong to the four lanes of piece p of a 64-bit register, as 64-bit values.
void Avx2Emitter::widened_half(Ymm to, uint32_t slot, uint32_t p, bool sign) {
  const auto widen = [&](const Xbyak::Operand& from) { sign ? vpmovsxdq(to, from) : vpmovzxdq(to, from); };
  const int cached = find(slot, cached_piece(slot, p / 2));
  if (cached < 0 && (!fact(slot).is_scalar() || flow_.is_fixed(slot))) return widen(ptr[rbp + slot + 16 * p]);
  widen(half_of(Xmm(to.getIdx()), slot, p));
}

}  // namespace warpgrade::emu
