// The processor's registers as a cache of the warp's.
#include <algorithm>
#include <stdexcept>

#include "native/avx512_emitter.h"

namespace warpgrade::emu {
namespace {

constexpr int kScalarRegisters[] = {Xbyak::Operand::RSI, Xbyak::Operand::RDI, Xbyak::Operand::R8,
                                    Xbyak::Operand::R9,  Xbyak::Operand::R10, Xbyak::Operand::R11};

}  // namespace

Xbyak::Opmask Avx512Emitter::lanes_of(uint32_t bytes, uint32_t piece) const {
  constexpr int kByEights[] = {1, 4, 2, 5};
  return bytes == 4 ? Opmask(piece == 0 ? 1 : 2) : Opmask(kByEights[piece]);
}

int Emitter::find(uint32_t slot, uint32_t piece) const {
  for (int k = 0; k < vectors_; ++k) {
    if (cache_.vectors[k].slot == slot && cache_.vectors[k].piece == piece) return k;
  }
  return -1;
}

void Avx512Emitter::store_piece(const CachedVector& v, int from, bool masked) {
  store(v.slot, v.piece, v.bytes, Zmm(from), masked);
}

void Avx512Emitter::evict(const CachedVector& v, int from) {
  store_piece(v, from, true);
}

void Avx512Emitter::load_piece(int to, const CachedVector& v) {
  v.dirty ? vmovdqu64(Zmm(to), in_file(v.slot, v.piece))
          : load_vector(Zmm(to), v.slot, v.piece, fact(v.slot));
}

void Avx512Emitter::write_scalar(uint32_t slot) {
  const uint32_t bytes = fact(slot).bytes;
  for (uint32_t p = 0; p < pieces_of(bytes); ++p) {
    ++now_;
    cache_.vectors[source(slot, p, bytes).getIdx()].dirty = true;
  }
}

void Avx512Emitter::emit_masks() {
  kmovd(k1, r13d);
  mov(eax, r13d);
  shr(eax, 8);
  kmovd(k4, eax);
  shr(eax, 8);
  kmovd(k2, eax);
  shr(eax, 8);
  kmovd(k5, eax);
}

void Avx512Emitter::store(uint32_t slot, uint32_t piece, uint32_t bytes, Zmm from, bool masked) {
  if (!masked) {
    vmovdqu64(in_file(slot, piece), from);
  } else if (bytes == 4) {
    vmovdqu32(in_file(slot, piece) | lanes_of(4, piece), from);
  } else {
    vmovdqu64(in_file(slot, piece) | lanes_of(8, piece), from);
  }
}

// The register that was not used for longest; its value is written back when the file does not have it.
int Emitter::allocate_register() {
  int best = -1;
  const auto rank = [&](int k) {
    const CachedVector& v = cache_.vectors[k];
    return v.slot == kFree || !may_be_wanted(v.slot) ? 0 : v.age;
  };
  for (int k = 0; k < vectors_; ++k) {
    if (cache_.vectors[k].age != now_ && (best < 0 || rank(k) < rank(best))) best = k;
  }
  if (best < 0) throw std::runtime_error("out of vector registers");
  CachedVector& v = cache_.vectors[best];
  if (v.slot != kFree && v.dirty && may_be_wanted(v.slot)) evict(v, best);
  v = CachedVector();
  v.age = now_;
  return best;
}

// Whether this instruction or a later one of the lanes that are there looks at the register.
bool Emitter::may_be_wanted(uint32_t slot) const {
  if (instruction_ == kFree) return true;
  const FlowBlock& b = flow_.blocks()[block_];
  if (live_after_[instruction_ - b.begin].test(unit_of(slot))) return true;
  const Decoded& d = flow_.decoded(instruction_);
  const auto is_slot = [slot](const Register& r) { return r.slot == slot; };
  return std::any_of(d.reads.begin(), d.reads.end(), is_slot) ||
         std::any_of(d.writes.begin(), d.writes.end(), is_slot);
}

void Avx512Emitter::expand(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact) {
  const Xbyak::Address base = flow_.is_fixed(slot) ? ptr[rbp + slot] : home(slot);
  if (fact.known) {
    const uint64_t value = fact.value;
    const Xbyak::Address words =
        fact.bytes == 4 ? constant({value << 32 | uint32_t(value)}) : constant({value});
    vpbroadcastq(to, words);
    return;
  }
  fact.bytes == 4 ? vpbroadcastd(to, base) : vpbroadcastq(to, base);
  if (fact.stride == 0) return;
  const Xbyak::Address step = steps(fact.bytes, fact.stride, piece);
  fact.bytes == 4 ? vpaddd(to, to, step) : vpaddq(to, to, step);
}

void Avx512Emitter::load_vector(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact) {
  if (fact.is_scalar() && !flow_.is_fixed(slot)) {
    expand(to, slot, piece, fact);
  } else {
    vmovdqu64(to, in_file(slot, piece));
  }
}

Xbyak::Zmm Avx512Emitter::source(uint32_t slot, uint32_t piece, uint32_t bytes) {
  const int cached = find(slot, piece);
  if (cached >= 0) {
    cache_.vectors[cached].age = now_;
    return Zmm(cached);
  }
  const Zmm to = allocate();
  load_vector(to, slot, piece, fact(slot));
  cache_.vectors[to.getIdx()] = {slot, piece, bytes, false, now_};
  return to;
}

// What is cached of a register that was written elsewhere.
void Emitter::forget(uint32_t slot) {
  for (CachedVector& v : cache_.vectors) {
    if (v.slot == slot) v.slot = kFree;
  }
  for (CachedScalar& s : cache_.scalars) {
    if (s.slot == slot) s.slot = kFree;
  }
}

Xbyak::Reg64 Emitter::allocate_scalar() {
  int best = -1;
  const auto rank = [&](int k) { return cache_.scalars[k].slot == kFree ? 0 : cache_.scalars[k].age; };
  for (int k = 0; k < kScalars; ++k) {
    if (cache_.scalars[k].age != now_ && (best < 0 || rank(k) < rank(best))) best = k;
  }
  if (best < 0) throw std::runtime_error("out of scalar registers");
  cache_.scalars[best] = {kFree, false, now_};
  return Reg64(kScalarRegisters[best]);
}

void Emitter::load_scalar(const Reg64& to, uint32_t slot, bool predicate) {
  const Fact f = fact(slot);
  if (predicate) {
    mov(to.cvt32(), dword[rbp + slot]);
  } else if (f.known) {
    f.value <= 0xffffffffu ? mov(to.cvt32(), uint32_t(f.value)) : mov(to, f.value);
  } else if (!flow_.is_fixed(slot)) {
    mov(to, qword[r14 + 8 * unit_of(slot)]);
  } else if (f.bytes == 4) {
    mov(to.cvt32(), dword[rbp + slot]);
  } else {
    mov(to, qword[rbp + slot]);
  }
}

// The scalar of a register: its base.
Xbyak::Reg64 Emitter::scalar(uint32_t slot) {
  for (int k = 0; k < kScalars; ++k) {
    CachedScalar& s = cache_.scalars[k];
    if (s.slot != slot) continue;
    s.age = now_;
    return Reg64(kScalarRegisters[k]);
  }
  const Reg64 to = allocate_scalar();
  load_scalar(to, slot, false);
  for (int k = 0; k < kScalars; ++k) {
    if (kScalarRegisters[k] == to.getIdx()) cache_.scalars[k] = {slot, false, now_};
  }
  return to;
}

// The register's base is `from`, of which 32-bit values have no upper half.
void Emitter::define_scalar(uint32_t slot, const Reg64& from) {
  forget(slot);
  mov(qword[r14 + 8 * unit_of(slot)], from);
  for (int k = 0; k < kScalars; ++k) {
    if (cache_.scalars[k].slot != kFree || cache_.scalars[k].age == now_) continue;
    mov(Reg64(kScalarRegisters[k]), from);
    cache_.scalars[k] = {slot, false, now_};
    return;
  }
}

Xbyak::Reg32 Emitter::predicate(uint32_t slot) {
  for (int k = 0; k < kScalars; ++k) {
    CachedScalar& s = cache_.scalars[k];
    if (s.slot != slot) continue;
    s.age = now_;
    return Reg64(kScalarRegisters[k]).cvt32();
  }
  const Reg64 to = allocate_scalar();
  load_scalar(to, slot, true);
  for (int k = 0; k < kScalars; ++k) {
    if (kScalarRegisters[k] == to.getIdx()) cache_.scalars[k] = {slot, true, now_};
  }
  return to.cvt32();
}

// Lanes that are not there keep theirs.
void Emitter::define_predicate(uint32_t slot) {
  forget(slot);
  andn(ecx, r13d, dword[rbp + slot]);
  and_(eax, r13d);
  or_(eax, ecx);
  mov(dword[rbp + slot], eax);
  for (int k = 0; k < kScalars; ++k) {
    if (cache_.scalars[k].slot != kFree || cache_.scalars[k].age == now_) continue;
    mov(Reg64(kScalarRegisters[k]).cvt32(), eax);
    cache_.scalars[k] = {slot, true, now_};
    return;
  }
}

// Constants lie behind the code; 64 bytes are aligned to themselves.
Xbyak::Address Emitter::constant(const std::vector<uint64_t>& words) {
  return ptr[rip + constants_[words]];
}

Xbyak::Address Emitter::steps(uint32_t bytes, int64_t stride, uint32_t piece) {
  std::vector<uint64_t> words(8);
  const auto lane_step = [&](uint32_t lane) { return static_cast<uint64_t>(stride) * lane; };
  for (uint32_t k = 0; k < 8; ++k) {
    const uint32_t first = piece * 16 + 2 * k;
    words[k] =
        bytes == 8 ? lane_step(piece * 8 + k) : lane_step(first + 1) << 32 | uint32_t(lane_step(first));
  }
  return constant(words);
}

Xbyak::Address Emitter::broadcast32(uint32_t value) {
  return constant({uint64_t(value) << 32 | value});
}

}  // namespace warpgrade::emu
