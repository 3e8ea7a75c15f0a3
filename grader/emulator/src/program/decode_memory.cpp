// Decoders of loads, stores, atomics, asynchronous copies and cache control.
#include <algorithm>

#include "base/processor.h"
#include "program/decode.h"

namespace warpgrade::emu {
namespace {

enum AccessVariant : uint8_t { kLoad, kStore };

void take_vector(Decode& d, const Ref& value) {
  const std::string_view width = d.take_one_of({"v2", "v4", "v8"});
  const size_t wanted = width == "v2" ? 2 : width == "v4" ? 4 : width == "v8" ? 8 : 1;
  if (value.kind == Ref::Kind::vector ? value.elements.size() != wanted : wanted != 1) d.fail("vector form");
  d.out.vec_count = static_cast<uint8_t>(wanted);
}

std::vector<Ref> elements(const Ref& value) {
  return value.kind == Ref::Kind::vector ? value.elements : std::vector<Ref>{value};
}

// Registers may be wider than the type in memory; all elements share one width.
uint32_t element_width(Decode& d, const std::vector<Ref>& values, Type type) {
  uint32_t width = 0;
  for (const Ref& v : values) width = std::max(width, d.register_bytes(v));
  if (width == 0) width = lane_bytes(type);
  if (width < size_of(type)) d.fail("register narrower than the type");
  return width;
}

void value_operands(Decode& d, const Ref& value, Type type, bool is_load) {
  const std::vector<Ref> values = elements(value);
  const uint32_t width = element_width(d, values, type);
  d.out.bytes = static_cast<uint8_t>(size_of(type));
  d.out.reg_bytes = static_cast<uint8_t>(width);
  for (size_t k = 0; k < values.size(); ++k) {
    d.out.vec[k] = is_load ? d.dest(values[k], width) : d.source(values[k], width);
  }
}

std::string access_key(const Decode& d, const char* op, Type type, bool keep_sign) {
  const std::string name = size_of(type) == 16 ? "b128"
                           : keep_sign && is_signed_integer(type) && size_of(type) < d.out.reg_bytes
                               ? integer_name(type)
                               : unsigned_name(type);
  return std::string(op) + "." + name + "." + std::to_string(d.out.reg_bytes);
}

// .param is kernel parameters in an entry, and the stack frame around calls and in functions.
bool is_frame_access(const Ref& address) {
  return address.space == Space::local;
}

// The handler between fences, where the processor does not order accesses itself.
void keep_order(Decode& d, const char* with) {
  if (!kWeaklyOrdered) return;
  const std::string name = d.program.operations[d.out.index];
  d.out.inner = d.out.run;
  d.handler(with);
  d.program.operations[d.out.index] = name;
}

void load(Decode& d) {
  d.take_memory_semantics();
  Space space = d.take_space();
  const Type type = d.take_type();
  const Ref& address = d.operand(1);
  take_vector(d, d.operand(0));
  value_operands(d, d.operand(0), type, true);
  d.out.category = Category::memory;
  d.out.variant = kLoad;
  if (space == Space::param && address.reg == kNoRegister && address.space == Space::param) {
    d.out.category = Category::other;
    d.out.imm = static_cast<int64_t>(address.value) + address.offset;
    return d.handler(access_key(d, "ld.param", type, true));
  }
  if (space == Space::param) space = is_frame_access(address) ? Space::local : Space::generic;
  d.out.space = space == Space::constant ? Space::global : space;
  d.address(1);
  d.handler(access_key(d, "ld", type, true));
  if (d.has("acquire")) keep_order(d, "acquiring");
}

void store(Decode& d) {
  d.take_memory_semantics();
  Space space = d.take_space();
  const Type type = d.take_type();
  take_vector(d, d.operand(1));
  value_operands(d, d.operand(1), type, false);
  d.out.category = Category::memory;
  d.out.variant = kStore;
  if (space == Space::param) space = is_frame_access(d.operand(0)) ? Space::local : Space::generic;
  d.out.space = space;
  d.address(0);
  d.handler(access_key(d, "st", type, false));
  if (d.has("release")) keep_order(d, "releasing");
}

void vector_atomic(Decode& d, Type type, size_t address_operand, bool returns) {
  const Ref& value = d.operand(address_operand + 1);
  take_vector(d, value);
  if (d.out.vec_count > 4) d.fail("vector form");
  const uint32_t bytes = lane_bytes(type);
  for (size_t k = 0; k < d.out.vec_count; ++k) {
    d.out.vec[k] = d.source(value.elements[k], bytes);
    if (returns) d.out.vec[4 + k] = d.dest(d.operand(0).elements[k], bytes);
  }
  d.out.d = returns ? 0 : kNoSlot;
  d.handler("atom.add.vector." + std::string(name_of(type)));
}

// atom d, [a], b{, c}{, policy} and red [a], b{, policy}
void atomic(Decode& d) {
  const bool returns = d.in.is("atom");
  d.take_memory_semantics();
  d.take("noftz");
  d.out.space = d.take_space();
  const Type type = d.take_type();
  const std::string_view op =
      d.take_one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  if (op.empty()) d.fail("atomic operation");
  d.out.category = Category::atomic;
  const size_t at = returns ? 1 : 0;
  d.address(at);
  if (d.operand(at + 1).kind == Ref::Kind::vector) {
    if (op != "add") d.fail("vector form");
    return vector_atomic(d, type, at, returns);
  }
  const uint32_t bytes = lane_bytes(type);
  d.out.d = !returns || d.operand(0).kind == Ref::Kind::sink ? kNoSlot : d.dest(0, bytes);
  d.out.b = d.source(at + 1, bytes);
  d.out.c = op == "cas" ? d.source(at + 2, bytes) : d.out.b;
  d.handler("atom." + std::string(op) + "." +
            (is_float(type) ? std::string(name_of(type)) : integer_name(type)));
}

// cp.async.ca.shared.global [dst], [src], bytes{, source bytes | ignore-src}
void issue_async_copy(Decode& d) {
  if (!d.take("async") || !d.take("shared") + !d.take("shared::cta") == 2 || !d.take("global"))
    d.fail("copy form");
  d.ignore({"ca", "cg"});
  d.ignore_prefix("L2::");
  const Ref& destination = d.operand(0);
  d.out.category = Category::memory;
  d.out.variant = kStore;
  d.out.bytes = static_cast<uint8_t>(d.number(2));
  d.address(0);
  d.out.b = d.out.a;
  d.out.vec[0] = static_cast<uint32_t>(d.out.imm);
  d.out.vec[1] = destination.reg != kNoRegister && d.out.address_is_32 ? 4 : 8;
  d.out.address_is_32 = false;
  d.address(1);
  if (d.count() > 3 && d.operand(3).kind == Ref::Kind::reg && d.operand(3).type == Type::pred) {
    d.out.c = d.predicate_source(3, d.out.flags);
    return d.handler("cp.async.ignoring");
  }
  const bool has_size =
      d.count() > 3 && (d.operand(3).kind == Ref::Kind::number || d.register_bytes(d.operand(3)) == 4);
  d.out.c = has_size ? d.source(3, 4) : d.file.constant(d.out.bytes, 4);
  d.handler("cp.async");
}

void async_copy(Decode& d) {
  if (d.has("bulk") && decode_tensor_copy(d)) return;
  if (d.has("bulk")) return decode_bulk_copy(d);
  if (d.has("mbarrier")) return decode_async_arrive(d);
  if (d.has("commit_group")) {
    d.ignore({"async", "commit_group"});
    return d.handler("cp.async.commit");
  }
  if (d.has("wait_group") || d.has("wait_all")) {
    d.out.variant = d.has("wait_all") ? 1 : 0;
    d.out.imm = d.out.variant ? 0 : static_cast<int64_t>(d.number(0));
    d.ignore({"async", "wait_group", "wait_all"});
    return d.handler("cp.async.wait");
  }
  issue_async_copy(d);
}

void memory_fence(Decode& d) {
  d.out.variant = d.has("gl") || d.has("gpu") || d.has("sys") ? kDeviceFence : 0;
  if (d.has("proxy"))
    d.ignore({"proxy", "async", "alias", "global", "shared::cta", "shared::cluster", "tensormap::generic"});
  d.take("mbarrier_init");
  d.ignore({"cta", "gpu", "sys", "cluster", "gl", "sc", "acq_rel", "acquire", "release"});
  d.handler("fence");
}

// Hints without an effect on results.
void hint(Decode& d) {
  d.ignore({"tensormap", "const", "param", "global", "local", "L1", "L2", "uni", "fractional", "range", "b64",
            "evict_last", "evict_normal"});
  d.ignore_prefix("L1::");
  d.ignore_prefix("L2::");
  d.handler("nop");
}

void create_policy(Decode& d) {
  hint(d);
  d.out.d = d.dest(0, 8);
  d.out.a = d.file.constant(0, 8);
  d.handler("mov.u64");
}

}  // namespace

void add_memory_decoders(DecoderTable& t) {
  for (const char* op : {"ld", "ldu"}) t[op] = load;
  t["st"] = store;
  for (const char* op : {"atom", "red"}) t[op] = atomic;
  t["cp"] = async_copy;
  for (const char* op : {"membar", "fence"}) t[op] = memory_fence;
  for (const char* op : {"prefetch", "prefetchu", "applypriority", "discard"}) t[op] = hint;
  t["createpolicy"] = create_policy;
}

}  // namespace warpgrade::emu
