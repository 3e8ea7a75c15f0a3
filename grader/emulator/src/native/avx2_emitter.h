// Native code with AVX2, FMA and BMI: four pieces of 8 lanes are a register of 32-bit values, eight of 4
// lanes one of 64-bit values. ymm0-11 hold pieces; ymm12-13 are free for each instruction, ymm14-15 for a few
// lines: taking a register uses them. There are no mask registers: lanes are masked by vectors that are made
// of r13d or of a predicate where they are needed, which is off the main path.
#pragma once
#include "native/emit_access.h"
#include "native/emitter.h"

namespace warpgrade::emu {

class Avx2Emitter final : public Emitter {
 public:
  Avx2Emitter(const Program& program, const Flow& flow, const NativeMode& mode, CodeMemory& memory,
              NativeCode& out)
      : Emitter(program, flow, mode, memory, out, kPieces, 32) {}

 private:
  using Ymm = Xbyak::Ymm;
  using Xmm = Xbyak::Xmm;

  static constexpr int kPieces = 12;

  // avx2_vectors.cpp
  void emit_masks() override {}
  void store_piece(const CachedVector& v, int from, bool masked) override;
  void load_piece(int to, const CachedVector& v) override;
  void evict(const CachedVector& v, int from) override;
  void write_scalar(uint32_t slot) override;
  void store_masked(const Xbyak::Address& to, Ymm from, uint32_t bytes, uint32_t piece);
  void begin_masked_stores() override { spread_mask(ymm15, r13d); }
  void spread_mask(Ymm to, Reg32 mask);
  Xbyak::Address lane_bits(uint32_t bytes, uint32_t piece);
  void mask_of_piece(Ymm to, Ymm spread, uint32_t bytes, uint32_t piece);
  void load_vector(Ymm to, uint32_t slot, uint32_t piece);
  void expand(Ymm to, uint32_t slot, uint32_t piece, const Fact& fact);
  uint32_t cached_piece(uint32_t slot, uint32_t piece) const;
  Ymm allocate() { return Ymm(allocate_register()); }
  Ymm source(uint32_t slot, uint32_t piece, uint32_t bytes);
  Ymm peek(Ymm spare, uint32_t slot, uint32_t piece);
  Xmm half_of(Xmm spare, uint32_t slot, uint32_t p);
  void widened_half(Ymm to, uint32_t slot, uint32_t p, bool sign);
  int source_register(uint32_t slot, uint32_t piece, uint32_t bytes) override {
    return source(slot, piece, bytes).getIdx();
  }
  Xbyak::Address words32(const std::function<uint32_t(uint32_t)>& word);
  Xbyak::Address all32(uint32_t value);
  Xbyak::Address all64(uint64_t value);

  // avx2_arithmetic.cpp
  void compute_piece(const Inst& i, const Decoded& d, uint32_t piece, int to) override;
  void vector_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void float_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void float_reciprocal(const Decoded& d, Ymm t, Ymm a);
  void float_minimum(bool lower, Ymm t, Ymm x, Ymm y);
  void canonical(Ymm t);
  void integer_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void wide_integer_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void multiply_64(Ymm t, Ymm a, Ymm b);
  void minimum_64(bool lower, bool sign, Ymm t, Ymm a, Ymm b);
  void logic3_piece(const Inst& i, uint32_t p, Ymm t);
  void logic2(Ymm to, uint32_t table, Ymm b, Ymm c);
  void widening_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void shift_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void shift_right_64(Ymm t, Ymm a, const std::function<void()>& shift);
  void convert_piece(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void convert_to_float(const Inst& i, const Decoded& d, uint32_t p, Ymm t);
  void narrow_piece(Ymm t, uint32_t slot, uint32_t p, bool upper);

  // avx2_select.cpp
  void emit_compare(const Inst& i, const Decoded& d) override;
  void begin_select() override;
  void select_piece(int to, int a, int b, uint32_t bytes, uint32_t piece) override;
  void unpack_piece(int to, uint32_t slot, uint32_t piece, bool upper) override;
  void pick_lane(const Reg32& lane, const std::vector<int>& from) override;
  void shuffle_piece(const ShuffledLanes& lanes, uint32_t piece, int to,
                     const std::vector<int>& from) override;
  bool compare_integers(const Decoded& d, Ymm a, Ymm b);

  // avx2_memory.cpp
  bool emit_access(const Inst& i, const Decoded& d) override;
  bool emit_observed_access(Access& a);
  void emit_known_address(Access& a);
  void emit_unknown_address(Access& a);
  void emit_lanes_alone(Access& a);
  void drop_dead();
  void check_row(const Access& a, Label& scattered);
  void move_row(const Access& a);
  void move_row_partly(const Access& a, const Cache& after);
  void store_last(const Access& a);

  // avx2_lanes.cpp
  void emit_routines() override;
  void emit_check_routine(bool shared);
  void emit_gather_routine(int form);
  void check_lanes(const Access& a);
  void gather(const Access& a, uint32_t k);
  void load_gathered(const Access& a, Ymm to, uint32_t p);
  void scatter(const Access& a);
  void move_lanes(const Access& a, const Cache& after);
  void move_checked_lanes(const Access& a, const Cache& after);
  void settle(const Access& a, const Cache& after);
  int place_of(const Cache& cache, uint32_t slot, uint32_t piece) const;
  int host_address(uint32_t p) const;

  // avx2_interleaved.cpp
  void move_interleaved(const Access& a);
  void load_pairs(const Access& a, uint32_t p);
  void load_quads(const Access& a, uint32_t p);
  void store_pairs(const Access& a, uint32_t p);
  void store_quads(const Access& a, uint32_t p);

  // Routines behind the code, if they are called.
  static constexpr int kGatherForms = 4;  // of 4 bytes, of 8, of 4 to 8 without and with a sign
  Label check_[2], gather_[kGatherForms];
  bool has_check_[2] = {}, has_gather_[kGatherForms] = {};
};

}  // namespace warpgrade::emu
