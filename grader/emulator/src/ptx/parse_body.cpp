// Function bodies: declarations, labels, .loc chains, instructions and their operands.
#include <cctype>
#include <map>
#include <tuple>

#include "ptx/parser.h"
#include "ptx/token_stream.h"

namespace warpgrade::emu {
namespace {

std::vector<std::string_view> split_opcode(std::string_view opcode) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (begin <= opcode.size()) {
    const size_t dot = std::min(opcode.find('.', begin), opcode.size());
    parts.push_back(opcode.substr(begin, dot - begin));
    begin = dot + 1;
  }
  return parts;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c));
}

Type literal_type(std::string_view token) {
  if (token.size() > 2 && token[0] == '0' && (token[1] == 'f' || token[1] == 'F')) return Type::f32;
  if (token.size() > 2 && token[0] == '0' && (token[1] == 'd' || token[1] == 'D')) return Type::f64;
  return token.find('.') != token.npos ? Type::f64 : Type::none;
}

class BodyParser {
 public:
  BodyParser(Module& module, Function& function)
      : module_(module), function_(function), in_(module, function.body_begin, function.body_end) {}

  void run() {
    while (!in_.done()) statement();
  }

 private:
  void statement() {
    const std::string_view token = in_.peek();
    if (token == ".loc") {
      location();
    } else if (in_.accept("{")) {
      emit(ScopeOpen{});
    } else if (in_.accept("}")) {
      emit(ScopeClose{});
    } else if (in_.accept(";")) {
    } else if (token == ".pragma") {
      in_.skip_past(";");
    } else if (in_.accept(".reg")) {
      registers();
    } else if (token == ".local" || token == ".shared" || token == ".param") {
      variable(token);
    } else if (in_.peek(1) == ":") {
      label();
    } else {
      instruction();
    }
  }

  template <class T>
  void emit(T statement) {
    function_.body.emplace_back(std::move(statement));
  }

  // .loc file line column [, function_name name [+ offset], inlined_at file line column]
  void location() {
    in_.next();
    SourceLocation loc = file_line_column();
    if (in_.at(",") && in_.peek(1) == "function_name") {
      in_.next();
      in_.next();
      in_.next();
      if (in_.accept("+")) in_.next();
      in_.expect(",");
      in_.expect("inlined_at");
      loc.parent = static_cast<int32_t>(call_site(file_line_column()));
    }
    // Line 0 marks compiler-made code: it belongs to what stands around it.
    if (loc.line != 0) location_ = add_location(loc);
  }

  SourceLocation file_line_column() {
    SourceLocation loc;
    loc.file = function_.file_base + static_cast<uint32_t>(in_.unsigned_number());
    loc.line = static_cast<uint32_t>(in_.unsigned_number());
    loc.column = static_cast<uint32_t>(in_.unsigned_number());
    return loc;
  }

  // A call site repeats the place of an earlier .loc, whose own call site then carries on the chain outwards.
  uint32_t call_site(const SourceLocation& loc) {
    const auto known = known_locations_.find({loc.file, loc.line, loc.column});
    return known != known_locations_.end() ? known->second : add_location(loc);
  }

  uint32_t add_location(const SourceLocation& loc) {
    const auto [known, inserted] = known_locations_.try_emplace({loc.file, loc.line, loc.column}, 0);
    if (!inserted && module_.locations[known->second].parent == loc.parent) return known->second;
    module_.locations.push_back(loc);
    return known->second = static_cast<uint32_t>(module_.locations.size() - 1);
  }

  void registers() {
    while (in_.peek().substr(0, 1) == "." && !parse_type(in_.peek().substr(1))) in_.next();
    const auto type = parse_type(in_.next().substr(1));
    if (!type) in_.fail("unknown register type");
    while (!in_.accept(";")) {
      if (in_.accept(",")) continue;
      const std::string_view name = in_.next();
      const bool is_family = in_.accept("<");
      if (is_family) {
        in_.next();
        in_.expect(">");
      }
      emit(RegisterDeclaration{name, *type, is_family});
    }
  }

  void variable(std::string_view space) {
    in_.next();
    const Space where = space == ".shared" ? Space::shared : space == ".local" ? Space::local : Space::param;
    Variable v = parse_variable(in_, where);
    in_.expect(";");
    emit(std::move(v));
  }

  void label() {
    const std::string_view name = in_.next();
    in_.expect(":");
    if (in_.accept(".branchtargets")) {
      BranchTargets table{name, {}};
      while (!in_.accept(";")) {
        if (!in_.accept(",")) table.labels.push_back(in_.next());
      }
      emit(std::move(table));
    } else if (in_.accept(".callprototype")) {
      prototype(name);
    } else if (in_.at(".calltargets")) {
      in_.skip_past(";");
    } else {
      emit(Label{name});
    }
  }

  // .callprototype [(results)] _ [(parameters)] [.noreturn];
  void prototype(std::string_view name) {
    CallPrototype p{name, {}, {}};
    if (in_.at("(")) p.returns = parse_parameters(in_);
    in_.expect("_");
    if (in_.at("(")) p.params = parse_parameters(in_);
    in_.skip_past(";");
    emit(std::move(p));
  }

  void instruction() {
    Instruction i;
    i.location = location_;
    if (in_.accept("@")) {
      i.guard_negated = in_.accept("!");
      i.guard = in_.next();
    }
    i.opcode = in_.next();
    i.parts = split_opcode(i.opcode);
    while (!in_.accept(";")) {
      if (in_.accept(",")) continue;
      i.operands.push_back(operand());
    }
    emit(std::move(i));
  }

  // Operands nest two or three deep: a vector in an address in a list of arguments.
  Operand operand() {
    constexpr int kDeepest = 16;
    if (++depth_ > kDeepest) in_.fail("operands are nested more than 16 deep");
    Operand o = operand_at_depth();
    --depth_;
    return o;
  }

  Operand operand_at_depth() {
    if (in_.accept("{")) {
      Operand list = vector("}");
      if (in_.accept("|")) list.second = in_.next();  // of tex: whether all was resident
      return list;
    }
    if (in_.accept("(")) return vector(")");
    if (in_.accept("[")) return address();
    Operand o;
    if (in_.accept("!")) {
      o = operand();
      o.negated = true;
      return o;
    }
    const bool negative = in_.accept("-");
    const std::string_view token = in_.next();
    if (token == "_") {
      o.kind = Operand::Kind::sink;
    } else if (is_digit(token.front())) {
      o.kind = Operand::Kind::number;
      o.bits = parse_number(token);
      o.number_type = literal_type(token);
      if (negative) o.bits = o.number_type == Type::f64 ? o.bits ^ (1ull << 63) : 0 - o.bits;
    } else if (token == "WARP_SZ") {
      o.kind = Operand::Kind::number;
      o.bits = 32;
    } else {
      o.name = token;
      // mov takes `symbol+offset` as a value.
      if (in_.at("+") && is_digit(in_.peek(1).empty() ? ' ' : in_.peek(1).front())) {
        in_.next();
        o.offset = static_cast<int64_t>(in_.unsigned_number());
      }
    }
    if (in_.accept("|")) o.second = in_.next();
    return o;
  }

  Operand vector(std::string_view close) {
    Operand o;
    o.kind = Operand::Kind::vector;
    while (!in_.accept(close)) {
      if (!in_.accept(",")) o.elements.push_back(operand());
    }
    return o;
  }

  // [register], [symbol+8], [register+-4], [4096]; tensor coordinates and the like are left to the
  // decoder's refusal.
  Operand address() {
    Operand o;
    o.kind = Operand::Kind::address;
    const std::string_view base = in_.next();
    if (is_digit(base.front())) {
      o.offset = static_cast<int64_t>(parse_number(base));
    } else {
      o.name = base;
    }
    while (!in_.accept("]")) {
      if (in_.accept("+")) {
        const bool negative = in_.accept("-");
        const auto value = static_cast<int64_t>(in_.unsigned_number());
        o.offset += negative ? -value : value;
      } else if (in_.accept("-")) {
        o.offset -= static_cast<int64_t>(in_.unsigned_number());
      } else if (in_.accept(",")) {
        o.elements.push_back(operand());
      } else {
        in_.fail("address not understood at '" + std::string(in_.peek()) + "'");
      }
    }
    return o;
  }

  Module& module_;
  Function& function_;
  TokenStream in_;
  uint32_t location_ = 0;
  int depth_ = 0;  // of the operand being read
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> known_locations_;
};

}  // namespace

void parse_body(Module& module, Function& function) {
  if (function.body_parsed || !function.has_body()) return;
  BodyParser(module, function).run();
  function.body_parsed = true;
}

}  // namespace warpgrade::emu
