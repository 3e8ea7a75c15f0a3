// Writes AVX-512 code of one kernel: registers of the processor as a cache of the warp's register file.
//
// Vectors are written back at the end of a block, if they are wanted, and before calls; predicates and
// scalars at once. In the code: rbx the warp, rbp its registers, r12 the context, r13d the active lanes, r14
// the scalars, r15 the hints; k1 k2 the lanes of a vector of 32-bit values by sixteens, k1 k4 k2 k5 of 64-bit
// values by eights; rax rcx rdx k0 k7 zmm28-31 are free for each instruction.
#pragma once
#include <xbyak/xbyak.h>

#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "native/kernel.h"

namespace warpgrade::emu {

class Emitter : public Xbyak::CodeGenerator {
 public:
  Emitter(const Program& program, const Flow& flow, const NativeMode& mode, CodeMemory& memory,
          NativeCode& out);
  void run();

 private:
  using Zmm = Xbyak::Zmm;
  using Ymm = Xbyak::Ymm;
  using Reg64 = Xbyak::Reg64;
  using Reg32 = Xbyak::Reg32;
  using Label = Xbyak::Label;
  using Opmask = Xbyak::Opmask;

  static constexpr uint32_t kFree = ~0u;
  static constexpr int kVectors = 28, kScalars = 6;

  struct CachedVector {
    uint32_t slot = kFree, piece = 0, bytes = 0;
    bool dirty = false;
    uint32_t age = 0;
  };
  struct CachedScalar {
    uint32_t slot = kFree;
    bool predicate = false;
    uint32_t age = 0;
  };
  struct Cache {
    CachedVector vectors[kVectors];
    CachedScalar scalars[kScalars];
  };

  struct Access;

  // emitter.cpp: the frame, blocks, calls.
  void emit_frame();
  void emit_block(uint32_t index);
  void emit_instruction(const Inst& i);
  void count_block(uint32_t index);
  uint32_t make_site(const Inst& i);
  void call_handler(const Inst& i);
  void call_run(uint32_t site);
  void resume_or_leave();
  void emit_warp_barrier(const Inst& i);
  bool is_full_warp_barrier(const Inst& i) const;
  void emit_masks();
  void leave_before(uint32_t site);
  void stop_before(const Inst& i, Label& label);
  void finish_block(bool write_scalars);
  void emit_branch(const Inst& i);
  void emit_control(const Inst& i);
  void emit_constants();
  void store_dirty(const Cache& cache, bool masked, const std::function<bool(uint32_t)>& wanted);
  void store_dirty_by_lanes(const std::function<bool(uint32_t)>& wanted);
  void reload(const Cache& cache);
  Fact fact(uint32_t slot) const { return flow_.fact(facts_, slot); }
  Xbyak::Address in_file(uint32_t slot, uint32_t piece) { return ptr[rbp + slot + 64 * piece]; }
  Xbyak::Address home(uint32_t slot) { return ptr[r14 + 8 * unit_of(slot)]; }
  Opmask lanes_of(uint32_t bytes, uint32_t piece) const;
  const NativeSite& site(uint32_t k) const { return out_.sites[k]; }

  // cache.cpp
  int find(uint32_t slot, uint32_t piece) const;
  Zmm allocate();  // pinned until the instruction ends
  Zmm source(uint32_t slot, uint32_t piece, uint32_t bytes);
  void load_vector(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact);
  void bind(uint32_t slot, uint32_t piece, uint32_t bytes, Zmm from);
  void store(uint32_t slot, uint32_t piece, uint32_t bytes, Zmm from, bool masked);
  void forget(uint32_t slot);
  void clear_cache() { cache_ = Cache(); }
  Reg64 allocate_scalar();
  Reg64 scalar(uint32_t slot);
  void load_scalar(const Reg64& to, uint32_t slot, bool predicate);
  void define_scalar(uint32_t slot, const Reg64& from);
  Reg32 predicate(uint32_t slot);
  void define_predicate(uint32_t slot);  // from eax
  void expand(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact);
  Xbyak::Address constant(const std::vector<uint64_t>& words);
  Xbyak::Address steps(uint32_t bytes, int64_t stride, uint32_t piece);
  Xbyak::Address broadcast32(uint32_t value);

  // emit_arithmetic.cpp
  bool emit_scalar(const Inst& i, const Decoded& d, const Fact& result);
  void scalar_minimum(const Decoded& d, bool wide);
  void scalar_shift(const Inst& i, const Decoded& d, uint32_t bytes);
  void scalar_widening(const Inst& i, const Decoded& d, bool wide);
  Xbyak::Reg scalar_operand(const Decoded& d, size_t k, bool wide);
  bool emit_vector(const Inst& i, const Decoded& d);
  void vector_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void float_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void integer_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void wide_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void shift_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void convert_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void half_of(Ymm to, uint32_t slot, uint32_t p);
  void emit_compare(const Inst& i, const Decoded& d);
  void emit_scalar_compare(const Inst& i, const Decoded& d);
  void emit_predicates(const Inst& i, const Decoded& d);
  void emit_select(const Inst& i, const Decoded& d);
  void emit_unpack(const Inst& i);
  bool emit_shuffle(const Inst& i, const Decoded& d);
  void canonical(Zmm t);

  // emit_memory.cpp
  bool emit_access(const Inst& i, const Decoded& d);
  bool emit_observed_access(Access& a);
  void call_observer(uint32_t site, const void* observer);
  void observe_row_at(const Access& a);
  void observe_and_move_lanes(const Access& a, const Cache& before);
  void add_values(Access& a);
  void bind_values(const Access& a, bool scalar_result);
  void vector_addresses(Access& a);
  void scalar_address(const Inst& i);
  void load_parameters(const Inst& i);
  void resolve_first_lane(const Access& a);
  void check_scalar_address(const Access& a);
  void check_scalar_address_partly(const Access& a);
  void check_vector_address(const Access& a);
  void check_row_address(const Access& a, Label& scattered);
  Xbyak::Address indices(uint32_t bytes, const std::function<uint64_t(uint32_t)>& index);
  void load_vectors(const Access& a);
  void store_vectors(const Access& a);
  void move_vectors(const Access& a);
  void move_row(const Access& a, bool masked);
  void load_element(const Access& a, uint32_t k);
  void load_widening(const Access& a, bool masked);
  void move_lanes(const Access& a);
  void store_last(const Access& a);

  const Program& program_;
  const Flow& flow_;
  const NativeMode mode_;
  NativeCode& out_;
  std::vector<Label> bodies_;
  Label leave_, resume_;
  Cache cache_;
  Facts facts_;
  std::vector<BitSet> live_after_;
  uint32_t block_ = 0;
  size_t listed_ = 0;
  uint32_t now_ = 1;
  std::vector<std::function<void()>> cold_;
  std::map<std::vector<uint64_t>, Label> constants_;
};

}  // namespace warpgrade::emu
