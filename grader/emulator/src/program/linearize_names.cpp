// From operands by name to registers, symbols and numbers.
#include "program/linearize.h"

namespace warpgrade::emu {

uint32_t FunctionLinearizer::find_register(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->registers.find(name);
    if (found != scope->registers.end()) return found->second;
    if (digits == name.size()) continue;
    const auto family = scope->families.find(name.substr(0, digits));
    if (family != scope->families.end()) return scope->registers[name] = new_register(family->second);
  }
  return kNoRegister;
}

bool FunctionLinearizer::find_symbol(std::string_view name, Symbol& symbol) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->symbols.find(name);
    if (found == scope->symbols.end()) continue;
    symbol = found->second;
    return true;
  }
  if (result_.source->is_entry && owner_.find_kernel_param(name, symbol)) return true;
  return owner_.find_global(name, symbol);
}

Ref FunctionLinearizer::resolve(const Operand& o) {
  Ref ref;
  ref.negated = o.negated;
  ref.offset = o.offset;
  switch (o.kind) {
    case Operand::Kind::sink:
      break;
    case Operand::Kind::number:
      ref.kind = Ref::Kind::number;
      ref.value = o.bits;
      ref.type = o.number_type;
      break;
    case Operand::Kind::vector:
      ref.kind = Ref::Kind::vector;
      for (const Operand& e : o.elements) ref.elements.push_back(resolve(e));
      break;
    case Operand::Kind::address:
      resolve_name(o.name, ref);
      if (ref.kind == Ref::Kind::special) fail("unknown address base " + std::string(o.name), o.name);
      ref.kind = Ref::Kind::address;
      if (ref.in_frame) {
        ref.reg = result_.frame_register;
        ref.type = Type::u64;
        ref.offset += static_cast<int64_t>(ref.value);
      }
      for (const Operand& e : o.elements) ref.elements.push_back(resolve(e));
      break;
    case Operand::Kind::name:
      resolve_name(o.name, ref);
      if (ref.in_frame) ref = frame_address(ref);
      break;
  }
  if (!o.second.empty() && o.second != "_") {
    ref.second = find_register(o.second);
    if (ref.second == kNoRegister) fail("unknown register " + std::string(o.second), o.second);
  }
  return ref;
}

Ref FunctionLinearizer::frame_address(const Ref& variable) {
  Ref base, sum, offset;
  base.kind = sum.kind = Ref::Kind::reg;
  base.type = sum.type = Type::u64;
  base.reg = result_.frame_register;
  sum.reg = new_register(Type::u64);
  offset.kind = Ref::Kind::number;
  offset.value = variable.value + static_cast<uint64_t>(variable.offset);
  LinearInst add;
  add.opcode = "add.s64";
  add.parts = {"add", "s64"};
  add.location = location_;
  add.operands = {sum, base, offset};
  result_.code.push_back(std::move(add));
  return sum;
}

void FunctionLinearizer::resolve_name(std::string_view name, Ref& ref) {
  if (name.empty()) return;
  ref.reg = find_register(name);
  Symbol symbol{};
  if (ref.reg != kNoRegister) {
    ref.kind = Ref::Kind::reg;
    ref.type = result_.registers[ref.reg];
  } else if (name.front() == '%') {
    ref.kind = Ref::Kind::special;
    ref.name = name;
  } else if (find_symbol(name, symbol)) {
    ref.kind = Ref::Kind::symbol;
    ref.space = symbol.space;
    ref.value = symbol.value;
    ref.dynamic_shared = symbol.dynamic_shared;
    if (symbol.dynamic_shared) owner_.note_dynamic_array(name, location_);
    ref.in_frame = symbol.in_frame;
  } else {
    fail("unknown symbol " + std::string(name), name);
  }
}

}  // namespace warpgrade::emu
