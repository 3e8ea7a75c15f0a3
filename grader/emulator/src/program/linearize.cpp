// Resolves the names of a kernel and of the functions it calls, and lays out its shared, local and parameter
// memory.
//
// A function's registers and frame are placed once, not once a call: without recursion a lane is inside a
// function at most once. A call copies arguments into the callee's frame and remembers the lane's return
// address. Frames of functions that recur, that pointers reach or that call alloca lie on the lane's stack
// instead, behind a register; their arguments and results go through a mailbox, whose layout caller and
// callee derive from the prototype alone.
#include <algorithm>
#include <deque>

#include "program/call_graph.h"
#include "program/linear.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

constexpr uint32_t kSharedGap = 64;  // between shared variables, so that small overruns hit nobody

uint32_t round_up(uint32_t value, uint32_t align) {
  return (value + align - 1) / align * align;
}

// Sizes are 32 bits wide from here on, and far from wrapping below these limits, which are a GPU's or larger.
constexpr uint64_t kMostLocal = 16 << 20, kMostShared = 16 << 20, kMostParams = 32764;

void check_room(const char* what, uint64_t used, uint64_t bytes, uint64_t limit) {
  if (bytes <= limit && used + bytes <= limit) return;
  throw PtxError("unsupported size: more than " + std::to_string(limit) + " bytes in the " + what, 0);
}

struct Symbol {
  Space space;
  uint64_t value;
  bool dynamic_shared = false;
  bool in_frame = false;
};

// Where callers find the parameters and results of a function.
struct FunctionLayout {
  const Function* source = nullptr;
  bool dynamic = false;  // the frame lies on the lane's stack
  bool recursive = false;
  uint32_t frame_bytes = 0;
  std::unordered_map<std::string_view, uint32_t> offsets;
};

uint32_t mailbox_bytes(const std::vector<Variable>& variables) {
  uint32_t end = 0;
  for (const Variable& v : variables)
    end = round_up(end, std::max(v.align, 8u)) + static_cast<uint32_t>(v.bytes());
  return end;
}

struct Scope {
  std::unordered_map<std::string_view, uint32_t> registers;
  std::unordered_map<std::string_view, Type> families;
  std::unordered_map<std::string_view, Symbol> symbols;
};

bool is_builtin_call(std::string_view name) {
  return name == "vprintf" || name == "__assertfail" || name == "malloc" || name == "free";
}

class Linearizer {
 public:
  Linearizer(Module& module, const SymbolTable& variables) : module_(module), variables_(variables) {}

  LinearProgram run(Function& entry) {
    calls_ = find_calls(module_, entry);
    layout_params(entry);
    place_mailbox();
    function_id(entry, 0);
    number_callees();
    return std::move(program_);
  }

  // Linearizes a function and, before it, everything it calls. Numbers are given on the way down.
  uint32_t function_id(Function& function, uint32_t call_site);

  Module& module() { return module_; }
  const CallGraph& calls() const { return calls_; }
  const FunctionLayout& layout(uint32_t id) const { return layouts_[id]; }

  // Offsets in each lane's stack at which a list of parameters lies between caller and callee.
  std::vector<uint32_t> mailbox(const std::vector<Variable>& variables) const {
    std::vector<uint32_t> offsets;
    uint32_t at = mailbox_begin_;
    for (const Variable& v : variables) {
      at = round_up(at, std::max(v.align, 8u));
      offsets.push_back(at);
      at += static_cast<uint32_t>(v.bytes());
    }
    return offsets;
  }

  Symbol shared_variable(const Variable& v) {
    if (v.count == 0) return {Space::shared, 0, true};
    const auto known = shared_offsets_.find(v.name);
    if (known != shared_offsets_.end()) return {Space::shared, known->second};
    const uint32_t gap = program_.shared.empty() ? 0 : kSharedGap;
    const uint32_t begin = round_up(program_.shared_end + gap, std::max(v.align, 4u));
    check_room("shared memory of a block", program_.shared_end, v.bytes(), kMostShared);
    const auto bytes = static_cast<uint32_t>(v.bytes());
    program_.shared.push_back({std::string(v.name), begin, begin + bytes});
    program_.shared_end = begin + bytes;
    program_.static_shared_bytes = round_up(program_.static_shared_bytes, v.align) + bytes;
    shared_offsets_[v.name] = begin;
    return {Space::shared, begin};
  }

  static uint32_t take_frame(uint32_t& end, uint64_t bytes, uint32_t align) {
    check_room("local memory of a thread", end, bytes, kMostLocal);
    const uint32_t offset = round_up(end, std::max(align, 8u));
    end = offset + static_cast<uint32_t>(bytes);
    return offset;
  }
  uint32_t take_local(uint64_t bytes, uint32_t align) {
    return take_frame(program_.local_bytes, bytes, align);
  }

  bool find_global(std::string_view name, Symbol& symbol) {
    const auto declared = module_.variables.find(name);
    if (declared != module_.variables.end() && declared->second.space == Space::shared) {
      symbol = shared_variable(declared->second);
      return true;
    }
    const auto placed = variables_.find(name);
    if (placed != variables_.end()) {
      symbol = {Space::global, placed->second};
      return true;
    }
    const auto function = module_.functions.find(name);
    if (function == module_.functions.end() || function->second.is_entry) return false;
    symbol = {Space::global, module_.address_of(function->second)};
    return true;
  }

  bool find_kernel_param(std::string_view name, Symbol& symbol) const {
    const auto found = kernel_params_.find(name);
    if (found == kernel_params_.end()) return false;
    symbol = {Space::param, found->second};
    return true;
  }

 private:
  void layout_params(const Function& entry) {
    for (const Variable& p : entry.params) {
      const uint32_t offset = round_up(program_.param_bytes, p.align);
      check_room("parameters of a kernel", offset, p.bytes(), kMostParams);
      const auto bytes = static_cast<uint32_t>(p.bytes());
      kernel_params_[p.name] = offset;
      program_.params.push_back({offset, bytes});
      program_.param_bytes = offset + bytes;
    }
  }

  void place_mailbox() {
    uint32_t bytes = 0;
    for (const std::string_view name : calls_.dynamic) {
      const Function& f = module_.functions.at(name);
      bytes = std::max({bytes, mailbox_bytes(f.params), mailbox_bytes(f.returns)});
    }
    mailbox_begin_ = take_local(bytes, 16);
  }

  FunctionLayout lay_out(const Function& function) {
    FunctionLayout layout;
    layout.source = &function;
    layout.dynamic = calls_.dynamic.count(function.name) != 0;
    layout.recursive = calls_.recursive.count(function.name) != 0;
    if (function.is_entry) return layout;
    for (const auto* list : {&function.params, &function.returns}) {
      for (const Variable& v : *list) {
        layout.offsets[v.name] = layout.dynamic ? take_frame(layout.frame_bytes, v.bytes(), v.align)
                                                : take_local(v.bytes(), v.align);
      }
    }
    return layout;
  }

  // Calls name functions by number; the program holds them in the order in which they were finished.
  void number_callees() {
    for (LinearFunction& f : program_.functions) {
      for (LinearInst& i : f.code) {
        if (i.is("call")) i.target = place_[i.target];
        for (uint32_t& callee : i.callees) callee = place_[callee];
      }
    }
  }

  Module& module_;
  const SymbolTable& variables_;
  CallGraph calls_;
  LinearProgram program_;
  uint32_t mailbox_begin_ = 0;
  std::unordered_map<std::string_view, uint32_t> function_ids_;
  std::deque<FunctionLayout> layouts_;  // by number
  std::vector<uint32_t> place_;         // in the program, by number
  std::unordered_map<std::string_view, uint32_t> shared_offsets_;
  std::unordered_map<std::string_view, uint32_t> kernel_params_;
};

class FunctionLinearizer {
 public:
  FunctionLinearizer(Linearizer& owner, const FunctionLayout& layout, uint32_t call_site)
      : owner_(owner), call_site_(call_site) {
    result_.source = layout.source;
    result_.recursive = layout.recursive;
    result_.frame_bytes = layout.frame_bytes;
    scopes_.emplace_back();
    if (!layout.source->is_entry) declare_frame(layout);
  }

  LinearFunction run() {
    for (const Statement& statement : result_.source->body) {
      std::visit([this](const auto& s) { add(s); }, statement);
    }
    add_return();
    resolve_labels();
    return std::move(result_);
  }

 private:
  void declare_frame(const FunctionLayout& layout) {
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

  [[noreturn]] void fail(const std::string& message, std::string_view near) const {
    PtxError error(message, line_of(owner_.module().text, near));
    error.location = location_;
    throw error;
  }

  uint32_t new_register(Type type) {
    result_.registers.push_back(type);
    return static_cast<uint32_t>(result_.registers.size() - 1);
  }

  void add(const ScopeOpen&) { scopes_.emplace_back(); }
  void add(const ScopeClose&) {
    if (scopes_.size() == 1) fail("a '}' without its '{' in " + std::string(result_.source->name), {});
    scopes_.pop_back();
  }
  void add(const Label& label) { labels_[label.name] = static_cast<uint32_t>(result_.code.size()); }
  void add(const BranchTargets& table) { branch_targets_[table.name] = &table; }
  void add(const CallPrototype&) {}

  void add(const RegisterDeclaration& r) {
    if (r.is_family) {
      scopes_.back().families[r.name] = r.type;
    } else {
      scopes_.back().registers[r.name] = new_register(r.type);
    }
  }

  void add(const Variable& v) {
    if (v.space == Space::shared) {
      scopes_.back().symbols[v.name] = owner_.shared_variable(v);
    } else if (result_.frame_register != kNoRegister) {
      const uint32_t offset = Linearizer::take_frame(result_.frame_bytes, v.bytes(), v.align);
      scopes_.back().symbols[v.name] = {Space::local, offset, false, true};
    } else {
      scopes_.back().symbols[v.name] = {Space::local, owner_.take_local(v.bytes(), v.align)};
    }
  }

  void add(const Instruction& i) {
    location_ = i.location != 0 ? i.location : call_site_;
    if (i.parts[0] == "call") return add_call(i);
    LinearInst out = begin(i);
    if (out.is("bra") || out.is("brx")) {
      if (i.operands.size() < (out.is("brx") ? 2 : 1)) fail("a branch without its operands", i.opcode);
      label_uses_.push_back({result_.code.size(), i.operands.back().name});
      if (out.is("brx")) out.operands.push_back(resolve(i.operands.front()));
    } else if (out.is("ret") || out.is("exit")) {
      if (result_.source->is_entry) set_opcode(out, "exit");
    } else {
      for (const Operand& o : i.operands) out.operands.push_back(resolve(o));
    }
    result_.code.push_back(std::move(out));
  }

  LinearInst begin(const Instruction& i) {
    LinearInst out;
    out.opcode = i.opcode;
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

  static void set_opcode(LinearInst& inst, std::string_view opcode) {
    inst.opcode = opcode;
    inst.parts.assign(1, opcode);
  }

  void add_return() {
    LinearInst out;
    set_opcode(out, result_.source->is_entry ? "exit" : "ret");
    if (!result_.code.empty()) out.location = result_.code.back().location;
    result_.code.push_back(std::move(out));
  }

  void add_call(const Instruction& i) {
    const CallOperands operands = call_operands(i);
    if (operands.callee == nullptr) fail("call without a function", i.opcode);
    const std::string_view name = operands.callee->name;
    const auto function = owner_.module().functions.find(name);
    if (is_builtin_call(name)) {
      LinearInst out = begin(i);
      set_opcode(out, name);
      add_operands(out, operands.arguments);
      add_operands(out, operands.results);
      result_.code.push_back(std::move(out));
    } else if (function != owner_.module().functions.end() && function->second.has_body()) {
      add_direct_call(i, function->second, operands);
    } else if (find_register(name) != kNoRegister) {
      add_indirect_call(i, operands);
    } else {
      fail("unsupported call of " + std::string(name) + " (a function without a PTX body)", name);
    }
  }

  void add_operands(LinearInst& out, const Operand* list) {
    if (list == nullptr) return;
    for (const Operand& o : list->elements) {
      Ref ref;
      resolve_name(o.name, ref);
      out.operands.push_back(std::move(ref));
    }
  }

  void add_direct_call(const Instruction& i, Function& callee, const CallOperands& operands) {
    LinearInst call = begin(i);
    set_opcode(call, "call");
    call.target = owner_.function_id(callee, location_);
    const FunctionLayout& layout = owner_.layout(call.target);
    const auto places = [&](const std::vector<Variable>& formal) {
      if (layout.dynamic) return owner_.mailbox(formal);
      std::vector<uint32_t> offsets;
      for (const Variable& v : formal) offsets.push_back(layout.offsets.at(v.name));
      return offsets;
    };
    finish_call(i, std::move(call), operands, callee.params, places(callee.params), callee.returns,
                places(callee.returns));
  }

  void add_indirect_call(const Instruction& i, const CallOperands& operands) {
    const CallPrototype* prototype = find_prototype(*result_.source, operands.prototype);
    if (prototype == nullptr) fail("unsupported call through a pointer without a prototype", i.opcode);
    LinearInst call = begin(i);
    set_opcode(call, "call.indirect");
    call.operands.push_back(resolve(*operands.callee));
    for (Function* target : owner_.calls().targets_of(*prototype))
      call.callees.push_back(owner_.function_id(*target, location_));
    if (call.callees.empty()) {
      result_.code.push_back(std::move(call));  // whatever the pointer holds, it is reported
      return;
    }
    finish_call(i, std::move(call), operands, prototype->params, owner_.mailbox(prototype->params),
                prototype->returns, owner_.mailbox(prototype->returns));
  }

  // The call with its copies of arguments, and what takes the results back.
  void finish_call(const Instruction& i, LinearInst call, const CallOperands& operands,
                   const std::vector<Variable>& params, const std::vector<uint32_t>& param_places,
                   const std::vector<Variable>& returns, const std::vector<uint32_t>& return_places) {
    LinearInst back = begin(i);
    set_opcode(back, "call.return");
    const std::vector<uint32_t> arguments = offsets_of(operands.arguments, params.size(), i.opcode);
    const std::vector<uint32_t> results = offsets_of(operands.results, returns.size(), i.opcode);
    for (size_t k = 0; k < params.size(); ++k)
      call.copies.push_back({arguments[k], param_places[k], static_cast<uint32_t>(params[k].bytes())});
    for (size_t k = 0; k < returns.size(); ++k)
      back.copies.push_back({return_places[k], results[k], static_cast<uint32_t>(returns[k].bytes())});
    result_.code.push_back(std::move(call));
    if (!back.copies.empty()) result_.code.push_back(std::move(back));
  }

  // Where the caller keeps arguments or results in its frame.
  std::vector<uint32_t> offsets_of(const Operand* list, size_t wanted, std::string_view near) {
    const size_t count = list == nullptr ? 0 : list->elements.size();
    if (count != wanted) fail("call with a wrong number of parameters", near);
    std::vector<uint32_t> offsets;
    for (size_t k = 0; k < count; ++k) {
      Ref ref;
      resolve_name(list->elements[k].name, ref);
      if (ref.kind != Ref::Kind::symbol || ref.space != Space::local)
        fail("unsupported register parameter in a call", list->elements[k].name);
      offsets.push_back(static_cast<uint32_t>(ref.value));
    }
    return offsets;
  }

  uint32_t find_register(std::string_view name) {
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

  bool find_symbol(std::string_view name, Symbol& symbol) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto found = scope->symbols.find(name);
      if (found == scope->symbols.end()) continue;
      symbol = found->second;
      return true;
    }
    if (result_.source->is_entry && owner_.find_kernel_param(name, symbol)) return true;
    return owner_.find_global(name, symbol);
  }

  Ref resolve(const Operand& o) {
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

  // The address of a variable in the frame, in a register of its own.
  Ref frame_address(const Ref& variable) {
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

  void resolve_name(std::string_view name, Ref& ref) {
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
      ref.in_frame = symbol.in_frame;
    } else if (owner_.module().functions.count(name) != 0) {
      fail("unsupported address of kernel " + std::string(name), name);
    } else {
      fail("unknown symbol " + std::string(name), name);
    }
  }

  void resolve_labels() {
    for (const auto& [index, name] : label_uses_) {
      LinearInst& inst = result_.code[index];
      if (inst.is("bra")) {
        inst.target = label(name);
        continue;
      }
      const auto table = branch_targets_.find(name);
      if (table == branch_targets_.end()) fail("unknown branch table " + std::string(name), name);
      if (table->second->labels.empty()) fail("the branch table " + std::string(name) + " is empty", name);
      for (const std::string_view target : table->second->labels) inst.targets.push_back(label(target));
    }
  }

  uint32_t label(std::string_view name) const {
    const auto found = labels_.find(name);
    if (found == labels_.end()) fail("unknown label " + std::string(name), name);
    return found->second;
  }

  Linearizer& owner_;
  uint32_t call_site_;     // stands for instructions without a place of their own, as in library code
  uint32_t location_ = 0;  // of the instruction being added
  LinearFunction result_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, uint32_t> labels_;
  std::unordered_map<std::string_view, const BranchTargets*> branch_targets_;
  std::vector<std::pair<size_t, std::string_view>> label_uses_;
};

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

}  // namespace

LinearProgram linearize(Module& module, Function& entry, const SymbolTable& variables) {
  return Linearizer(module, variables).run(entry);
}

}  // namespace warpgrade::emu
