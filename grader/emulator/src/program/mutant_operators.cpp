#include "program/mutant_operators.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

#include "ptx/types.h"

namespace warpgrade::emu {
namespace {

using Rewritten = std::optional<std::string>;
using In = WrittenInstruction;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool names_register(const std::string& operand) {
  return operand.size() > 1 && operand[0] == '%' && operand.find('.') == operand.npos;
}

bool is_integer(const std::string& operand) {
  const size_t digits = operand[0] == '-' ? 1 : 0;
  const bool starts =
      operand.size() > digits && std::isdigit(static_cast<unsigned char>(operand[digits])) != 0;
  const char kind = operand.size() > digits + 1 ? operand[digits + 1] : ' ';
  return starts && operand.find('.') == operand.npos && !is_one_of({&kind, 1}, {"f", "F", "d", "D"});
}

unsigned bytes_of(std::string_view type_name) {
  const auto type = parse_type(type_name);
  return type ? size_of(*type) : 0;
}

// Bytes of a lane's access.
unsigned access_bytes(const In& in) {
  return bytes_of(in.type()) * (in.has("v4") ? 4 : in.has("v2") ? 2 : 1);
}

std::string move(const In& in, const std::string& source) {
  return in.guarded() + "mov.b" + std::to_string(8 * bytes_of(in.type())) + " " + in.operands[0] + ", " +
         source + ";";
}

// Reads and writes of memory that threads share.
bool is_access(const In& in, std::initializer_list<std::string_view> operations) {
  return is_one_of(in.parts[0], operations) && !in.has("param") && !in.has("const") && !in.has("local") &&
         bytes_of(in.type()) != 0;
}

// ---- waiting ----

Rewritten leave_out_barrier(const In& in) {
  const bool waits = in.has("sync") || in.has("wait");
  if (!is_one_of(in.parts[0], {"bar", "barrier"}) || !waits || in.has("red")) return std::nullopt;
  return "";
}

Rewritten leave_out_fence(const In& in) {
  if (!is_one_of(in.parts[0], {"membar", "fence"})) return std::nullopt;
  return "";
}

Rewritten leave_out_wait(const In& in) {
  const bool waits_for_copies = (in.is("cp") && in.has("async")) || in.is("wgmma");
  if (waits_for_copies && (in.has("wait_group") || in.has("wait_all"))) return "";
  if (!in.is("mbarrier") || !(in.has("try_wait") || in.has("test_wait"))) return std::nullopt;
  return "{ .reg .b32 %mutant; mov.u32 %mutant, 0; " + in.guarded() + "setp.eq.u32 " + in.operands[0] +
         ", %mutant, 0; }";
}

// ---- comparisons and guards ----

Rewritten other_comparison(const In& in, const std::map<std::string, std::string>& other) {
  if (!in.is("setp") || in.parts.size() < 3) return std::nullopt;
  const auto found = other.find(in.parts[1]);
  if (found == other.end()) return std::nullopt;
  In changed = in;
  changed.parts[1] = found->second;
  return changed.text() + ";";
}

Rewritten move_boundary(const In& in) {
  return other_comparison(in, {{"lt", "le"},
                               {"le", "lt"},
                               {"gt", "ge"},
                               {"ge", "gt"},
                               {"lo", "ls"},
                               {"ls", "lo"},
                               {"hi", "hs"},
                               {"hs", "hi"},
                               {"ltu", "leu"},
                               {"leu", "ltu"},
                               {"gtu", "geu"},
                               {"geu", "gtu"}});
}

// Of floating-point numbers as well for NaN: the opposite of an ordered comparison is an unordered one.
Rewritten negate(const In& in) {
  static const std::map<std::string, std::string> kOfIntegers = {
      {"eq", "ne"}, {"ne", "eq"}, {"lt", "ge"}, {"ge", "lt"}, {"le", "gt"},
      {"gt", "le"}, {"lo", "hs"}, {"hs", "lo"}, {"ls", "hi"}, {"hi", "ls"}};
  static const std::map<std::string, std::string> kOfFloats = {
      {"eq", "neu"}, {"neu", "eq"}, {"ne", "equ"},  {"equ", "ne"}, {"lt", "geu"},
      {"geu", "lt"}, {"ge", "ltu"}, {"ltu", "ge"},  {"le", "gtu"}, {"gtu", "le"},
      {"gt", "leu"}, {"leu", "gt"}, {"num", "nan"}, {"nan", "num"}};
  const bool is_float = is_one_of(in.type(), {"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"});
  return other_comparison(in, is_float ? kOfFloats : kOfIntegers);
}

Rewritten hold_guard(const In& in) {
  if (in.guard.empty()) return std::nullopt;
  In changed = in;
  changed.guard.clear();
  return changed.text() + ";";
}

// ---- stores and loads ----

// `condition` sets %mutant_here where the change holds.
struct Part {
  const char* name;
  const char* condition;
};
constexpr Part kLane = {"lane", "mov.u32 %mutant_a, %laneid; setp.eq.u32 %mutant_here, %mutant_a, 0;"};
constexpr Part kWarp = {"warp", "mov.u32 %mutant_a, %tid.x; setp.lt.u32 %mutant_here, %mutant_a, 32;"};
constexpr Part kBlock = {"block",
                         "mov.u32 %mutant_a, %ctaid.x; add.u32 %mutant_a, %mutant_a, 1; mov.u32 %mutant_b, "
                         "%nctaid.x; setp.eq.u32 %mutant_here, %mutant_a, %mutant_b;"};
constexpr Part kOne = {"one",
                       "mov.u32 %mutant_a, %ctaid.x; add.u32 %mutant_a, %mutant_a, 1; mov.u32 %mutant_b, "
                       "%nctaid.x; sub.u32 %mutant_a, %mutant_b, %mutant_a; mov.u32 %mutant_b, %tid.x; "
                       "or.b32 %mutant_a, %mutant_a, %mutant_b; setp.eq.u32 %mutant_here, %mutant_a, 0;"};
// Another block for each size of the grid.
constexpr Part kTile = {"tile",
                        "mov.u32 %mutant_b, %nctaid.x; mul.lo.u32 %mutant_a, %mutant_b, 7919; rem.u32 "
                        "%mutant_a, %mutant_a, 10007; rem.u32 %mutant_a, %mutant_a, %mutant_b; mov.u32 "
                        "%mutant_b, %ctaid.x; setp.eq.u32 %mutant_here, %mutant_a, %mutant_b;"};
constexpr Part kEighth = {"eighth",
                          "mov.u32 %mutant_a, %ctaid.x; shl.b32 %mutant_a, %mutant_a, 3; mov.u32 %mutant_b, "
                          "%nctaid.x; mul.lo.u32 %mutant_b, %mutant_b, 7; setp.ge.u32 %mutant_here, "
                          "%mutant_a, %mutant_b;"};

std::string found_part(const Part& part) {
  return std::string("{ .reg .pred %mutant_here, %mutant_rest; .reg .b32 %mutant_a, %mutant_b; ") +
         part.condition + " not.pred %mutant_rest, %mutant_here; ";
}

// In a function with a guard of its own, both must hold.
std::string both_hold(const In& in, const std::string& predicate) {
  if (in.guard.empty()) return "";
  const bool negated = in.guard[0] == '!';
  const std::string guard = negated ? in.guard.substr(1) : in.guard;
  std::string text = negated ? "{ .reg .pred %mutant_g; not.pred %mutant_g, " + guard + "; " : "{ ";
  return text + "and.pred " + predicate + ", " + predicate + ", " + (negated ? "%mutant_g" : guard) + "; } ";
}

Rewritten leave_out_store(const In& in) {
  if (!is_access(in, {"st", "red"})) return std::nullopt;
  return "";
}

Rewritten leave_out_store_of(const Part& part, const In& in) {
  if (!is_access(in, {"st", "red"})) return std::nullopt;
  In rest = in;
  rest.guard = "%mutant_rest";
  return found_part(part) + both_hold(in, "%mutant_rest") + rest.text() + "; }";
}

// The registers that a load fills, with the width that their names tell; none where a name tells nothing.
std::string zeros(const In& in, const std::string& guard) {
  std::string text;
  std::string list = in.operands[0];
  std::erase_if(list, [](char c) { return c == '{' || c == '}' || c == ' '; });
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    begin = end + 1;
    if (name == "_") continue;
    const size_t digits = std::min(name.find_first_of("0123456789"), name.size());
    const std::string family = name.substr(0, digits);
    const char* type = is_one_of(family, {"%rd", "%fd"})        ? "b64"
                       : is_one_of(family, {"%rs", "%h"})       ? "b16"
                       : is_one_of(family, {"%r", "%f", "%hh"}) ? "b32"
                                                                : nullptr;
    if (type == nullptr) return "";
    text += guard + "mov." + type + " " + name + ", 0; ";
  }
  return text;
}

Rewritten answer_load_with_zero(const In& in) {
  if (!is_access(in, {"ld"}) || !in.has("global")) return std::nullopt;
  const std::string text = zeros(in, in.guarded());
  return text.empty() ? Rewritten() : text;
}

Rewritten answer_load_with_zero_of(const Part& part, const In& in) {
  if (!is_access(in, {"ld"}) || !in.has("global")) return std::nullopt;
  const std::string text = zeros(in, "@%mutant_here ");
  if (text.empty()) return std::nullopt;
  return found_part(part) + both_hold(in, "%mutant_here") + in.text() + "; " + text + "}";
}

// ---- places, constants ----

Rewritten move_index(const In& in, int elements) {
  if (!is_access(in, {"ld", "st", "atom", "red"})) return std::nullopt;
  In changed = in;
  for (std::string& operand : changed.operands) {
    if (operand.front() != '[' || operand.back() != ']' || operand.find(',') != operand.npos) continue;
    operand.pop_back();
    operand += "+" + std::to_string(elements * static_cast<int>(access_bytes(in))) + "]";
    return changed.text() + ";";
  }
  return std::nullopt;
}

// The operand with a constant that means something: not a mask of lanes, a table of lop3 or a stride
// of bytes.
std::string* constant_of(In& in) {
  if (in.is("shfl")) return in.operands.size() > 2 && is_integer(in.operands[2]) ? &in.operands[2] : nullptr;
  if (!is_one_of(in.parts[0], {"add", "sub", "mad", "mul", "shl", "shr", "shf", "min", "max", "and", "or",
                               "xor", "div", "rem", "mov", "selp", "bfe", "bfi", "st"}))
    return nullptr;
  const bool is_address = in.has("wide") || bytes_of(in.type()) == 8;
  if (is_address && !in.is("mov") && !in.is("selp")) return nullptr;
  for (size_t k = in.operands.size(); k-- > 1;) {
    if (is_integer(in.operands[k])) return &in.operands[k];
  }
  return nullptr;
}

Rewritten change_constant(const In& in, int by) {
  In changed = in;
  std::string* constant = constant_of(changed);
  if (constant == nullptr) return std::nullopt;
  const long long value = static_cast<long long>(std::strtoull(constant->c_str(), nullptr, 0));
  *constant = std::to_string(
      static_cast<long long>(static_cast<unsigned long long>(value) + static_cast<unsigned long long>(by)));
  return changed.text() + ";";
}

// 0, the infinities, the largest and the smallest number of a type: what a sum or an extremum begins with.
Rewritten replace_identity(const In& in) {
  static const std::map<std::string, std::string> kOther = {{"0f00000000", "0f3F800000"},
                                                            {"0fFF800000", "0f00000000"},
                                                            {"0f7F800000", "0f00000000"},
                                                            {"0fFF7FFFFF", "0f00000000"},
                                                            {"0f7F7FFFFF", "0f00000000"},
                                                            {"0d0000000000000000", "0d3FF0000000000000"},
                                                            {"0dFFF0000000000000", "0d0000000000000000"},
                                                            {"0d7FF0000000000000", "0d0000000000000000"},
                                                            {"-2147483648", "0"},
                                                            {"2147483647", "0"},
                                                            {"-8388608", "0"},
                                                            {"2139095040", "0"}};
  if (!is_one_of(in.parts[0], {"mov", "selp", "st"})) return std::nullopt;
  In changed = in;
  for (size_t k = 1; k < changed.operands.size(); ++k) {
    const auto other = kOther.find(changed.operands[k]);
    if (other == kOther.end()) continue;
    changed.operands[k] = other->second;
    return changed.text() + ";";
  }
  return std::nullopt;
}

Rewritten swap_strides(const In& in) {
  if (!in.is("mad") || !in.has("lo") || in.operands.size() != 4) return std::nullopt;
  if (!std::all_of(in.operands.begin(), in.operands.end(), names_register)) return std::nullopt;
  In changed = in;
  std::swap(changed.operands[2], changed.operands[3]);
  return changed.text() + ";";
}

// A product of two indices in 64 bits, of which 32 are left. Sums are left alone: they have addresses
// in them.
Rewritten cut_offset(const In& in) {
  const bool wide = in.is("mul") && in.has("wide") && is_one_of(in.type(), {"s32", "u32"});
  const bool whole = is_one_of(in.parts[0], {"mul", "shl"}) && bytes_of(in.type()) == 8 && !in.has("hi") &&
                     !is_one_of(in.type(), {"f64"});
  if (!wide && !whole) return std::nullopt;
  const std::string extend = is_one_of(in.type(), {"u32", "u64"}) ? "cvt.u64.u32 " : "cvt.s64.s32 ";
  return "{ .reg .b32 %mutant_a; " + in.text() + "; " + in.guarded() + "cvt.u32.u64 %mutant_a, " +
         in.operands[0] + "; " + in.guarded() + extend + in.operands[0] + ", %mutant_a; }";
}

// ---- arithmetic ----

// A sum, a minimum or a maximum of two registers, whose other term is lost.
Rewritten keep_term(const In& in, size_t kept) {
  const bool fused = is_one_of(in.parts[0], {"fma", "mad"}) && in.operands.size() == 4 && !in.has("wide");
  const bool plain = is_one_of(in.parts[0], {"add", "min", "max"}) && in.operands.size() == 3;
  if (!fused && !(plain && names_register(in.operands[1]) && names_register(in.operands[2])))
    return std::nullopt;
  if (in.has("cc") || bytes_of(in.type()) < 4) return std::nullopt;
  if (plain) return move(in, in.operands[kept]);
  if (kept == 2) return names_register(in.operands[3]) ? Rewritten(move(in, in.operands[3])) : std::nullopt;
  In product = in;
  product.parts[0] = "mul";
  product.operands.pop_back();
  return product.text() + ";";
}

// Both factors of an fp32 fma come from `round`, which writes %mutant_<name>.
std::string rounded_fma(const In& in, const std::function<std::string(const std::string&)>& round) {
  In changed = in;
  std::string text = "{ .reg .b32 %mutant_a, %mutant_b, %mutant_t; .reg .b16 %mutant_h; ";
  for (const auto& [k, name] : {std::pair<size_t, std::string>{1, "%mutant_a"}, {2, "%mutant_b"}}) {
    text += "mov.b32 " + name + ", " + in.operands[k] + "; " + round(name);
    changed.operands[k] = name;
  }
  return text + changed.text() + "; }";
}

bool is_fma(const In& in) {
  return in.is("fma") && in.type() == "f32";
}

// To nearest, ties to even, with `dropped` bits fewer.
Rewritten round_operands(const In& in, int dropped) {
  if (!is_fma(in)) return std::nullopt;
  const uint32_t mask = ~((1u << dropped) - 1u);
  return rounded_fma(in, [&](const std::string& x) {
    const std::string d = std::to_string(dropped), half = std::to_string((1u << (dropped - 1)) - 1);
    return "shr.u32 %mutant_t, " + x + ", " + d + "; and.b32 %mutant_t, %mutant_t, 1; add.u32 " + x + ", " +
           x + ", %mutant_t; add.u32 " + x + ", " + x + ", " + half + "; and.b32 " + x + ", " + x + ", " +
           std::to_string(mask) + "; ";
  });
}

Rewritten round_to_half(const In& in) {
  if (!is_fma(in)) return std::nullopt;
  return rounded_fma(in, [](const std::string& x) {
    return "cvt.rn.f16.f32 %mutant_h, " + x + "; cvt.f32.f16 " + x + ", %mutant_h; ";
  });
}

Rewritten sum_in_single(const In& in) {
  const bool fused = in.is("fma"), plain = in.is("add");
  if ((!fused && !plain) || in.type() != "f64") return std::nullopt;
  std::string text = "{ .reg .f32 %mutant_1, %mutant_2, %mutant_3; .reg .f64 %mutant_d; ";
  for (size_t k = 1; k < in.operands.size(); ++k)
    text += "mov.f64 %mutant_d, " + in.operands[k] + "; cvt.rn.f32.f64 %mutant_" + std::to_string(k) +
            ", %mutant_d; ";
  text += fused ? "fma.rn.f32 %mutant_1, %mutant_1, %mutant_2, %mutant_3; "
                : "add.rn.f32 %mutant_1, %mutant_1, %mutant_2; ";
  return text + in.guarded() + "cvt.f64.f32 " + in.operands[0] + ", %mutant_1; }";
}

// A load, the operation, a store: what another thread writes in between is lost.
Rewritten take_atomic_apart(const In& in) {
  static constexpr std::array<std::string_view, 6> kOperations = {"add", "min", "max", "and", "or", "xor"};
  if (!is_access(in, {"atom", "red"}) || bytes_of(in.type()) < 4 || in.has("v2") || in.has("v4"))
    return std::nullopt;
  const auto operation = std::find_if(kOperations.begin(), kOperations.end(),
                                      [&](std::string_view name) { return in.has(name); });
  const size_t at = in.is("atom") ? 1 : 0;  // of the address
  if (operation == kOperations.end() || in.operands.size() != at + 2) return std::nullopt;
  const std::string space = in.has("global") ? ".global" : in.has("shared") ? ".shared" : "";
  const std::string type(in.type()), bits = "b" + std::to_string(8 * bytes_of(in.type()));
  const std::string address = in.operands[at], guard = in.guarded();
  std::string text = "{ .reg ." + bits + " %mutant_old, %mutant_new; " + guard + "ld" + space + "." + bits +
                     " %mutant_old, " + address + "; " + std::string(*operation) + "." + type +
                     " %mutant_new, %mutant_old, " + in.operands[at + 1] + "; " + guard + "st" + space + "." +
                     bits + " " + address + ", %mutant_new; ";
  if (at == 1 && in.operands[0] != "_")
    text += guard + "mov." + bits + " " + in.operands[0] + ", %mutant_old; ";
  return text + "}";
}

const std::vector<MutantOperator>& all_operators() {
  static const std::vector<MutantOperator> operators = {
      {"no_barrier", leave_out_barrier},
      {"no_fence", leave_out_fence},
      {"no_wait", leave_out_wait},
      {"boundary", move_boundary},
      {"negated", negate},
      {"guard_true", hold_guard},
      {"no_store", leave_out_store},
      {"no_store_lane", [](const In& in) { return leave_out_store_of(kLane, in); }},
      {"no_store_warp", [](const In& in) { return leave_out_store_of(kWarp, in); }},
      {"no_store_block", [](const In& in) { return leave_out_store_of(kBlock, in); }},
      {"first_term", [](const In& in) { return keep_term(in, 1); }},
      {"second_term", [](const In& in) { return keep_term(in, 2); }},
      {"index_up", [](const In& in) { return move_index(in, 1); }},
      {"index_down", [](const In& in) { return move_index(in, -1); }},
      {"constant_up", [](const In& in) { return change_constant(in, 1); }},
      {"constant_down", [](const In& in) { return change_constant(in, -1); }},
      {"strides_swapped", swap_strides},
      {"offset_32", cut_offset},
      {"not_atomic", take_atomic_apart},
      {"identity", replace_identity},
      {"tf32", [](const In& in) { return round_operands(in, 13); }},
      {"bf16", [](const In& in) { return round_operands(in, 16); }},
      {"fp16", round_to_half},
      {"bits_16", [](const In& in) { return round_operands(in, 8); }},
      {"bits_17", [](const In& in) { return round_operands(in, 7); }},
      {"fp64_in_fp32", sum_in_single},
      {"load_zero", answer_load_with_zero},
      {"load_zero_one", [](const In& in) { return answer_load_with_zero_of(kOne, in); }},
      {"load_zero_tile", [](const In& in) { return answer_load_with_zero_of(kTile, in); }},
      {"load_zero_eighth", [](const In& in) { return answer_load_with_zero_of(kEighth, in); }},
  };
  return operators;
}

}  // namespace

bool WrittenInstruction::has(std::string_view modifier) const {
  return std::find(parts.begin() + 1, parts.end(), modifier) != parts.end();
}

std::string WrittenInstruction::opcode() const {
  std::string text = parts[0];
  for (size_t k = 1; k < parts.size(); ++k) text += "." + parts[k];
  return text;
}

std::string WrittenInstruction::text() const {
  std::string text = guarded() + opcode();
  for (size_t k = 0; k < operands.size(); ++k) text += (k == 0 ? " " : ", ") + operands[k];
  return text;
}

WrittenInstruction read_written(std::string_view text) {
  WrittenInstruction in;
  const auto trimmed = [](std::string_view word) {
    const size_t begin = std::min(word.find_first_not_of(" \t\r\n"), word.size());
    return std::string(word.substr(begin, word.find_last_not_of(" \t\r\n") + 1 - begin));
  };
  std::string rest = trimmed(text);
  if (rest.starts_with("@")) {
    const size_t end = std::min(rest.find_first_of(" \t\r\n"), rest.size());
    in.guard = rest.substr(1, end - 1);
    rest = trimmed(std::string_view(rest).substr(end));
  }
  const size_t end = std::min(rest.find_first_of(" \t\r\n"), rest.size());
  const std::string opcode = rest.substr(0, end);
  for (size_t begin = 0; begin <= opcode.size();) {
    const size_t dot = std::min(opcode.find('.', begin), opcode.size());
    in.parts.push_back(opcode.substr(begin, dot - begin));
    begin = dot + 1;
  }
  int depth = 0;
  std::string operand;
  for (const char c : rest.substr(end)) {
    depth += c == '{' || c == '[' || c == '(' ? 1 : c == '}' || c == ']' || c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      in.operands.push_back(trimmed(operand));
      operand.clear();
    } else {
      operand += c;
    }
  }
  if (!trimmed(operand).empty()) in.operands.push_back(trimmed(operand));
  return in;
}

std::span<const MutantOperator> mutant_operators() {
  return all_operators();
}

}  // namespace warpgrade::emu
