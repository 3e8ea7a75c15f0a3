// The frame of the code and its blocks.
#include "native/emitter.h"

#include <cstddef>
#include <stdexcept>

#include "observe/counts.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostListed = 1'000'000;  // registers at all sites

}  // namespace

Emitter::Emitter(const Program& program, const Flow& flow, const NativeMode& mode, CodeMemory& memory,
                 NativeCode& out, int vectors, uint32_t piece_bytes)
    : CodeGenerator(memory.bytes(), memory.data()),
      program_(program),
      flow_(flow),
      mode_(mode),
      out_(out),
      bodies_(flow.blocks().size()),
      vectors_(vectors),
      piece_bytes_(piece_bytes) {
  setDefaultJmpNEAR(true);
}

void Emitter::run() {
  emit_frame();
  for (uint32_t b = 0; b < flow_.blocks().size(); ++b) emit_block(b);
  // Behind the last block: no code of a program goes there.
  int3();
  for (size_t k = 0; k < cold_.size(); ++k) cold_[k]();
  emit_routines();
  out_.instruction_bytes = getSize();
  emit_constants();
}

// enter(warp, context, address): the frame, then the block; leave_: back to the caller with eax.
void Emitter::emit_frame() {
  out_.enter = getCurr<NativeCode::Enter>();
  for (const Reg64& r : {rbx, rbp, r12, r13, r14, r15}) push(r);
  sub(rsp, 8);
  mov(rbx, rdi);
  mov(r12, rsi);
  mov(r8, rdx);
  mov(rbp, ptr[rbx + offsetof(Warp, regs)]);
  mov(r13d, dword[rbx + offsetof(Warp, active)]);
  mov(r14, ptr[r12 + offsetof(NativeContext, scalars)]);
  mov(r15, ptr[r12 + offsetof(NativeContext, hints)]);
  emit_masks();
  jmp(r8);
  // On to the code at rdx with the lanes that are there now.
  L(resume_);
  mov(r13d, dword[rbx + offsetof(Warp, active)]);
  emit_masks();
  jmp(rdx);
  L(leave_);
  vzeroupper();
  add(rsp, 8);
  for (const Reg64& r : {r15, r14, r13, r12, rbp, rbx}) pop(r);
  ret();
}

void Emitter::count_block(uint32_t index) {
  if (!mode_.counts) return;
  const FlowBlock& b = flow_.blocks()[index];
  mov(rax, ptr[r12 + offsetof(NativeContext, block_counts)]);
  popcnt(ecx, r13d);
  add(qword[rax + index * sizeof(ExecutionCounts) + offsetof(ExecutionCounts, warps)], 1);
  add(qword[rax + index * sizeof(ExecutionCounts) + offsetof(ExecutionCounts, lanes)], rcx);
  add(qword[r12 + offsetof(NativeContext, instructions)], b.end - b.begin);
}

void Emitter::emit_block(uint32_t index) {
  const FlowBlock& b = flow_.blocks()[index];
  block_ = index;
  NativeBlock& out = out_.blocks[index];
  L(bodies_[index]);
  out.address = getCurr();
  // Lanes that wait within the block join there: the interpreter knows how.
  Label stop;
  cmp(dword[rbx + offsetof(Warp, join_pc)], b.end);
  jb(stop, T_NEAR);
  cold_.push_back([this, stop, index]() mutable {
    L(stop);
    mov(rdi, rbx);
    mov(rsi, r12);
    mov(edx, index);
    mov(rax, reinterpret_cast<uint64_t>(&native_join));
    vzeroupper();
    call(rax);
    resume_or_leave();
  });
  count_block(index);
  clear_cache();
  facts_ = b.in;
  live_after_ = flow_.live_after(b);
  for (uint32_t at = b.begin; at < b.end; ++at) {
    const Inst& i = program_.code[at];
    ++now_;
    instruction_ = at;
    emit_instruction(i);
    flow_.apply(i, facts_);
  }
  const Operation last = flow_.decoded(b.end - 1).operation;
  if (last != Operation::branch && last != Operation::leave && last != Operation::barrier &&
      last != Operation::opaque)
    finish_block(true);
}

void Emitter::emit_instruction(const Inst& i) {
  const Decoded& d = flow_.decoded(i.index);
  if (d.operation == Operation::none) return;
  if (d.operation == Operation::branch) return emit_branch(i);
  if (d.operation == Operation::leave || d.operation == Operation::barrier ||
      d.operation == Operation::opaque)
    return emit_control(i);
  if (is_full_warp_barrier(i)) return emit_warp_barrier(i);
  if (d.operation >= Operation::handler || i.guard != kAlwaysSlot) return call_handler(i);
  switch (d.operation) {
    case Operation::load:
    case Operation::store:
      if (!emit_access(i, d)) call_handler(i);
      return;
    case Operation::load_parameter:
      return load_parameters(i);
    case Operation::compare:
    case Operation::predicate_and:
    case Operation::predicate_or:
    case Operation::predicate_xor:
    case Operation::predicate_move:
    case Operation::predicate_not:
      return emit_predicates(i, d);
    case Operation::select:
      return emit_select(i, d);
    case Operation::unpack:
      return emit_unpack(i);
    case Operation::shuffle:
      if (!emit_shuffle(i)) call_handler(i);
      return;
    default:
      break;
  }
  const Fact result = flow_.result(i, d, facts_);
  if (result.is_scalar()) {
    if (!emit_scalar(i, d, result)) throw std::runtime_error("no scalar form");
  } else if (!emit_vector(i, d)) {
    call_handler(i);
  }
}

uint32_t Emitter::make_site(const Inst& i) {
  const Decoded& d = flow_.decoded(i.index);
  const std::string& name = program_.operations[i.index];
  NativeSite s;
  s.instruction = i.index;
  s.block = block_;
  if (name[0] == 'l') s.kind = AccessKind::load;
  if ((i.space == Space::global || i.space == Space::shared) &&
      (name == "atom.add.u32" || name == "atom.add.f32"))
    s.atomic = name == "atom.add.f32" ? NativeAtomic::add_float : NativeAtomic::add_word;
  s.waits = d.operation == Operation::sync || d.operation == Operation::shuffle;
  s.leaves = d.operation == Operation::barrier || d.operation == Operation::leave ||
             d.operation == Operation::branch || d.operation == Operation::opaque;
  const BitSet& after = live_after_[i.index - flow_.blocks()[block_].begin];
  BitSet read(flow_.units());
  for (const Register& r : d.reads) read.set(unit_of(r.slot));
  for (const Register& r : d.writes)
    read.set(unit_of(r.slot));  // lanes that do not write keep what was there
  if (d.operation == Operation::opaque) read.fill();
  for (uint32_t u = 0; u < facts_.size(); ++u) {
    const Fact& f = facts_[u];
    if (!f.is_scalar()) continue;
    const ScalarRegister scalar{u * kSlotUnit, f.bytes, f.known, f.stride, f.value};
    if (read.test(u)) s.reads.push_back(scalar);
    if (read.test(u) || after.test(u)) s.live.push_back(scalar);
  }
  const Fact result = flow_.result(i, d, facts_);
  if (d.operation < Operation::handler && result.is_scalar()) {
    for (const Register& r : d.writes) {
      if (r.bytes != 0) s.results.push_back({r.slot, static_cast<uint8_t>(r.bytes), false, 0, 0});
    }
  }
  listed_ += s.reads.size() + s.live.size();
  if (listed_ > kMostListed) throw std::length_error("too many registers to hand over");
  out_.sites.push_back(std::move(s));
  return static_cast<uint32_t>(out_.sites.size() - 1);
}

void Emitter::store_dirty(const Cache& cache, bool masked, const std::function<bool(uint32_t)>& wanted) {
  bool begun = !masked;
  for (int k = 0; k < vectors_; ++k) {
    const CachedVector& v = cache.vectors[k];
    if (v.slot == kFree || !v.dirty || !wanted(v.slot)) continue;
    if (!begun) begin_masked_stores();
    begun = true;
    store_piece(v, k, masked);
  }
}

// Plainly when all lanes are there, which is faster.
void Emitter::store_dirty_by_lanes(const std::function<bool(uint32_t)>& wanted) {
  bool any = false;
  for (const CachedVector& v : cache_.vectors) any |= v.slot != kFree && v.dirty && wanted(v.slot);
  if (!any) return;
  Label partly, done;
  cmp(r13d, -1);
  jne(partly, T_NEAR);
  store_dirty(cache_, false, wanted);
  L(done);
  const Cache cache = cache_;
  cold_.push_back([this, partly, done, cache, wanted]() mutable {
    L(partly);
    store_dirty(cache, true, wanted);
    jmp(done);
  });
}

void Emitter::emit_constants() {
  align(64);
  for (const size_t words_in_each : {8, 4, 1}) {  // the wide ones are aligned to themselves
    for (auto& [words, label] : constants_) {
      if (words.size() != words_in_each) continue;
      L(label);
      for (const uint64_t w : words) dq(w);
    }
  }
}

// After a call in the middle of an instruction: what the main path keeps in registers.
void Emitter::reload(const Cache& cache) {
  for (int k = 0; k < vectors_; ++k) {
    if (cache.vectors[k].slot != kFree) load_piece(k, cache.vectors[k]);
  }
  constexpr int kRegisters[] = {Xbyak::Operand::RSI, Xbyak::Operand::RDI, Xbyak::Operand::R8,
                                Xbyak::Operand::R9,  Xbyak::Operand::R10, Xbyak::Operand::R11};
  for (int k = 0; k < kScalars; ++k) {
    const CachedScalar& s = cache.scalars[k];
    if (s.slot != kFree) load_scalar(Reg64(kRegisters[k]), s.slot, s.predicate);
  }
}

}  // namespace warpgrade::emu
