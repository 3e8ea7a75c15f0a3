#include <gtest/gtest.h>

#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

using Words = std::vector<std::string_view>;

TEST(Lexer, keeps_opcodes_whole_and_splits_directives) {
  EXPECT_EQ(tokenize("ld.global.f32 %f1,[%rd1+4];"),
            (Words{"ld.global.f32", "%f1", ",", "[", "%rd1", "+", "4", "]", ";"}));
  EXPECT_EQ(tokenize(".reg.b32 f;"), (Words{".reg", ".b32", "f", ";"}));
}

TEST(Lexer, keeps_cache_levels_and_exponents_in_one_word) {
  EXPECT_EQ(tokenize("ld.L1::no_allocate.u32 1.5e-3 $L1: x"),
            (Words{"ld.L1::no_allocate.u32", "1.5e-3", "$L1", ":", "x"}));
}

TEST(Lexer, skips_comments) {
  EXPECT_EQ(tokenize("a // b\n/* c */ d"), (Words{"a", "d"}));
}

TEST(Lexer, names_the_line_of_an_unterminated_string) {
  try {
    tokenize("a\n\"b");
    FAIL() << "no error";
  } catch (const PtxError& error) {
    EXPECT_EQ(error.line, 2u);
  }
}

constexpr char kModule[] = R"(
.version 9.0
.target sm_80, debug
.address_size 64
.global .align 4 .u32 counter = 7;
.const .align 8 .b64 pointers[2] = {counter, generic(counter)+8};
.visible .entry kernel(.param .u64 kernel_param_0, .param .align 8 .b8 kernel_param_1[24])
.maxntid 16, 4, 1
{
  .reg .pred %p<3>;
  .loc 1 10 3
  mov.u32 %r1, %tid.x;
  .loc 2 5 1, function_name $L__info_string0, inlined_at 1 10 3
  @!%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+-8];
  ret;
}
.file 1 "/home/student/spmm.cu"
)";

TEST(Parser, reads_declarations) {
  const auto module = parse_module(kModule);
  EXPECT_EQ(module->target, 80u);
  EXPECT_EQ(module->files.at(1), "/home/student/spmm.cu");
  EXPECT_EQ(module->variables.at("counter").initial.at(0).bits, 7u);
  const Variable& pointers = module->variables.at("pointers");
  ASSERT_EQ(pointers.initial.size(), 2u);
  EXPECT_EQ(pointers.initial[1].symbol, "counter");
  EXPECT_EQ(pointers.initial[1].bits, 8u);
  const Function& kernel = module->functions.at("kernel");
  EXPECT_TRUE(kernel.is_entry);
  EXPECT_EQ(kernel.max_threads, 64u);
  EXPECT_EQ(kernel.params.at(1).bytes(), 24u);
}

TEST(Parser, reads_instructions_with_guards_vectors_and_addresses) {
  const auto module = parse_module(kModule);
  Function& kernel = module->functions.at("kernel");
  parse_body(*module, kernel);
  const auto* load = std::get_if<Instruction>(&kernel.body.at(2));
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->guard, "%p1");
  EXPECT_TRUE(load->guard_negated);
  EXPECT_EQ(load->parts, (Words{"ld", "global", "v2", "f32"}));
  EXPECT_EQ(load->operands.at(0).elements.size(), 2u);
  EXPECT_EQ(load->operands.at(1).offset, -8);
}

TEST(Parser, chains_inlined_locations_to_their_call_site) {
  const auto module = parse_module(kModule);
  Function& kernel = module->functions.at("kernel");
  parse_body(*module, kernel);
  const auto& load = std::get<Instruction>(kernel.body.at(2));
  const SourceLocation& inner = module->locations.at(load.location);
  EXPECT_EQ(inner.line, 5u);
  ASSERT_GE(inner.parent, 0);
  EXPECT_EQ(module->locations.at(static_cast<size_t>(inner.parent)).line, 10u);
}

TEST(Parser, refuses_unknown_directives_with_their_line) {
  try {
    parse_module(".version 9.0\n.mystery 3;");
    FAIL() << "no error";
  } catch (const PtxError& error) {
    EXPECT_NE(std::string(error.what()).find(".mystery"), std::string::npos);
    EXPECT_EQ(error.line, 2u);
  }
}

}  // namespace
}  // namespace warpgrade::emu
