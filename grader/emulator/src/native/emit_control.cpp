// The ways from native code to the interpreter's handlers and back: calls of them, branches, barriers, and
// the end of a block.
#include <cstddef>

#include "native/emitter.h"
#include "state/convergence.h"

namespace warpgrade::emu {

// Where the helper in rax points, or back.
void Emitter::resume_or_leave() {
  mov(rdx, rax);
  mov(eax, kDispatch);
  test(rdx, rdx);
  jnz(resume_, T_NEAR);
  jmp(leave_);
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
  const Cache before = cache_;
  Label slowly, done;
  cmp(r13d, dword[rbx + offsetof(Warp, live)]);
  jne(slowly, T_NEAR);
  if (mode_.orders_lanes) emit_order();
  finish_instruction(i, make_site(i), slowly, done, before);
}

// The instruction's main path ends here, at `done`. What leaves it: `others`, if there is one, another way
// to do the instruction, which is given what is cached on the main path afterwards; and from `slowly` on
// the handler's way.
// `before` is what is cached where the ways part.
void Emitter::finish_instruction(const Inst& i, uint32_t site, Label& slowly, Label& done,
                                 const Cache& before, const std::function<void(const Cache&)>& others) {
  L(done);
  const Cache after = cache_;
  const Facts facts_before = facts_;
  Facts facts = facts_;
  flow_.apply(i, facts);
  cold_.push_back(
      [this, site, slowly, done, before, after, facts_before, facts, others, at = i.index]() mutable {
        if (others) {
          facts_ = facts_before;
          cache_ = before;
          instruction_ = at;
          others(after);
          jmp(done);
        }
        L(slowly);
        store_dirty(before, true, [](uint32_t) { return true; });
        call_run(site);
        facts_ = facts;
        reload(after);
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

}  // namespace warpgrade::emu
