#include "exec/handlers.h"

#include <cstdio>
#include <string>
#include <unordered_map>

#include "support/settings.h"

namespace warpgrade::emu {

struct HandlerTable::Impl {
  std::unordered_map<std::string, Handler> map;
};

void HandlerTable::add(Handler handler, const char* op, const char* modifier, const char* type) {
  if (impl_ == nullptr) impl_ = new Impl;
  std::string name = op;
  for (const char* part : {modifier, type}) {
    if (*part != '\0') name.append(".").append(part);
  }
  impl_->map[name] = handler;
}

Handler HandlerTable::find(const char* name) const {
  const auto found = impl_->map.find(name);
  return found == impl_->map.end() ? nullptr : found->second;
}

namespace {

// The levels that this library was built with: of x86-64 v2 is in each, other processors have one.
#ifdef WARPEMU_HAS_base

const char* choose_isa() {
  if (!settings().isa.empty() && settings().isa != "base") {
    std::fprintf(stderr, "emulator: WARPEMU_ISA=%s ignored: this processor has the level base alone\n",
                 settings().isa.c_str());
  }
  return "base";
}

#else
#ifdef WARPEMU_HAS_v3
constexpr bool kBuiltV3 = true;
#else
constexpr bool kBuiltV3 = false;
#endif
#ifdef WARPEMU_HAS_v4
constexpr bool kBuiltV4 = true;
#else
constexpr bool kBuiltV4 = false;
#endif

const char* choose_isa() {
#ifdef __clang__  // some versions do not know the word; every processor with AVX2 has it
  const bool has_f16c = true;
#else
  const bool has_f16c = __builtin_cpu_supports("f16c");
#endif
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2") && has_f16c;
  const bool has_v4 = has_v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  const bool v3 = kBuiltV3 && has_v3, v4 = kBuiltV4 && has_v4;
  const std::string& wanted = settings().isa;
  if (wanted == "v2" || (wanted == "v3" && v3)) return wanted == "v2" ? "v2" : "v3";
  const char* const best = v4 ? "v4" : v3 ? "v3" : "v2";
  if (wanted.empty() || wanted == best) return best;
  const bool is_level = wanted == "v3" || wanted == "v4";
  std::fprintf(
      stderr, "emulator: WARPEMU_ISA=%s ignored: %s; %s is used\n", wanted.c_str(),
      is_level ? "this processor or this build does not have it" : "no such level, want v2, v3 or v4", best);
  return best;
}

#endif

#define WARPEMU_ADD_ISA(isa)           \
  isa::add_bit_handlers(table);        \
  isa::add_integer_handlers(table);    \
  isa::add_float_handlers(table);      \
  isa::add_half_handlers(table);       \
  isa::add_convert_handlers(table);    \
  isa::add_logic_handlers(table);      \
  isa::add_memory_handlers(table);     \
  isa::add_atomic_handlers(table);     \
  isa::add_warp_handlers(table);       \
  isa::add_mma_handlers(table);        \
  isa::add_matrix_handlers(table);     \
  isa::add_warp_group_handlers(table); \
  isa::add_packed_handlers(table)

HandlerTable build() {
  HandlerTable table;
  switch (isa_name()[1]) {
#ifdef WARPEMU_HAS_base
    case 'a':
      WARPEMU_ADD_ISA(isa_base);
      break;
#else
    case '2':
      WARPEMU_ADD_ISA(isa_v2);
      break;
#endif
#ifdef WARPEMU_HAS_v3
    case '3':
      WARPEMU_ADD_ISA(isa_v3);
      break;
#endif
#ifdef WARPEMU_HAS_v4
    case '4':
      WARPEMU_ADD_ISA(isa_v4);
      break;
#endif
    default:
      break;  // choose_isa() names only what was built
  }
  add_control_handlers(table);
  add_barrier_handlers(table);
  add_system_handlers(table);
  add_call_handlers(table);
  add_heap_handlers(table);
  add_async_copy_handlers(table);
  add_mbarrier_handlers(table);
  add_bulk_copy_handlers(table);
  add_copy_engine_handlers(table);
  add_tensor_copy_handlers(table);
  add_tensor_map_handlers(table);
  add_unawaited_handlers(table);
  add_texture_handlers(table);
  add_condition_handlers(table);
  add_nested_launch_handlers(table);
  add_device_runtime_handlers(table);
  return table;
}

#undef WARPEMU_ADD_ISA

}  // namespace

const char* isa_name() {
  static const char* name = choose_isa();
  return name;
}

const HandlerTable& handlers() {
  static const HandlerTable table = build();
  return table;
}

}  // namespace warpgrade::emu
