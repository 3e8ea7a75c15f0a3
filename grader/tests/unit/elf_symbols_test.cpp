#include "judge/compile/elf_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "base/files.h"
#include "base/process.h"
#include "judge/compile/inspect.h"
#include "judge/compile/link_problem.h"

namespace warpgrade {
namespace {

// An object that the machine's assembler makes; calls are written as x86-64 has them.
std::string assembled(std::string text) {
#if defined(__aarch64__)
  for (std::size_t at = 0; (at = text.find("call ", at)) != std::string::npos;) text.replace(at, 5, "bl ");
#endif
  const TemporaryDirectory scratch("elf-test");
  write_text(scratch.path() / "a.s", text);
  ProcessOptions options;
  options.command = {"as", "-o", (scratch.path() / "a.o").string(), (scratch.path() / "a.s").string()};
  const ProcessResult result = run_process(options);
  EXPECT_TRUE(result.ok()) << result.standard_error;
  return read_text(scratch.path() / "a.o");
}

std::set<std::string> names(const ElfSymbols& found, bool defined) {
  std::set<std::string> result;
  for (const ElfSymbol& symbol : found.symbols)
    if (symbol.binding != STB_LOCAL && symbol.defined == defined) result.emplace(symbol.name);
  return result;
}

TEST(ElfSymbols, EveryBindingAndTypeIsSeen) {
  const std::string object = assembled(
      ".text\n.globl fun\n.type fun,@function\nfun: call wanted\n.weak weak_fun\n.type weak_fun,@function\n"
      "weak_fun: nop\n.weak wanted_weakly\n.quad wanted_weakly\n.globl resolver\n.type resolver,"
      "@gnu_indirect_function\nresolver: nop\n.globl plain\nplain: nop\n.data\n.weak weak_data\n.type "
      "weak_data,@object\n"
      "weak_data: .quad 0\n.globl one\n.type one,@gnu_unique_object\none: .quad 0\n.comm shared,8,8\n"
      ".section .tdata,\"awT\",@progbits\n.globl per_thread\n.type per_thread,@tls_object\nper_thread: .quad "
      "0\n"
      ".text\nlocal: call old\n.symver old,old@V1\n");
  const ElfSymbols found = read_elf_symbols(object);
  ASSERT_FALSE(found.problem.has_value()) << *found.problem;
  EXPECT_EQ(names(found, true), (std::set<std::string>{"fun", "weak_fun", "resolver", "plain", "weak_data",
                                                       "one", "shared", "per_thread"}));
  const std::set<std::string> wanted = names(found, false);
  for (const char* name : {"wanted", "wanted_weakly", "old"}) EXPECT_TRUE(wanted.contains(name)) << name;
}

// "@V1" is a version and no name. Looking for a nameless symbol in the linker's words took forever.
TEST(ElfSymbols, ASymbolThatIsOnlyAVersionIsNameless) {
  std::string object = assembled(".text\n.globl vV1\nvV1: nop\n.globl fun\nfun: nop\n");
  object.replace(object.find("vV1"), 1, "@");
  const ElfSymbols found = read_elf_symbols(object);
  ASSERT_FALSE(found.problem.has_value()) << *found.problem;
  EXPECT_EQ(names(found, true), std::set<std::string>{"fun"});
  const auto problem =
      explain_link({{"a.cu", object}, {"b.cu", object}},
                   "multiple definition of `fun'; b.o: first defined here\n", "warpgrade/spmm.h");
  ASSERT_TRUE(problem.has_value());
  EXPECT_NE(problem->message.find("fun is defined in a.cu and b.cu"), std::string::npos) << problem->message;
}

TEST(ElfSymbols, SectionsForLinkTimeOptimisationAreRefused) {
  const ElfSymbols found = read_elf_symbols(assembled(".section .gnu.lto_.symtab.1,\"e\"\n.byte 0\n"));
  ASSERT_TRUE(found.problem.has_value());
  EXPECT_NE(found.problem->find("link-time"), std::string::npos);
}

TEST(ElfSymbols, MoreSymbolsThanTheBoundAreRefused) {
  std::string object = assembled(".globl f\nf: nop\n");
  // The table is said to be as large as the bound forbids, and the file is.
  Elf64_Ehdr header;
  std::memcpy(&header, object.data(), sizeof header);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    const std::size_t at = header.e_shoff + static_cast<std::size_t>(i) * sizeof section;
    std::memcpy(&section, object.data() + at, sizeof section);
    if (section.sh_type != SHT_SYMTAB) continue;
    section.sh_offset = object.size();
    section.sh_size = (kMostSymbols + 1) * sizeof(Elf64_Sym);
    std::memcpy(object.data() + at, &section, sizeof section);
    object.resize(object.size() + section.sh_size);
    break;
  }
  const ElfSymbols found = read_elf_symbols(object);
  ASSERT_TRUE(found.problem.has_value());
  EXPECT_NE(found.problem->find("more than"), std::string::npos) << *found.problem;
}

TEST(ElfSymbols, WhatIsNoObjectIsRefused) {
  EXPECT_TRUE(read_elf_symbols("").problem.has_value());
  EXPECT_TRUE(read_elf_symbols("INPUT(/etc/passwd)").problem.has_value());
  EXPECT_TRUE(read_elf_symbols("!<arch>\n").problem.has_value());
}

// Any bytes: read within bounds (the sanitizer's build sees the rest), and never an exception.
TEST(ElfSymbols, SurvivesDamagedObjects) {
  const unsigned seed = 20261122;
  std::mt19937 random(seed);
  const std::string whole =
      assembled(".globl f\n.type f,@function\nf: call g\n.data\n.globl d\nd: .quad f\n");
  std::size_t readable = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string object = whole.substr(0, round % 4 == 0 ? random() % whole.size() : whole.size());
    const bool headers = round % 2 == 0;  // the section headers stand at the end
    for (unsigned i = 0; i < 1 + random() % 4 && !object.empty(); ++i) {
      const std::size_t range = std::min<std::size_t>(object.size(), headers ? 600 : object.size());
      object[object.size() - 1 - random() % range] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
    }
    const ElfSymbols found = read_elf_symbols(object);
    EXPECT_EQ(found.problem.has_value(), found.problem.has_value() && found.symbols.empty())
        << "seed " << seed << ", round " << round;
    for (const ElfSymbol& symbol : found.symbols) {
      ASSERT_GE(symbol.name.data(), object.data());
      ASSERT_LE(symbol.name.data() + symbol.name.size(), object.data() + object.size());
    }
    readable += found.problem ? 0 : 1;
  }
  EXPECT_GT(readable, 1000u);
  EXPECT_LT(readable, 19500u);
}

TEST(Inspection, VendorLibrariesAndLoadersAreFoundInEveryForm) {
  const auto reason = [&](const std::string& text) {
    const auto finding = inspect_symbols(assembled(text));
    return finding ? word_of(finding->reason) : "";
  };
  EXPECT_EQ(reason(".globl spmm_run\nspmm_run: call cudaMalloc\n.weak own_helper\nown_helper: nop\n"), "");
  EXPECT_EQ(reason("call dlopen\n"), "forbidden_library");
  EXPECT_EQ(reason(".weak dlmopen\n.quad dlmopen\n"), "forbidden_library");
  EXPECT_EQ(reason("call old\n.symver old,dlopen@GLIBC_2.2.5\n"), "forbidden_library");
  EXPECT_EQ(reason("call cublasSgemm_v2\n"), "forbidden_library");
}

// C++ does not mangle the names of global variables: `int time, index;` is honest.
TEST(Inspection, WhatASubmissionDefinesIsItsOwn) {
  for (const char* text : {".globl memcpy\nmemcpy: nop\n", ".comm time,4,4\n", ".comm cublas_like,8,8\n",
                           ".data\n.globl index\n.type index,@object\nindex: .quad 0\n"}) {
    EXPECT_FALSE(inspect_symbols(assembled(text))) << text;
  }
}

}  // namespace
}  // namespace warpgrade
