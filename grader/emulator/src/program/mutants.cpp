#include "program/mutants.h"

#include <algorithm>
#include <charconv>

#include "program/build.h"
#include "program/mutant_operators.h"
#include "ptx/parser.h"
#include "report/json_line.h"

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

std::optional<std::string> rewritten(const WrittenInstruction& in, const std::string& operation) {
  if (operation == kReachOperator) return in.guarded() + "trap;";
  const auto operators = mutant_operators();
  const auto found = std::find_if(operators.begin(), operators.end(),
                                  [&](const MutantOperator& one) { return one.name == operation; });
  return found == operators.end() ? std::nullopt : found->rewrite(in);
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
  line.text("title", kernel_title(key.function)).number("ordinal", key.ordinal);
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
  for (Function* function : functions) {
    parse_body(module, *function);
    uint32_t ordinal = 0, block = 0;
    for (const Statement& statement : function->body) {
      if (std::holds_alternative<Label>(statement)) ++block;
      const auto* instruction = std::get_if<Instruction>(&statement);
      if (instruction == nullptr) continue;
      const WrittenInstruction in = written(module, *instruction);
      for (const MutantOperator& one : mutant_operators()) {
        if (!one.rewrite(in)) continue;
        found.push_back({{one.name, std::string(function->name), ordinal},
                         block,
                         line_of(module.text, instruction->opcode),
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
