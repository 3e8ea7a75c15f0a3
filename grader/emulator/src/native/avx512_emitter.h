// Native code with AVX-512: two pieces of 16 lanes are a register of 32-bit values, four of 8 lanes one of
// 64-bit values. k1 k2 are the lanes of 32-bit values, k1 k4 k2 k5 those of 64-bit values; k0 k7 zmm28-31 are
// free for each instruction.
#pragma once
#include "native/emit_access.h"
#include "native/emitter.h"

namespace warpgrade::emu {

class Avx512Emitter final : public Emitter {
 public:
  Avx512Emitter(const Program& program, const Flow& flow, const NativeMode& mode, CodeMemory& memory,
                NativeCode& out)
      : Emitter(program, flow, mode, memory, out, kMostVectors, 64) {}

 private:
  using Zmm = Xbyak::Zmm;
  using Ymm = Xbyak::Ymm;
  using Opmask = Xbyak::Opmask;

  // Its addresses are in rax (scalar; of the first lane) or in zmm registers.
  struct WideAccess : Access {
    std::vector<Zmm> addresses;  // 64-bit
    std::vector<Zmm> values;     // by element and piece
  };

  // cache.cpp
  void emit_masks() override;
  void store_piece(const CachedVector& v, int from, bool masked) override;
  void load_piece(int to, const CachedVector& v) override;
  void evict(const CachedVector& v, int from) override;
  void write_scalar(uint32_t slot) override;
  Opmask lanes_of(uint32_t bytes, uint32_t piece) const;
  Zmm allocate() { return Zmm(allocate_register()); }
  Zmm source(uint32_t slot, uint32_t piece, uint32_t bytes);
  void load_vector(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact);
  int source_register(uint32_t slot, uint32_t piece, uint32_t bytes) override {
    return source(slot, piece, bytes).getIdx();
  }
  void store(uint32_t slot, uint32_t piece, uint32_t bytes, Zmm from, bool masked);
  void expand(Zmm to, uint32_t slot, uint32_t piece, const Fact& fact);

  // emit_arithmetic.cpp
  void compute_piece(const Inst& i, const Decoded& d, uint32_t piece, int to) override;
  void emit_compare(const Inst& i, const Decoded& d) override;
  void select_piece(int to, int a, int b, uint32_t bytes, uint32_t piece) override;
  void unpack_piece(int to, uint32_t slot, uint32_t piece, bool upper) override;
  bool orders_lanes_natively() const override { return true; }
  void emit_order() override;
  void pick_lane(const Reg32& lane, const std::vector<int>& from) override;
  void shuffle_piece(const ShuffledLanes& lanes, uint32_t piece, int to,
                     const std::vector<int>& from) override;
  void vector_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void float_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void integer_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void wide_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void shift_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void convert_piece(const Inst& i, const Decoded& d, uint32_t p, Zmm t);
  void half_of(Ymm to, uint32_t slot, uint32_t p);
  void canonical(Zmm t);

  // emit_memory.cpp
  void check_vector_address(const WideAccess& a);
  void check_row_address(const WideAccess& a, Label& scattered);
  Xbyak::Address indices(uint32_t bytes, const std::function<uint64_t(uint32_t)>& index);
  void load_vectors(const WideAccess& a);
  void store_vectors(const WideAccess& a);
  void move_vectors(const WideAccess& a);
  void move_row(const WideAccess& a, bool masked);
  void load_widening(const WideAccess& a, bool masked);
  void move_lanes(const WideAccess& a);
  void store_last(const WideAccess& a);

  // avx512_access.cpp
  bool emit_access(const Inst& i, const Decoded& d) override;
  bool emit_observed_access(WideAccess& a);
  void emit_known_address(const WideAccess& a);
  void emit_unknown_address(const WideAccess& a);
  int host_address(uint32_t p) const;
  void observe_and_move_lanes(const WideAccess& a, const Cache& before);
  void observe_and_move_partly(const WideAccess& a, const Cache& before);
  void vector_addresses(WideAccess& a);
  void add_values(WideAccess& a);
  void bind_values(const WideAccess& a);

  // avx512_checks.cpp
  bool checks_in_place(const Access& a) const override;
  void check_in_place(const Access& a, Label& closer) override;
  void remember_in_place(const Access& a) override;
  void check_lanes_in_place(const Access& a, Label& closer) override;
  bool load_flags(const Access& a, Label& unfollowed, Label& closer);
  void check_flags(const Access& a, const Xbyak::RegExp& at, Label& closer);
  void check_shared_in_place(const Access& a, Label& closer);
  void check_unit_order(const Access& a, Label& closer);
  void check_row_order(const Access& a, Label& closer);
  void first_lane(const Access& a);
  Xbyak::Address lanes_of_units(const Access& a, uint32_t piece);
  void remember_uniform(const Access& a);
  void stamp_units(const Access& a, size_t when, size_t whom, bool stale_alone);
  Xbyak::Address stamps_in(size_t field);
};

}  // namespace warpgrade::emu
