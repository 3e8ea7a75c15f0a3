// Resolves the names of a kernel and of the functions it calls, and lays out its shared, local and parameter
// memory.
//
// A function's registers and stack frame are placed once, not once a call: without recursion a lane is inside
// a function at most once. A call copies arguments into the callee's frame and remembers the lane's return
// address.
#include <algorithm>
#include <unordered_set>

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
};

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
    layout_params(entry);
    function_index(entry, 0);
    return std::move(program_);
  }

  // Linearizes a function and, before it, everything it calls.
  uint32_t function_index(Function& function, uint32_t call_site);

  Module& module() { return module_; }
  LinearProgram& program() { return program_; }
  const LinearFunction& function(uint32_t index) const { return program_.functions[index]; }

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

  uint32_t take_local(uint64_t bytes, uint32_t align) {
    check_room("local memory of a thread", program_.local_bytes, bytes, kMostLocal);
    const uint32_t offset = round_up(program_.local_bytes, std::max(align, 8u));
    program_.local_bytes = offset + static_cast<uint32_t>(bytes);
    return offset;
  }

  bool find_global(std::string_view name, Symbol& symbol) {
    const auto declared = module_.variables.find(name);
    if (declared != module_.variables.end() && declared->second.space == Space::shared) {
      symbol = shared_variable(declared->second);
      return true;
    }
    const auto placed = variables_.find(name);
    if (placed == variables_.end()) return false;
    symbol = {Space::global, placed->second};
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

  Module& module_;
  const SymbolTable& variables_;
  LinearProgram program_;
  std::unordered_map<std::string_view, uint32_t> function_indices_;
  std::unordered_set<std::string_view> in_progress_;
  std::unordered_map<std::string_view, uint32_t> shared_offsets_;
  std::unordered_map<std::string_view, uint32_t> kernel_params_;
};

class FunctionLinearizer {
 public:
  FunctionLinearizer(Linearizer& owner, const Function& source, uint32_t call_site)
      : owner_(owner), call_site_(call_site) {
    result_.source = &source;
    scopes_.emplace_back();
    if (!source.is_entry) declare_frame(source);
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
  void declare_frame(const Function& source) {
    result_.return_register = new_register(Type::u32);
    for (const auto* list : {&source.params, &source.returns}) {
      for (const Variable& v : *list) {
        const uint32_t offset = owner_.take_local(v.bytes(), v.align);
        scopes_.back().symbols[v.name] = {Space::local, offset};
        result_.frame[v.name] = offset;
      }
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

  // call[.uni] [(results),] function [, (arguments)] [, prototype]
  void add_call(const Instruction& i) {
    std::vector<const Operand*> lists;
    const Operand* callee = nullptr;
    size_t results = 0;
    for (const Operand& o : i.operands) {
      if (o.kind == Operand::Kind::vector) {
        lists.push_back(&o);
      } else if (callee == nullptr) {
        callee = &o;
        results = lists.size();
      }
    }
    if (callee == nullptr) fail("call without a function", i.opcode);
    const Operand* result_list = results > 0 ? lists[0] : nullptr;
    const Operand* argument_list = lists.size() > results ? lists[results] : nullptr;
    if (is_builtin_call(callee->name)) {
      LinearInst out = begin(i);
      set_opcode(out, callee->name);
      add_operands(out, argument_list);
      add_operands(out, result_list);
      result_.code.push_back(std::move(out));
    } else {
      add_function_call(i, *callee, argument_list, result_list);
    }
  }

  void add_operands(LinearInst& out, const Operand* list) {
    if (list == nullptr) return;
    for (const Operand& o : list->elements) out.operands.push_back(resolve(o));
  }

  void add_function_call(const Instruction& i, const Operand& callee, const Operand* arguments,
                         const Operand* results) {
    const auto found = owner_.module().functions.find(callee.name);
    if (found == owner_.module().functions.end() || !found->second.has_body()) {
      const bool indirect = find_register(callee.name) != kNoRegister;
      fail(indirect ? "unsupported call through a function pointer"
                    : "unsupported call of " + std::string(callee.name) + " (a function without a PTX body)",
           callee.name);
    }
    LinearInst call = begin(i);
    set_opcode(call, "call");
    call.target = owner_.function_index(found->second, location_);
    LinearInst back = begin(i);
    set_opcode(back, "call.return");
    back.parts[0] = "call.return";
    const LinearFunction& target = owner_.function(call.target);
    copy_list(found->second.params, target, arguments, [&](uint32_t mine, uint32_t theirs, uint32_t bytes) {
      call.copies.push_back({mine, theirs, bytes});
    });
    copy_list(found->second.returns, target, results, [&](uint32_t mine, uint32_t theirs, uint32_t bytes) {
      back.copies.push_back({theirs, mine, bytes});
    });
    result_.code.push_back(std::move(call));
    if (!back.copies.empty()) result_.code.push_back(std::move(back));
  }

  template <class Add>
  void copy_list(const std::vector<Variable>& formal, const LinearFunction& target, const Operand* actual,
                 Add add_copy) {
    const size_t count = actual == nullptr ? 0 : actual->elements.size();
    if (count != formal.size()) fail("call with a wrong number of parameters", target.source->name);
    for (size_t k = 0; k < count; ++k) {
      const Ref mine = resolve(actual->elements[k]);
      if (mine.kind != Ref::Kind::symbol || mine.space != Space::local) {
        fail("unsupported register parameter in a call", actual->elements[k].name);
      }
      add_copy(static_cast<uint32_t>(mine.value), target.frame.at(formal[k].name),
               static_cast<uint32_t>(formal[k].bytes()));
    }
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
        for (const Operand& e : o.elements) ref.elements.push_back(resolve(e));
        break;
      case Operand::Kind::name:
        resolve_name(o.name, ref);
        break;
    }
    if (!o.second.empty() && o.second != "_") {
      ref.second = find_register(o.second);
      if (ref.second == kNoRegister) fail("unknown register " + std::string(o.second), o.second);
    }
    return ref;
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
    } else if (owner_.module().functions.count(name) != 0) {
      fail("unsupported address of function " + std::string(name), name);
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

uint32_t Linearizer::function_index(Function& function, uint32_t call_site) {
  const auto known = function_indices_.find(function.name);
  if (known != function_indices_.end()) return known->second;
  if (!in_progress_.insert(function.name).second) {
    PtxError error("unsupported recursion in " + std::string(function.name),
                   line_of(module_.text, function.name));
    error.location = call_site;
    throw error;
  }
  parse_body(module_, function);
  LinearFunction linear = FunctionLinearizer(*this, function, call_site).run();
  in_progress_.erase(function.name);
  program_.functions.push_back(std::move(linear));
  const auto index = static_cast<uint32_t>(program_.functions.size() - 1);
  function_indices_[function.name] = index;
  return index;
}

}  // namespace

LinearProgram linearize(Module& module, Function& entry, const SymbolTable& variables) {
  return Linearizer(module, variables).run(entry);
}

}  // namespace warpgrade::emu
