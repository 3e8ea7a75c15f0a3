// Mutants of PTX: which there are, and what stands in place of the instruction.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "program/build.h"
#include "program/mutant_operators.h"
#include "program/mutants.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

std::string rewritten(const std::string& operation, const std::string& instruction) {
  for (const MutantOperator& one : mutant_operators())
    if (one.name == operation) return one.rewrite(read_written(instruction)).value_or("none");
  return "no such operator";
}

struct Rewriting {
  const char *operation, *from, *to;
};

TEST(Mutants, change_what_the_operator_says) {
  const Rewriting all[] = {
      {"no_barrier", "bar.sync 0", ""},
      {"no_barrier", "bar.warp.sync -1", ""},
      {"no_barrier", "barrier.cluster.wait.aligned", ""},
      {"no_barrier", "barrier.cluster.arrive.aligned", "none"},  // whoever waits would wait for ever
      {"no_barrier", "bar.red.popc.u32 %r1, 0, %p1", "none"},
      {"no_barrier", "shfl.sync.down.b32 %r1, %r2, 1, 31, -1", "none"},
      {"no_fence", "membar.gl", ""},
      {"no_fence", "fence.acq_rel.gpu", ""},
      {"no_wait", "cp.async.wait_group 0", ""},
      {"no_wait", "cp.async.commit_group", "none"},
      {"boundary", "setp.lt.s32 %p1, %r1, %r2", "setp.le.s32 %p1, %r1, %r2;"},
      {"boundary", "setp.gt.s32 %p1, %r1, 31", "setp.ge.s32 %p1, %r1, 31;"},
      {"boundary", "setp.eq.s32 %p1, %r1, 31", "none"},
      {"negated", "setp.lt.and.s32 %p1, %r1, 31, %p2", "setp.ge.and.s32 %p1, %r1, 31, %p2;"},
      {"negated", "setp.lt.f32 %p1, %f1, %f2", "setp.geu.f32 %p1, %f1, %f2;"},
      {"guard_true", "@!%p3 bra $L_1", "bra $L_1;"},
      {"guard_true", "bra $L_1", "none"},
      {"no_store", "st.shared.f32 [%r1], %f1", ""},
      {"no_store", "st.param.f32 [p+4], %f1", "none"},
      {"first_term", "add.f32 %f1, %f2, %f3", "mov.b32 %f1, %f2;"},
      {"second_term", "add.s64 %rd1, %rd2, %rd3", "mov.b64 %rd1, %rd3;"},
      {"second_term", "max.f32 %f1, %f2, %f3", "mov.b32 %f1, %f3;"},
      {"first_term", "fma.rn.f32 %f1, %f2, %f3, %f4", "mul.rn.f32 %f1, %f2, %f3;"},
      {"second_term", "fma.rn.f32 %f1, %f2, %f3, %f4", "mov.b32 %f1, %f4;"},
      {"index_up", "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16]",
       "ld.global.nc.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16+16];"},
      {"index_down", "st.shared.u8 [%r1], %rs1", "st.shared.u8 [%r1+-1], %rs1;"},
      {"index_up", "ld.param.u64 %rd1, [p]", "none"},
      {"constant_up", "mov.u32 %r1, 0", "mov.u32 %r1, 1;"},
      {"constant_down", "@%p1 add.s32 %r1, %r2, -1", "@%p1 add.s32 %r1, %r2, -2;"},
      {"constant_up", "shfl.sync.bfly.b32 %r1, %r2, 16, 31, -1", "shfl.sync.bfly.b32 %r1, %r2, 17, 31, -1;"},
      {"constant_up", "mul.wide.s32 %rd1, %r1, 4", "none"},  // a stride of bytes
      {"constant_up", "mov.f32 %f1, 0f00000000", "none"},
      {"strides_swapped", "mad.lo.s32 %r1, %r2, %r3, %r4", "mad.lo.s32 %r1, %r2, %r4, %r3;"},
      {"offset_32", "mul.wide.s32 %rd1, %r1, 4",
       "{ .reg .b32 %mutant_a; mul.wide.s32 %rd1, %r1, 4; cvt.u32.u64 %mutant_a, %rd1; cvt.s64.s32 %rd1, "
       "%mutant_a; }"},
      {"offset_32", "add.s64 %rd1, %rd2, %rd3", "none"},  // an address
      {"offset_32", "shl.b32 %r1, %r2, 3", "none"},
      {"identity", "mov.f32 %f1, 0fFF800000", "mov.f32 %f1, 0f00000000;"},
      {"identity", "selp.f32 %f1, %f2, 0f00000000, %p1", "selp.f32 %f1, %f2, 0f3F800000, %p1;"},
      {"identity", "mov.f32 %f1, 0f3F000000", "none"},
      {"load_zero", "@%p1 ld.global.v2.u32 {%r1, %r2}, [%rd1]", "@%p1 mov.b32 %r1, 0; @%p1 mov.b32 %r2, 0; "},
      {"load_zero", "ld.shared.u32 %r1, [%r2]", "none"},
      {"tf32", "fma.rn.f64 %fd1, %fd2, %fd3, %fd4", "none"},
      {"not_atomic", "atom.global.cas.b32 %r1, [%rd1], %r2, %r3", "none"},
  };
  for (const Rewriting& one : all)
    EXPECT_EQ(rewritten(one.operation, one.from), one.to) << one.operation << " of " << one.from;
}

// Instructions as nvcc writes them, one of each kind that an operator knows.
constexpr const char* kKernel = R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
  .reg .pred %p<4>; .reg .b16 %rs<3>; .reg .b32 %r<12>; .reg .f32 %f<8>; .reg .b64 %rd<6>; .reg .f64 %fd<4>;
  .shared .align 4 .b8 sums[128];
  ld.param.u64 %rd1, [k_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0;
  mad.lo.s32 %r3, %r1, %r2, %r1;
  mul.wide.s32 %rd3, %r3, 4;
  add.s64 %rd4, %rd2, %rd3;
  mov.u32 %r4, sums;
  setp.lt.s32 %p1, %r1, 16;
  setp.ltu.f32 %p2, %f1, %f2;
  @%p1 ld.global.f32 %f1, [%rd4];
  @!%p1 ld.global.nc.u16 %rs1, [%rd4+2];
  fma.rn.f32 %f2, %f1, %f1, 0f3F800000;
  fma.rn.f32 %f3, 0f40000000, %f1, %f2;
  add.f64 %fd1, %fd2, %fd3;
  fma.rn.f64 %fd2, %fd1, %fd1, %fd3;
  max.s32 %r5, %r3, %r2;
  add.f32 %f4, %f3, %f2;
  mov.f32 %f5, 0fFF800000;
  shfl.sync.bfly.b32 %r6|%p3, %r5, 16, 31, -1;
  @!%p2 st.shared.f32 [%r4+4], %f4;
  @%p1 st.global.v2.f32 [%rd4+8], {%f4, %f5};
  atom.global.add.u32 %r7, [%rd4], 1;
  @%p1 atom.shared.max.s32 %r8, [%r4], %r5;
  @!%p1 red.global.add.f32 [%rd4], %f4;
  @%p1 atom.global.add.f32 %f6, [%rd4], 0f3F800000;
  membar.gl;
  bar.warp.sync -1;
  bar.sync 0;
  cp.async.wait_group 0;
  ret;
}
)";

TEST(Mutants, of_every_kind_can_be_built) {
  const auto listed = parse_module(kKernel);
  std::map<std::string, int> seen;
  for (const MutantFacts& one : list_mutants(*listed)) {
    ++seen[one.key.operation];
    const auto module = parse_module(kKernel);
    ASSERT_TRUE(apply_mutant(*module, one.key)) << one.key.text();
    try {
      EXPECT_NE(build_program(*module, "k", {}), nullptr);
    } catch (const BuildError& error) {
      ADD_FAILURE() << one.key.text() << " of " << one.ptx << ": " << error.what();
    }
  }
  for (const MutantOperator& one : mutant_operators()) EXPECT_GT(seen[one.name], 0) << one.name;
}

// As nvcc 13.0 writes a round of Philox4x32 (a product that is taken apart) and an index into an array.
TEST(Mutants, cut_offsets_and_no_random_words) {
  const auto module = parse_module(R"(.version 9.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
  .reg .b32 %r<9>; .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [k_param_0];
  mul.lo.s64 %rd2, %rd1, 3528531795;
  shr.u64 %rd3, %rd2, 32;
  xor.b64 %rd7, %rd2, %rd1;
  cvt.u32.u64 %r1, %rd3;
  cvt.u32.u64 %r2, %rd2;
  mul.wide.u32 %rd4, %r2, -766435501;
  { .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd4; }
  xor.b32 %r4, %r3, %r1;
  mul.wide.u32 %rd5, %r4, 4;
  add.s64 %rd6, %rd1, %rd5;
  st.global.u32 [%rd6], %r4;
  ret;
}
)");
  std::vector<std::string> cut;
  for (const MutantFacts& one : list_mutants(*module))
    if (one.key.operation == "offset_32") cut.push_back(one.ptx);
  EXPECT_EQ(cut, std::vector<std::string>{"mul.wide.u32 %rd5, %r4, 4"});
}

TEST(Mutants, keep_every_other_instruction) {
  const auto texts_of = [](const std::string& key) {
    const auto module = parse_module(kKernel);
    if (!key.empty()) apply_mutant(*module, *read_mutant_key(key));
    return build_program(*module, "k", {})->texts;
  };
  std::vector<std::string> before = texts_of("");
  const auto barrier = std::find(before.begin(), before.end(), "bar.sync");
  ASSERT_NE(barrier, before.end());
  before.erase(barrier);
  EXPECT_EQ(texts_of("no_barrier:k:28"), before);
}

TEST(Mutants, are_named_by_operator_function_and_ordinal) {
  const auto key = read_mutant_key("boundary:_ZN1a1bEv:12");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->operation, "boundary");
  EXPECT_EQ(key->function, "_ZN1a1bEv");
  EXPECT_EQ(key->ordinal, 12u);
  for (const char* wrong :
       {"", "boundary", "boundary:k", "boundary:k:", "boundary:k:x", ":k:1", "boundary::1"})
    EXPECT_FALSE(read_mutant_key(wrong)) << wrong;
}

TEST(Mutants, that_do_not_exist_are_refused) {
  const auto module = parse_module(kKernel);
  EXPECT_FALSE(apply_mutant(*module, *read_mutant_key("no_barrier:other:0")));
  EXPECT_THROW(apply_mutant(*module, *read_mutant_key("no_barrier:k:0")), PtxError);  // it is a load
  EXPECT_THROW(apply_mutant(*module, *read_mutant_key("no_barrier:k:9999")), PtxError);
  EXPECT_THROW(apply_mutant(*module, *read_mutant_key("mystery:k:28")), PtxError);
}

TEST(Mutants, name_their_place) {
  const auto module = parse_module(kKernel);
  const std::vector<MutantFacts> all = list_mutants(*module);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [](const MutantFacts& one) { return one.key.operation == "no_fence"; });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->ptx, "membar.gl");
  EXPECT_EQ(found->ptx_line, 34u);
  EXPECT_EQ(found->key.text(), "no_fence:k:26");
}

}  // namespace
}  // namespace warpgrade::emu
