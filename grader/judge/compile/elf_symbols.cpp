#include "judge/compile/elf_symbols.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstring>

namespace warpgrade {
namespace {

#if defined(__aarch64__)
constexpr Elf64_Half kElfMachine = EM_AARCH64;
#else
constexpr Elf64_Half kElfMachine = EM_X86_64;
#endif

// A structure at an offset, copied out: nothing is known of its alignment.
template <typename T>
std::optional<T> at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

// The text at an offset of a string table, up to its zero byte.
std::optional<std::string_view> text(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return std::nullopt;
  const std::size_t end = table.find('\0', offset);
  if (end == std::string_view::npos) return std::nullopt;
  return table.substr(offset, end - offset);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  ElfSymbols read() {
    ElfSymbols result;
    if (!header() || !sections() || !find_table() || !symbols(result.symbols)) {
      result.symbols.clear();
      result.problem = problem_;
    }
    return result;
  }

 private:
  bool fail(std::string why) {
    problem_ = std::move(why);
    return false;
  }

  bool header() {
    const auto found = at<Elf64_Ehdr>(bytes_, 0);
    if (!found || std::memcmp(found->e_ident, ELFMAG, SELFMAG) != 0) return fail("no ELF file");
    header_ = *found;
    const bool kind = header_.e_ident[EI_CLASS] == ELFCLASS64 && header_.e_ident[EI_DATA] == ELFDATA2LSB &&
                      header_.e_machine == kElfMachine;
    if (!kind) return fail("an ELF file of another machine");
    if (header_.e_type != ET_REL) return fail(fmt::format("an ELF file of type {}", header_.e_type));
    return true;
  }

  bool sections() {
    if (header_.e_shentsize != sizeof(Elf64_Shdr)) return fail("section headers of another size");
    const auto first = at<Elf64_Shdr>(bytes_, header_.e_shoff);
    if (!first) return fail("no section headers");
    // More than 65,280 sections: the numbers stand in the first header.
    const std::uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first->sh_size;
    const std::uint64_t names = header_.e_shstrndx != SHN_XINDEX ? header_.e_shstrndx : first->sh_link;
    if (count > bytes_.size() / sizeof(Elf64_Shdr) ||
        !slice(bytes_, header_.e_shoff, count * sizeof(Elf64_Shdr)) || names >= count)
      return fail("section headers beyond the file's end");
    for (std::uint64_t i = 0; i < count; ++i)
      sections_.push_back(*at<Elf64_Shdr>(bytes_, header_.e_shoff + i * sizeof(Elf64_Shdr)));
    return no_other_code(sections_[names]);
  }

  // With link-time optimisation the linker takes code and symbols from sections of their own.
  bool no_other_code(const Elf64_Shdr& names_section) {
    const auto names = slice(bytes_, names_section.sh_offset, names_section.sh_size);
    if (!names || names_section.sh_type != SHT_STRTAB) return fail("no names of sections");
    for (const Elf64_Shdr& section : sections_) {
      const auto name = text(*names, section.sh_name);
      if (!name) return fail("a section's name beyond the table's end");
      if (name->starts_with(".gnu.lto_") || name->starts_with(".llvm.lto"))
        return fail("sections for link-time optimisation");
    }
    return true;
  }

  bool find_table() {
    const Elf64_Shdr* found = nullptr;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB) continue;
      if (found != nullptr) return fail("two symbol tables");
      found = &section;
    }
    if (found == nullptr) return fail("no symbol table");
    if (found->sh_entsize != sizeof(Elf64_Sym) || found->sh_size % sizeof(Elf64_Sym) != 0)
      return fail("symbols of another size");
    if (found->sh_size / sizeof(Elf64_Sym) > kMostSymbols)
      return fail(fmt::format("more than {} symbols", kMostSymbols));
    if (found->sh_link >= sections_.size() || sections_[found->sh_link].sh_type != SHT_STRTAB)
      return fail("no names of symbols");
    const Elf64_Shdr& names = sections_[found->sh_link];
    const auto entries = slice(bytes_, found->sh_offset, found->sh_size);
    const auto texts = slice(bytes_, names.sh_offset, names.sh_size);
    if (!entries || !texts) return fail("a symbol table beyond the file's end");
    entries_ = *entries;
    names_ = *texts;
    return true;
  }

  bool symbols(std::vector<ElfSymbol>& symbols) {
    symbols.reserve(entries_.size() / sizeof(Elf64_Sym));
    for (std::uint64_t offset = 0; offset < entries_.size(); offset += sizeof(Elf64_Sym)) {
      const Elf64_Sym symbol = *at<Elf64_Sym>(entries_, offset);
      if (symbol.st_name == 0) continue;
      const auto name = text(names_, symbol.st_name);
      if (!name) return fail("a symbol's name beyond the table's end");
      // ".symver" and the like append a version: "dlopen@GLIBC_2.2.5" is dlopen, and "@V" is nameless.
      const std::string_view bare = name->substr(0, name->find('@'));
      if (bare.empty()) continue;
      symbols.push_back({bare, static_cast<unsigned char>(ELF64_ST_BIND(symbol.st_info)),
                         static_cast<unsigned char>(ELF64_ST_TYPE(symbol.st_info)),
                         symbol.st_shndx != SHN_UNDEF,
                         static_cast<std::size_t>(entries_.data() - bytes_.data()) + offset +
                             offsetof(Elf64_Sym, st_info)});
    }
    return true;
  }

  std::string_view bytes_, entries_, names_;
  Elf64_Ehdr header_ = {};
  std::vector<Elf64_Shdr> sections_;
  std::string problem_;
};

}  // namespace

ElfSymbols read_elf_symbols(std::string_view bytes) {
  return Reader(bytes).read();
}

void weaken_main(std::string& object) {
  std::vector<std::pair<std::size_t, unsigned char>> places;
  for (const ElfSymbol& symbol : read_elf_symbols(object).symbols) {
    if (symbol.name == "main" && symbol.defined && symbol.binding == STB_GLOBAL)
      places.emplace_back(symbol.info, ELF64_ST_INFO(STB_WEAK, symbol.type));
  }
  for (const auto& [place, info] : places) object[place] = static_cast<char>(info);
}

}  // namespace warpgrade
