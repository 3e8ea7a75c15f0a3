#include "program/slots.h"

namespace warpgrade::emu {

std::vector<uint32_t> assign_slots(const LinearFunction& function, RegisterFile& file) {
  std::vector<uint32_t> slots;
  for (const Type type : function.registers) slots.push_back(file.allocate(lane_bytes(type)));
  return slots;
}

}  // namespace warpgrade::emu
