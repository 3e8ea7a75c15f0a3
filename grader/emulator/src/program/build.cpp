#include "program/build.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>

#include "base/device_name.h"
#include "program/block_meetings.h"
#include "program/computed_addresses.h"
#include "program/decode.h"
#include "program/guarded_loads.h"
#include "program/instruction_class.h"
#include "program/slots.h"
#include "program/unawaited_products.h"
#include "program/unset_locals.h"
#include "program/write_set.h"
#include "ptx/parser.h"
#include "support/base_name.h"
#include "support/settings.h"

namespace warpgrade::emu {
namespace {

class Builder {
 public:
  Builder(Module& module, LinearProgram linear) : module_(module), linear_(std::move(linear)) {}

  std::unique_ptr<Program> run() {
    program_ = std::make_unique<Program>();
    program_->module = &module_;
    take_layout();
    program_->writes = find_write_set(linear_);
    for (LinearFunction& f : linear_.functions) {
      if (settings().race_check && is_tritons(f)) guard_loads_as_their_stores(f);
      order_blocks(f);
      begin_.push_back(size_);
      size_ += static_cast<uint32_t>(f.code.size());
      slots_.push_back(assign_slots(f, file_));
      program_->register_count += static_cast<uint32_t>(f.registers.size());
    }
    note_functions();
    program_->code.resize(size_);
    program_->texts.resize(size_);
    program_->written.resize(size_);
    program_->operations.resize(size_);
    for (uint32_t f = 0; f < linear_.functions.size(); ++f) decode_function(f);
    program_->entry = begin_.back();
    program_->param_slot = param_slot_;
    file_.finish(*program_);
    mark_patient_loops();
    note_synchronization();
    return std::move(program_);
  }

 private:
  void take_layout() {
    program_->shared_variables = linear_.shared;
    for (SharedVariable& v : program_->shared_variables) v.name = variable_title(v.name);
    program_->dynamic_arrays = linear_.dynamic_arrays;
    for (DynamicArray& array : program_->dynamic_arrays) array.name = variable_title(array.name);
    program_->static_shared_bytes = linear_.static_shared_bytes;
    const uint32_t gap = linear_.shared.empty() ? 0 : 64;
    const uint32_t align = linear_.dynamic_shared_align;
    program_->dynamic_shared_begin = (linear_.shared_end + gap + align - 1) / align * align;
    program_->local_bytes = (linear_.local_bytes + 15) / 16 * 16;
    program_->params = linear_.params;
    program_->param_bytes = linear_.param_bytes;
  }

  // In a source in Python, under a plain name; Numba mangles those of its kernels.
  bool is_tritons(const LinearFunction& function) const {
    if (function.source->name.starts_with("_Z")) return false;
    return std::any_of(function.code.begin(), function.code.end(), [&](const LinearInst& i) {
      return place_of(module_, i.location).path.ends_with(".py");
    });
  }

  void decode_function(uint32_t f) {
    LinearFunction& function = linear_.functions[f];
    const std::vector<bool> computed = computed_addresses(function);
    const std::map<uint32_t, uint32_t> unset = stores_of_unset_locals(function);
    const std::set<uint32_t> unawaited = uses_of_unawaited_products(function);
    for (uint32_t k = 0; k < function.code.size(); ++k) {
      LinearInst& in = function.code[k];
      resolve_targets(f, in);
      const uint32_t index = begin_[f] + k;
      Inst& out = program_->code[index];
      out.index = index;
      out.location = in.location;
      program_->texts[index] = std::string(in.opcode);
      program_->written[index] = in.written;
      if (in.guard != kNoRegister) {
        out.guard = slots_[f][in.guard];
        out.guard_flip = in.guard_negated ? ~0u : 0u;
      }
      Decode d(in, slots_[f], file_, *program_, param_slot_, out);
      try {
        decode(d);
        out.control = classify(in.opcode) == InstructionClass::control;
        if (in.is("ld") && in.operands[1].reg != kNoRegister && computed[in.operands[1].reg])
          out.flags |= kComputedAddress;
        if (const auto store = unset.find(k); store != unset.end()) {
          out.flags |= kStoresUnset;
          out.target = begin_[f] + store->second;
        }
        if (unawaited.count(k) != 0 && out.inner == nullptr) {
          out.inner = out.run;
          d.handler("wgmma.unawaited");
        }
      } catch (const Unsupported& refusal) {
        const Program::Place place = place_of(module_, in.location);
        throw BuildError("unsupported " + std::string(in.opcode) + " (" + refusal.why + ")", place.path,
                         place.line);
      }
    }
  }

  // Instruction numbers of the function become those of the program; calls and tables become records.
  void resolve_targets(uint32_t f, LinearInst& in) {
    if (in.is("bra")) {
      in.target += begin_[f];
    } else if (in.is("brx")) {
      for (uint32_t& t : in.targets) t += begin_[f];
      program_->branch_tables.push_back(in.targets);
      in.target = static_cast<uint32_t>(program_->branch_tables.size() - 1);
    } else if (in.is("call")) {
      note_call(f, in, in.target);
    } else if (in.is("call.indirect") || in.is("call.return")) {
      note_call(f, in, 0);
    } else if (in.is("ret")) {
      in.target = f;
    }
  }

  void note_call(uint32_t caller, LinearInst& in, uint32_t callee) {
    CallRecord record{callee, program_->functions[caller].frame_slot, in.copies, {}};
    for (const uint32_t target : in.callees)
      record.targets[module_.address_of(*linear_.functions[target].source)] = target;
    program_->calls.push_back(std::move(record));
    in.target = static_cast<uint32_t>(program_->calls.size() - 1);
  }

  void note_functions() {
    for (uint32_t f = 0; f < linear_.functions.size(); ++f) {
      const LinearFunction& function = linear_.functions[f];
      FunctionRecord record;
      record.entry = begin_[f];
      if (function.return_register != kNoRegister) record.return_slot = slots_[f][function.return_register];
      if (function.frame_register != kNoRegister) {
        record.frame_slot = slots_[f][function.frame_register];
        record.frame_bytes = (std::max(function.frame_bytes, 1u) + 15) / 16 * 16;
        program_->grows_stack = true;
      }
      record.params = function.params;
      record.results = function.results;
      if (function.recursive) record.saved = registers_of(f);
      program_->functions.push_back(std::move(record));
    }
  }

  std::vector<SavedRegister> registers_of(uint32_t f) const {
    std::map<uint32_t, uint32_t> bytes_by_slot;  // registers share slots
    for (size_t r = 0; r < slots_[f].size(); ++r) {
      if (slots_[f][r] != kNoSlot)
        bytes_by_slot[slots_[f][r]] = lane_bytes(linear_.functions[f].registers[r]);
    }
    std::vector<SavedRegister> registers;
    for (const auto& [slot, bytes] : bytes_by_slot) registers.push_back({slot, bytes});
    return registers;
  }

  // A short loop that holds one of these waits for another thread.
  static bool waits_for_others(const std::string& opcode) {
    for (const char* sign : {".cas", ".exch", "volatile", "_wait", "ld.relaxed", "ld.acquire", "nanosleep"}) {
      if (opcode.find(sign) != std::string::npos) return true;
    }
    return false;
  }

  static constexpr uint32_t kShortLoop = 40;

  void mark_patient_loops() {
    for (Inst& i : program_->code) {
      const std::string& text = program_->texts[i.index];
      if (text.compare(0, 3, "bra") != 0 || i.target > i.index || i.index - i.target >= kShortLoop) continue;
      for (uint32_t k = i.target; k < i.index; ++k) i.patient |= waits_for_others(program_->texts[k]);
    }
  }

  static bool holds(const std::string& text, std::initializer_list<const char*> signs) {
    return std::any_of(signs.begin(), signs.end(),
                       [&](const char* sign) { return text.find(sign) != std::string::npos; });
  }

  // Loads of a volatile shared variable in a loop that neither stores nor meets others: a flag that is
  // polled. A volatile array that is worked on in a loop is none.
  std::vector<bool> polled_shared_flags() const {
    std::vector<bool> polled(program_->code.size());
    for (const Inst& i : program_->code) {
      const auto at = [&](uint32_t k) -> const std::string& { return program_->texts[k]; };
      if (at(i.index).compare(0, 3, "bra") != 0 || i.target > i.index || i.index - i.target >= kShortLoop)
        continue;
      bool only_looks = true;
      for (uint32_t k = i.target; k < i.index; ++k) {
        only_looks &= !holds(at(k).substr(0, 4), {"st.", "red.", "bar", "atom"});
      }
      for (uint32_t k = i.target; k < i.index && only_looks; ++k) {
        polled[k] = polled[k] || (at(k).compare(0, 3, "ld.") == 0 && holds(at(k), {"volatile", "relaxed"}));
      }
    }
    return polled;
  }

  // Loads of memory in a loop that must see what others write meanwhile: such a kernel's blocks wait for
  // each other, and how long they wait depends on the order in which blocks run.
  bool polls_memory() const {
    for (const Inst& i : program_->code) {
      if (program_->texts[i.index].compare(0, 3, "bra") != 0 || i.target > i.index) continue;
      for (uint32_t k = i.target; k < i.index; ++k) {
        const std::string& text = program_->texts[k];
        if (text.compare(0, 3, "ld.") == 0 && !holds(text, {".shared"}) &&
            holds(text, {"volatile", "relaxed", "acquire"}))
          return true;
      }
    }
    return false;
  }

  // What racecheck needs to know of the code.
  void note_synchronization() {
    const std::vector<bool> polled = polled_shared_flags();
    program_->waits_for_blocks = polls_memory();
    for (const Inst& i : program_->code) {
      const std::string& text = program_->texts[i.index];
      const bool is_fence = holds(text, {"membar", "fence"}), shared = holds(text, {".shared"});
      const bool orders = holds(text, {".cas", ".exch", "acquire", "release", ".acq_rel", "mbarrier"});
      const bool polls = !shared && holds(text, {"volatile", "relaxed"});  // a flag in memory
      // Who issues a copy of the copy engine's waits for nothing; who waits at its barrier does.
      const bool issues = holds(text.substr(0, 13), {"cp.async.bulk", "cp.reduce."});
      program_->synchronizes.push_back(!is_fence && !issues && (orders || polls || polled[i.index]));
      program_->compares_and_swaps |= holds(text, {".cas"});
      program_->orders_blocks |= holds(text, {"barrier.cluster"});
      program_->orders_blocks |= is_fence ? !holds(text, {".cta", ".cl"}) : !shared && (orders || polls);
      const bool moves = i.category == Category::memory || i.category == Category::atomic;
      const bool maybe_shared = i.space == Space::shared || i.space == Space::generic;
      program_->narrow_shared |= moves && maybe_shared && i.bytes != 0 && i.bytes < 4;
    }
    if (program_->orders_blocks) note_block_meetings(*program_);
  }

  Module& module_;
  LinearProgram linear_;
  std::unique_ptr<Program> program_;
  RegisterFile file_;
  std::vector<uint32_t> begin_;               // first instruction of each function
  std::vector<std::vector<uint32_t>> slots_;  // by function and virtual register
  uint32_t size_ = 0;
  uint32_t param_slot_ = kNoSlot;
};

}  // namespace

Program::Place place_of(const Module& module, uint32_t location) {
  Program::Place place;
  if (location == 0 || location >= module.locations.size()) return place;
  uint32_t outermost = location;
  while (module.locations[outermost].parent >= 0)
    outermost = static_cast<uint32_t>(module.locations[outermost].parent);
  const auto file_name = [&](uint32_t file) {
    const auto found = module.files.find(file);
    return found == module.files.end() ? std::string("?") : found->second;
  };
  place.path = file_name(module.locations[outermost].file);
  place.line = module.locations[outermost].line;
  if (outermost != location) {
    const SourceLocation& inner = module.locations[location];
    place.inlined_from = base_name(file_name(inner.file)) + ":" + std::to_string(inner.line);
  }
  return place;
}

Program::Place Program::place(const Inst& inst) const {
  return place_of(*module, inst.location);
}

// A name that is not mangled is a title already: `f` would be demangled to a type.
std::string kernel_title(const std::string& name) {
  const std::string mangled(without_file(name));
  if (!mangled.starts_with("_Z")) return mangled;
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string title = status == 0 ? demangled : mangled;
  std::free(demangled);
  if (status != 0) return title;
  // Numba's names: tags say how a kernel was compiled, and a function within another one has `<locals>`.
  constexpr std::string_view kLocals = "_3clocals_3e::";
  for (size_t at = title.find(kLocals); at != std::string::npos; at = title.find(kLocals))
    title.erase(at, kLocals.size());
  for (size_t at = title.find("[abi:"); at != std::string::npos; at = title.find("[abi:", at))
    title.erase(at, title.find(']', at) - at + 1);
  // The parameter list is the last parenthesis at depth 0; a result type stands before a space at depth 0.
  int depth = 0;
  size_t begin = 0, end = title.size();
  for (size_t k = 0; k < title.size(); ++k) {
    const char c = title[k];
    if (depth == 0 && c == ' ' && end == title.size()) begin = k + 1;
    if (depth == 0 && c == '(' && title.compare(k, 21, "(anonymous namespace)") != 0) {
      end = k;
      break;
    }
    depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
  }
  return title.substr(begin, end - begin);
}

std::string variable_title(const std::string& name) {
  const std::string mangled(without_file(name));
  if (!mangled.starts_with("_Z")) return mangled;
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string title = status == 0 ? demangled : mangled;
  std::free(demangled);
  const size_t scope = title.rfind("::");
  return status == 0 && scope != std::string::npos ? title.substr(scope + 2) : title;
}

std::unique_ptr<Program> build_program(Module& module, const std::string& kernel,
                                       const SymbolTable& variables) {
  const auto found = module.functions.find(kernel);
  if (found == module.functions.end() || !found->second.has_body()) {
    throw BuildError("kernel " + kernel_title(kernel) + " is not in the PTX of this program", "", 0);
  }
  try {
    LinearProgram linear = linearize(module, found->second, variables);
    std::unique_ptr<Program> program = Builder(module, std::move(linear)).run();
    program->name = kernel;
    program->title = kernel_title(kernel);
    if (found->second.max_threads != 0) program->max_threads = found->second.max_threads;
    std::copy_n(found->second.cluster, 3, program->cluster);
    return program;
  } catch (const PtxError& error) {
    const Program::Place place = place_of(module, error.location);
    const std::string where = " (line " + std::to_string(error.line) + " of the PTX)";
    throw BuildError(error.what() + (place.line == 0 ? where : std::string()), place.path, place.line);
  }
}

}  // namespace warpgrade::emu
