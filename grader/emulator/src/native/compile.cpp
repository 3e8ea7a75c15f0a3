// From a program to its native code.
#include <cstdio>
#include <exception>
#include <string_view>

#include "exec/handlers.h"
#include "native/emitter.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

constexpr size_t kMostInstructions = 20000;  // of a kernel that is compiled
constexpr size_t kBytesAnInstruction = 1500, kSpareBytes = 1 << 16;

}  // namespace

std::unique_ptr<NativeCode> compile_native(const Program& program, const NativeMode& mode,
                                           const std::set<std::pair<uint32_t, uint32_t>>& doubted) {
  if (program.code.size() > kMostInstructions || isa_name() != std::string_view("v4")) return nullptr;
  auto code = std::make_unique<NativeCode>();
  const Flow flow(program, mode.shape, doubted);
  code->units = flow.units();
  code->blocks.resize(flow.blocks().size());
  code->block_at.assign(program.code.size(), Flow::kNone);
  for (size_t b = 0; b < flow.blocks().size(); ++b) {
    const FlowBlock& from = flow.blocks()[b];
    NativeBlock& to = code->blocks[b];
    to.begin = from.begin;
    to.end = from.end;
    code->block_at[from.begin] = static_cast<uint32_t>(b);
    for (uint32_t u = 0; u < flow.units(); ++u) {
      const Fact& f = from.in[u];
      if (f.is_scalar() && from.live_in.test(u))
        to.scalars.push_back({u * kSlotUnit, f.bytes, f.known, f.stride, f.value});
    }
  }
  code->memory = CodeMemory(program.code.size() * kBytesAnInstruction + kSpareBytes);
  if (code->memory.data() == nullptr) return nullptr;
  try {
    Emitter emitter(program, flow, mode, code->memory, *code);
    emitter.run();
    if (emitter.hasUndefinedLabel() || !code->memory.seal(emitter.getSize())) return nullptr;
  } catch (const std::exception& error) {
    // Too much code, or a form that the assembler does not take: the interpreter does it.
    if (settings().dump_native) std::fprintf(stderr, "emulator: not compiled: %s\n", error.what());
    return nullptr;
  }
  return code;
}

}  // namespace warpgrade::emu
