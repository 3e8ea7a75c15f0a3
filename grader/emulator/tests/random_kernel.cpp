#include "random_kernel.h"

namespace warpgrade::emu {

int64_t RandomKernel::constant() {
  constexpr int64_t kEdges[] = {0, 1, -1, 2, 4, 31, 32, 255, 0x7fffffff, -2147483647 - 1, 65536, 12};
  return chance(60) ? kEdges[below(std::size(kEdges))] : static_cast<int32_t>(draw_());
}

void RandomKernel::line(const std::string& instruction) {
  body_ += ".loc 1 " + std::to_string(++lines_) + " 0\n" + instruction + ";\n";
}

// A fifth of the instructions have a guard.
void RandomKernel::guarded(const std::string& instruction) {
  line(chance(20) ? std::string(chance(50) ? "@" : "@!") + p() + " " + instruction : instruction);
}

void RandomKernel::integer() {
  const std::string type = pick({"u32", "s32"});
  switch (below(12)) {
    case 0:
    case 1:
      return guarded(pick({"add.", "sub.", "min.", "max."}) + type + " " + r() + ", " + r() + ", " + ri());
    case 2:
      return guarded("mul.lo." + type + " " + r() + ", " + r() + ", " + ri());
    case 3:
      return guarded("mad.lo." + type + " " + r() + ", " + r() + ", " + ri() + ", " + ri());
    case 4:
      return guarded(pick({"and.b32 ", "or.b32 ", "xor.b32 "}) + r() + ", " + r() + ", " + ri());
    case 5:
      return guarded("shl.b32 " + r() + ", " + r() + ", " + (chance(60) ? std::to_string(below(36)) : r()));
    case 6:
      return guarded("shr." + type + " " + r() + ", " + r() + ", " +
                     (chance(60) ? std::to_string(below(36)) : r()));
    case 7:
      return guarded(pick({"not.b32 ", "neg.s32 ", "abs.s32 ", "mov.u32 ", "popc.b32 ", "clz.b32 "}) + r() +
                     ", " + r());
    case 8:
      return guarded("lop3.b32 " + r() + ", " + r() + ", " + r() + ", " + r() + ", " +
                     std::to_string(below(256)));
    case 9:
      return guarded("mul.hi." + type + " " + r() + ", " + r() + ", " + ri());
    case 10:
      return guarded(pick({"div.", "rem."}) + type + " " + r() + ", " + r() + ", " +
                     std::to_string(1 + below(40)));
    default:
      return guarded(
          "mov.u32 " + r() + ", " +
          (chance(50) ? std::to_string(constant()) : pick({"%tid.x", "%laneid", "%ctaid.x", "%ntid.x"})));
  }
}

void RandomKernel::wide() {
  switch (below(10)) {
    case 0:
      return guarded("mul.wide." + pick({"u32", "s32"}) + " " + rd() + ", " + r() + ", " + ri());
    case 1:
      return guarded("mad.wide." + pick({"u32", "s32"}) + " " + rd() + ", " + r() + ", " + ri() + ", " +
                     rd());
    case 2:
      return guarded(
          pick({"add.s64 ", "sub.s64 ", "mul.lo.s64 ", "min.s64 ", "max.s64 ", "min.u64 ", "max.u64 "}) +
          rd() + ", " + rd() + ", " + rd());
    case 3:
      return guarded(pick({"and.b64 ", "or.b64 ", "xor.b64 "}) + rd() + ", " + rd() + ", " + rd());
    case 4:
      return guarded(pick({"shl.b64 ", "shr.u64 ", "shr.s64 "}) + rd() + ", " + rd() + ", " +
                     (chance(60) ? std::to_string(below(70)) : r()));
    case 5:
      return guarded("cvt." + pick({"u64.u32 ", "s64.s32 "}) + rd() + ", " + r());
    case 6:
      return guarded("cvt.u32.u64 " + r() + ", " + rd());
    case 7:
      return guarded(pick({"neg.s64 ", "abs.s64 ", "not.b64 ", "mov.u64 "}) + rd() + ", " + rd());
    case 8:
      return guarded("mad.lo.s64 " + rd() + ", " + rd() + ", " + rd() + ", " + rd());
    default:
      return chance(50) ? guarded("mov.b64 " + rd() + ", {" + r() + ", " + r() + "}")
                        : guarded("mov.b64 {%r0, %r1}, " + rd());
  }
}

// Which of two NaNs an f64 result takes after is the host compiler's choice, so each becomes the same one.
void RandomKernel::doubles() {
  const std::string to = fd();
  switch (below(4)) {
    case 0:
      guarded("fma.rn.f64 " + to + ", " + fd() + ", " + fd() + ", " + fd());
      break;
    case 1:
      guarded(pick({"add.rn.f64 ", "sub.rn.f64 ", "mul.rn.f64 ", "div.rn.f64 "}) + to + ", " + fd() + ", " +
              fd());
      break;
    case 2:
      guarded("sqrt.rn.f64 " + to + ", " + fd());
      break;
    default:
      return guarded("mov.f64 " + to + ", " + fd());
  }
  line("setp.nan.f64 %p7, " + to + ", " + to);
  line("selp.f64 " + to + ", 0d7FF8000000000000, " + to + ", %p7");
}

void RandomKernel::floating() {
  if (chance(30)) return doubles();
  switch (below(6)) {
    case 0:
    case 1:
      return guarded("fma.rn.f32 " + f() + ", " + f() + ", " + f() + ", " + f());
    case 2:
      return guarded(pick({"add.f32 ", "sub.f32 ", "mul.f32 ", "min.f32 ", "max.f32 "}) + f() + ", " + f() +
                     ", " + f());
    case 3:
      return guarded("div.rn.f32 " + f() + ", " + f() + ", " + f());
    case 4:
      return guarded(pick({"neg.f32 ", "abs.f32 ", "sqrt.rn.f32 ", "rcp.rn.f32 ", "mov.f32 "}) + f() + ", " +
                     f());
    default:
      return guarded(
          "mov.f32 " + f() + ", " +
          pick({"0f00000000", "0f3F800000", "0fFF800000", "0f7FC00001", "0f80000000", "0f42280000"}));
  }
}

void RandomKernel::conversion() {
  switch (below(7)) {
    case 0:
      return guarded("cvt.rn.f32." + pick({"s32 ", "u32 "}) + f() + ", " + r());
    case 1:
      return guarded("cvt.rzi." + pick({"s32", "u32"}) + ".f32 " + r() + ", " + f());
    case 2:
      return guarded("cvt.f64.f32 " + fd() + ", " + f());
    case 3:
      return guarded("cvt.rn.f32.f64 " + f() + ", " + fd());
    case 4:
      return guarded("mov.b32 " + r() + ", " + f());
    case 5:
      return guarded("mov.b32 " + f() + ", " + r());
    default:
      return guarded("cvt.rn.f64." + pick({"s32 ", "u32 "}) + fd() + ", " + r());
  }
}

void RandomKernel::compare() {
  const std::string how = pick({"eq", "ne", "lt", "le", "gt", "ge"});
  switch (below(6)) {
    case 0:
      return guarded("setp." + how + "." + pick({"u32 ", "s32 "}) + p() + ", " + r() + ", " + ri());
    case 1:
      return guarded("setp." + how + "." + pick({"u64 ", "s64 "}) + p() + ", " + rd() + ", " + rd());
    case 2:
      return guarded("setp." + pick({"eq", "lt", "gt", "geu", "num", "nan"}) + ".f32 " + p() + ", " + f() +
                     ", " + f());
    case 3:
      return guarded("setp." + how + ".f64 " + p() + ", " + fd() + ", " + fd());
    case 4:
      return guarded("setp." + how + "." + pick({"and", "or", "xor"}) + ".s32 %p0|%p1, " + r() + ", " + ri() +
                     ", " + (chance(30) ? "!" : "") + p());
    default:
      return guarded(pick({"and.pred ", "or.pred ", "xor.pred "}) + p() + ", " + p() + ", " + p());
  }
}

void RandomKernel::select() {
  switch (below(3)) {
    case 0:
      return guarded("selp.b32 " + r() + ", " + r() + ", " + ri() + ", " + p());
    case 1:
      return guarded("selp.f32 " + f() + ", " + f() + ", " + f() + ", " + p());
    default:
      return guarded("selp.b64 " + rd() + ", " + rd() + ", " + rd() + ", " + p());
  }
}

void RandomKernel::shuffle() {
  if (!together_) return line("bar.warp.sync 0xffffffff");
  switch (below(4)) {
    case 0:
      return line("shfl.sync.bfly.b32 " + r() + ", " + r() + ", " + std::to_string(below(32)) + ", 31, -1");
    case 1:
      return line("shfl.sync." + pick({"up", "down"}) + ".b32 %f1|%p2, " + f() + ", " +
                  std::to_string(below(32)) + ", " + pick({"0", "31", "7199"}) + ", -1");
    case 2:
      return line("shfl.sync.idx.b32 " + r() + ", " + r() + ", " + ri() + ", 31, -1");
    default:
      return line(chance(50) ? "vote.sync.ballot.b32 " + r() + ", " + p() + ", -1" : "bar.warp.sync -1");
  }
}

void RandomKernel::shared_access() {
  // A row of all lanes, of which the addresses may be known; one place for all; lanes anywhere.
  const bool row = chance(60), known = row && chance(50), uniform = !row && chance(30);
  line("shl.b32 %a0, " + (row ? "%tidx" : uniform ? "%number" : r()) + ", 2");
  if (!known) line("and.b32 %a0, %a0, " + std::to_string(4 * kSharedWords - 16));
  line("add.u32 %a0, %a0, %sbase");
  const std::string at = "[%a0+" + std::to_string(4 * below(3)) + "]";
  const auto whole_or_guarded = [&](const std::string& text) {
    row&& chance(50) ? line(text) : guarded(text);
  };
  switch (below(narrow_ ? 6 : 5)) {
    case 0:
      return whole_or_guarded("ld.shared.u32 " + r() + ", " + at);
    case 1:
      return whole_or_guarded("ld.shared.f32 " + f() + ", " + at);
    case 2:
      return whole_or_guarded("st.shared.u32 " + at + ", " + r());
    case 3:
      return whole_or_guarded("st.shared.f32 " + at + ", " + f());
    case 4:
      line("and.b32 %a0, %a0, 0xfffffff0");
      return guarded(chance(50) ? "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%a0]"
                                : "st.shared.v2.u32 [%a0], {" + r() + ", " + r() + "}");
    default:
      return guarded("st.shared.u8 [%a0], " + r());
  }
}

// Into %ad0: somewhere in `in` or `pool`, by an index of elements of so many words that may be the same for
// all lanes, count them, stride or scatter.
void RandomKernel::global_address(uint32_t words) {
  switch (below(6)) {
    case 0:
    case 1:
      line("mov.u32 %a1, %tidx");
      break;
    case 2:
      line("mul.lo.u32 %a1, %tidx, " + std::to_string(2 + below(4)));
      break;
    case 3:
      line("mov.u32 %a1, " + std::to_string(below(kInputWords / words - 2)));
      break;
    case 4:
      line("add.u32 %a1, %gid, " + std::to_string(below(64)));
      break;
    default:
      line("and.b32 %a1, " + r() + ", " + std::to_string(kInputWords / words / 2 - 1));
  }
  // Now and then not aligned, or out of bounds.
  line("mul.wide.u32 %ad0, %a1, " + std::to_string(4 * words + (words > 1 && chance(1) ? 4 : 0)));
  line("add.s64 %ad0, %ad0, " + std::string(chance(50) ? "%in" : "%pool"));
  if (chance(1)) line("add.s64 %ad0, %ad0, 16000");
}

void RandomKernel::global_access() {
  const uint32_t form = below(13), words = form < 7 ? 1 : form < 10 ? 2 : 4;
  global_address(words);
  const std::string at = "[%ad0+" + std::to_string(4 * below(2)) + "]";
  switch (form) {
    case 0:
    case 1:
      return guarded("ld.global.u32 " + r() + ", " + at);
    case 2:
      return guarded("ld.global.f32 " + f() + ", " + at);
    case 3:
      return guarded("ld.global." + pick({"u8", "s8", "u16", "s16"}) + " " + (chance(80) ? r() : rd()) +
                     ", " + at);
    case 4:
      return guarded("ld.global." + pick({"u32 ", "s32 "}) + rd() + ", " + at);
    case 5:
      return guarded("st.global.u32 " + at + ", " + r());
    case 6:
      return guarded("st.global.u16 " + at + ", " + r());
    case 7:
      return guarded("ld.global.f64 " + fd() + ", [%ad0]");
    case 8:
      return guarded(chance(50) ? "ld.global.v2.f32 {%f2, %f3}, [%ad0]"
                                : "st.global.v2.u32 [%ad0], {" + r() + ", " + r() + "}");
    case 9:
      return guarded("st.global.u64 [%ad0], " + rd());
    case 10:
      return guarded("ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%ad0]");
    case 11:
      return guarded(chance(50) ? "ld.global.v2.u64 {%rd1, %rd2}, [%ad0]"
                                : "st.global.v2.u64 [%ad0], {" + rd() + ", " + rd() + "}");
    default:
      return guarded("st.global.v4.f32 [%ad0], {%f0, %f1, %f2, " + f() + "}");
  }
}

void RandomKernel::atomic() {
  global_address();
  switch (below(6)) {
    case 0:
      return guarded("atom.global.add.u32 " + r() + ", [%ad0], " + r());
    case 1:
      return guarded("red.global.add.f32 [%ad0], " + f());
    case 2:
      return guarded("red.global." + pick({"max.s32", "min.u32", "or.b32", "add.u32"}) + " [%ad0], " + r());
    case 3:
      return guarded("atom.global.add.f32 " + f() + ", [%ad0], " + f());
    case 4:
      line("and.b32 %a0, " + r() + ", 124");
      line("add.u32 %a0, %a0, %sbase");
      return guarded("red.shared.add.u32 [%a0], " + ri());
    default:
      line("and.b32 %a0, " + r() + ", 124");
      line("add.u32 %a0, %a0, %sbase");
      return guarded("atom.shared." + pick({"add.u32", "exch.b32", "add.f32"}) + " %a2, [%a0], " + "%a1");
  }
}

void RandomKernel::branch(int depth) {
  const std::string label = std::to_string(labels_++);
  const bool were_together = together_;
  together_ = false;
  line((chance(50) ? "@" : "@!") + p() + " bra ELSE" + label);
  for (uint32_t k = 1 + below(4); k-- > 0;) statement(depth + 1);
  line("bra.uni END" + label);
  body_ += "ELSE" + label + ":\n";
  if (chance(60)) statement(depth + 1);
  if (depth == 0 && chance(5)) line("@" + p() + " bra DONE");
  body_ += "END" + label + ":\n";
  together_ = were_together && body_.find("bra DONE") == std::string::npos;
}

// At most 7 turns, the same for all lanes or not.
void RandomKernel::loop(int depth) {
  const std::string label = std::to_string(labels_++), n = std::to_string(loops_++);
  const bool were_together = together_, uniform = chance(40);
  together_ = together_ && uniform;
  line("mov.u32 %i" + n + ", 0");
  uniform ? line("mov.u32 %n" + n + ", " + std::to_string(1 + below(6)))
          : line("and.b32 %n" + n + ", " + r() + ", 7");
  body_ += "LOOP" + label + ":\n";
  for (uint32_t k = 1 + below(5); k-- > 0;) statement(depth + 1);
  line("add.u32 %i" + n + ", %i" + n + ", 1");
  line("setp.lt.u32 %q" + n + ", %i" + n + ", %n" + n);
  line("@%q" + n + " bra LOOP" + label);
  together_ = were_together && body_.find("bra DONE") == std::string::npos;
}

void RandomKernel::statement(int depth) {
  const uint32_t kind = below(100);
  if (kind < 20) return integer();
  if (kind < 30) return wide();
  if (kind < 43) return floating();
  if (kind < 50) return conversion();
  if (kind < 57) return compare();
  if (kind < 62) return select();
  if (kind < 66) return shuffle();
  if (kind < 73) return shared_access();
  if (kind < 83) return global_access();
  if (kind < 87) return atomic();
  if (depth >= 3) return integer();
  if (kind < 94) return branch(depth);
  if (kind < 99) return loop(depth);
  if (together_ && depth == 0) return line("bar.sync 0");
  return integer();
}

std::string RandomKernel::text(const std::string& name) {
  narrow_ = chance(25);
  for (int k = 0; k < kInts; ++k) {
    line("mad.lo.u32 %a0, %gid, 7, " + std::to_string(k * 37));
    line("and.b32 %a0, %a0, " + std::to_string(kInputWords - 1));
    line("mul.wide.u32 %ad0, %a0, 4");
    line("add.s64 %ad0, %ad0, %in");
    line("ld.global.u32 %r" + std::to_string(k) + ", [%ad0]");
    if (k < kWides) line("cvt.u64.u32 %rd" + std::to_string(k) + ", %r" + std::to_string(k));
    if (k < kFloats) line("cvt.rn.f32.s32 %f" + std::to_string(k) + ", %r" + std::to_string(k));
    if (k < kDoubles) line("cvt.rn.f64.s32 %fd" + std::to_string(k) + ", %r" + std::to_string(k));
    if (k < kPredicates) line("setp.gt.s32 %p" + std::to_string(k) + ", %r" + std::to_string(k) + ", 0");
  }
  if (chance(70)) line("mov.u32 %r0, %tidx");
  if (chance(70)) line("mov.u32 %r1, %number");
  if (chance(50)) line("mov.u32 %r2, %ctaid.x");
  line("st.shared.u32 [%sbase], %r3");
  line("bar.sync 0");
  for (uint32_t k = 8 + below(30); k-- > 0;) statement(0);
  body_ += "DONE:\n";
  line("mul.wide.u32 %ad0, %gid, " + std::to_string(4 * kOutputWordsAThread));
  line("add.s64 %ad0, %ad0, %out");
  for (int k = 0; k < kInts; ++k)
    line("st.global.u32 [%ad0+" + std::to_string(4 * k) + "], %r" + std::to_string(k));
  for (int k = 0; k < kFloats; ++k)
    line("st.global.f32 [%ad0+" + std::to_string(40 + 4 * k) + "], %f" + std::to_string(k));
  for (int k = 0; k < kDoubles; ++k)
    line("st.global.f64 [%ad0+" + std::to_string(64 + 8 * k) + "], %fd" + std::to_string(k));
  line("xor.b64 %rd0, %rd0, %rd1");
  line("add.s64 %rd0, %rd0, %rd2");
  line("st.global.u64 [%ad0+88], %rd0");
  line("ret");
  const auto parameter = [&](const char* type, const char* what) {
    return std::string(".param .") + type + " " + name + "_" + what;
  };
  const auto load = [&](const char* type, const char* what, const char* to) {
    return std::string("ld.param.") + type + " " + to + ", [" + name + "_" + what + "];\n";
  };
  return ".version 9.0\n.target sm_80\n.address_size 64\n.file 1 \"random.cu\"\n.visible .entry " + name +
         "(" + parameter("u64", "in") + ", " + parameter("u64", "out") + ", " + parameter("u64", "pool") +
         ", " + parameter("u32", "n") +
         ")\n{\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<4>;\n" +
         ".reg .pred %p<8>, %q<99>;\n.reg .b32 %a<4>, %i<99>, %n<99>, %gid, %tidx, %number, %sbase;\n" +
         ".reg .b64 %ad<4>, %in, %out, %pool;\n.shared .align 16 .b8 tile[" +
         std::to_string(4 * kSharedWords + 64) + "];\n" + load("u64", "in", "%in") +
         load("u64", "out", "%out") + load("u64", "pool", "%pool") + load("u32", "n", "%number") +
         "mov.u32 %sbase, tile;\nmov.u32 %tidx, %tid.x;\nmov.u32 %gid, %ctaid.x;\n" +
         "mov.u32 %a0, %ntid.x;\nmad.lo.u32 %gid, %gid, %a0, %tidx;\n" + body_ + "}\n";
}

}  // namespace warpgrade::emu
