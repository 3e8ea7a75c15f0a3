#include "program/decode.h"

#include <algorithm>
#include <cstring>

#include "program/handlers.h"

namespace warpgrade::emu {
namespace {

struct SpecialName {
  std::string_view name;
  Special what;
};

constexpr SpecialName kSpecialNames[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    // %envreg1:%envreg2 is how cooperative groups find the grid's barrier, high word first.
    {"%envreg0", Special::zero},
    {"%envreg1", Special::workspace_high},
    {"%envreg2", Special::workspace_low},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
};

uint64_t literal_bits(const Ref& ref, uint32_t bytes) {
  if (ref.type == Type::f64 && bytes == 4) {
    double wide;
    std::memcpy(&wide, &ref.value, sizeof wide);
    const auto narrow = static_cast<float>(wide);
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  return ref.value;
}

}  // namespace

Decode::Decode(const LinearInst& inst, const std::vector<uint32_t>& slots, RegisterFile& registers,
               Program& p, uint32_t& param_slot, Inst& decoded)
    : in(inst),
      out(decoded),
      file(registers),
      program(p),
      slots_(slots),
      param_slot_(param_slot),
      taken_(inst.parts.size(), false) {
  taken_[0] = true;
}

bool Decode::take(std::string_view word) {
  for (size_t k = 1; k < in.parts.size(); ++k) {
    if (taken_[k] || in.parts[k] != word) continue;
    taken_[k] = true;
    return true;
  }
  return false;
}

void Decode::ignore(std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) take(word);
}

void Decode::ignore_prefix(std::string_view prefix) {
  for (size_t k = 1; k < in.parts.size(); ++k) {
    if (in.parts[k].substr(0, prefix.size()) == prefix) taken_[k] = true;
  }
}

std::string_view Decode::take_one_of(std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (take(word)) return word;
  }
  return {};
}

Type Decode::take_type() {
  for (size_t k = in.parts.size(); k-- > 1;) {
    if (taken_[k]) continue;
    if (const auto type = parse_type(in.parts[k])) {
      taken_[k] = true;
      return *type;
    }
  }
  return Type::none;
}

Space Decode::take_space() {
  if (take("global")) return Space::global;
  if (take("shared") || take("shared::cta") || take("shared::cluster")) return Space::shared;
  if (take("local")) return Space::local;
  if (take("const")) return Space::constant;
  if (take("param") || take("param::entry") || take("param::func")) return Space::param;
  return Space::generic;
}

void Decode::take_memory_semantics() {
  ignore({"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "cta", "gpu", "sys",
          "cluster"});
  ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"});
  ignore_prefix("L1::");
  ignore_prefix("L2::");
}

void Decode::check_all_taken() const {
  for (size_t k = 1; k < in.parts.size(); ++k) {
    if (!taken_[k]) fail("modifier ." + std::string(in.parts[k]));
  }
}

const Ref& Decode::operand(size_t k) const {
  if (k >= in.operands.size()) fail("too few operands");
  return in.operands[k];
}

uint32_t Decode::register_bytes(const Ref& ref) const {
  return ref.kind == Ref::Kind::reg ? lane_bytes(ref.type) : 0;
}

uint64_t Decode::number(size_t k) const {
  if (operand(k).kind != Ref::Kind::number) fail("operand " + std::to_string(k) + " is not a constant");
  return operand(k).value;
}

uint32_t Decode::source(const Ref& ref, uint32_t bytes) {
  switch (ref.kind) {
    case Ref::Kind::reg:
      if (ref.type == Type::pred) fail("predicate as a value");
      if (lane_bytes(ref.type) != bytes) fail("operand width");
      return slot_of(ref.reg);
    case Ref::Kind::number:
      return file.constant(literal_bits(ref, bytes), bytes);
    case Ref::Kind::special:
      return special_source(ref, bytes);
    case Ref::Kind::symbol:
      return symbol_source(ref, bytes);
    default:
      fail("operand form");
  }
}

uint32_t Decode::special_source(const Ref& ref, uint32_t bytes) {
  for (const SpecialName& s : kSpecialNames) {
    if (s.name == ref.name) return file.special(s.what, bytes < 4 ? 4 : bytes);
  }
  fail("special register " + std::string(ref.name));
}

// The value of a symbol is its address in its own space.
uint32_t Decode::symbol_source(const Ref& ref, uint32_t bytes) {
  if (ref.space == Space::param) {
    if (bytes != 8) fail("narrow parameter address");
    if (param_slot_ == kNoSlot) param_slot_ = file.allocate(8);
    if (ref.value + static_cast<uint64_t>(ref.offset) != 0)
      fail("address of a parameter other than through mov");
    return param_slot_;
  }
  const uint64_t value = ref.dynamic_shared ? program.dynamic_shared_begin : ref.value;
  return file.constant(value + static_cast<uint64_t>(ref.offset), bytes);
}

uint32_t Decode::dest(const Ref& ref, uint32_t bytes) {
  if (ref.kind == Ref::Kind::sink) return file.sink();
  if (ref.kind != Ref::Kind::reg) fail("destination form");
  if (lane_bytes(ref.type) != bytes) fail("destination width");
  return slot_of(ref.reg);
}

uint32_t Decode::predicate_dest(size_t k) {
  const Ref& ref = operand(k);
  if (ref.kind == Ref::Kind::sink) return kNoSlot;
  if (ref.kind != Ref::Kind::reg || ref.type != Type::pred) fail("destination is not a predicate");
  return slot_of(ref.reg);
}

uint32_t Decode::second_dest(size_t k) const {
  const Ref& ref = operand(k);
  return ref.second == kNoRegister ? kNoSlot : slot_of(ref.second);
}

uint32_t Decode::predicate_source(size_t k, uint8_t& negated) {
  const Ref& ref = operand(k);
  negated = ref.negated;
  if (ref.kind == Ref::Kind::number) return file.constant_mask(ref.value != 0);
  if (ref.kind != Ref::Kind::reg || ref.type != Type::pred) fail("operand is not a predicate");
  return slot_of(ref.reg);
}

void Decode::address(size_t k) {
  const Ref& ref = operand(k);
  if (ref.kind != Ref::Kind::address || !ref.elements.empty()) fail("address form");
  if (ref.reg != kNoRegister) {
    out.a = slot_of(ref.reg);
    out.imm = ref.offset;
    out.address_is_32 = lane_bytes(ref.type) == 4;
    return;
  }
  uint64_t base = ref.dynamic_shared ? program.dynamic_shared_begin : ref.value;
  base += static_cast<uint64_t>(ref.offset);
  out.a = file.constant(base, 8);
  out.imm = 0;
}

void Decode::handler(const std::string& name) {
  out.run = handlers().find(name.c_str());
  if (out.run == nullptr) fail("no " + name);
  program.operations[out.index] = name;
}

std::string unsigned_name(Type type) {
  return "u" + std::to_string(8 * std::max(1u, size_of(type)));
}

std::string integer_name(Type type) {
  return is_signed_integer(type) ? std::string(name_of(type)) : unsigned_name(type);
}

namespace {

// What an opcode that no decoder knows belongs to.
std::string left_out_feature(std::string_view opcode) {
  struct Feature {
    std::string_view begin;
    const char* name;
  };
  constexpr Feature kFeatures[] = {
      {"sured.", "reductions on surfaces"},   {"tcgen05.", "tensor memory"},

      {"multimem.", "multicast memory"},      {"vadd.", "scalar video instructions"},
      {"vsub.", "scalar video instructions"}, {"vabsdiff.", "scalar video instructions"},
      {"vmin.", "scalar video instructions"}, {"vmax.", "scalar video instructions"},
      {"vshl.", "scalar video instructions"}, {"vshr.", "scalar video instructions"},
      {"vset.", "scalar video instructions"}, {"vmad.", "scalar video instructions"}};
  for (const Feature& f : kFeatures) {
    if (opcode.substr(0, f.begin.size()) == f.begin) return f.name;
  }
  return "unknown operation";
}

}  // namespace

void decode(Decode& d) {
  static const DecoderTable table = [] {
    DecoderTable t;
    add_arithmetic_decoders(t);
    add_data_decoders(t);
    add_memory_decoders(t);
    add_matrix_decoders(t);
    add_warp_group_decoders(t);
    add_tensor_decoders(t);
    add_mbarrier_decoders(t);
    add_packed_decoders(t);
    add_texture_decoders(t);
    add_control_decoders(t);
    return t;
  }();
  const auto found = table.find(d.in.parts[0]);
  if (found == table.end()) d.fail(left_out_feature(d.in.opcode));
  found->second(d);
  d.check_all_taken();
}

}  // namespace warpgrade::emu
