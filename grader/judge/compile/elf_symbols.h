// Reads the symbol table of an ELF file that may have been made to mislead its reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpgrade {

struct ElfSymbol {
  std::string_view name;                // lies in the bytes given; without its version
  unsigned char binding = 0, type = 0;  // STB_..., STT_...
  bool defined = false;                 // here; else it is looked for elsewhere
  std::size_t info = 0;                 // where st_info, which holds binding and type, lies in the bytes
};

struct ElfSymbols {
  std::vector<ElfSymbol> symbols;      // without nameless ones
  std::optional<std::string> problem;  // why the table can't be read; then there are no symbols
};

// Of a 64-bit little-endian relocatable object of this machine's kind. Every offset is checked against the
// bytes. A file with two tables, with sections for link-time optimisation (whose symbols are not in the
// table), or with more than kMostSymbols symbols is a problem.
ElfSymbols read_elf_symbols(std::string_view bytes);

// Makes the object's own main weak, where it has one: in a program that has another main, that one is
// taken, as
// `objcopy --weaken-symbol=main` does it. So a main is left out by its symbol, however the source came to it,
// and names called main in headers stay what they are.
void weaken_main(std::string& object);

inline constexpr std::size_t kMostSymbols = 1'000'000;

}  // namespace warpgrade
