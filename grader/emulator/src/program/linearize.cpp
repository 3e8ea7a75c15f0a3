// Resolves the names of a kernel and of the functions it calls; statements become a list of instructions
// a function.
#include "program/linearize.h"

#include "ptx/parser.h"

namespace warpgrade::emu {

FunctionLinearizer::FunctionLinearizer(Linearizer& owner, const FunctionLayout& layout, uint32_t call_site)
    : owner_(owner), call_site_(call_site) {
  result_.source = layout.source;
  result_.recursive = layout.recursive;
  result_.frame_bytes = layout.frame_bytes;
  scopes_.emplace_back();
  if (!layout.source->is_entry) declare_frame(layout);
}

LinearFunction FunctionLinearizer::run() {
  for (const Statement& statement : result_.source->body) {
    std::visit([this](const auto& s) { add(s); }, statement);
  }
  add_return();
  resolve_labels();
  return std::move(result_);
}

void FunctionLinearizer::declare_frame(const FunctionLayout& layout) {
  result_.return_register = new_register(Type::u32);
  if (layout.dynamic) result_.frame_register = new_register(Type::u64);
  for (const auto& [name, offset] : layout.offsets) {
    scopes_.back().symbols[name] = {Space::local, offset, false, layout.dynamic};
  }
  if (!layout.dynamic) return;
  const Function& f = *layout.source;
  const std::vector<uint32_t> params = owner_.mailbox(f.params), results = owner_.mailbox(f.returns);
  for (size_t k = 0; k < params.size(); ++k) {
    const Variable& v = f.params[k];
    result_.params.push_back({params[k], layout.offsets.at(v.name), static_cast<uint32_t>(v.bytes())});
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const Variable& v = f.returns[k];
    result_.results.push_back({layout.offsets.at(v.name), results[k], static_cast<uint32_t>(v.bytes())});
  }
}

void FunctionLinearizer::fail(const std::string& message, std::string_view near) const {
  PtxError error(message, line_of(owner_.module().text, near));
  error.location = location_;
  throw error;
}

uint32_t FunctionLinearizer::new_register(Type type) {
  result_.registers.push_back(type);
  return static_cast<uint32_t>(result_.registers.size() - 1);
}

void FunctionLinearizer::add(const ScopeOpen&) {
  const uint32_t around = scopes_.back().number;
  scopes_.emplace_back();
  scopes_.back().number = static_cast<uint32_t>(outer_scope_.size());
  outer_scope_.push_back(around);
}

void FunctionLinearizer::add(const ScopeClose&) {
  if (scopes_.size() == 1) fail("a '}' without its '{' in " + std::string(result_.source->name), {});
  scopes_.pop_back();
}

void FunctionLinearizer::add(const RegisterDeclaration& r) {
  if (r.is_family) {
    scopes_.back().families[r.name] = r.type;
  } else {
    scopes_.back().registers[r.name] = new_register(r.type);
  }
}

void FunctionLinearizer::add(const Variable& v) {
  if (v.space == Space::shared) {
    scopes_.back().symbols[v.name] = owner_.shared_variable(v);
  } else if (result_.frame_register != kNoRegister) {
    const uint32_t offset = Linearizer::take_frame(result_.frame_bytes, v.bytes(), v.align);
    scopes_.back().symbols[v.name] = {Space::local, offset, false, true};
  } else {
    scopes_.back().symbols[v.name] = {Space::local, owner_.take_local(v.bytes(), v.align)};
  }
}

void FunctionLinearizer::add(const Instruction& i) {
  location_ = i.location != 0 ? i.location : call_site_;
  if (i.parts[0] == "call") return add_call(i);
  LinearInst out = begin(i);
  if (out.is("bra") || out.is("brx")) {
    if (i.operands.size() < (out.is("brx") ? 2 : 1)) fail("a branch without its operands", i.opcode);
    label_uses_.push_back({result_.code.size(), i.operands.back().name, scopes_.back().number});
    if (out.is("brx")) out.operands.push_back(resolve(i.operands.front()));
  } else if (out.is("ret") || out.is("exit")) {
    if (result_.source->is_entry) set_opcode(out, "exit");
  } else {
    for (const Operand& o : i.operands) out.operands.push_back(resolve(o));
  }
  result_.code.push_back(std::move(out));
}

LinearInst FunctionLinearizer::begin(const Instruction& i) {
  LinearInst out;
  out.opcode = i.opcode;
  out.written = i.opcode.data();
  out.parts = i.parts;
  out.location = location_;
  out.frame = result_.frame_register;
  if (!i.guard.empty()) {
    out.guard = find_register(i.guard);
    out.guard_negated = i.guard_negated;
    if (out.guard == kNoRegister) fail("unknown guard " + std::string(i.guard), i.guard);
  }
  return out;
}

void FunctionLinearizer::set_opcode(LinearInst& inst, std::string_view opcode) {
  inst.opcode = opcode;
  inst.parts.assign(1, opcode);
}

void FunctionLinearizer::add_return() {
  LinearInst out;
  set_opcode(out, result_.source->is_entry ? "exit" : "ret");
  if (!result_.code.empty()) out.location = result_.code.back().location;
  result_.code.push_back(std::move(out));
}

void FunctionLinearizer::resolve_labels() {
  for (const auto& [index, name, scope] : label_uses_) {
    LinearInst& inst = result_.code[index];
    if (inst.is("bra")) {
      inst.target = label(name, scope);
      continue;
    }
    const auto table = branch_targets_.find(name);
    if (table == branch_targets_.end()) fail("unknown branch table " + std::string(name), name);
    if (table->second->labels.empty()) fail("the branch table " + std::string(name) + " is empty", name);
    for (const std::string_view target : table->second->labels) inst.targets.push_back(label(target, scope));
  }
}

uint32_t FunctionLinearizer::label(std::string_view name, uint32_t scope) const {
  for (;; scope = outer_scope_[scope]) {
    const auto found = labels_.find({scope, name});
    if (found != labels_.end()) return found->second;
    if (scope == 0) fail("unknown label " + std::string(name), name);
  }
}

void Linearizer::number_callees() {
  for (LinearFunction& f : program_.functions) {
    for (LinearInst& i : f.code) {
      if (i.is("call")) i.target = place_[i.target];
      for (uint32_t& callee : i.callees) callee = place_[callee];
    }
  }
}

uint32_t Linearizer::function_id(Function& function, uint32_t call_site) {
  const auto id = static_cast<uint32_t>(layouts_.size());
  const auto [known, is_new] = function_ids_.try_emplace(function.name, id);
  if (!is_new) return known->second;
  parse_body(module_, function);
  const FunctionLayout layout = lay_out(function);
  layouts_.push_back(layout);
  place_.push_back(0);
  LinearFunction linear = FunctionLinearizer(*this, layout, call_site).run();
  place_[id] = static_cast<uint32_t>(program_.functions.size());
  program_.functions.push_back(std::move(linear));
  return id;
}

LinearProgram linearize(Module& module, Function& entry, const SymbolTable& variables) {
  return Linearizer(module, variables).run(entry);
}

}  // namespace warpgrade::emu
