// Writes the code of one kernel: registers of the processor as a cache of the warp's register file.
//
// Vectors are written back at the end of a block, if they are wanted, and before calls; predicates and
// scalars at once. In the code: rbx the warp, rbp its registers, r12 the context, r13d the active lanes, r14
// the scalars, r15 the hints; rsi rdi r8-r11 hold scalars; rax rcx rdx are free for each instruction. What a
// vector is, and how lanes are masked, is the levels' own (avx512_emitter.h, avx2_emitter.h).
#pragma once
#include <xbyak/xbyak.h>

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "native/kernel.h"

namespace warpgrade::emu {

class Emitter : public Xbyak::CodeGenerator {
 public:
  ~Emitter() override = default;
  void run();

 protected:
  Emitter(const Program& program, const Flow& flow, const NativeMode& mode, CodeMemory& memory,
          NativeCode& out, int vectors, uint32_t piece_bytes);

  using Reg64 = Xbyak::Reg64;
  using Reg32 = Xbyak::Reg32;
  using Label = Xbyak::Label;

  static constexpr uint32_t kFree = ~0u;
  static constexpr int kMostVectors = 28, kScalars = 6;

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
  // Of a shuffle: which lane each lane takes, and the lanes whose source is in range.
  struct ShuffledLanes {
    bool picks = false;  // all take one lane's value, which a scalar names
    uint32_t from[kLanes] = {}, in_range = 0;
  };
  struct Cache {
    CachedVector vectors[kMostVectors];
    CachedScalar scalars[kScalars];
  };

  struct Access;

  // What a level has of its own. A piece of a register is what one vector holds of it.
  virtual void emit_routines() {}  // behind the code
  virtual void emit_masks() = 0;   // the lanes have changed, or a call has used the processor's registers
  virtual void begin_masked_stores() {}
  virtual void store_piece(const CachedVector& v, int from, bool masked) = 0;
  virtual void load_piece(int to, const CachedVector& v) = 0;
  virtual void evict(const CachedVector& v, int from) = 0;
  virtual void write_scalar(uint32_t slot) = 0;  // to the register file, as a vector
  virtual int source_register(uint32_t slot, uint32_t piece, uint32_t bytes) = 0;
  virtual void compute_piece(const Inst& i, const Decoded& d, uint32_t piece, int to) = 0;
  virtual void emit_compare(const Inst& i, const Decoded& d) = 0;
  virtual void begin_select() {}  // eax: the lanes that take their value from `a`
  virtual void select_piece(int to, int a, int b, uint32_t bytes, uint32_t piece) = 0;
  virtual void unpack_piece(int to, uint32_t slot, uint32_t piece, bool upper) = 0;  // of 64 bits a half
  virtual void pick_lane(const Reg32& lane, const std::vector<int>& from) = 0;       // into eax
  virtual void shuffle_piece(const ShuffledLanes& lanes, uint32_t piece, int to,
                             const std::vector<int>& from) = 0;
  virtual bool orders_lanes_natively() const { return false; }
  virtual void emit_order() {}  // of a whole warp, for racecheck (BlockOrder::order_lanes)
  virtual bool emit_access(const Inst& i, const Decoded& d) = 0;
  // Of an access that checks look at: whether what they say of most can be found out in place.
  virtual bool checks_in_place(const Access&) const { return false; }
  virtual void check_in_place(const Access&, Label&) {}        // of rdx on; elsewhere: look closer
  virtual void remember_in_place(const Access&) {}             // behind it; rdx stays
  virtual void check_lanes_in_place(const Access&, Label&) {}  // of host addresses in the context

  // emitter.cpp: the frame, blocks.
  void emit_frame();
  void emit_block(uint32_t index);
  void emit_instruction(const Inst& i);
  void count_block(uint32_t index);
  uint32_t make_site(const Inst& i);
  void emit_constants();
  void store_dirty(const Cache& cache, bool masked, const std::function<bool(uint32_t)>& wanted);
  void store_dirty_by_lanes(const std::function<bool(uint32_t)>& wanted);
  void reload(const Cache& cache);
  Fact fact(uint32_t slot) const { return flow_.fact(facts_, slot); }
  Xbyak::Address in_file(uint32_t slot, uint32_t piece) { return ptr[rbp + slot + piece_bytes_ * piece]; }
  uint32_t pieces_of(uint32_t bytes) const { return bytes * kLanes / piece_bytes_; }
  Xbyak::Address home(uint32_t slot) { return ptr[r14 + 8 * unit_of(slot)]; }
  const NativeSite& site(uint32_t k) const { return out_.sites[k]; }

  // emit_control.cpp: calls of handlers, ways out.
  void call_handler(const Inst& i);
  void call_run(uint32_t site);
  void resume_or_leave();
  void emit_warp_barrier(const Inst& i);
  bool is_full_warp_barrier(const Inst& i) const;
  void finish_instruction(const Inst& i, uint32_t site, Label& slowly, Label& done, const Cache& before,
                          const std::function<void(const Cache&)>& others = {});
  void leave_before(uint32_t site);
  void stop_before(const Inst& i, Label& label);
  void finish_block(bool write_scalars);
  void emit_branch(const Inst& i);
  void emit_control(const Inst& i);

  // emit_moves.cpp
  void bind(uint32_t slot, uint32_t piece, uint32_t bytes, const Xbyak::Reg& from);
  void forget_scalar(uint32_t slot);
  bool emit_vector(const Inst& i, const Decoded& d);
  void emit_select(const Inst& i, const Decoded& d);
  void emit_unpack(const Inst& i);
  bool emit_shuffle(const Inst& i);

  // cache.cpp
  int find(uint32_t slot, uint32_t piece) const;
  int allocate_register();  // pinned until the instruction ends
  bool may_be_wanted(uint32_t slot) const;
  void forget(uint32_t slot);
  void clear_cache() { cache_ = Cache(); }
  Reg64 allocate_scalar();
  Reg64 scalar(uint32_t slot);
  void load_scalar(const Reg64& to, uint32_t slot, bool predicate);
  void define_scalar(uint32_t slot, const Reg64& from);
  Reg32 predicate(uint32_t slot);
  void define_predicate(uint32_t slot);  // from eax
  Xbyak::Address constant(const std::vector<uint64_t>& words);
  Xbyak::Address steps(uint32_t bytes, int64_t stride, uint32_t piece);
  Xbyak::Address broadcast32(uint32_t value);

  // emit_scalar.cpp
  bool emit_scalar(const Inst& i, const Decoded& d, const Fact& result);
  void scalar_minimum(const Decoded& d, bool wide);
  void scalar_shift(const Inst& i, const Decoded& d, uint32_t bytes);
  void scalar_widening(const Inst& i, const Decoded& d, bool wide);
  Xbyak::Reg scalar_operand(const Decoded& d, size_t k, bool wide);
  void emit_scalar_compare(const Inst& i, const Decoded& d);
  void emit_predicates(const Inst& i, const Decoded& d);
  std::optional<ShuffledLanes> shuffled_lanes(const Inst& i) const;

  // emit_access.cpp
  std::optional<Access> describe_access(const Inst& i, const Decoded& d);
  void scalar_address(const Inst& i);
  void load_parameters(const Inst& i);
  void resolve_first_lane(const Access& a);
  void check_scalar_address(const Access& a);
  void check_scalar_address_partly(const Access& a);
  void check_row_bounds(const Access& a);
  void load_element(const Access& a, uint32_t k);
  void load_scalars(const Access& a);
  void load_widened(const Access& a, const Xbyak::Xmm& to, uint32_t p);
  bool begin_observed_access(Access& a);
  void call_observer(uint32_t site, const void* observer);
  void count_row(const Access& a, Label& uncounted);
  void count_shared_row(const Access& a, Label& uncounted);
  void count_few_lanes(const Access& a, Label& counted);
  void observe_lanes_at(const Access& a, const Cache& before);
  void finish_access(const Access& a, Label& done, const Cache& before,
                     const std::function<void(const Cache&)>& others = {});
  void observe_row_at(const Access& a);

  const Program& program_;
  const Flow& flow_;
  const NativeMode mode_;
  NativeCode& out_;
  std::vector<Label> bodies_;
  Label leave_, resume_;
  const int vectors_;  // registers of the processor that hold pieces
  const uint32_t piece_bytes_;
  Cache cache_;
  Facts facts_;
  std::vector<BitSet> live_after_;
  uint32_t block_ = 0, instruction_ = kFree;
  size_t listed_ = 0;
  uint32_t now_ = 1;
  std::vector<std::function<void()>> cold_;
  std::map<std::vector<uint64_t>, Label> constants_;
};

}  // namespace warpgrade::emu
