// The frame of the code, its blocks, and the ways from native code to the interpreter and back.
#include "native/emitter.h"

#include <cstddef>
#include <stdexcept>

#include "simt/convergence.h"
#include "simt/counts.h"

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
  out_.enter = reinterpret_cast<NativeCode::Enter>(getCurr());
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

// Where the helper in rax points, or back.
void Emitter::resume_or_leave() {
  mov(rdx, rax);
  mov(eax, kDispatch);
  test(rdx, rdx);
  jnz(resume_, T_NEAR);
  jmp(leave_);
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
      if (!emit_shuffle(i, d)) call_handler(i);
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

void Emitter::call_run(uint32_t site) {
  mov(rdi, rbx);
  mov(rsi, r12);
  mov(edx, site);
  mov(rax, reinterpret_cast<uint64_t>(&native_run));
  vzeroupper();
  call(rax);
  test(eax, eax);
  Label go_on;
  jz(go_on, T_NEAR);
  dec(eax);
  jmp(leave_);
  L(go_on);
  emit_masks();
}

// The interpreter's handler does it; nothing stays in registers.
void Emitter::call_handler(const Inst& i) {
  const Decoded& d = flow_.decoded(i.index);
  const BitSet& after = live_after_[i.index - flow_.blocks()[block_].begin];
  BitSet wanted = after;
  for (const Register& r : d.reads) wanted.set(unit_of(r.slot));
  for (const Register& r : d.writes) wanted.set(unit_of(r.slot));
  store_dirty_by_lanes([wanted](uint32_t slot) { return wanted.test(unit_of(slot)); });
  call_run(make_site(i));
  clear_cache();
}

// A barrier of all lanes of the warp that nothing is to be told of.
bool Emitter::is_full_warp_barrier(const Inst& i) const {
  if (program_.operations[i.index] != "bar.warp" || i.guard != kAlwaysSlot ||
      (mode_.orders_lanes && !orders_lanes_natively()))
    return false;
  const Fact members = fact(i.e);
  return members.known && uint32_t(members.value) == kAllLanes;
}

// Where all lanes that live have come, there is nothing to do.
void Emitter::emit_warp_barrier(const Inst& i) {
  const uint32_t site = make_site(i);
  const Cache before = cache_;
  const Facts facts = facts_;
  Label slowly, done;
  cmp(r13d, dword[rbx + offsetof(Warp, live)]);
  jne(slowly, T_NEAR);
  if (mode_.orders_lanes) emit_order();
  L(done);
  cold_.push_back([this, slowly, done, before, site, facts]() mutable {
    L(slowly);
    store_dirty(before, true, [](uint32_t) { return true; });
    call_run(site);
    facts_ = facts;
    reload(before);
    jmp(done);
  });
}

// The block ends here: the interpreter goes on with the site's instruction.
void Emitter::leave_before(uint32_t site) {
  mov(rdi, rbx);
  mov(rsi, r12);
  mov(edx, site);
  mov(rax, reinterpret_cast<uint64_t>(&native_stop_before));
  vzeroupper();
  call(rax);
  mov(eax, kInterpretOne);
  jmp(leave_);
}

// A way out before the instruction has done anything.
void Emitter::stop_before(const Inst& i, Label& label) {
  const uint32_t site = make_site(i);
  const Cache cache = cache_;
  cold_.push_back([this, label, cache, site]() mutable {
    L(label);
    store_dirty(cache, true, [](uint32_t) { return true; });
    leave_before(site);
  });
}

// Registers as the successors expect them.
void Emitter::finish_block(bool) {
  const FlowBlock& b = flow_.blocks()[block_];
  // Scalars that a successor takes for vectors.
  BitSet written(flow_.units());
  for (const uint32_t s : b.successors) {
    const FlowBlock& next = flow_.blocks()[s];
    for (uint32_t u = 0; u < facts_.size(); ++u) {
      if (!facts_[u].is_scalar() || next.in[u].is_scalar() || !next.live_in.test(u) || written.test(u))
        continue;
      written.set(u);
      write_scalar(u * kSlotUnit);
    }
  }
  store_dirty_by_lanes([&b](uint32_t slot) { return b.live_out.test(unit_of(slot)); });
}

// Branches, as simt/control.cpp has them.
void Emitter::emit_branch(const Inst& i) {
  finish_block(true);
  ++now_;
  const bool backward = i.target <= i.index;
  Label divides, falls;
  if (i.guard != kAlwaysSlot) {
    mov(eax, predicate(i.guard));
    if (i.guard_flip != 0) not_(eax);
    and_(eax, r13d);
    jz(falls, T_NEAR);
    cmp(eax, r13d);
    jne(divides, T_NEAR);
  } else {
    mov(eax, r13d);
  }
  if (backward) {
    cmp(byte[rbx + offsetof(Warp, prefer_others)], 0);
    jne(divides, T_NEAR);
    mov(ecx, dword[rbx + offsetof(Warp, back_edges)]);
    inc(ecx);
    cmp(ecx, i.patient ? kPatientTurns : kTurns);
    ja(divides, T_NEAR);
    mov(edx, dword[rbx + offsetof(Warp, spin)]);
    add(edx, i.patient ? kPatientStep : 1);
    cmp(edx, kYieldAfter);
    ja(divides, T_NEAR);
    mov(dword[rbx + offsetof(Warp, back_edges)], ecx);
    mov(dword[rbx + offsetof(Warp, spin)], edx);
  }
  jmp(bodies_[flow_.block_at(i.target)]);
  L(falls);
  const uint32_t site = make_site(i);
  cold_.push_back([this, divides, site]() mutable {
    L(divides);
    mov(rdi, rbx);
    mov(rsi, r12);
    mov(edx, site);
    mov(ecx, eax);
    mov(rax, reinterpret_cast<uint64_t>(&native_branch));
    vzeroupper();
    call(rax);
    resume_or_leave();
  });
}

// Exits, barriers and what is not known: the handler, then the interpreter's dispatch.
void Emitter::emit_control(const Inst& i) {
  const Operation operation = flow_.decoded(i.index).operation;
  const bool opaque = operation == Operation::opaque;
  const FlowBlock& b = flow_.blocks()[block_];
  if (opaque) {
    store_dirty_by_lanes([](uint32_t) { return true; });
  } else {
    finish_block(true);
  }
  mov(eax, r13d);
  Label skipped;
  if (i.guard != kAlwaysSlot) {
    mov(eax, dword[rbp + i.guard]);
    if (i.guard_flip != 0) not_(eax);
    and_(eax, r13d);
    jz(skipped, T_NEAR);
  }
  const uint32_t site = make_site(i);
  mov(rdi, rbx);
  mov(rsi, r12);
  mov(edx, site);
  mov(ecx, eax);
  mov(rax, reinterpret_cast<uint64_t>(&native_control));
  vzeroupper();
  call(rax);
  mov(eax, kDispatch);
  jmp(leave_);
  L(skipped);
  if (i.guard != kAlwaysSlot && b.end < program_.code.size()) {
    if (opaque) leave_before(site);  // the next block knows nothing of scalars: all are written
  }
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
