// A cubin is an ELF file. Its section .nv.info has records of an attribute each:
//   format (1 byte), attribute (1 byte), then either a value of 2 bytes or, in format 4, the size of what
//   follows. The attribute of registers is followed by the number of a symbol and that of its registers.
#include "loader/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "loader/fatbin_entries.h"

namespace warpgrade::emu {
namespace {

constexpr uint8_t kSized = 4, kRegisterCount = 0x2f;
constexpr uint32_t kMostRegisters = 255;

using ElfBytes = std::span<const uint8_t>;

// Empty where the file ends before it.
template <class T>
std::optional<T> value_at(ElfBytes bytes, uint64_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

ElfBytes bytes_at(ElfBytes bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) return {};
  return bytes.subspan(at, size);
}

std::string string_at(ElfBytes strings, uint64_t at) {
  if (at >= strings.size()) return "";
  const auto* begin = reinterpret_cast<const char*>(strings.data() + at);
  return {begin, strnlen(begin, strings.size() - at)};
}

class Cubin {
 public:
  explicit Cubin(ElfBytes elf) : elf_(elf) {
    const auto header = value_at<Elf64_Ehdr>(elf, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_type != ET_EXEC) return;
    const auto names = section(*header, header->e_shstrndx);
    if (!names) return;
    for (uint32_t k = 0; k < header->e_shnum; ++k) {
      const auto one = section(*header, k);
      if (!one) return;
      if (one->sh_type == SHT_SYMTAB) {
        symbols_ = contents(*one);
        if (const auto texts = section(*header, one->sh_link)) symbol_names_ = contents(*texts);
      } else if (string_at(contents(*names), one->sh_name) == ".nv.info") {
        info_ = contents(*one);
      }
    }
  }

  std::map<std::string, uint32_t> registers() const {
    std::map<std::string, uint32_t> all;
    uint64_t at = 0;
    while (const auto size = value_at<uint16_t>(info_, at + 2)) {
      const bool sized = info_[at] == kSized;
      if (sized && info_[at + 1] == kRegisterCount) {
        const auto symbol = value_at<uint32_t>(info_, at + 4), count = value_at<uint32_t>(info_, at + 8);
        if (symbol && count) all[name_of(*symbol)] = std::min(*count, kMostRegisters);
      }
      at += 4 + (sized ? *size : 0);
    }
    return all;
  }

 private:
  std::optional<Elf64_Shdr> section(const Elf64_Ehdr& header, uint32_t number) const {
    if (number >= header.e_shnum || header.e_shoff > elf_.size()) return std::nullopt;
    return value_at<Elf64_Shdr>(elf_, header.e_shoff + uint64_t{number} * sizeof(Elf64_Shdr));
  }
  ElfBytes contents(const Elf64_Shdr& section) const {
    return bytes_at(elf_, section.sh_offset, section.sh_size);
  }
  std::string name_of(uint32_t symbol) const {
    const auto entry = value_at<Elf64_Sym>(symbols_, uint64_t{symbol} * sizeof(Elf64_Sym));
    return entry ? string_at(symbol_names_, entry->st_name) : "";
  }

  ElfBytes elf_, symbols_, symbol_names_, info_;
};

}  // namespace

std::map<std::string, uint32_t> registers_of_cubin(std::span<const uint8_t> elf) {
  return Cubin(elf).registers();
}

std::map<std::string, uint32_t> registers_of_containers(
    const std::vector<std::span<const uint8_t>>& containers, unsigned arch) {
  std::map<std::string, uint32_t> all;
  for (const std::span<const uint8_t> container : containers) {
    uint32_t best = 0;
    std::map<std::string, uint32_t> of_best;
    visit_entries(container, [&](const FatbinEntry& entry) {
      const bool runs = entry.arch / 10 == arch / 10 && entry.arch <= arch && entry.arch > best;
      if (entry.kind != FatbinEntry::Kind::machine_code || entry.is_compressed || !runs) return;
      best = entry.arch;
      of_best = registers_of_cubin(entry.payload);
    });
    all.merge(of_best);
  }
  return all;
}

}  // namespace warpgrade::emu
