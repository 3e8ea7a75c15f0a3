#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "program/build.h"
#include "program/guarded_loads.h"
#include "program/linear.h"
#include "ptx/parser.h"

namespace warpgrade::emu {
namespace {

std::unique_ptr<Module> g_module;  // programs refer to their module

std::unique_ptr<Program> build(const std::string& body, const std::string& functions = "") {
  g_module = parse_module(".version 9.0\n.target sm_80\n.address_size 64\n" + functions +
                          "\n.visible .entry k(.param .u64 k_param_0)\n{\n" + body + "\nret;\n}\n");
  return build_program(*g_module, "k", {});
}

std::string refusal(const std::string& body) {
  try {
    build(body);
  } catch (const BuildError& error) {
    return error.what();
  }
  return "";
}

TEST(BuildProgram, places_loop_exits_after_the_whole_body) {
  // The exit is written first; lanes that leave early must still wait behind the loop.
  const auto program = build(R"(
    .reg .pred %p<3>; .reg .b32 %r<9>;
    mov.u32 %r1, 0;
    bra LOOP;
    OUT: mov.u32 %r5, 5; ret;
    LOOP: add.s32 %r1, %r1, 1; setp.gt.s32 %p1, %r1, 9; @%p1 bra OUT;
    mul.lo.s32 %r2, %r1, %r1; bra LOOP;)");
  size_t exit_block = 0, last_of_loop = 0;
  for (size_t k = 0; k < program->texts.size(); ++k) {
    if (program->texts[k] == "mul.lo.s32") last_of_loop = k;
    if (program->texts[k] == "mov.u32") exit_block = k;
  }
  EXPECT_GT(exit_block, last_of_loop);
}

TEST(BuildProgram, places_callees_below_their_callers) {
  const auto program = build("call.uni f, ();", ".func f()\n{\nnanosleep.u32 5;\nret;\n}\n");
  EXPECT_EQ(program->texts.front(), "nanosleep.u32");
  EXPECT_GT(program->entry, 0u);
}

TEST(BuildProgram, shares_slots_of_equal_constants) {
  const auto program = build(".reg .b32 %r<5>; add.s32 %r1, %r2, 77; sub.s32 %r3, %r4, 77;");
  EXPECT_EQ(program->code.at(0).b, program->code.at(1).b);
}

TEST(BuildProgram, keeps_the_slot_of_a_register_that_the_next_iteration_reads) {
  // %r2 is written on one path only: in the next iteration it must still hold what it was given, although %r4
  // is first written after its last use.
  const auto program = build(R"(
    .reg .pred %p<3>; .reg .b32 %r<9>;
    mov.u32 %r1, 0;
    LOOP: setp.gt.s32 %p1, %r1, 3; @%p1 bra SKIP;
    not.b32 %r2, %r1;
    SKIP: add.s32 %r3, %r2, %r1;
    sub.s32 %r4, %r3, %r1; mul.lo.s32 %r1, %r4, %r4;
    setp.lt.s32 %p2, %r1, 9; @%p2 bra LOOP;)");
  const auto slot_of = [&](const std::string& text) {
    const auto found = std::find(program->texts.begin(), program->texts.end(), text);
    return program->code.at(static_cast<size_t>(found - program->texts.begin())).d;
  };
  EXPECT_NE(slot_of("not.b32"), slot_of("sub.s32"));
  EXPECT_NE(slot_of("not.b32"), slot_of("mul.lo.s32"));
}

TEST(BuildProgram, takes_time_in_proportion_to_the_number_of_blocks) {
  std::string body = ".reg .pred %p<3>; .reg .b32 %r<3>; mov.u32 %r0, 1;\n";
  for (int k = 0; k < 32'000; ++k) {
    const std::string here = std::to_string(k), next = std::to_string(k + 1);
    body += "setp.eq.u32 %p" + here + ", %r" + here + ", 0; @%p" + here + " bra L" + here + "; mov.u32 %r" +
            next + ", " + here + "; L" + here + ":\n";
  }
  const std::clock_t begin = std::clock();
  EXPECT_GT(build(body)->code.size(), 90'000u);
  // A third of a second where this was written, and eleven of them when each block looked at each register.
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 4);
}

TEST(BuildProgram, knows_kernels_that_poll_memory_in_a_loop) {
  const auto looping = [](const std::string& load) {
    return build(".reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [k_param_0];\n" +
                 load + "LOOP: add.s32 %r2, %r2, 1;\n" + load + "setp.eq.s32 %p1, %r1, 0; @%p1 bra LOOP;");
  };
  EXPECT_TRUE(looping("ld.acquire.gpu.global.u32 %r1, [%rd1];\n")->waits_for_blocks);
  EXPECT_TRUE(looping("ld.volatile.global.u32 %r1, [%rd1];\n")->waits_for_blocks);
  EXPECT_FALSE(looping("ld.global.u32 %r1, [%rd1];\n")->waits_for_blocks);
  EXPECT_FALSE(looping("ld.volatile.shared.u32 %r1, [%rd1];\n")->waits_for_blocks);
  EXPECT_FALSE(build(".reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [k_param_0];"
                     "ld.acquire.gpu.global.u32 %r1, [%rd1];")
                   ->waits_for_blocks);
}

TEST(BuildProgram, refuses_what_it_does_not_know_by_name) {
  EXPECT_NE(refusal("tcgen05.wait::ld.sync.aligned;").find("unsupported tcgen05.wait::ld.sync.aligned"),
            std::string::npos);
  EXPECT_NE(refusal(".reg .b32 %r<3>; add.newmode.s32 %r1, %r2, %r2;").find("modifier .newmode"),
            std::string::npos);
  EXPECT_NE(refusal(".reg .b32 %r<3>; mov.u32 %r1, %mystery;").find("special register %mystery"),
            std::string::npos);
  EXPECT_NE(refusal("bra NOWHERE;").find("unknown label NOWHERE"), std::string::npos);
}

TEST(BuildProgram, refuses_operands_of_the_wrong_width) {
  EXPECT_NE(refusal(".reg .b32 %r<3>; .reg .b64 %rd<3>; add.s64 %rd1, %rd2, %r1;").find("operand width"),
            std::string::npos);
}

// Whether the load of `tl.store(p, tl.load(p) + 1)` is left to the thread that stores: `rest` also reads %r2.
bool is_left_to_who_stores(const std::string& rest, const std::string& before = "",
                           const std::string& predicate = "setp.eq.b32 %p1, %r1, 0;") {
  const auto module = parse_module(
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 k_param_0)\n{\n"
      ".reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"
      "ld.param.b64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x;\n" +
      before + predicate + "\nld.global.b32 %r2, [%rd1];\nadd.s32 %r3, %r2, 1;\n" +
      "@%p1 st.global.b32 [%rd1], %r3;\n" + rest + "\nDONE: ret;\n}\n");
  LinearProgram program = linearize(*module, module->functions.find("k")->second, {});
  LinearFunction& function = program.functions.back();
  guard_loads_as_their_stores(function);
  return std::any_of(function.code.begin(), function.code.end(), [](const LinearInst& i) {
    return i.opcode == "ld.global.b32" && i.guard != kNoRegister;
  });
}

TEST(GuardedLoads, are_those_whose_value_only_one_thread_s_stores_use) {
  EXPECT_TRUE(is_left_to_who_stores(""));
  EXPECT_TRUE(is_left_to_who_stores("@%p1 red.global.add.u32 [%rd1+4], %r2;"));
  EXPECT_FALSE(is_left_to_who_stores("st.global.b32 [%rd1+8], %r2;")) << "all threads store it";
  EXPECT_FALSE(is_left_to_who_stores("setp.gt.s32 %p2, %r2, 5; @%p2 bra DONE;")) << "all threads ask it";
  EXPECT_FALSE(is_left_to_who_stores("@!%p1 st.global.b32 [%rd1+8], %r2;")) << "the others store it, too";
  EXPECT_FALSE(is_left_to_who_stores("shfl.sync.idx.b32 %r4, %r2, 0, 31, -1;")) << "goes to another thread";
  EXPECT_FALSE(is_left_to_who_stores("setp.ne.b32 %p1, %r1, 7;")) << "another predicate by then";
  EXPECT_FALSE(is_left_to_who_stores("", "mad.wide.u32 %rd1, %r1, 4, %rd1;"))
      << "each thread has its own place";
  EXPECT_TRUE(is_left_to_who_stores("", "mov.u32 %r5, %ctaid.x; mad.wide.u32 %rd1, %r5, 4, %rd1;"));
  EXPECT_FALSE(is_left_to_who_stores("", "ld.param.b32 %r5, [k_param_0];", "setp.lt.s32 %p1, %r5, 9;"))
      << "a mask, which may leave all threads out";
  EXPECT_TRUE(is_left_to_who_stores("", "setp.gt.s32 %p3, %r1, 9; @%p3 bra DONE;"))
      << "it is made anew, first";
}

TEST(KernelTitle, drops_result_and_parameters) {
  EXPECT_EQ(kernel_title("_Z11spmm_kernelPKiS0_Pf"), "spmm_kernel");
  EXPECT_EQ(kernel_title("_Z4tileIfLi4EEvPT_"), "tile<float, 4>");
  EXPECT_EQ(kernel_title("plain_c"), "plain_c");
  // nvcc 13's, of `static __global__ void again(int*)` with -rdc=true.
  EXPECT_EQ(kernel_title("__nv_static_28__e1f43d6b_4_0_cu_0a6658de_12__Z5againPi"), "again");
  EXPECT_EQ(kernel_title("__nv_static_99__e1f43d6b"), "__nv_static_99__e1f43d6b");
  EXPECT_EQ(kernel_title("f"), "f") << "which is float to a demangler";
}

TEST(VariableTitle, is_the_last_part_of_the_name) {
  EXPECT_EQ(variable_title("_ZN5tiles4leftE"), "left");
  EXPECT_EQ(variable_title("x"), "x") << "which is long long to a demangler";
}

// A kernel's argument, and an index out of memory: `out[index[i]] = x`, as nvcc compiles it. No store goes through what a
// pointer in memory says, and nothing but the argument has to be followed for races.
TEST(WriteSet, an_index_out_of_memory_leaves_the_array_the_arguments) {
  const auto program = build(R"(
    .reg .b32 %r<3>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    ld.global.u32 %r1, [%rd2+8];
    mul.wide.s32 %rd3, %r1, 4;
    add.s64 %rd4, %rd2, %rd3;
    st.global.u32 [%rd4], %r1;)");
  EXPECT_FALSE(program->writes.anything);
  EXPECT_EQ(program->writes.param_offsets, std::vector<uint32_t>{0});
}

// Two halves of a pointer in memory, put together in the ways that PTX has.
TEST(WriteSet, a_pointer_out_of_memory_may_go_anywhere) {
  const char* const joined[] = {
      "ld.global.u64 %rd4, [%rd2];", "ld.global.v2.u32 {%r1, %r2}, [%rd2]; mov.b64 %rd4, {%r1, %r2};",
      "ld.global.u32 %r1, [%rd2]; ld.global.u32 %r2, [%rd2+4]; cvt.u64.u32 %rd3, %r2; "
      "shl.b64 %rd3, %rd3, 32; cvt.u64.u32 %rd5, %r1; or.b64 %rd4, %rd3, %rd5;",
      "ld.global.u32 %r1, [%rd2]; cvt.u64.u32 %rd3, %r1; bfi.b64 %rd4, %rd3, %rd2, 32, 32;"};
  for (const char* how : joined) {
    const auto program = build(std::string(R"(
      .reg .b32 %r<3>; .reg .b64 %rd<6>;
      ld.param.u64 %rd1, [k_param_0];
      cvta.to.global.u64 %rd2, %rd1;)") +
                               how + "st.global.u32 [%rd4], %r1;");
    EXPECT_TRUE(program->writes.anything) << how;
  }
}

}  // namespace
}  // namespace warpgrade::emu
