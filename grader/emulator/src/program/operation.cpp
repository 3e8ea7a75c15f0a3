#include "program/operation.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "program/convert_modes.h"

namespace warpgrade::emu {
namespace {

using Parts = std::vector<std::string_view>;

Parts split(std::string_view name) {
  Parts parts;
  for (size_t at = 0; at <= name.size();) {
    const size_t dot = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

ElementType element_of(std::string_view name) {
  static const std::unordered_map<std::string_view, ElementType> names = {
      {"u8", ElementType::u8},   {"s8", ElementType::s8},   {"u16", ElementType::u16},
      {"s16", ElementType::s16}, {"u32", ElementType::u32}, {"s32", ElementType::s32},
      {"u64", ElementType::u64}, {"s64", ElementType::s64}, {"f32", ElementType::f32},
      {"f64", ElementType::f64}};
  const auto found = names.find(name);
  return found == names.end() ? ElementType::none : found->second;
}

struct Form {
  Operation operation;
  uint32_t sources;  // a, b, c
};

// Operations on one type whose operands are as wide as the type.
const std::unordered_map<std::string_view, Form>& plain_forms() {
  static const std::unordered_map<std::string_view, Form> forms = {{"add", {Operation::add, 2}},
                                                                   {"sub", {Operation::subtract, 2}},
                                                                   {"mul", {Operation::multiply, 2}},
                                                                   {"mul.lo", {Operation::multiply, 2}},
                                                                   {"mad.lo", {Operation::multiply_add, 3}},
                                                                   {"fma", {Operation::multiply_add, 3}},
                                                                   {"and", {Operation::bit_and, 2}},
                                                                   {"or", {Operation::bit_or, 2}},
                                                                   {"xor", {Operation::bit_xor, 2}},
                                                                   {"not", {Operation::bit_not, 1}},
                                                                   {"min", {Operation::minimum, 2}},
                                                                   {"max", {Operation::maximum, 2}},
                                                                   {"neg", {Operation::negate, 1}},
                                                                   {"abs", {Operation::absolute, 1}},
                                                                   {"div", {Operation::divide, 2}},
                                                                   {"sqrt", {Operation::square_root, 1}},
                                                                   {"rcp", {Operation::reciprocal, 1}},
                                                                   {"rsqrt", {Operation::reciprocal_root, 1}},
                                                                   {"mov", {Operation::move, 1}}};
  return forms;
}

// Which of them are compiled for which types.
bool is_compiled(Operation operation, ElementType type) {
  if (bytes_of(type) < 4) return false;
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::multiply_add:
    case Operation::move:
      return true;
    case Operation::divide:
    case Operation::square_root:
    case Operation::reciprocal:
    case Operation::reciprocal_root:
      return is_float(type);
    case Operation::minimum:
    case Operation::maximum:
      return type != ElementType::f64;
    case Operation::negate:
    case Operation::absolute:
      return type == ElementType::f32 || !is_float(type);
    default:
      return !is_float(type);
  }
}

class OperationDecoder {
 public:
  OperationDecoder(const Program& program, const Inst& i)
      : i_(i),
        name_(program.operations[i.index]),
        parts_(split(name_)),
        file_bytes_(program.register_image.size()) {}

  Decoded run() {
    const std::string_view op = parts_[0];
    if (name_ == "nop") {
      d_.operation = Operation::none;
    } else if (op == "bra") {
      d_.operation = Operation::branch;
    } else if (op == "exit") {
      d_.operation = Operation::leave;
    } else if (op == "bar" && parts_.size() == 1) {
      d_.operation = Operation::barrier;
      name_all_fields();
    } else if (!compiled()) {
      by_handler();
    }
    const auto is_sink = [](const Register& r) { return r.slot == kSinkSlot; };
    if (std::any_of(d_.writes.begin(), d_.writes.end(), is_sink)) by_handler();
    return std::move(d_);
  }

 private:
  static constexpr uint32_t kSinkSlot = 128;

  void read(uint32_t slot, uint32_t bytes) { d_.reads.push_back({slot, bytes}); }
  void write(uint32_t slot, uint32_t bytes) { d_.writes.push_back({slot, bytes}); }

  bool compiled() {
    const std::string_view op = parts_[0];
    if (op == "ld" || op == "st") return access();
    if (name_ == "shfl") return shuffle();
    if (op == "setp") return comparison();
    if (op == "cvt") return conversion();
    if (op == "shl" || op == "shr") return shift();
    if (op == "selp") return selection();
    if (parts_.back() == "pred") return predicate();
    if (op == "lop3" && parts_.size() == 1) return operands(Operation::logic3, ElementType::u32, 3);
    if (op == "add_immediate") return operands(Operation::add_immediate, ElementType::u64, 1);
    if (name_ == "pack.2x32") return pack();
    if (name_ == "unpack.2x32") return unpack();
    if (parts_.size() == 3 && parts_[1] == "wide") return wide();
    const ElementType type = element_of(parts_.back());
    const std::string_view stem = name_.substr(0, name_.size() - parts_.back().size() - 1);
    const auto found = plain_forms().find(parts_.size() == 1 ? std::string_view() : stem);
    if (found == plain_forms().end() || !is_compiled(found->second.operation, type)) return false;
    return operands(found->second.operation, type, found->second.sources);
  }

  bool operands(Operation operation, ElementType type, uint32_t sources) {
    d_.operation = operation;
    d_.type = type;
    const std::array fields = {i_.a, i_.b, i_.c};
    for (uint32_t k = 0; k < sources; ++k) read(fields[k], bytes_of(type));
    write(i_.d, bytes_of(type));
    return true;
  }

  bool wide() {
    d_.type = element_of(parts_[2]);
    if (bytes_of(d_.type) != 4) return false;
    const bool adds = parts_[0] == "mad";
    if (!adds && parts_[0] != "mul") return false;
    d_.operation = adds ? Operation::multiply_add_wide : Operation::multiply_wide;
    read(i_.a, 4);
    read(i_.b, 4);
    if (adds) read(i_.c, 8);
    write(i_.d, 8);
    return true;
  }

  bool shift() {
    d_.type = element_of(parts_.back());
    if (bytes_of(d_.type) < 4) return false;
    d_.operation = parts_[0] == "shl" ? Operation::shift_left : Operation::shift_right;
    read(i_.a, bytes_of(d_.type));
    read(i_.b, 4);
    write(i_.d, bytes_of(d_.type));
    return true;
  }

  bool selection() {
    d_.type = element_of(parts_.back());
    if (bytes_of(d_.type) < 4) return false;
    d_.operation = Operation::select;
    read(i_.a, bytes_of(d_.type));
    read(i_.b, bytes_of(d_.type));
    read(i_.c, 0);
    write(i_.d, bytes_of(d_.type));
    return true;
  }

  bool shuffle() {
    if (i_.d == kNoSlot) return false;
    d_.operation = Operation::shuffle;
    d_.type = ElementType::u32;
    for (const uint32_t slot : {i_.a, i_.b, i_.c, i_.e}) read(slot, 4);
    write(i_.d, 4);
    if (i_.vec[0] != kNoSlot) write(i_.vec[0], 0);
    return true;
  }

  bool pack() {
    d_.operation = Operation::pack;
    d_.type = ElementType::u64;
    read(i_.vec[0], 4);
    read(i_.vec[1], 4);
    write(i_.d, 8);
    return true;
  }

  bool unpack() {
    d_.operation = Operation::unpack;
    d_.type = ElementType::u64;
    read(i_.a, 8);
    for (const uint32_t k : {0, 1}) {
      if (i_.vec[k] != kNoSlot) write(i_.vec[k], 4);
    }
    return true;
  }

  bool predicate() {
    static const std::unordered_map<std::string_view, Form> forms = {{"and", {Operation::predicate_and, 2}},
                                                                     {"or", {Operation::predicate_or, 2}},
                                                                     {"xor", {Operation::predicate_xor, 2}},
                                                                     {"mov", {Operation::predicate_move, 1}},
                                                                     {"not", {Operation::predicate_not, 1}}};
    const auto found = forms.find(parts_[0]);
    if (found == forms.end() || parts_.size() != 2) return false;
    d_.operation = found->second.operation;
    read(i_.a, 0);
    if (found->second.sources == 2) read(i_.b, 0);
    write(i_.d, 0);
    return true;
  }

  bool comparison() {
    static const std::unordered_map<std::string_view, Comparison> names = {
        {"eq", Comparison::eq},   {"ne", Comparison::ne},   {"lt", Comparison::lt},
        {"le", Comparison::le},   {"gt", Comparison::gt},   {"ge", Comparison::ge},
        {"equ", Comparison::equ}, {"neu", Comparison::neu}, {"ltu", Comparison::ltu},
        {"leu", Comparison::leu}, {"gtu", Comparison::gtu}, {"geu", Comparison::geu},
        {"num", Comparison::num}, {"nan", Comparison::nan}};
    if (parts_.size() != 3) return false;
    const auto found = names.find(parts_[1]);
    d_.type = element_of(parts_[2]);
    if (found == names.end() || bytes_of(d_.type) < 4) return false;
    d_.operation = Operation::compare;
    d_.comparison = found->second;
    read(i_.a, bytes_of(d_.type));
    read(i_.b, bytes_of(d_.type));
    if (i_.variant != 0) read(i_.c, 0);
    for (const uint32_t slot : {i_.d, i_.e}) {
      if (slot != kNoSlot) write(slot, 0);
    }
    return true;
  }

  bool conversion() {
    if (parts_.size() != 3) return false;
    d_.type = element_of(parts_[1]);
    d_.from = element_of(parts_[2]);
    const uint32_t to = bytes_of(d_.type), from = bytes_of(d_.from);
    if (to < 4 || from < 4 || i_.flags != 0 || i_.reg_bytes != to || i_.bytes != from) return false;
    const bool integers = !is_float(d_.type) && !is_float(d_.from);
    const bool to_float = is_float(d_.type) && (from == 4 || is_float(d_.from)) && d_.type != d_.from;
    if (!integers && !to_float) return false;
    d_.operation = Operation::convert;
    read(i_.a, from);
    write(i_.d, to);
    return true;
  }

  void address() { read(i_.a, i_.address_is_32 ? 4 : 8); }

  bool access() {
    const bool parameter = parts_.size() == 4 && parts_[1] == "param";
    if (parts_.size() != 3 && !parameter) return false;
    d_.type = element_of(parts_[parts_.size() - 2]);
    const bool loads = parts_[0] == "ld";
    const bool widens = loads && !parameter && i_.vec_count == 1 && i_.reg_bytes > i_.bytes;
    if (i_.vec_count > 4 || bytes_of(d_.type) != i_.bytes || i_.reg_bytes < 4 ||
        (i_.bytes != i_.reg_bytes && !widens))
      return false;
    d_.operation = parameter ? Operation::load_parameter : loads ? Operation::load : Operation::store;
    if (!parameter) address();
    for (uint32_t k = 0; k < i_.vec_count; ++k) {
      loads ? write(i_.vec[k], i_.reg_bytes) : read(i_.vec[k], i_.reg_bytes);
    }
    return true;
  }

  // Operations whose registers are all named by their fields, whatever these mean.
  void by_handler() {
    static const std::array fields_only = {
        "add",   "sub",      "mul",       "mad",   "div",   "rem",  "min",      "max",
        "abs",   "neg",      "sad",       "mul24", "mad24", "dp4a", "shl",      "shr",
        "popc",  "clz",      "bfind",     "bfe",   "bfi",   "lop3", "prmt",     "shf",
        "bmsk",  "testp",    "cvt",       "and",   "or",    "xor",  "not",      "cnot",
        "brev",  "setp",     "set",       "selp",  "slct",  "mov",  "pack",     "unpack",
        "fma",   "sqrt",     "rsqrt",     "rcp",   "sin",   "cos",  "ex2",      "lg2",
        "tanh",  "copysign", "rounded",   "ld",    "st",    "atom", "isspacep", "activemask",
        "clock", "fence",    "nanosleep", "tex",   "tld4",  "suld", "sust",     "txq"};
    static const std::array sync = {"shfl", "vote", "match", "redux", "elect"};
    const auto is = [&](const char* op) { return parts_[0] == op; };
    d_ = Decoded();
    if (std::any_of(sync.begin(), sync.end(), is) || name_ == "bar.warp") {
      d_.operation = Operation::sync;
    } else if (std::any_of(fields_only.begin(), fields_only.end(), is)) {
      d_.operation = Operation::handler;
    } else {
      return;
    }
    name_all_fields();
  }

  // Widths are not known here. Whatever a field means, it is taken for a source; which of them hold results
  // depends on the operation.
  void name_all_fields() {
    const std::string_view op = parts_[0];
    const bool vector_results = op == "ld" || op == "unpack" || op == "shfl" || op == "match" ||
                                op == "elect" || op == "atom" || op == "tex" || op == "tld4" || op == "suld";
    note_field(i_.d, op != "st" && op != "sust");
    for (const uint32_t slot : {i_.a, i_.b, i_.c}) note_field(slot, false);
    note_field(i_.e, op == "setp" || op == "tex" || op == "tld4");
    for (const uint32_t slot : i_.vec) note_field(slot, vector_results);
  }

  // A field of some operations is a number and no register.
  void note_field(uint32_t slot, bool written) {
    if (slot == kNoSlot || slot == kAlwaysSlot || slot == kSinkSlot || slot >= file_bytes_) return;
    read(slot, 0);
    if (written) write(slot, 0);
  }

  const Inst& i_;
  std::string_view name_;
  Parts parts_;
  size_t file_bytes_;  // of a warp's registers
  Decoded d_;
};

}  // namespace

Decoded decode_operation(const Program& program, const Inst& i) {
  return OperationDecoder(program, i).run();
}

}  // namespace warpgrade::emu
