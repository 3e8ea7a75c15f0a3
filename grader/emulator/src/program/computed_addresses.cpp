#include "program/computed_addresses.h"

namespace warpgrade::emu {
namespace {

bool takes_register(const LinearInst& i, size_t k) {
  return k < i.operands.size() && i.operands[k].kind == Ref::Kind::reg;
}

// What defines a register by arithmetic or a copy; not what brings a value from elsewhere.
bool is_arithmetic(const LinearInst& i) {
  return i.is("mov") || i.is("cvta") || i.is("add") || i.is("sub") || i.is("mad") || i.is("shl") ||
         i.is("or");
}

bool combines_registers(const LinearInst& i) {
  return (i.is("mad") || i.is("add") || i.is("sub")) && takes_register(i, 1) && takes_register(i, 2);
}

}  // namespace

std::vector<bool> computed_addresses(const LinearFunction& function) {
  std::vector<uint32_t> definitions(function.registers.size(), 0);
  std::vector<bool> computed(function.registers.size(), false), foreign(function.registers.size(), false);
  for (const LinearInst& i : function.code) {
    if (!takes_register(i, 0)) continue;
    const uint32_t d = i.operands[0].reg;
    ++definitions[d];
    if (!is_arithmetic(i)) foreign[d] = true;
    if (combines_registers(i)) computed[d] = true;
  }
  for (size_t r = 0; r < computed.size(); ++r) {
    if (definitions[r] > 1) computed[r] = true;
    if (foreign[r]) computed[r] = false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const LinearInst& i : function.code) {
      if (!takes_register(i, 0) || !is_arithmetic(i) || !takes_register(i, 1)) continue;
      const uint32_t d = i.operands[0].reg;
      if (computed[d] || foreign[d] || !computed[i.operands[1].reg]) continue;
      computed[d] = true;
      changed = true;
    }
  }
  return computed;
}

}  // namespace warpgrade::emu
