// What the files of linearize share: a kernel with all that it calls, and one function of it.
//
// A function's registers and frame are placed once, not once a call: without recursion a lane is inside a
// function at most once. A call copies arguments into the callee's frame and remembers the lane's return
// address. Frames of functions that recur, that pointers reach or that call alloca lie on the lane's stack
// instead, behind a register; their arguments and results go through a mailbox, whose layout caller and
// callee derive from the prototype alone.
#pragma once
#include <deque>
#include <map>

#include "program/call_graph.h"
#include "program/linear.h"

namespace warpgrade::emu {

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

struct Scope {
  std::unordered_map<std::string_view, uint32_t> registers;
  std::unordered_map<std::string_view, Type> families;
  std::unordered_map<std::string_view, Symbol> symbols;
  uint32_t number = 0;  // of the block in braces; 0: the function
};

class Linearizer {
 public:
  Linearizer(Module& module, const SymbolTable& variables) : module_(module), variables_(variables) {}

  LinearProgram run(Function& entry) {
    calls_ = find_calls(module_, entry);
    program_.shared_end = system_shared_bytes();
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

  // Memory (place_memory.cpp).
  // Offsets in each lane's stack at which a list of parameters lies between caller and callee.
  std::vector<uint32_t> mailbox(const std::vector<Variable>& variables) const;
  Symbol shared_variable(const Variable& v);
  void note_dynamic_array(std::string_view name, uint32_t location);
  static uint32_t take_frame(uint32_t& end, uint64_t bytes, uint32_t align);
  uint32_t take_local(uint64_t bytes, uint32_t align);
  bool find_global(std::string_view name, Symbol& symbol);
  bool find_kernel_param(std::string_view name, Symbol& symbol) const;

 private:
  void layout_params(const Function& entry);
  void place_mailbox();
  FunctionLayout lay_out(const Function& function);

  // Calls name functions by number; the program holds them in the order in which they were finished.
  void number_callees();

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
  FunctionLinearizer(Linearizer& owner, const FunctionLayout& layout, uint32_t call_site);
  LinearFunction run();

 private:
  void declare_frame(const FunctionLayout& layout);
  [[noreturn]] void fail(const std::string& message, std::string_view near) const;
  uint32_t new_register(Type type);
  void add(const ScopeOpen&);
  void add(const ScopeClose&);
  void add(const Label& label) {
    labels_[{scopes_.back().number, label.name}] = static_cast<uint32_t>(result_.code.size());
  }
  void add(const BranchTargets& table) { branch_targets_[table.name] = &table; }
  void add(const CallPrototype&) {}

  void add(const RegisterDeclaration& r);
  void add(const Variable& v);
  void add(const Instruction& i);
  LinearInst begin(const Instruction& i);
  static void set_opcode(LinearInst& inst, std::string_view opcode);
  void add_return();

  // Calls (linearize_calls.cpp).
  void add_call(const Instruction& i);
  void add_operands(LinearInst& out, const Operand* list);
  void add_direct_call(const Instruction& i, Function& callee, const CallOperands& operands);
  void add_indirect_call(const Instruction& i, const CallOperands& operands);

  // The call with its copies of arguments, and what takes the results back.
  void finish_call(const Instruction& i, LinearInst call, const CallOperands& operands,
                   const std::vector<Variable>& params, const std::vector<uint32_t>& param_places,
                   const std::vector<Variable>& returns, const std::vector<uint32_t>& return_places);

  // Where the caller keeps arguments or results in its frame.
  std::vector<uint32_t> offsets_of(const Operand* list, size_t wanted, std::string_view near);

  // Names (linearize_names.cpp).
  uint32_t find_register(std::string_view name);
  bool find_symbol(std::string_view name, Symbol& symbol);
  Ref resolve(const Operand& o);

  // The address of a variable in the frame, in a register of its own.
  Ref frame_address(const Ref& variable);
  void resolve_name(std::string_view name, Ref& ref);

  void resolve_labels();
  uint32_t label(std::string_view name, uint32_t scope) const;

  Linearizer& owner_;
  uint32_t call_site_;     // stands for instructions without a place of their own, as in library code
  uint32_t location_ = 0;  // of the instruction being added
  LinearFunction result_;
  std::vector<Scope> scopes_;
  // Labels are known in the braces around them: inlined assembly repeats their names.
  std::map<std::pair<uint32_t, std::string_view>, uint32_t> labels_;  // by scope and name
  std::vector<uint32_t> outer_scope_{0};                              // of each scope
  std::unordered_map<std::string_view, const BranchTargets*> branch_targets_;
  struct LabelUse {
    size_t instruction;
    std::string_view name;
    uint32_t scope;
  };
  std::vector<LabelUse> label_uses_;
};

}  // namespace warpgrade::emu
