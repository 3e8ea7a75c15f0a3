#include "program/write_set.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace warpgrade::emu {
namespace {

// What a register may hold a pointer from: offsets of kernel arguments, or something that was not followed.
struct Origin {
  std::set<uint32_t> offsets;
  bool unknown = false;
  bool from_memory = false;  // at most 32 bits of it: an index, as long as nobody puts two halves together

  bool add(const Origin& other) {
    const auto before = std::tuple(offsets.size(), unknown, from_memory);
    offsets.insert(other.offsets.begin(), other.offsets.end());
    unknown |= other.unknown;
    from_memory |= other.from_memory;
    return std::tuple(offsets.size(), unknown, from_memory) != before;
  }
};

class WriteSetFinder {
 public:
  explicit WriteSetFinder(const LinearProgram& program) : program_(program) {}

  WriteSet find() {
    // Pointers that pass through calls are not followed.
    if (program_.functions.size() > 1) return {true, {}};
    const LinearFunction& f = program_.functions.back();
    origins_.resize(f.registers.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (const LinearInst& i : f.code) changed |= follow(i);
    }
    for (const LinearInst& i : f.code) note_store(i);
    return set_;
  }

 private:
  static bool has(const LinearInst& i, std::string_view part) {
    return std::find(i.parts.begin(), i.parts.end(), part) != i.parts.end();
  }

  Origin origin_of(const Ref& ref) const {
    Origin origin;
    if (ref.kind == Ref::Kind::symbol) origin.unknown = true;  // a variable of the module
    if (ref.reg != kNoRegister) origin.add(origins_[ref.reg]);
    for (const Ref& element : ref.elements) origin.add(origin_of(element));
    return origin;
  }

  bool assign(const Ref& destination, const Origin& origin) {
    bool changed = false;
    if (destination.kind == Ref::Kind::reg && destination.reg != kNoRegister)
      changed |= origins_[destination.reg].add(origin);
    for (const Ref& element : destination.elements) changed |= assign(element, origin);
    return changed;
  }

  static bool has_64_bits(const LinearInst& i) {
    return has(i, "u64") || has(i, "s64") || has(i, "b64") || has(i, "b128");
  }

  // Makes 64 bits of two times 32: mov.b64 {a, b}, or a shift of the upper half to its place.
  static bool joins_halves(const LinearInst& i) {
    if (!has_64_bits(i)) return false;
    if (i.is("mov")) return i.operands.size() > 1 && i.operands[1].kind == Ref::Kind::vector;
    return i.is("bfi") || (i.is("shl") && i.operands.size() > 2 &&
                           (i.operands[2].kind != Ref::Kind::number || i.operands[2].value >= 32));
  }

  bool follow(const LinearInst& i) {
    if (i.operands.empty() || i.is("st") || i.is("bra")) return false;
    Origin origin;
    if (i.is("ld") && has(i, "param") && i.operands.size() > 1) {
      const Ref& from = i.operands[1];
      if (from.reg != kNoRegister || from.space == Space::local) {  // not of the kernel
        origin.unknown = true;
      } else {
        for (uint32_t k = 0; k < std::max<size_t>(1, i.operands[0].elements.size()); ++k)
          origin.offsets.insert(static_cast<uint32_t>(from.value + from.offset) + 8 * k);
      }
    } else if (i.is("ld") || i.is("atom") || i.is("call.return")) {
      // Perhaps a pointer out of memory.
      (i.is("call.return") || has_64_bits(i) ? origin.unknown : origin.from_memory) = true;
    } else {
      for (size_t k = 1; k < i.operands.size(); ++k) origin.add(origin_of(i.operands[k]));
      origin.unknown |= origin.from_memory && joins_halves(i);
    }
    return assign(i.operands[0], origin);
  }

  void note_store(const LinearInst& i) {
    const bool stores = i.is("st") || i.is("red") || i.is("atom") || (i.is("cp") && has(i, "bulk")) ||
                        (i.is("wmma") && has(i, "store"));
    if (!stores || i.operands.size() < (i.is("atom") ? 2 : 1) || has(i, "shared") || has(i, "local") ||
        has(i, "param"))
      return;
    const Ref& target = i.operands[i.is("atom") ? 1 : 0];
    const Origin origin = origin_of(target);
    set_.anything |= origin.unknown || origin.offsets.empty() || target.kind == Ref::Kind::symbol;
    set_.param_offsets.insert(set_.param_offsets.end(), origin.offsets.begin(), origin.offsets.end());
  }

  const LinearProgram& program_;
  std::vector<Origin> origins_;
  WriteSet set_;
};

}  // namespace

WriteSet find_write_set(const LinearProgram& program) {
  WriteSet set = WriteSetFinder(program).find();
  std::sort(set.param_offsets.begin(), set.param_offsets.end());
  set.param_offsets.erase(std::unique(set.param_offsets.begin(), set.param_offsets.end()),
                          set.param_offsets.end());
  return set;
}

}  // namespace warpgrade::emu
