// Who adds handlers to the table (program/handlers.h).
//
// The exec_*.cpp files are compiled once per level, each time inside another namespace (WARPEMU_ISA). They
// must not instantiate inline library code with external linkage: the linker could keep the copy with the
// newest instructions for everybody. A test checks that their objects define no weak symbol.
#pragma once
#include "program/handlers.h"
#include "state/machine.h"

namespace warpgrade::emu {

#define WARPEMU_DECLARE_ISA(isa)                     \
  namespace isa {                                    \
  void add_bit_handlers(HandlerTable& table);        \
  void add_integer_handlers(HandlerTable& table);    \
  void add_float_handlers(HandlerTable& table);      \
  void add_half_handlers(HandlerTable& table);       \
  void add_convert_handlers(HandlerTable& table);    \
  void add_logic_handlers(HandlerTable& table);      \
  void add_memory_handlers(HandlerTable& table);     \
  void add_atomic_handlers(HandlerTable& table);     \
  void add_warp_handlers(HandlerTable& table);       \
  void add_mma_handlers(HandlerTable& table);        \
  void add_matrix_handlers(HandlerTable& table);     \
  void add_warp_group_handlers(HandlerTable& table); \
  void add_packed_handlers(HandlerTable& table);     \
  }
WARPEMU_DECLARE_ISA(isa_base)
WARPEMU_DECLARE_ISA(isa_v2)
WARPEMU_DECLARE_ISA(isa_v3)
WARPEMU_DECLARE_ISA(isa_v4)
#undef WARPEMU_DECLARE_ISA

// Compiled once: branches, barriers, calls, printf (src/simt).
void add_control_handlers(HandlerTable& table);
void add_barrier_handlers(HandlerTable& table);
void add_system_handlers(HandlerTable& table);
void add_call_handlers(HandlerTable& table);
void add_heap_handlers(HandlerTable& table);
void add_async_copy_handlers(HandlerTable& table);
void add_mbarrier_handlers(HandlerTable& table);
void add_bulk_copy_handlers(HandlerTable& table);
void add_copy_engine_handlers(HandlerTable& table);
void add_tensor_copy_handlers(HandlerTable& table);
void add_tensor_map_handlers(HandlerTable& table);
void add_unawaited_handlers(HandlerTable& table);
void add_texture_handlers(HandlerTable& table);
void add_condition_handlers(HandlerTable& table);
void add_nested_launch_handlers(HandlerTable& table);
void add_device_runtime_handlers(HandlerTable& table);

}  // namespace warpgrade::emu
