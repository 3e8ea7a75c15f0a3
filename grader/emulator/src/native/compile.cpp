// From a program to its native code.
#include <cpuid.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "native/avx2_emitter.h"
#include "native/avx512_emitter.h"
#include "program/handlers.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostInstructions = 20000;                          // of a kernel that is compiled
constexpr size_t kBytesAnInstruction = 4000, kSpareBytes = 1 << 16;  // what is not used is given back
constexpr size_t kMostBytes = 64 << 20;                              // of a process, in all kernels

// Where the interpreter takes over, and which registers it finds as scalars.
void describe_blocks(const Flow& flow, NativeCode& code) {
  code.units = flow.units();
  code.blocks.resize(flow.blocks().size());
  for (size_t b = 0; b < flow.blocks().size(); ++b) {
    const FlowBlock& from = flow.blocks()[b];
    NativeBlock& to = code.blocks[b];
    to.begin = from.begin;
    to.end = from.end;
    code.block_at[from.begin] = static_cast<uint32_t>(b);
    for (uint32_t u = 0; u < flow.units(); ++u) {
      const Fact& f = from.in[u];
      if (f.is_scalar() && from.live_in.test(u))
        to.scalars.push_back({u * kSlotUnit, f.bytes, f.known, f.stride, f.value});
    }
  }
}

std::unique_ptr<NativeCode> compile(const Program& program, const NativeMode& mode,
                                    const std::set<std::pair<uint32_t, uint32_t>>& doubted) {
  auto code = std::make_unique<NativeCode>();
  const Flow flow(program, mode.shape, doubted);
  code->block_at.assign(program.code.size(), Flow::kNone);
  describe_blocks(flow, *code);
  const bool wide = native_level() == NativeLevel::avx512;
  code->memory = CodeMemory(program.code.size() * kBytesAnInstruction + kSpareBytes);
  if (code->memory.data() == nullptr) throw std::runtime_error("no memory for code");
  std::unique_ptr<Emitter> emitter;
  if (wide) {
    emitter = std::make_unique<Avx512Emitter>(program, flow, mode, code->memory, *code);
  } else {
    emitter = std::make_unique<Avx2Emitter>(program, flow, mode, code->memory, *code);
  }
  emitter->run();
  if (emitter->hasUndefinedLabel()) throw std::logic_error("a label is missing");
  if (!code->memory.seal(emitter->getSize())) throw std::runtime_error("the code may not be executed");
  return code;
}

// Asked of the processor itself: not every compiler's __builtin_cpu_supports() knows the word.
bool has_lzcnt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (c & bit_LZCNT) != 0;
}

}  // namespace

NativeLevel native_level() {
  static const NativeLevel level = [] {
    const std::string_view isa = isa_name();
    if (isa == "v4") return NativeLevel::avx512;
    const bool bits = __builtin_cpu_supports("bmi") && has_lzcnt();
    return isa == "v3" && bits ? NativeLevel::avx2 : NativeLevel::none;
  }();
  return level;
}

std::unique_ptr<NativeCode> compile_native(const Program& program, const NativeMode& mode,
                                           const std::set<std::pair<uint32_t, uint32_t>>& doubted) {
  if (!can_compile() || program.code.size() > kMostInstructions || CodeMemory::sealed_bytes() >= kMostBytes)
    return nullptr;
  try {
    return compile(program, mode, doubted);
  } catch (const std::exception& error) {
    // Too much work or code, memory that is not there, or a form that the assembler does not take: the
    // interpreter does it.
    if (settings().dump_native) std::fprintf(stderr, "emulator: not compiled: %s\n", error.what());
    return nullptr;
  }
}

}  // namespace warpgrade::emu
