#include "program/mutants.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "program/build.h"
#include "program/mutant_operators.h"
#include "ptx/parser.h"
#include "support/json_line.h"

namespace warpgrade::emu {
namespace {

// As it stands in the text, from the opcode on.
std::string_view text_of(const Module& module, const Instruction& instruction) {
  const size_t begin = static_cast<size_t>(instruction.opcode.data() - module.text.data());
  return std::string_view(module.text).substr(begin, module.text.find(';', begin) - begin);
}

WrittenInstruction written(const Module& module, const Instruction& instruction) {
  WrittenInstruction in = read_written(text_of(module, instruction));
  in.guard = (instruction.guard_negated ? "!" : "") + std::string(instruction.guard);
  return in;
}

// Numbers of a text's lines, for places in ascending order: counted once, since a module may have megabytes.
class LineCounter {
 public:
  explicit LineCounter(const std::string& text) : text_(text) {}
  uint32_t line_of(std::string_view place) {
    const size_t at = static_cast<size_t>(place.data() - text_.data());
    if (at < at_) at_ = 0, line_ = 1;
    line_ += static_cast<uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                              text_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    at_ = at;
    return line_;
  }

 private:
  const std::string& text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

std::optional<std::string> rewritten(const WrittenInstruction& in, const std::string& operation) {
  if (operation == kReachOperator) return in.guarded() + "trap;";
  const auto operators = mutant_operators();
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const MutantOperator& one) { return one.name == operation; });
  return found == operators.end() ? std::nullopt : found->rewrite(in);
}

// Takes a product of 64 bits apart or mixes its bits: no offset comes of it.
bool takes_words(const WrittenInstruction& in) {
  return in.is("xor") || in.is("and") || in.is("or") || in.is("shr") || in.has("hi") ||
         (in.is("cvt") && in.parts.size() > 2 && in.type().ends_with("64")) ||
         (in.is("mov") && in.operands[0].starts_with('{'));
}

// The registers of a function that something reads as a whole.
std::set<std::string, std::less<>> read_whole(const Module& module, const Function& function) {
  std::set<std::string, std::less<>> names;
  for (const Statement& statement : function.body) {
    const auto* instruction = std::get_if<Instruction>(&statement);
    if (instruction == nullptr) continue;
    const WrittenInstruction in = written(module, *instruction);
    if (in.operands.empty() || takes_words(in)) continue;
    // What a store writes to stands first, too.
    for (size_t k = in.is("st") || in.is("red") ? 0 : 1; k < in.operands.size(); ++k) {
      const std::string& operand = in.operands[k];
      for (size_t at = operand.find('%'); at != operand.npos; at = operand.find('%', at + 1))
        names.insert(operand.substr(at, operand.find_first_of(",+-]} ", at) - at));
    }
  }
  return names;
}

// A product that is an offset is read as a whole. Philox takes its products apart: with one of them cut, other
// random numbers come out that are as random.
bool shows(const MutantOperator& one, const WrittenInstruction& in,
           const std::set<std::string, std::less<>>& whole) {
  return std::string_view(one.name) != "offset_32" || whole.contains(in.operands[0]);
}

// What the text means at the place of `instruction`, whose source line it keeps.
std::vector<Statement> read_statements(Module& module, const std::string& text,
                                       const Instruction& instruction) {
  Function part;
  part.name = "mutant";
  module.mutant_text = text;
  const std::vector<std::string_view> tokens = tokenize(module.mutant_text);
  part.body_begin = module.tokens.size();
  module.tokens.insert(module.tokens.end(), tokens.begin(), tokens.end());
  part.body_end = module.tokens.size();
  parse_body(module, part);
  for (Statement& statement : part.body) {
    if (auto* one = std::get_if<Instruction>(&statement)) one->location = instruction.location;
  }
  return std::move(part.body);
}

}  // namespace

std::optional<MutantKey> read_mutant_key(std::string_view text) {
  const size_t first = text.find(':'), last = text.rfind(':');
  if (first == text.npos || first == last || first == 0) return std::nullopt;
  MutantKey key{std::string(text.substr(0, first)), std::string(text.substr(first + 1, last - first - 1)), 0};
  const std::string_view digits = text.substr(last + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), key.ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || key.function.empty())
    return std::nullopt;
  return key;
}

std::string MutantFacts::json_line() const {
  JsonLine line;
  line.text("mutant", key.text()).text("operator", key.operation).text("kernel", key.function);
  line.text("title", kernel_title(key.function)).number("in_kernel", in_kernel ? 1 : 0);
  line.number("ordinal", key.ordinal);
  line.number("block", block).number("ptx_line", ptx_line);
  line.text("ptx", ptx).text("file", place.path).number("line", place.line);
  line.text("inlined_from", place.inlined_from);
  return line.str();
}

std::vector<MutantFacts> list_mutants(Module& module) {
  std::vector<Function*> functions;
  for (auto& [name, function] : module.functions) {
    if (function.has_body()) functions.push_back(&function);
  }
  std::sort(functions.begin(), functions.end(),
            [](const Function* x, const Function* y) { return x->body_begin < y->body_begin; });
  std::vector<MutantFacts> found;
  LineCounter lines(module.text);
  for (Function* function : functions) {
    parse_body(module, *function);
    const auto whole = read_whole(module, *function);
    uint32_t ordinal = 0, block = 0;
    for (const Statement& statement : function->body) {
      if (std::holds_alternative<Label>(statement)) ++block;
      const auto* instruction = std::get_if<Instruction>(&statement);
      if (instruction == nullptr) continue;
      const WrittenInstruction in = written(module, *instruction);
      for (const MutantOperator& one : mutant_operators()) {
        if (!one.rewrite(in) || !shows(one, in, whole)) continue;
        found.push_back({{one.name, std::string(function->name), ordinal},
                         function->is_entry,
                         block,
                         lines.line_of(instruction->opcode),
                         in.text(),
                         place_of(module, instruction->location)});
      }
      ++ordinal;
      if (in.is("bra") || in.is("brx") || in.is("ret") || in.is("exit")) ++block;
    }
  }
  return found;
}

bool apply_mutant(Module& module, const MutantKey& key) {
  const auto found = module.functions.find(key.function);
  if (found == module.functions.end() || !found->second.has_body()) return false;
  std::vector<Statement>& body = found->second.body;
  parse_body(module, found->second);
  uint32_t ordinal = 0;
  for (auto at = body.begin(); at != body.end(); ++at) {
    const auto* instruction = std::get_if<Instruction>(&*at);
    if (instruction == nullptr || ordinal++ != key.ordinal) continue;
    const auto text = rewritten(written(module, *instruction), key.operation);
    if (!text) break;
    std::vector<Statement> statements = read_statements(module, *text, *instruction);
    at = body.erase(at);
    body.insert(at, std::make_move_iterator(statements.begin()), std::make_move_iterator(statements.end()));
    return true;
  }
  throw PtxError("WARPEMU_MUTANT=" + key.text() + ": the function has no such instruction", 0);
}

}  // namespace warpgrade::emu
