#include "loader/fatbin.h"

#include <cstring>
#include <optional>

#include "cudart/fat_binary.h"
#include "loader/fatbin_entries.h"

namespace warpgrade::emu {
namespace {

struct Search {
  unsigned arch;
  bool found_compressed = false;
  std::optional<uint32_t> best_arch;
  std::string text;
  std::string damage;  // the first thing that cannot be; what was found before it is used

  bool better(uint32_t candidate) const {
    if (!best_arch) return true;
    const bool fits = candidate <= arch, best_fits = *best_arch <= arch;
    if (fits != best_fits) return fits;
    return fits ? candidate > *best_arch : candidate < *best_arch;
  }

  void visit(std::span<const uint8_t> container) {
    damage = visit_entries(container, [&](const FatbinEntry& entry) {
      if (entry.kind == FatbinEntry::Kind::ptx) take(entry);
    });
  }

  void take(const FatbinEntry& entry) {
    if (entry.is_compressed) {
      found_compressed = true;
    } else if (better(entry.arch)) {
      best_arch = entry.arch;
      const auto* characters = reinterpret_cast<const char*>(entry.payload.data());
      text.assign(characters, strnlen(characters, entry.payload.size()));
    }
  }
};

}  // namespace

FatbinPtx ptx_of_fatbin(const void* wrapper, unsigned arch) {
  return ptx_of_containers(cudart::containers_of(wrapper), arch);
}

FatbinPtx ptx_of_containers(const std::vector<std::span<const uint8_t>>& containers, unsigned arch) {
  if (containers.empty()) return {"", "the program's fat binary has an unknown format"};
  std::string text, damage;
  bool found_compressed = false;
  for (const std::span<const uint8_t> container : containers) {
    Search search{arch, false, {}, {}, {}};
    search.visit(container);
    if (!text.empty() && !search.text.empty()) text += "\n";
    text += search.text;
    found_compressed |= search.found_compressed;
    if (damage.empty()) damage = search.damage;
  }
  if (!text.empty()) return {std::move(text), ""};
  if (found_compressed) {
    return {
        "",
        "the program's PTX is compressed; build it with `nvcc -no-compress` (and code=[compute_XX,sm_XX])"};
  }
  if (!damage.empty()) {
    return {"", "the program's fat binary is damaged: " + damage + "; build the program again"};
  }
  return {"",
          "the program holds no PTX; build it with `nvcc -gencode arch=compute_80,code=[compute_80,sm_80] "
          "-no-compress`"};
}

}  // namespace warpgrade::emu
