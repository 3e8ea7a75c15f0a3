// Native code has the instructions of its level alone: none of AVX-512 where it is made for AVX2.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "native/kernel.h"
#include "program/build.h"
#include "ptx/parser.h"
#include "random_kernel.h"

namespace warpgrade::emu {
namespace {

// The instructions as objdump writes them: a line each, "  offset:<tab>bytes<tab>text".
std::string disassembled(const NativeCode& code) {
  const std::string file = testing::TempDir() + "/warpemu_native_code." + std::to_string(getpid());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(code.memory.data()),
             static_cast<std::streamsize>(code.instruction_bytes));
  const std::string command = "objdump -D -b binary -m i386:x86-64 " + file;
  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 1 << 14> buffer;
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), output.get()))
    text.append(buffer.data(), n);
  std::remove(file.c_str());
  return text;
}

// Every instruction with the prefix of AVX-512 (EVEX, 62 in 64-bit code), or with mask registers.
size_t wide_instructions(const std::string& text, size_t& all) {
  size_t wide = 0;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const size_t bytes = line.find(":\t");
    if (bytes == line.npos || line.find('\t', bytes + 2) == line.npos) continue;
    ++all;
    wide += line.compare(bytes + 2, 3, "62 ") == 0 || line.find("%k") != line.npos;
  }
  return wide;
}

TEST(NativeCode, has_the_instructions_of_its_level_alone) {
  if (!can_compile())
    GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, or the assembler was not there";
  if (std::system("objdump --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "objdump (binutils) is not there";
  size_t wide = 0, all = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto module = parse_module(RandomKernel(seed).text("kernel"));
    const auto program = build_program(*module, "kernel", {});
    NativeMode mode;
    mode.counts = seed % 3 != 0;
    mode.observes = seed % 3 != 0;
    mode.checks = mode.orders_lanes = seed % 3 == 2;
    mode.shape = {true, true, true};
    const auto code = compile_native(*program, mode, {});
    ASSERT_NE(code, nullptr) << "seed " << seed;
    wide += wide_instructions(disassembled(*code), all);
  }
  EXPECT_GT(all, 10000u);
  if (native_level() == NativeLevel::avx2) {
    EXPECT_EQ(wide, 0u);
  } else {
    EXPECT_GT(wide, 1000u);  // they are recognized
  }
}

// A kernel of nothing but rows of float4 in shared memory: checks write most code for these. Where that had no room the
// kernel was interpreted, in ten times the time. WARPEMU_CHECKS=all asks for it.
TEST(NativeCode, has_room_for_the_checks_of_rows_of_vectors) {
  if (!can_compile())
    GTEST_SKIP() << "this processor has neither AVX2 nor AVX-512, or the assembler was not there";
  std::string text =
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry kernel()\n{\n.reg .b32 %r<4>;\n"
      ".reg .f32 %f<4>;\n.shared .align 16 .b8 tile[32768];\nmov.u32 %r0, %tid.x;\n"
      "mov.u32 %r1, tile;\nmad.lo.u32 %r2, %r0, 16, %r1;\n";
  constexpr int kCopies = 200;
  for (int k = 0; k < kCopies; ++k) {
    text += "ld.shared.v4.f32 {%f0, %f1, %f2, %f3}, [%r2+" + std::to_string(512 * (k % 60)) + "];\n";
    text += "st.shared.v4.f32 [%r2+" + std::to_string(512 * (k % 60 + 1)) + "], {%f0, %f1, %f2, %f3};\n";
  }
  const auto module = parse_module(text + "ret;\n}\n");
  const auto program = build_program(*module, "kernel", {});
  NativeMode mode;
  mode.counts = mode.observes = mode.checks = mode.orders_lanes = true;
  mode.shape = {true, true, true};
  EXPECT_NE(compile_native(*program, mode, {}), nullptr);
}

}  // namespace
}  // namespace warpgrade::emu
