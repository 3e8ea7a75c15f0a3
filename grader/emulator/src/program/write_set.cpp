#include "program/write_set.h"

#include <algorithm>
#include <set>

namespace warpgrade::emu {
namespace {

// What a register may hold a pointer from: offsets of kernel arguments, or something that was not followed.
struct Origin {
  std::set<uint32_t> offsets;
  bool unknown = false;

  bool add(const Origin& other) {
    const size_t before = offsets.size();
    const bool was_unknown = unknown;
    offsets.insert(other.offsets.begin(), other.offsets.end());
    unknown |= other.unknown;
    return offsets.size() != before || unknown != was_unknown;
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
      origin.unknown = true;  // perhaps a pointer out of memory
    } else {
      for (size_t k = 1; k < i.operands.size(); ++k) origin.add(origin_of(i.operands[k]));
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
