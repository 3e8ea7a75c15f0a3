// What loads and stores have in common at every level: which of them are compiled, addresses that a base and
// a step describe, and what is called to look at accesses.
#include "native/emit_access.h"

#include "support/settings.h"

namespace warpgrade::emu {
namespace {

// The vectors that other blocks' flags travel in must be read and written whole.
bool is_ordered(const std::string& text) {
  for (const char* sign : {"volatile", "relaxed", "acquire", "release", ".cg", ".cv", ".wt"}) {
    if (text.find(sign) != std::string::npos) return true;
  }
  return false;
}

constexpr int64_t kMostRowStride = 1 << 16;

}  // namespace

void Emitter::load_parameters(const Inst& i) {
  for (uint32_t k = 0; k < i.vec_count; ++k) {
    ++now_;
    const int offset = static_cast<int>(i.imm) + static_cast<int>(k * i.bytes);
    mov(rcx, ptr[r12 + offsetof(NativeContext, params)]);
    i.bytes == 4 ? mov(eax, dword[rcx + offset]) : mov(rax, qword[rcx + offset]);
    define_scalar(i.vec[k], rax);
  }
}

// rax: the address of the first lane, which must be a multiple of the access's size; on the way out rdx is
// where it lies on the host.
void Emitter::resolve_first_lane(const Access& a) {
  if (a.access_bytes() > 1) {
    test(al, a.access_bytes() - 1);
    jnz(a.slowly, T_NEAR);
  }
  mov(rdx, rax);
  a.shared ? add(rdx, qword[r12 + offsetof(NativeContext, shared)])
           : add(rdx, qword[r15 + a.hint(offsetof(NativeHint, alias))]);
}

// rax: the address of the first lane; on the way out rdx is the host address.
void Emitter::check_scalar_address(const Access& a) {
  mov(rdx, rax);
  sub(rdx, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  cmp(rdx, qword[r15 + a.hint(offsetof(NativeHint, starts))]);
  jae(a.slowly, T_NEAR);
  resolve_first_lane(a);
}

// The same where some lanes are not there: of those between the first and the last that are.
void Emitter::check_scalar_address_partly(const Access& a) {
  const auto stride = static_cast<int>(a.stride);
  tzcnt(ecx, r13d);
  imul(ecx, ecx, stride);  // from lane 0 to the first
  lzcnt(edx, r13d);
  neg(edx);
  add(edx, kLanes - 1);
  imul(edx, edx, stride);
  add(edx, a.access_bytes());
  sub(edx, ecx);  // bytes from the first to the end of the last
  add(rcx, rax);
  sub(rcx, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  add(rdx, rcx);
  jc(a.slowly, T_NEAR);
  cmp(rdx, qword[r15 + a.hint(offsetof(NativeHint, bytes))]);
  ja(a.slowly, T_NEAR);
  cmp(rcx, qword[r15 + a.hint(offsetof(NativeHint, bytes))]);
  jae(a.slowly, T_NEAR);
  resolve_first_lane(a);
}

// rax: the address of the first of all lanes, side by side; on the way out rdx is the host address.
void Emitter::check_row_bounds(const Access& a) {
  mov(rdx, rax);
  sub(rdx, qword[r15 + a.hint(offsetof(NativeHint, begin))]);
  cmp(rdx, qword[r15 + a.hint(offsetof(NativeHint, starts))]);
  jae(a.slowly, T_NEAR);
  lea(rcx, ptr[rdx + int(a.access_bytes() * (kLanes - 1))]);
  cmp(rcx, qword[r15 + a.hint(offsetof(NativeHint, starts))]);
  jae(a.slowly, T_NEAR);
  resolve_first_lane(a);
}

// Element k of what lies at rdx, into rax, as wide as the register.
void Emitter::load_element(const Access& a, uint32_t k) {
  const bool sign = is_signed(a.d.type);
  const auto offset = static_cast<int>(a.bytes * k);
  if (a.bytes == 8) {
    mov(rax, qword[rdx + offset]);
  } else if (a.bytes == 4) {
    sign&& a.wide == 8 ? movsxd(rax, dword[rdx + offset]) : mov(eax, dword[rdx + offset]);
  } else if (!sign) {
    a.bytes == 2 ? movzx(eax, word[rdx + offset]) : movzx(eax, byte[rdx + offset]);
  } else if (a.wide == 4) {
    a.bytes == 2 ? movsx(eax, word[rdx + offset]) : movsx(eax, byte[rdx + offset]);
  } else {
    a.bytes == 2 ? movsx(rax, word[rdx + offset]) : movsx(rax, byte[rdx + offset]);
  }
}

// Into rax.
void Emitter::scalar_address(const Inst& i) {
  if (i.address_is_32) {
    mov(eax, scalar(i.a).cvt32());
    if (i.imm != 0) add(eax, static_cast<uint32_t>(i.imm));
    return;
  }
  mov(rax, scalar(i.a));
  if (i.imm == 0) return;
  mov(rcx, uint64_t(i.imm));
  add(rax, rcx);
}

void Emitter::call_observer(uint32_t site, const void* observer) {
  mov(rdi, rbx);
  mov(rsi, r12);
  mov(edx, site);
  mov(rcx, ptr[r12 + offsetof(NativeContext, host)]);
  mov(rax, reinterpret_cast<uint64_t>(observer));
  vzeroupper();
  call(rax);
  emit_masks();
}

// As native_count() has it, which knows what it takes.
void Emitter::count_row(const Access& a, Label& uncounted) {
  popcnt(eax, r13d);
  mov(dword[r12 + offsetof(NativeContext, row_lanes)], eax);
  mov(dword[r12 + offsetof(NativeContext, row_site)], a.site);
  mov(rcx, rdi);
  mov(rdi, r12);
  const auto count = mode_.follows_lines ? &native_count_lines : &native_count;
  mov(rax, reinterpret_cast<uint64_t>(count));
  call(rax);
  mov(rdi, rcx);
  test(rax, rax);
  jz(uncounted, T_NEAR);
}

// The same for shared memory, in place: a request, and its turns twice.
void Emitter::count_shared_row(const Access& a, Label& uncounted) {
  const auto known = static_cast<int>(a.site * sizeof(CountedRow));
  mov(rax, ptr[r12 + offsetof(NativeContext, rows)]);
  mov(rcx, ptr[r12 + offsetof(NativeContext, stop_from)]);
  mov(rcx, ptr[rcx]);
  cmp(qword[r12 + offsetof(NativeContext, block)], rcx);
  jae(uncounted, T_NEAR);
  mov(rcx, ptr[rax + known + int(offsetof(CountedRow, ideal))]);
  mov(rax, ptr[rax + known + int(offsetof(CountedRow, counts))]);
  test(rax, rax);
  jz(uncounted, T_NEAR);
  inc(qword[rax + offsetof(SharedCounts, requests)]);
  add(qword[rax + offsetof(SharedCounts, passes)], rcx);
  add(qword[rax + offsetof(SharedCounts, ideal_passes)], rcx);
}

// Lanes anywhere in global memory, whose host addresses are in the context: where they are few, they are
// counted in place, and on it goes at `counted`. rdx stays.
void Emitter::count_few_lanes(const Access& a, Label& counted) {
  if (a.shared || (mode_.checks && !checks_in_place(a))) return;
  Label many;
  popcnt(eax, r13d);
  cmp(eax, kFewLanes);
  ja(many, T_NEAR);
  if (mode_.checks) check_lanes_in_place(a, many);
  if (!settings().counters) {
    jmp(counted, T_NEAR);
    return L(many);
  }
  mov(dword[r12 + offsetof(NativeContext, lanes_mask)], r13d);
  mov(dword[r12 + offsetof(NativeContext, row_site)], a.site);
  mov(rcx, rdi);
  mov(rdi, r12);
  const auto count = mode_.follows_lines ? &native_count_few_lines : &native_count_few;
  mov(rax, reinterpret_cast<uint64_t>(count));
  call(rax);
  mov(rdi, rcx);
  test(rax, rax);
  jnz(counted, T_NEAR);
  L(many);
}

// Of lanes anywhere, whose host addresses are in the context: native_observe_lanes or native_count_few.
void Emitter::observe_lanes_at(const Access& a, const Cache& before) {
  Label partly, stored, counted;
  count_few_lanes(a, counted);
  cmp(r13d, -1);
  jne(partly, T_NEAR);
  store_dirty(before, false, [](uint32_t) { return true; });
  jmp(stored, T_NEAR);
  L(partly);
  store_dirty(before, true, [](uint32_t) { return true; });
  L(stored);
  call_observer(a.site, reinterpret_cast<const void*>(&native_observe_lanes));
  reload(before);
  L(counted);
}

void Emitter::finish_access(const Access& a, Label& done, const Cache& before,
                            const std::function<void(const Cache&)>& others) {
  finish_instruction(a.i, a.site, a.slowly, done, before, others);
}

// A row, or one place, from rdx on, which stays there.
void Emitter::observe_row_at(const Access& a) {
  mov(ptr[r12 + offsetof(NativeContext, host)], rdx);
  const auto observer = reinterpret_cast<const void*>(&native_observe);
  if (!a.shared) {
    // What is looked at or counted meanwhile hides some of the time that memory takes.
    prefetcht0(ptr[rdx]);
    if (!a.is_uniform()) prefetcht0(ptr[rdx + 64]);
  }
  if (mode_.checks && !checks_in_place(a)) {
    store_dirty_by_lanes([](uint32_t) { return true; });
    for (CachedVector& v : cache_.vectors) v.dirty = false;
    call_observer(a.site, observer);
    reload(cache_);
    mov(rdx, ptr[r12 + offsetof(NativeContext, host)]);
    return;
  }
  Label counted, uncounted;
  if (mode_.checks) check_in_place(a, uncounted);
  if (settings().counters) a.shared ? count_shared_row(a, uncounted) : count_row(a, uncounted);
  if (mode_.checks) remember_in_place(a);
  L(counted);
  const Cache before = cache_;
  const Facts facts = facts_;
  cold_.push_back([this, counted, uncounted, before, facts, observer, site = a.site]() mutable {
    L(uncounted);
    store_dirty(before, true, [](uint32_t) { return true; });
    call_observer(site, observer);
    facts_ = facts;
    reload(before);
    mov(rdx, ptr[r12 + offsetof(NativeContext, host)]);
    jmp(counted);
  });
}

// Registers that hold one value for all lanes, from rdx.
void Emitter::load_scalars(const Access& a) {
  for (uint32_t k = 0; k < a.count; ++k) {
    ++now_;
    load_element(a, k);
    define_scalar(a.i.vec[k], rax);
  }
}

// A piece of a row from rdx on, of elements that become wider.
void Emitter::load_widened(const Access& a, const Xbyak::Xmm& to, uint32_t p) {
  const bool sign = is_signed(a.d.type);
  const Xbyak::Address at = ptr[rdx + int(p * (piece_bytes_ / a.wide) * a.bytes)];
  if (a.wide == 4) {
    a.bytes == 1 ? (sign ? vpmovsxbd(to, at) : vpmovzxbd(to, at))
                 : (sign ? vpmovsxwd(to, at) : vpmovzxwd(to, at));
  } else if (a.bytes == 4) {
    sign ? vpmovsxdq(to, at) : vpmovzxdq(to, at);
  } else {
    a.bytes == 1 ? (sign ? vpmovsxbq(to, at) : vpmovzxbq(to, at))
                 : (sign ? vpmovsxwq(to, at) : vpmovzxwq(to, at));
  }
}

// Makes the site of an access that checks or counters look at. False: the handler's, lane by lane.
bool Emitter::begin_observed_access(Access& a) {
  const bool scalar_result = a.has_scalar_result();
  if (!a.is_whole_row() && !scalar_result) a.scalar_address = false;
  if (!a.scalar_address && (a.bytes < 4 || !a.may_be_row())) return false;
  a.site = make_site(a.i);
  NativeSite& site = out_.sites[a.site];
  site.span = a.span();
  site.row = !scalar_result;
  site.bytes = a.access_bytes();
  return true;
}

// nullopt: the handler's.
std::optional<Emitter::Access> Emitter::describe_access(const Inst& i, const Decoded& d) {
  const bool loads = d.operation == Operation::load;
  const bool known_space = i.space == Space::shared || i.space == Space::global || i.space == Space::generic;
  if (!known_space) return std::nullopt;
  if (i.vec_count > 1 && is_ordered(program_.texts[i.index])) return std::nullopt;
  const Fact address = fact(i.a);
  Access a{i,
           d,
           loads,
           i.space == Space::shared,
           address.is_scalar() && address.stride >= 0 && address.stride <= kMostRowStride,
           address.stride,
           i.bytes,
           i.vec_count,
           i.reg_bytes,
           0,
           {}};
  // The first lane is looked at alone: the step must keep the others as aligned as that one.
  if (a.scalar_address && a.stride % a.access_bytes() != 0) a.scalar_address = false;
  const bool scalar_result = loads && a.is_uniform();
  // A gather reads four bytes at least: behind the last element may be nothing.
  if (a.bytes < 4 && !a.is_row() && !scalar_result) return std::nullopt;
  // A vector that a register occurs twice in, or its own address, is not worth the care.
  for (uint32_t k = 0; k < a.count; ++k) {
    if (loads && a.count > 1 && i.vec[k] == i.a) return std::nullopt;
    for (uint32_t other = 0; other < k; ++other) {
      if (i.vec[k] == i.vec[other] && loads) return std::nullopt;
    }
  }
  return a;
}

}  // namespace warpgrade::emu
