// Vector instructions as every level has them: which registers of the processor they read and write. What is
// done with a piece is the levels' own.
#include <algorithm>

#include "native/emitter.h"

namespace warpgrade::emu {

// The piece of the register is now what `from`, which was allocated for it, holds.
void Emitter::bind(uint32_t slot, uint32_t piece, uint32_t bytes, const Xbyak::Reg& from) {
  const int old = find(slot, piece);
  if (old >= 0) cache_.vectors[old].slot = kFree;
  cache_.vectors[from.getIdx()] = {slot, piece, bytes, true, now_};
}

void Emitter::forget_scalar(uint32_t slot) {
  for (CachedScalar& s : cache_.scalars) {
    if (s.slot == slot) s.slot = kFree;
  }
}

// False: the handler has to.
bool Emitter::emit_vector(const Inst& i, const Decoded& d) {
  const uint32_t bytes = d.writes[0].bytes;
  // A result that is a source as well keeps its old pieces until all new ones are there: results of one width
  // may be read in pieces of another. That takes many registers of the processor.
  std::vector<int> results;
  const bool overlaps = std::any_of(d.reads.begin(), d.reads.end(),
                                    [&](const Register& r) { return r.slot == i.d && r.bytes != bytes; });
  if (overlaps && vectors_ < kMostVectors) return false;
  for (uint32_t p = 0; p < pieces_of(bytes); ++p) {
    const int t = allocate_register();
    compute_piece(i, d, p, t);
    if (overlaps) {
      results.push_back(t);
      continue;
    }
    forget_scalar(i.d);
    bind(i.d, p, bytes, Xbyak::Zmm(t));
    ++now_;
  }
  for (uint32_t p = 0; p < results.size(); ++p) bind(i.d, p, bytes, Xbyak::Zmm(results[p]));
  return true;
}

void Emitter::emit_select(const Inst& i, const Decoded& d) {
  const uint32_t bytes = bytes_of(d.type);
  mov(eax, predicate(i.c));
  if (i.flags != 0) not_(eax);
  begin_select();
  forget_scalar(i.d);
  for (uint32_t p = 0; p < pieces_of(bytes); ++p) {
    const int t = allocate_register(), a = source_register(i.a, p, bytes), b = source_register(i.b, p, bytes);
    select_piece(t, a, b, bytes, p);
    bind(i.d, p, bytes, Xbyak::Zmm(t));
    ++now_;
  }
}

void Emitter::emit_unpack(const Inst& i) {
  for (uint32_t k = 0; k < 2; ++k) {
    if (i.vec[k] == kNoSlot) continue;
    for (uint32_t p = 0; p < pieces_of(4); ++p) {
      ++now_;
      const int t = allocate_register();
      unpack_piece(t, i.a, p, k == 1);
      forget_scalar(i.vec[k]);
      bind(i.vec[k], p, 4, Xbyak::Zmm(t));
    }
  }
}

// Of a warp that is all there.
bool Emitter::emit_shuffle(const Inst& i) {
  const std::optional<ShuffledLanes> lanes = shuffled_lanes(i);
  if (!lanes) return false;
  std::vector<int> from, to;
  for (uint32_t p = 0; p < pieces_of(4); ++p) from.push_back(source_register(i.a, p, 4));
  if (lanes->picks) scalar(i.b);
  for (uint32_t p = 0; !lanes->picks && p < pieces_of(4); ++p) to.push_back(allocate_register());
  const Cache before = cache_;
  const uint32_t site = make_site(i);
  Label slowly, done;
  cmp(r13d, -1);
  jne(slowly, T_NEAR);
  if (mode_.orders_lanes) emit_order();
  if (lanes->picks) {
    pick_lane(scalar(i.b).cvt32(), from);
    define_scalar(i.d, rax);
  } else {
    for (uint32_t p = 0; p < to.size(); ++p) shuffle_piece(*lanes, p, to[p], from);
    forget_scalar(i.d);
    for (uint32_t p = 0; p < to.size(); ++p) bind(i.d, p, 4, Xbyak::Zmm(to[p]));
  }
  if (i.vec[0] != kNoSlot) {
    mov(eax, lanes->in_range);
    define_predicate(i.vec[0]);
  }
  finish_instruction(i, site, slowly, done, before);
  return true;
}

}  // namespace warpgrade::emu
